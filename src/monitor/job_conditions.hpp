// All that stands between one job and its start: what hipq.why() shows, and what the alarm asks
// before it cries.
#pragma once

#include "claim/claim.hpp"
#include "job/job.hpp"

namespace hipq::monitor {

// The conditions of a job in the order in which they are asked. Of one that is final only those
// that say so. Needs a transaction.
std::vector<claim::Condition> conditions_of(const job::FoundJob &job);

// The last condition of a job that waits: whether others that may start stand before it in the lane
// of its queue.
claim::Condition lane_condition(const job::FoundJob &job);

// The condition that keeps a waiting job. What has to be mended comes before what is meant to be
// so; else the first that is asked. All are met: others have their turn. Needs a transaction.
claim::Condition decisive_condition(const job::FoundJob &job);

// What keeps due jobs of one kind from starting, which their number does not matter for: "window",
// "hold" (of the server, the database or the queue), "pause", "handler" (it, or any worker, is
// missing) or "throttle"; "none".
const char *first_unmet_condition(const catalog::Queue &queue, const claim::JobFacts &kind);

}  // namespace hipq::monitor
