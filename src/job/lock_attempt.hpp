// Locks the row of an attempt in progress, for the process that decides what becomes of it.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"

namespace hipq::job {

// Records the claim of a job that was claimed by lock in a transaction that has ended, as a claim
// by record would have done. False: the job has been changed by another process in the meantime.
[[nodiscard]] bool record_locked(const catalog::Queue &queue, ClaimedJob &job);

// Locks a running attempt whose executor no longer exists, unless another process has it locked.
// Needs a transaction.
std::optional<ClaimedJob> take_running(const catalog::Queue &queue, std::int64_t id, int attempt);

// The same for an attempt that was claimed by lock, which its row does not show: records it now.
std::optional<ClaimedJob> take_locked(const catalog::Queue &queue, std::int64_t id, int attempt,
                                      pg::Time started);

// Locks the running attempt that an external worker has, unless another process has it locked.
// Needs a transaction.
std::optional<ClaimedJob> take_from_worker(const catalog::Queue &queue, std::int64_t id);

// Records as an attempt that a job was offered to a worker, which did not accept it in time, for
// the caller to resolve. Nothing: the job does not wait any more, or another process has it locked.
// Needs a transaction.
std::optional<ClaimedJob> take_unaccepted(const catalog::Queue &queue, std::int64_t id,
                                          std::int64_t worker_id, pg::Time now);

// Locks a job in state `error` for its retry decision, unless another process has it locked. Needs
// a transaction.
std::optional<ClaimedJob> take_for_decision(const catalog::Queue &queue, std::int64_t id);

}  // namespace hipq::job
