// Rescues jobs that no process has in flight any more: back into the lane, to a retry decision, or
// to the end.
#pragma once

#include "catalog/cache.hpp"
#include "recovery/left_jobs.hpp"
#include "recovery/recovery.hpp"

namespace hipq::recovery {

bool is_postponed(const PostponedJobs &postponed, std::int64_t id, pg::Time now);

// What became of the jobs. Each job is in one of the two lists.
struct BroughtHome {
    std::vector<Left> home;  // including jobs whose attempt had left nothing
    std::vector<Left> postponed;
};

// The number of jobs found, and rescued, at once.
inline constexpr std::size_t jobs_at_once = 500;

// Takes the first jobs of one queue off a list and rescues them in its own transactions. All share
// one transaction; if it fails, each job gets its own. A job that fails even then is set aside for
// a while, as is a job whose row another session holds. Raises if the server has no room or wants
// the process to stop.
BroughtHome rescue_first(PostponedJobs &postponed, std::vector<Left> &list);

}  // namespace hipq::recovery
