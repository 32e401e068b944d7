// The version of the extension in the database, as opposed to that of the library.
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

// Nothing: the extension is not installed in this database. Needs a transaction.
std::optional<std::string> installed_version();

}  // namespace hipq::pg
