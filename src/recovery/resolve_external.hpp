// Resolves an attempt that an external worker did not end because it took too long or is gone.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "recovery/recovery.hpp"
#include "retry/retry.hpp"

namespace hipq::recovery {

// Resolves an attempt whose deadline has come: queue_timeout, listing what happened to its attempts
// so far, if the worker never accepted it; otherwise timeout. If it was given more time meanwhile,
// it stays as it is and the result is stale. Needs a transaction.
retry::Resolved resolve_overdue(const catalog::Queue &queue, const job::ClaimedJob &job,
                                pg::Time now);

// Resolves an attempt whose worker is gone (worker_lost) or silent (worker_heartbeat_stale): the
// policy decides. An attempt that was never accepted is not charged, because nothing can have
// happened. Needs a transaction.
retry::Resolved resolve_abandoned(const catalog::Queue &queue, const job::ClaimedJob &job,
                                  core::Reason reason, pg::Time now);

// The worker's role lost the work privilege on the queue: as if the worker were gone.
retry::Resolved resolve_revoked(const catalog::Queue &queue, const job::ClaimedJob &job,
                                pg::Time now);

}  // namespace hipq::recovery
