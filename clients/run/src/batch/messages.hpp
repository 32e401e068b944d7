// The lines between hipq-run and the program of a batch: JSON, one object a line.
#pragma once

#include "child/executor.hpp"

namespace hipq::run {

// {"id": 7, "attempt": 1, ..., "data": ...}: a job to be run. Ends with its newline.
std::string job_line(const ClaimedJob &job);
// {"id": 7, "attempt": 1, "over": true}: nobody wants its result any more.
std::string over_line(Attempt attempt);

// A line of the program: what became of a job, or how far it has come.
struct BatchAnswer {
    std::int64_t id = 0;
    std::optional<int> attempt = {};  // the one that runs, if it says nothing
    std::optional<Ending> ending = {};
    std::optional<Said> said = {};
};

// Throws std::invalid_argument, which says what is wrong.
BatchAnswer read_answer(const std::string &line);
// The same of the beginning of a line that is too long.
BatchAnswer read_long_answer(const std::string &line);

}  // namespace hipq::run
