// Reports that the database lacks something that the library expects: the extension's script is of
// another version, or a user altered a table of hipq. Nothing is checked before something is
// missing.
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

// 55000 if the extension is of another version than the library; else returns. `problem` is a
// clause that tells what was found.
void require_fit(const std::string &problem);

// 55000 as above; 42703 if a user dropped or renamed the column.
[[noreturn]] void raise_missing_column(Oid table, const std::string &column);

// 55000 as above; 42804 if a user changed the type of the column.
[[noreturn]] void raise_other_type(Oid table, const std::string &column, Oid type, Oid expected);

// Returns whether a statement of hipq's own failed before it ran, because it cannot be parsed in
// this database.
bool is_version_mismatch(const Error &error, std::string_view sql);

// Raises a better error, as above, or returns if there is none. May be called while the caught
// error is still to be rethrown: only parse analysis failed, and nothing was begun.
void explain_version_mismatch(const Error &error, std::string_view sql);

}  // namespace hipq::pg
