// What operators look at: why a job waits, progress, statistics, alerts, waiting for an end.
// Declares what other rooms may use.
#pragma once

#include "pg/postgres.hpp"
#include "catalog/cache.hpp"
#include "claim/conditions.hpp"
#include "job/find_job.hpp"
#include "nodes/pathnodes.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace hipq::monitor {

// ---- job conditions ----

// Returns the conditions of a job in the order in which they are checked. For a final job, returns
// only the conditions that say so. Needs a transaction.
std::vector<claim::Condition> conditions_of(const job::FoundJob &job);

// ---- queried values ----

// Returns the conditions that all rows of a query must meet, including pushed-down ones, before or
// during planning.
List *conditions_of(const PlannerInfo *root);

}  // namespace hipq::monitor
