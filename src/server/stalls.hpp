// The alarm: a job is due, every condition is met, an executor is free, and for 5 s none of that
// queue owner's jobs has started.
//
// The rules do not allow that; the alarm is for the case that something breaks them, including hipq
// itself. It checks the conditions that hipq.why() shows, so it is raised exactly where why() has
// no answer.
#pragma once

#include "catalog/cache.hpp"
#include "shared/executors/executor_list.hpp"

namespace hipq::server {

// The state of a queue owner with due jobs.
struct Stall {
    pg::Time since;  // since then nothing has started, or nothing could have; by the real clock, as
                     // all times here
    pg::Time seen;   // at the last look
    executors::Progress progress;  // at the last look
    std::int64_t job_id = 0;       // a job that should have started
    pg::Time found{0};             // when it was found
    std::int64_t reported = 0;     // the job that was logged
};
using Stalls = std::map<Oid, Stall>;

// Call for the queue owners with due jobs in the last look. Returns after how many microseconds the
// scheduler has to look again; nothing: no job is due that could start.
std::optional<std::int64_t> watch_for_stalls(Stalls &stalls, const catalog::Catalogue &catalogue,
                                             const std::set<Oid> &owners_with_due_jobs);

}  // namespace hipq::server
