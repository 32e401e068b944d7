// The rows of jobs that external workers have: dispatched, accepted, held to end an attempt or to
// give it more time.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "pg/spi.hpp"

namespace hipq::external {

// The worker to which a job is dispatched.
struct Assignment {
    std::int64_t job_id;
    ItemPointerData place;  // of its row, as in DueJob
    std::int64_t worker_id;
};

// Dispatches the jobs that are still due and that no other process holds to their workers, in their
// order: state running, attempt + 1, not accepted yet. The deadline for acceptance is set by
// queue_ttl of the job, its type or its queue, or by hipq.queue_ttl.
std::vector<job::ClaimedJob> dispatch_rows(const catalog::Queue &queue,
                                           const catalog::JobType &type,
                                           std::span<const Assignment> assignments, pg::Time now);

// Attempts of one queue, and where the row of each may be, as in job::DueJob.
struct Attempts {
    std::vector<std::int64_t> ids{};
    std::vector<std::int64_t> numbers{};
    std::vector<ItemPointerData> places{};

    void add(std::int64_t id, std::int64_t number, ItemPointerData place);
    std::size_t count() const { return ids.size(); }
};

// The worker accepts attempts that were dispatched to it: from now on each has the timeout of its
// job. Leaves out attempts that are no longer this worker's, or are accepted already. Returns the
// others in their order.
std::vector<job::ClaimedJob> accept_rows(const catalog::Queue &queue, std::int64_t worker_id,
                                         const Attempts &attempts, pg::Time now);

// Returns the attempts that no row confirms, as committed by now: the job is gone, or another
// attempt or another worker has it.
std::vector<std::int64_t> unknown_dispatches(const catalog::Queue &queue, std::int64_t worker_id,
                                             const Attempts &attempts);

// Locks a running attempt that a worker has, or that hipq.complete_later() left running, to end it
// or to give it more time. Waits for the process that holds its row. Nothing: the job is no longer
// running, is another attempt, or an executor has it.
std::optional<job::ClaimedJob> hold_row(const catalog::Queue &queue, std::int64_t id, int attempt);
// Locks several attempts in the same way, and returns the locked ones in their order. The caller
// must pass them in the order of ids, because callers wait for each other's rows.
std::vector<job::ClaimedJob> hold_rows(const catalog::Queue &queue, const Attempts &attempts);
// The same for the running attempt of the job with that key. `shard_key` selects among jobs whose
// keys are unique per shard key only; without it there must be only one job with the key.
std::optional<job::ClaimedJob> hold_row(const catalog::Queue &queue, std::string_view job_type,
                                        std::string_view job_key,
                                        const std::optional<std::string> &shard_key);

// Gives a locked attempt time until `deadline`.
void set_deadline(const catalog::Queue &queue, const job::ClaimedJob &job, pg::Time deadline,
                  pg::Time now);

}  // namespace hipq::external
