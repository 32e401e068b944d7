// Jobs that are for one external worker each (job/aimed_jobs.hpp), as dispatch meets them.
#pragma once

#include "external/external.hpp"
#include "job/claimed_job.hpp"

namespace hipq::external {

// One worker's jobs of a type that may start now, in the order in which they run.
struct AimedLane {
    int queue_id;
    std::string worker;
    std::string job_type;
    int priority;  // of the first
    std::vector<job::DueJob> jobs;
};

// Those that may start. Gives up those whose worker could not be given them in time
// (queue_timeout; they are for any worker from then on). Nothing when there is nothing new.
// `next` becomes the time to look again, if that is earlier. Own transactions.
std::vector<AimedLane> look_at_aims(Aims &aims, pg::Time &next);

}  // namespace hipq::external
