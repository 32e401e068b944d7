// From a failed attempt to the decision, retry or final: the interface for other rooms.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"

namespace hipq::retry {

// ---- resolve ----

enum class Resolved : unsigned char {
    decided,            // retry or final
    ask_retry_handler,  // the job is in `error`: an executor of the queue owner must call the retry
                        // handler
    stale,              // the job no longer belongs to this attempt; nothing was changed
};

// Returns the job's type, even if it is not registered.
catalog::JobType type_of(const catalog::Queue &queue, const job::ClaimedJob &job);

// Returns the setting that switches off the retries of a job type: "hipq.retry_enabled", or
// retry_enabled of the queue or job type. Nothing: retries are on.
std::optional<std::string> what_stops_retries(const catalog::Queue &queue,
                                              const catalog::JobType *type);

// The failure of a job that exceeded its timeout; `extended`: the seconds by which the timeout had
// been extended.
job::Failure timeout_failure(const job::ClaimedJob &job, std::int64_t extended = 0);

// The failure of a job that hipq.cancel() stopped in the given process.
job::Failure cancelled_failure(std::string_view error, int executor_pid);

// Records the attempt and decides by the type's policy, or leaves the decision to the type's retry
// handler. A probe of an external worker goes back uncharged, unless the type's rules or
// switched-off retries exclude a retry. Needs a transaction.
Resolved resolve_failure(const catalog::Queue &queue, const job::ClaimedJob &job,
                         const job::Failure &failure, pg::Time now);

// The same for a job that could not be offered to any worker (fail_untried()).
Resolved resolve_untried(const catalog::Queue &queue, const job::ClaimedJob &job,
                         const job::Failure &failure, pg::Time now);

// As resolve_failure(), for a job whose only transaction conflicted with another one
// (core::is_conflict) and had no effect. The job starts again, uncharged, up to
// core::most_conflicts times, unless the type's rules or switched-off retries exclude a retry.
Resolved resolve_conflict(const catalog::Queue &queue, const job::ClaimedJob &job,
                          const job::Failure &failure, pg::Time now);

// The same for a job that failed because of its session (core::session_fault): another session runs
// it. In a read-only session the job has done nothing, so it is put back however often that
// happens. A stale session is accepted as the cause up to core::most_conflicts times. The job keeps
// its place in the lane.
Resolved resolve_session_fault(const catalog::Queue &queue, const job::ClaimedJob &job,
                               const job::Failure &failure, core::Reason fault, pg::Time now);

// running -> error -> retry, because the job's own handler asked for it: uncharged, to run again
// after `delay` (microseconds). Runs in the handler's transaction. Raises 55000 if the job no
// longer belongs to this attempt.
void resolve_snoozed(const catalog::Queue &queue, job::ClaimedJob job, std::int64_t delay,
                     pg::Time now);

// These write nothing. asks_retry_handler(): whether to call the type's retry handler for the
// failure. decision_of_policy(): what the policy decides. decision_of_answer(): what follows from
// the delay (microseconds) that the retry handler returned; no delay: final.
bool asks_retry_handler(const catalog::Queue &queue, const job::ClaimedJob &job,
                        const job::Failure &failure);
core::Decision decision_of_policy(const catalog::Queue &queue, const job::ClaimedJob &job,
                                  const job::Failure &failure);
core::Decision decision_of_answer(const catalog::Queue &queue, const job::ClaimedJob &job,
                                  const job::Failure &failure, std::optional<std::int64_t> delay);

// Decides by the policy about a job in `error`, from the failure stored in its row. Needs a
// transaction. False: stale.
bool decide_by_policy(const catalog::Queue &queue, const job::ClaimedJob &job, pg::Time now);

// Ends a job that waits or is in `error`, and that no process has in flight: it is cancelled, or
// failed by hand. Needs a transaction. False: the job is in another state, or another process holds
// its row.
bool end_cancelled(const catalog::Queue &queue, std::int64_t id, const job::Failure &failure,
                   pg::Time now);

// Cancels an attempt that an external worker has; an answer of the worker then comes too late.
// Needs a transaction. False: no worker has the job, or another process holds its row.
[[nodiscard]] bool end_with_worker(const catalog::Queue &queue, std::int64_t id,
                                   const job::Failure &failure, pg::Time now);

// Returns the failure stored in the row of a job in `error`. Its retry_after is what is left, at
// `now`, of the delay that the attempt asked for.
job::Failure stored_failure(const job::ClaimedJob &job, pg::Time now);

// ---- the answer of a retry handler about a job in `error`. Needs a transaction. False: stale.
// ----

// error -> retry after `delay` (microseconds), but not sooner than core::granted_delay() or the
// attempt allows. Without a delay: error -> final.
bool carry_out_answer(const catalog::Queue &queue, const job::ClaimedJob &job,
                      std::optional<std::int64_t> delay, pg::Time now);

// The failure of a retry handler, as the history records it.
job::Failure retry_handler_failure(std::string_view sqlstate, std::string_view error);

// error -> final, because the retry handler failed and so could not decide. The job's error has
// both failures.
bool end_undecided(const catalog::Queue &queue, const job::ClaimedJob &job,
                   const job::Failure &of_handler, pg::Time now);

}  // namespace hipq::retry
