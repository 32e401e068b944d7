// What follows an attempt that lost its process: to a restart, to whatever ended the executor, to a
// crash that it brought about itself.
#pragma once

#include "retry/retry.hpp"

namespace hipq::recovery {

// Resolves a running attempt nobody has in flight any more: uncharged if its handler is one
// transaction, since then nothing can have happened, by policy otherwise. One that loses its
// executor again and again waits, longer each time. Needs a transaction.
retry::Resolved resolve_lost(const catalog::Queue &queue, const job::ClaimedJob &job,
                             core::Reason reason, pg::Time now);

// Does for many running attempts what resolve_lost() does when the server restarted, but only for
// those that go back uncharged; and skips rows that somebody else holds. Returns the ids of those
// that wait again. Needs a transaction.
std::vector<std::int64_t> put_back_after_restart(const catalog::Queue &queue,
                                                 const std::vector<std::int64_t> &ids,
                                                 const std::vector<std::int64_t> &attempts,
                                                 pg::Time now);

// Resolves an attempt, running or asking its retry handler, that took the server down: charged a
// crash. With hipq.max_crashes of them, or when its type says do_not_retry_on => crashed, the job
// is final; before that it goes on like a lost one. Does nothing for an attempt that was charged
// already. Needs a transaction.
retry::Resolved resolve_crash(const catalog::Queue &queue, const job::ClaimedJob &job,
                              pg::Time started, int pid, pg::Time now);

// Records that an executor ended while it asked the retry handler of a job in `error`. When that
// has happened too often for this attempt, the retry handler has failed. Needs a transaction.
retry::Resolved resolve_lost_decision(const catalog::Queue &queue, const job::ClaimedJob &job,
                                      pg::Time started, pg::Time now);

}  // namespace hipq::recovery
