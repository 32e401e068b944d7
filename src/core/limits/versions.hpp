// Decides whether a library and an extension of different hipq versions can work together.
//
// A release changes tables and functions only so that the previous and the next library version
// still work with them (docs/releasing.md). The promise covers one minor version, so that a server
// can be restarted with a new library before each database is upgraded, and back.
#pragma once

#include <string_view>

namespace hipq::core {

enum class VersionFit { same, together, apart };

// Versions are major.minor.patch, in decimal. An unreadable version fits only itself.
VersionFit fit_of_versions(std::string_view library, std::string_view extension);

// Returns whether a version precedes another one; false for an unreadable version.
bool is_earlier(std::string_view version, std::string_view other);

}  // namespace hipq::core
