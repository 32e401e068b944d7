// Resolves a failed attempt: records it, decides, and writes retry or final.
#include "retry/retry.hpp"

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "job/job_row.hpp"
#include "job/lock_attempt.hpp"
#include "pg/internal_write.hpp"
#include "settings.hpp"
#include "shared/workers/jobs.hpp"

extern "C" {
#include "common/pg_prng.h"
}

namespace hipq::retry {

namespace {

constinit pg::Statement
    count_attempts("SELECT count(*) FROM hipq.attempt WHERE attempt.queue_id = $1 AND "
                   "attempt.job_id = $2 AND attempt.reason = $3");

// Whether the failure would be retried, or the retry handler be called, if retries were not
// switched off.
bool ends_by_switch(const catalog::JobType &type, const job::ClaimedJob &job,
                    const job::Failure &failure)
{
    if (type.retry_handler != "NONE")
        return core::asks_retry_handler(failure.reason);
    return core::judge(failure.reason, failure.sqlstate, type.rules(), job.retry_count,
                       job.max_retries, false) == core::Verdict::switched_off;
}

bool follow_policy(const catalog::Queue &queue, const catalog::JobType &type,
                   const job::ClaimedJob &job, const job::Failure &failure, pg::Time now)
{
    const auto off = what_stops_retries(queue, &type);
    const core::Decision decision = decision_of_policy(queue, job, failure);
    if (!off.has_value() || !ends_by_switch(type, job, failure))
        return job::carry_out(queue, job, failure, decision, now);
    job::Failure told = failure;
    told.error = pg::short_text(failure.error + " (not retried: " + *off + " is off)");
    return job::carry_out(queue, job, told, decision, now);
}

bool asks_retry_handler(const catalog::Queue &queue, const catalog::JobType &type,
                        const job::Failure &failure)
{
    return type.retry_handler != "NONE" && core::asks_retry_handler(failure.reason) &&
           !what_stops_retries(queue, &type).has_value();
}

bool may_begin_anew(const catalog::Queue &queue, const catalog::JobType &type,
                    const job::Failure &failure)
{
    return core::is_retriable(failure.reason, failure.sqlstate, type.rules()) &&
           !what_stops_retries(queue, &type).has_value();
}

// Whether the attempt is not charged: it was a probe of an external worker, so the worker may be to
// blame for the failure.
bool costs_nothing(const catalog::Queue &queue, const catalog::JobType &type,
                   const job::ClaimedJob &job, const job::Failure &failure)
{
    return job.worker_id.has_value() && workers::is_probe(job.id, job.attempt) &&
           may_begin_anew(queue, type, failure);
}

Resolved put_back(const catalog::Queue &queue, const job::ClaimedJob &job, job::Failure failure,
                  pg::Time now)
{
    failure.detail = "It was a trial of an unhealthy worker, and is not charged.";
    job::record_attempt(queue, job, failure, now);
    const core::Decision decision{true, failure.retry_after.value_or(0), false};
    return job::carry_out(queue, job, failure, decision, now) ? Resolved::decided : Resolved::stale;
}

int attempts_that_ended_by(core::Reason reason, const catalog::Queue &queue,
                           const job::ClaimedJob &job)
{
    return static_cast<int>(
        pg::as_hipq([&] { return count_attempts.run(queue.id, job.id, core::name(reason)); })
            .front()
            .integer(0));
}

// Puts the job back uncharged, to run again after `delay` (microseconds).
Resolved begin_anew(const catalog::Queue &queue, const job::ClaimedJob &job, job::Failure failure,
                    core::Reason reason, std::int64_t delay, pg::Time now)
{
    failure.reason = reason;
    job::record_attempt(queue, job, failure, now);
    return job::carry_out(queue, job, failure, core::Decision{true, delay, false}, now)
               ? Resolved::decided
               : Resolved::stale;
}

}  // namespace

catalog::JobType type_of(const catalog::Queue &queue, const job::ClaimedJob &job)
{
    const catalog::JobType *type = queue.find_job_type(job.type);
    return type != nullptr ? *type : catalog::unregistered_job_type(queue.id, job.type);
}

std::optional<std::string> what_stops_retries(const catalog::Queue &queue,
                                              const catalog::JobType *type)
{
    if (type != nullptr && type->retry_enabled.has_value())
        return *type->retry_enabled ? std::nullopt
                                    : std::optional<std::string>("retry_enabled of the job type");
    if (queue.retry_enabled.has_value())
        return *queue.retry_enabled ? std::nullopt
                                    : std::optional<std::string>("retry_enabled of the queue");
    return settings::retry_enabled ? std::nullopt
                                   : std::optional<std::string>("hipq.retry_enabled");
}

job::Failure timeout_failure(const job::ClaimedJob &job, std::int64_t extended)
{
    const std::string besides =
        extended == 0 ? "" : ", extended by " + std::to_string(extended) + " s";
    return {core::Reason::timeout, "57014",
            "job exceeded its timeout of " + std::to_string(job.timeout) + " s" + besides};
}

job::Failure cancelled_failure(std::string_view error, int executor_pid)
{
    job::Failure failure{core::Reason::cancelled, "57014", error};
    failure.executor_pid = executor_pid;
    return failure;
}

bool asks_retry_handler(const catalog::Queue &queue, const job::ClaimedJob &job,
                        const job::Failure &failure)
{
    return asks_retry_handler(queue, type_of(queue, job), failure);
}

core::Decision decision_of_policy(const catalog::Queue &queue, const job::ClaimedJob &job,
                                  const job::Failure &failure)
{
    const catalog::JobType type = type_of(queue, job);
    return core::decide(failure.reason, failure.sqlstate, type.rules(), job.retry_count,
                        job.max_retries, type.policy, ::pg_prng_double(&::pg_global_prng_state),
                        !what_stops_retries(queue, &type).has_value(), failure.retry_after);
}

core::Decision decision_of_answer(const catalog::Queue &queue, const job::ClaimedJob &job,
                                  const job::Failure &failure, std::optional<std::int64_t> delay)
{
    if (!delay.has_value())
        return {false, 0, false};
    return {true,
            core::granted_delay(std::max(*delay, failure.retry_after.value_or(0)),
                                type_of(queue, job).policy, job.retry_count, job.max_retries,
                                ::pg_prng_double(&::pg_global_prng_state)),
            true};
}

Resolved resolve_failure(const catalog::Queue &queue, const job::ClaimedJob &job,
                         const job::Failure &failure, pg::Time now)
{
    const catalog::JobType type = type_of(queue, job);
    if (costs_nothing(queue, type, job, failure))
        return put_back(queue, job, failure, now);
    job::record_attempt(queue, job, failure, now);
    if (asks_retry_handler(queue, type, failure))
        return job::fail_to_error(queue, job, failure, now) ? Resolved::ask_retry_handler
                                                            : Resolved::stale;
    return follow_policy(queue, type, job, failure, now) ? Resolved::decided : Resolved::stale;
}

Resolved resolve_untried(const catalog::Queue &queue, const job::ClaimedJob &job,
                         const job::Failure &failure, pg::Time now)
{
    const catalog::JobType type = type_of(queue, job);
    job::record_attempt(queue, job, failure, now);
    if (asks_retry_handler(queue, type, failure))
        return Resolved::ask_retry_handler;
    return follow_policy(queue, type, job, failure, now) ? Resolved::decided : Resolved::stale;
}

Resolved resolve_conflict(const catalog::Queue &queue, const job::ClaimedJob &job,
                          const job::Failure &failure, pg::Time now)
{
    const catalog::JobType type = type_of(queue, job);
    const int before = may_begin_anew(queue, type, failure)
                           ? attempts_that_ended_by(core::Reason::conflict, queue, job)
                           : core::most_conflicts;
    if (before >= core::most_conflicts)
        return resolve_failure(queue, job, failure, now);
    const std::int64_t delay =
        core::conflict_delay(before, ::pg_prng_double(&::pg_global_prng_state));
    return begin_anew(queue, job, failure, core::Reason::conflict, delay, now);
}

Resolved resolve_session_fault(const catalog::Queue &queue, const job::ClaimedJob &job,
                               const job::Failure &failure, core::Reason fault, pg::Time now)
{
    const bool is_believed =
        core::is_retriable(failure.reason, failure.sqlstate, type_of(queue, job).rules()) &&
        (fault == core::Reason::read_only ||
         attempts_that_ended_by(fault, queue, job) < core::most_conflicts);
    if (!is_believed)
        return resolve_failure(queue, job, failure, now);
    const std::int64_t due = job.values->as_int64(core::Column::scheduled_run_time);
    return begin_anew(queue, job, failure, fault, due - now.value, now);
}

void resolve_snoozed(const catalog::Queue &queue, job::ClaimedJob job, std::int64_t delay,
                     pg::Time now)
{
    const job::Failure snoozed{core::Reason::snoozed, "", "snoozed"};
    job::record_attempt(queue, job, snoozed, now);
    const bool is_mine = !job.is_locked || job::record_locked(queue, job);
    if (!is_mine || !job::carry_out(queue, job, snoozed, core::Decision{true, delay, false}, now))
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("job %lld cannot be snoozed", static_cast<long long>(job.id)),
                   errdetail("It has enqueued its own successor, or was taken from this attempt."));
}

bool end_cancelled(const catalog::Queue &queue, std::int64_t id, const job::Failure &failure,
                   pg::Time now)
{
    if (job::finish_waiting(queue, id, failure, now))
        return true;
    const auto job = job::take_for_decision(queue, id);
    return job.has_value() &&
           job::carry_out(queue, *job, failure, core::Decision{false, 0, false}, now);
}

bool end_with_worker(const catalog::Queue &queue, std::int64_t id, const job::Failure &failure,
                     pg::Time now)
{
    const auto job = job::take_from_worker(queue, id);
    if (!job.has_value())
        return false;
    job::record_attempt(queue, *job, failure, now);
    return job::carry_out(queue, *job, failure, core::Decision{false, 0, false}, now);
}

job::Failure stored_failure(const job::ClaimedJob &job, pg::Time now)
{
    job::Failure failure{
        core::parse_reason(job.retry_reason).value_or(core::Reason::transient_error), "",
        job.error};
    const std::int64_t left = job.values->as_int64(core::Column::scheduled_run_time) - now.value;
    if (left > 0)
        failure.retry_after = left;
    return failure;
}

bool carry_out_answer(const catalog::Queue &queue, const job::ClaimedJob &job,
                      std::optional<std::int64_t> delay, pg::Time now)
{
    const job::Failure failure = stored_failure(job, now);
    return job::carry_out(queue, job, failure, decision_of_answer(queue, job, failure, delay), now);
}

job::Failure retry_handler_failure(std::string_view sqlstate, std::string_view error)
{
    return {core::Reason::retry_handler_failed, sqlstate, error};
}

bool end_undecided(const catalog::Queue &queue, const job::ClaimedJob &job,
                   const job::Failure &of_handler, pg::Time now)
{
    job::ClaimedJob asked = job;
    asked.started = pg::Time{
        job.values->as_int64(core::Column::update_time)};  // the job has been in `error` since then
    job::record_attempt(queue, asked, of_handler, now);
    job::Failure both = of_handler;
    both.error = pg::short_text(job.error + " (retry handler failed: " + of_handler.error + ")");
    return job::carry_out(queue, job, both, core::Decision{false, 0, false}, now);
}

bool decide_by_policy(const catalog::Queue &queue, const job::ClaimedJob &job, pg::Time now)
{
    return follow_policy(queue, type_of(queue, job), job, stored_failure(job, now), now);
}

}  // namespace hipq::retry
