// The alarm: a job is due, every condition is met, an executor is free, and for 5 s none of that
// queue owner's jobs has started.
//
// That cannot happen by the rules; the alarm is there in case somebody has broken them, hipq
// included. It asks the conditions that hipq.why() shows, so it cries exactly where why() has no
// answer.
#pragma once

#include "catalog/catalog.hpp"
#include "shared/executors/executor_list.hpp"

namespace hipq::server {

// What is known of a queue owner who has due jobs.
struct Stall {
    pg::Time since;  // nothing has started since, or nothing could have; by the real clock, as all
                     // times here
    pg::Time seen;   // at the last look
    executors::Progress progress;  // as it was then
    std::int64_t job_id = 0;       // one that should have started, and
    pg::Time found{0};             // when that was seen
    std::int64_t reported = 0;     // the one that the log has named
};
using Stalls = std::map<Oid, Stall>;

// For the queue owners of whom a look has found due jobs. Returns after how many microseconds the
// scheduler has to look again; nothing: no job is due that could start.
std::optional<std::int64_t> watch_for_stalls(Stalls &stalls, const catalog::Catalogue &catalogue,
                                             const std::set<Oid> &owners_with_due_jobs);

}  // namespace hipq::server
