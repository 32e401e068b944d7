// From a failed attempt to the decision: retry or final. What other rooms may use.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"

namespace hipq::retry {

// ---- resolve ----

enum class Resolved : unsigned char {
    decided,            // retry or final
    ask_retry_handler,  // stands in `error`: an executor of the queue owner has to ask
    stale,              // not this attempt's any more: nothing was changed
};

// The job's type, also when it is not registered.
catalog::JobType type_of(const catalog::Queue &queue, const job::ClaimedJob &job);

// What switches off the retries of jobs of a type: "hipq.retry_enabled", or that of the queue or
// job type. Nothing: they are on.
std::optional<std::string> what_stops_retries(const catalog::Queue &queue,
                                              const catalog::JobType *type);

// What a job that ran over its timeout, and what it was given besides (seconds), failed with.
job::Failure timeout_failure(const job::ClaimedJob &job, std::int64_t extended = 0);

// What a job ends with that hipq.cancel() stopped in the process given.
job::Failure cancelled_failure(std::string_view error, int executor_pid);

// Records the attempt and decides by the type's policy, or leaves the decision to the type's retry
// handler. A probe of an external worker goes back uncharged, unless the type or the switch for
// retries says that such a failure is not retried. Needs a transaction.
Resolved resolve_failure(const catalog::Queue &queue, const job::ClaimedJob &job,
                         const job::Failure &failure, pg::Time now);

// The same for a job that nobody could be given (fail_untried()).
Resolved resolve_untried(const catalog::Queue &queue, const job::ClaimedJob &job,
                         const job::Failure &failure, pg::Time now);

// As resolve_failure(), for a job whose only transaction was in the way of another one
// (core::is_conflict) and has done nothing: it begins anew, uncharged, up to core::most_conflicts
// times, unless the type or the switch for retries says that it is not to be.
Resolved resolve_conflict(const catalog::Queue &queue, const job::ClaimedJob &job,
                          const job::Failure &failure, pg::Time now);

// The same for a job that failed by its session's fault (core::session_fault): another session runs
// it. In a read-only one it has done nothing, and waits as long as it takes; the fault of a stale
// one is believed up to core::most_conflicts times. The job keeps its place.
Resolved resolve_session_fault(const catalog::Queue &queue, const job::ClaimedJob &job,
                               const job::Failure &failure, core::Reason fault, pg::Time now);

// running -> error -> retry, as the job's own handler has asked for: uncharged, to be run again
// after `delay` (microseconds). In the handler's transaction. Raises 55000 when the job is not this
// attempt's any more.
void resolve_snoozed(const catalog::Queue &queue, job::ClaimedJob job, std::int64_t delay,
                     pg::Time now);

// Without writing anything: whether the type's retry handler is asked about such a failure, and
// what follows from the policy, or from the delay (microseconds) that the handler gives; none:
// final.
bool asks_retry_handler(const catalog::Queue &queue, const job::ClaimedJob &job,
                        const job::Failure &failure);
core::Decision decision_of_policy(const catalog::Queue &queue, const job::ClaimedJob &job,
                                  const job::Failure &failure);
core::Decision decision_of_answer(const catalog::Queue &queue, const job::ClaimedJob &job,
                                  const job::Failure &failure, std::optional<std::int64_t> delay);

// Decides by policy for a job that stands in `error`, as stored in its row. Needs a transaction.
// False: stale.
bool decide_by_policy(const catalog::Queue &queue, const job::ClaimedJob &job, pg::Time now);

// Ends a job that nobody has in flight and that stands in `error` or waits: cancelled, or failed by
// hand. Needs a transaction. False: it does neither, or somebody holds it.
bool end_cancelled(const catalog::Queue &queue, std::int64_t id, const job::Failure &failure,
                   pg::Time now);

// Ends an attempt that an external worker has, whose own answer comes too late then: cancelled.
// Needs a transaction. False: no worker has it, or somebody holds it.
[[nodiscard]] bool end_with_worker(const catalog::Queue &queue, std::int64_t id,
                                   const job::Failure &failure, pg::Time now);

// The failure a row in `error` tells of. What is left at `now` of the delay that the attempt asked
// for is its retry_after.
job::Failure stored_failure(const job::ClaimedJob &job, pg::Time now);

// ---- what a retry handler says of a job that stands in `error`. Need a transaction. False: stale.
// ----

// error -> retry after `delay` (microseconds; core::granted_delay() says how soon that may be, and
// it is not sooner than the attempt asked for), or, without one, error -> final.
bool carry_out_answer(const catalog::Queue &queue, const job::ClaimedJob &job,
                      std::optional<std::int64_t> delay, pg::Time now);

// How a retry handler failed, as the history tells it.
job::Failure retry_handler_failure(std::string_view sqlstate, std::string_view error);

// error -> final: nobody can decide, as the retry handler has failed so. The job's error tells
// both.
bool end_undecided(const catalog::Queue &queue, const job::ClaimedJob &job,
                   const job::Failure &of_handler, pg::Time now);

}  // namespace hipq::retry
