// A job on its way to an external worker and while it has it: initial|retry -> running on behalf of
// the worker (the dispatch is the claim), then accepted by it.
//
// All need a transaction. Shared memory follows when that has committed (shared/workers/jobs.hpp):
// for the dispatch the scheduler sees to that, for the rest a note does.
#pragma once

#include "job/job.hpp"

namespace hipq::claim {

// Which worker is to get a job.
struct Assignment {
    std::int64_t job_id;
    ItemPointerData place;  // of its row, as DueJob has it
    std::int64_t worker_id;
};
// Gives those of the jobs that are still due and that nobody else holds to their workers, in their
// order: state running, attempt
// + 1, not accepted yet, with a deadline by which that has to be: queue_ttl of the job, its type,
// its queue, or hipq.queue_ttl.
std::vector<job::ClaimedJob> dispatch(const catalog::Queue &queue, const catalog::JobType &type,
                                      std::span<const Assignment> assignments, pg::Time now);

// Attempts of one queue; and where the row of each may be, as job::DueJob has it.
struct Attempts {
    std::vector<std::int64_t> ids{};
    std::vector<std::int64_t> numbers{};
    std::vector<ItemPointerData> places{};

    void add(std::int64_t id, std::int64_t number, ItemPointerData place);
    std::size_t count() const { return ids.size(); }
};

// The worker accepts attempts that it was given: each has from now on the time that its job says.
// Those that are not its any more, or accepted already, are left out; the others come in their
// order.
std::vector<job::ClaimedJob> accept(const catalog::Queue &queue, std::int64_t worker_id,
                                    const Attempts &attempts, pg::Time now);

// Those of the attempts that no row bears out: the job is gone, or another attempt or another
// worker has it, as committed by now.
std::vector<std::int64_t> unknown_dispatches(const catalog::Queue &queue, std::int64_t worker_id,
                                             const Attempts &attempts);

// Locks a running attempt that a worker has, or that hipq.complete_later() left, to end it or to
// give it more time. Waits for whoever holds its row. Nothing: it is not running any more, not this
// attempt, or an executor has it.
std::optional<job::ClaimedJob> hold_attempt(const catalog::Queue &queue, std::int64_t id,
                                            int attempt);
// Those of the attempts of which that is so, in their order. Whoever calls names them in the order
// of ids: callers wait for each other's rows.
std::vector<job::ClaimedJob> hold_attempts(const catalog::Queue &queue, const Attempts &attempts);
// The same for the attempt that runs of the job with that key; `shard_key`: of that shard key,
// where keys are unique for each. Without it there has to be one job.
std::optional<job::ClaimedJob> hold_attempt(const catalog::Queue &queue, std::string_view job_type,
                                            std::string_view job_key,
                                            const std::optional<std::string> &shard_key);

// Gives an attempt that is held until then.
void set_deadline(const catalog::Queue &queue, const job::ClaimedJob &job, pg::Time deadline,
                  pg::Time now);

// The job that this process runs stays running when its handler has returned, until somebody
// completes it or its timeout has come. In the handler's transaction. Raises 55000 when the job is
// not this attempt's any more.
void leave_running(const catalog::Queue &queue, job::ClaimedJob job, pg::Time now);

}  // namespace hipq::claim
