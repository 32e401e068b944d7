// What operators look at: why a job waits, progress, statistics, alerts, waiting for an end.
// Declares what other rooms may use.
#pragma once

#include "claim/conditions.hpp"
#include "job/find_job.hpp"

namespace hipq::monitor {

// Returns the conditions of a job in the order in which they are checked. For a final job, returns
// only the conditions that say so. Needs a transaction.
std::vector<claim::Condition> conditions_of(const job::FoundJob &job);

// Has the planner read the jobs of many queues one queue at a time. _PG_init calls it once.
void install_job_scan();

}  // namespace hipq::monitor
