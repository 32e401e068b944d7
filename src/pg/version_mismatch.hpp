// What is said when the library does not find in the database what it knows: the extension's script
// is of another version, or somebody has altered a table of hipq. Nobody asks before something is
// missing.
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

// 55000 when the extension is of another version than the library; else nothing. `problem` is what
// was found out: a clause.
void require_fit(const std::string &problem);

// 55000 as above; 42703 when somebody has dropped or renamed the column.
[[noreturn]] void raise_missing_column(Oid table, const std::string &column);

// 55000 as above; 42804 when somebody has given the column another type.
[[noreturn]] void raise_other_type(Oid table, const std::string &column, Oid type, Oid expected);

// Whether a statement of hipq's own has failed before it was run, because it cannot be understood
// here.
bool is_misfit(const Error &error, std::string_view sql);

// What to say of that error instead: raises as above, or returns when there is nothing better to
// say. May be called while the error that was caught is still to be raised: analysis has failed,
// nothing was begun.
void explain_misfit(const Error &error, std::string_view sql);

}  // namespace hipq::pg
