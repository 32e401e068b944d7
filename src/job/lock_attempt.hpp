// Locks the row of an attempt that is under way, for whoever decides what becomes of it.
#pragma once

#include "job/claimed_job.hpp"

namespace hipq::job {

// Writes for a job that was claimed by lock, in a transaction that is over, what a recorded claim
// would have written; then it is one. False: it is not as it was; somebody else has changed it
// meanwhile.
bool record_locked(const catalog::Queue &queue, ClaimedJob &job);

// Locks a running attempt whose executor is gone, skipping one that somebody else holds. Needs a
// transaction.
std::optional<ClaimedJob> take_running(const catalog::Queue &queue, std::int64_t id, int attempt);

// The same for an attempt that was claimed by lock, whose row tells nothing of it: it is recorded
// now.
std::optional<ClaimedJob> take_locked(const catalog::Queue &queue, std::int64_t id, int attempt,
                                      pg::Time started);

// Locks the running attempt that an external worker has, skipping one that somebody else holds.
// Needs a transaction.
std::optional<ClaimedJob> take_from_worker(const catalog::Queue &queue, std::int64_t id);

// Locks a job in state `error` for its retry decision, skipping one that somebody else holds. Needs
// a transaction.
std::optional<ClaimedJob> take_for_decision(const catalog::Queue &queue, std::int64_t id);

}  // namespace hipq::job
