// Takes jobs back from external workers that did not accept or end them in time, that are gone, or
// that drain.
#pragma once

#include "recovery/rescue.hpp"

namespace hipq::recovery {

// The state that a scheduler keeps between calls.
struct TakingBack {
    PostponedJobs postponed;
    pg::Time reports_since{0};  // start of the interval in which `reports` jobs that were not
                                // accepted were logged and `unreported` were not
    int reports = 0;
    int unreported = 0;
};

// Uses its own transactions. Returns when to call it again.
pg::Time reclaim(TakingBack &taking);

// Returns when the next worker loses its jobs if it stays silent. The scheduler calls this after a
// dispatch, because a worker that had no job may have one now.
pg::Time next_loss(pg::Time now);

// The jobs went with their queues. Their workers have room again.
void forget_jobs_of_dropped_queues(const catalog::Catalogue &catalogue);

}  // namespace hipq::recovery
