// All conditions of a job's start: hipq.why() shows them, and the alarm checks them before it is
// raised.
#pragma once

#include "catalog/cache.hpp"
#include "claim/conditions.hpp"
#include "job/find_job.hpp"
#include "monitor/monitor.hpp"

namespace hipq::monitor {

// Returns the last condition of a waiting job: whether other jobs that may start are before it in
// the lane of its queue.
claim::Condition lane_condition(const job::FoundJob &job);

// Returns the condition that keeps a waiting job from starting: the first unmet one that an
// operator has to fix; else the first unmet one that is intended, such as a pause; else, if all are
// met, the finding that it is the turn of other jobs. Needs a transaction.
claim::Condition decisive_condition(const job::FoundJob &job);

// Returns what keeps due jobs of one kind from starting, apart from their number: "window", "hold"
// (of the server, the database or the queue), "pause", "handler" (no handler or no worker),
// "throttle" or "none".
const char *first_unmet_condition(const catalog::Queue &queue, const claim::JobFacts &kind);

}  // namespace hipq::monitor
