// The extension as the database has it, beside the library.
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

// Nothing: it is not installed in this database. Needs a transaction.
std::optional<std::string> installed_version();

}  // namespace hipq::pg
