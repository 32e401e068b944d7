// What belongs to an attempt in whatever session it is made, an executor's or a client's: which
// jobs are under way, by what rules they fail, and what becomes of them.
#pragma once

#include "catalog/catalog.hpp"
#include "retry/retry.hpp"

namespace hipq::execute {

// These are the jobs whose handler runs in this session from now on.
void make_current(const std::optional<catalog::Handler> &handler,
                  std::span<const job::ClaimedJob> jobs);

// How an attempt failed whose handler raised that error, or was not there.
job::Failure failure_of(const pg::Error &error);
job::Failure missing_handler();

// The same of a retry handler.
job::Failure retry_failure_of(const pg::Error &error);
job::Failure missing_retry_handler();
job::Failure overdue_retry_handler();

// What a handler that has returned leaves behind: its jobs are done, or, because it has asked for
// that, its job comes again later or stays running. In its transaction.
void conclude(const catalog::Queue &queue, std::span<const job::ClaimedJob> jobs,
              std::span<const pg::RawValue> results);

// After the handler's (sub)transaction was rolled back: the attempt is recorded, and the policy
// decides, unless a retry handler is to be asked. A job that was claimed by lock is recorded first,
// unless somebody else, who found it waiting, has changed it meanwhile: then this attempt has not
// happened. A handler that may not commit leaves nothing: the job runs again, uncharged, after a
// conflict with another transaction and after a fault of the session. Needs a transaction.
retry::Resolved resolve_attempt(const catalog::Queue &queue, job::ClaimedJob &job,
                                const std::optional<catalog::Handler> &handler,
                                const job::Failure &failure,
                                std::optional<core::Reason> session_fault = std::nullopt);

}  // namespace hipq::execute
