// What a libpq connection string must not say where others can read it.
#pragma once

#include <string_view>

namespace hipq::core {

// Whether it has a password, or the one of a key: as keywords and values, or as a URI. Of a text
// that libpq would not take either answer may come.
bool has_password(std::string_view conninfo);

}  // namespace hipq::core
