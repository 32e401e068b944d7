// Finds secrets in libpq connection strings that others can read.
#pragma once

#include <string_view>

namespace hipq::core {

// Returns whether the string contains a password, or that of a key, as keywords and values or as a
// URI. For a text that libpq would refuse, the result is unspecified.
bool has_password(std::string_view conninfo);

}  // namespace hipq::core
