// Jobs that are for one external worker each (job/aimed_jobs.hpp), as dispatch needs them.
#pragma once

#include "external/external.hpp"
#include "job/claimed_job.hpp"

namespace hipq::external {

// One worker's jobs of a type that may start now, in the order in which they run.
struct AimedLane {
    int queue_id;
    std::string worker;
    std::string job_type;
    int priority;  // of the first job
    std::vector<job::DueJob> jobs;
};

// Returns the jobs that may start; nothing when nothing is new. Gives up the jobs that could not be
// offered to their worker in time (queue_timeout; any worker may get them afterwards). Sets `next`
// to the time of the next look, if that is earlier. Runs transactions of its own.
std::vector<AimedLane> find_aimed_lanes(AimedJobs &aimed, pg::Time &next);

}  // namespace hipq::external
