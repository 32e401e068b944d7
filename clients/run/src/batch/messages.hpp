// The lines between hipq-run and the program of a batch: JSON, one object a line.
#pragma once

#include "child/executor.hpp"

namespace hipq::run {

// {"id": 7, "attempt": 1, ..., "data": ...}: a job to run. Ends with a newline.
std::string job_line(const ClaimedJob &job);
// {"id": 7, "attempt": 1, "over": true}: the result is no longer needed.
std::string over_line(Attempt attempt);

// A line of the program: the result of a job, or its progress.
struct BatchAnswer {
    std::int64_t id = 0;
    std::optional<int> attempt = {};  // by default the running one
    std::optional<Ending> ending = {};
    std::optional<Said> said = {};
};

// Throws std::invalid_argument with the reason.
BatchAnswer read_answer(const std::string &line);
// The same for the beginning of a line that is too long.
BatchAnswer read_long_answer(const std::string &line);

}  // namespace hipq::run
