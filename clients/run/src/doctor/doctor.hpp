// "hipq-run doctor": calls hipq.doctor() in one database, and returns an exit code for CI.
#pragma once

#include <string>
#include <vector>

namespace hipq::run::doctor {

inline constexpr int exit_healthy = 0;
inline constexpr int exit_findings = 1;
inline constexpr int exit_unasked = 2;  // no connection, no extension, no right

// Throws UsageError.
int run(const std::vector<std::string> &arguments);

}  // namespace hipq::run::doctor
