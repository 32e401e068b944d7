// What a program says while its job runs: how far it has come, that it needs more time, or how long
// a retry is to wait if it fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hipq::run {

struct Said {
    std::int64_t done = 0;
    std::optional<std::int64_t> total = {};
    std::optional<std::string> message = {};
    // A line says one of these alone, and then no progress.
    std::optional<std::string> more_time = {};
    std::optional<std::string> retry_after = {};  // in case the program fails
};

// Reads a line of descriptor 3: "3/10 on the way", "3 on the way", "extend 5 min", "retry after 5
// min". Nothing: it is none of these.
std::optional<Said> read_said(const std::string &line);

}  // namespace hipq::run
