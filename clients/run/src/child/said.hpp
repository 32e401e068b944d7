// Messages of a program while its job runs: its progress, a request for more time, or the delay of
// a retry if it fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hipq::run {

struct Said {
    std::int64_t done = 0;
    std::optional<std::int64_t> total = {};
    std::optional<std::string> message = {};
    // A line has one of these alone, and then no progress.
    std::optional<std::string> more_time = {};
    std::optional<std::string> retry_after = {};  // for a failure of the program
};

// Reads a line of descriptor 3: "3/10 on the way", "3 on the way", "extend 5 min", "retry after 5
// min". None: the line is none of these.
std::optional<Said> read_said(const std::string &line);

}  // namespace hipq::run
