// What follows an attempt that an external worker had and did not end: it took too long, or the
// worker is gone.
#pragma once

#include "retry/retry.hpp"

namespace hipq::recovery {

// Its deadline has come: queue_timeout if the worker never accepted it, with all that its attempts
// have met with so far; else timeout. One that was given more time meanwhile stays as it is: stale.
// Needs a transaction.
retry::Resolved resolve_overdue(const catalog::Queue &queue, const job::ClaimedJob &job,
                                pg::Time now);

// How jobs end that were for one worker, which could not be given them in time: as if it had had
// them and not accepted them. Needs a transaction.
job::Failure expiry_of_aim(const catalog::Queue &queue, const std::string &worker, pg::Time now);

// Its worker is gone (worker_lost), silent (worker_heartbeat_stale), or lets go of what it has not
// begun (released). Uncharged if the attempt was never accepted, since then nothing can have
// happened; otherwise the policy decides, and a released one stays where it is: stale. Needs a
// transaction.
retry::Resolved resolve_abandoned(const catalog::Queue &queue, const job::ClaimedJob &job,
                                  core::Reason reason, pg::Time now);

// Its worker does not answer, and has not accepted it: uncharged. If it has meanwhile: stale.
retry::Resolved resolve_unanswered(const catalog::Queue &queue, const job::ClaimedJob &job,
                                   pg::Time now);

// The role of its worker may not work on the queue any more: as if the worker were gone.
retry::Resolved resolve_revoked(const catalog::Queue &queue, const job::ClaimedJob &job,
                                pg::Time now);

}  // namespace hipq::recovery
