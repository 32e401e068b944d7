// Resolves attempts that lost their process: to a restart, to an end of the executor, or to a crash
// that they caused themselves.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "retry/retry.hpp"

namespace hipq::recovery {

// Resolves a running attempt that no process has in flight any more. It is uncharged if its handler
// is one transaction, because then nothing can have happened; otherwise the policy decides. A job
// that loses its executor again and again waits, longer each time. Needs a transaction.
retry::Resolved resolve_lost(const catalog::Queue &queue, const job::ClaimedJob &job,
                             core::Reason reason, pg::Time now);

// Does what resolve_lost() does after a restart of the server, for many running attempts, but only
// for jobs that go back uncharged. Skips rows that another session holds. Returns the ids of the
// jobs that wait again. Needs a transaction.
std::vector<std::int64_t> put_back_after_restart(const catalog::Queue &queue,
                                                 const std::vector<std::int64_t> &ids,
                                                 const std::vector<std::int64_t> &attempts,
                                                 pg::Time now);

// Resolves an attempt that took the server down while it ran or while its retry handler ran, and
// charges it a crash. The job is final with hipq.max_crashes of them, or if its type has
// do_not_retry_on => crashed; before that it goes on like a lost one. Does nothing if the attempt
// has already been charged. Needs a transaction.
retry::Resolved resolve_crash(const catalog::Queue &queue, const job::ClaimedJob &job,
                              pg::Time started, int pid, pg::Time now);

// Records that an executor ended while it ran the retry handler of a job in `error`. If that
// happened too often for this attempt, the retry handler has failed. Needs a transaction.
retry::Resolved resolve_lost_decision(const catalog::Queue &queue, const job::ClaimedJob &job,
                                      pg::Time started, pg::Time now);

}  // namespace hipq::recovery
