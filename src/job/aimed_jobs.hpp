// Jobs for one external worker only, by its name or number, until their first attempt: enqueue(...,
// worker => 'name').
//
// The row of such a job has a worker_id that no worker has, so that no worker takes it from its
// lane; hipq.aimed_job has the name or number. Readers of that table delete rows whose job is not
// aimed any more.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"

namespace hipq::job {

// The worker_id of a job in `initial` that is for one worker. (In SQL: HIPQ_IS_AIMED.)
inline constexpr std::int64_t aimed_worker_id = -1;
#define HIPQ_IS_AIMED "(job.worker_id IS NOT DISTINCT FROM -1)"

// Aims a job that this transaction has enqueued. Raises 22023 for a name that no worker can have,
// and for a job type whose jobs external workers do not run.
void aim(const catalog::Queue &queue, std::string_view job_type, std::int64_t job_id,
         const std::string &worker);

struct AimedJob {
    std::string worker;
    std::string job_type;
    int priority;
    DueJob job;
    pg::Time ends;  // when it must have been offered to its worker
    std::string time_windows;
    std::string throttle_key;
};

// The aimed jobs of a queue, each worker's jobs of a type in the order in which they run. Deletes
// rows of jobs that are not aimed any more. Needs a transaction; the caller holds the queue's lock.
std::vector<AimedJob> aimed_jobs(const catalog::Queue &queue);

// The queues that have aimed jobs, by number. Needs a transaction.
std::vector<int> queues_with_aimed_jobs();

// The worker that a job is for, and until when. Nothing: the job is not aimed.
struct Aim {
    std::string worker;
    pg::Time ends;
};
std::optional<Aim> aim_of(const catalog::Queue &queue, std::int64_t job_id);

}  // namespace hipq::job
