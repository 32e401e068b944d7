// Whether a library and an extension of different versions of hipq can work together.
//
// A release changes tables and functions so that the library before it and the one after it go on
// with them (docs/releasing.md). That is promised over one minor version, so that a server can be
// restarted with a new library before each database is upgraded, and back.
#pragma once

#include <string_view>

namespace hipq::core {

enum class VersionFit { same, together, apart };

// Versions are major.minor.patch, in decimal. What cannot be read fits nothing but itself.
VersionFit fit_of_versions(std::string_view library, std::string_view extension);

// Whether a version comes before another one; false for what cannot be read.
bool is_earlier(std::string_view version, std::string_view other);

}  // namespace hipq::core
