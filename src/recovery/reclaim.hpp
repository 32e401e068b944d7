// Takes jobs back from external workers that did not accept or end them in time, that are gone, or
// that drain.
#pragma once

#include "recovery/rescue.hpp"

namespace hipq::recovery {

// What a scheduler keeps from one time to the next.
struct TakingBack {
    PostponedJobs postponed;
    pg::Time reports_since{0};  // of jobs that were not accepted: so many log lines were written
                                // since then, so many were not
    int reports = 0;
    int unreported = 0;
};

// Own transactions. Returns when to be called again.
pg::Time reclaim(TakingBack &taking);

// When the jobs of a worker will be somebody else's, should it stay as silent as it is. Asked after
// a dispatch: who had no job may have one since.
pg::Time next_loss(pg::Time now);

// They went with their queues; their workers have room again.
void forget_jobs_of_dropped_queues(const catalog::Catalogue &catalogue);

}  // namespace hipq::recovery
