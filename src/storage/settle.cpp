// Failure -> attempt -> decision.
#include "settle.hpp"

#include "settings.hpp"
#include "storage/job_row.hpp"
#include "storage/lock_attempt.hpp"
#include "storage/permit.hpp"

extern "C" {
#include "common/pg_prng.h"
}

namespace hipq::storage {

namespace {

constinit pg::Statement count_conflicts(
    "SELECT count(*) FROM hipq.attempt WHERE attempt.queue_id = $1 AND attempt.job_id = $2 AND attempt.reason = 'conflict'");

// Whether a failure would lead to a retry, or to the question, if these were not switched off.
bool ends_by_switch(const JobType &type, const ClaimedJob &job, const Failure &failure)
{
    if (type.retry_handler != "NONE")
        return core::asks_retry_handler(failure.reason);
    return core::judge(failure.reason, failure.sqlstate, type.rules(), job.retry_count, job.max_retries, false) ==
           core::Verdict::switched_off;
}

bool follow_policy(const Queue &queue, const JobType &type, const ClaimedJob &job, const Failure &failure, pg::Time now)
{
    const auto off = what_stops_retries(queue, &type);
    const core::Decision decision = core::decide(failure.reason, failure.sqlstate, type.rules(), job.retry_count, job.max_retries,
                                                 type.policy, ::pg_prng_double(&::pg_global_prng_state), !off.has_value());
    if (!off.has_value() || !ends_by_switch(type, job, failure))
        return carry_out(queue, job, failure, decision, now);
    Failure told = failure;
    told.error = short_text(failure.error + " (not retried: " + *off + " is off)");
    return carry_out(queue, job, told, decision, now);
}

bool asks_retry_handler(const Queue &queue, const JobType &type, const Failure &failure)
{
    return type.retry_handler != "NONE" && core::asks_retry_handler(failure.reason) &&
           !what_stops_retries(queue, &type).has_value();
}

bool may_begin_anew(const Queue &queue, const JobType &type, const Failure &failure)
{
    return core::is_retriable(failure.reason, failure.sqlstate, type.rules()) && !what_stops_retries(queue, &type).has_value();
}

int conflicts_of(const Queue &queue, const ClaimedJob &job)
{
    return static_cast<int>(as_hipq([&] { return count_conflicts.run(queue.id, job.id); }).front().integer(0));
}

}  // namespace

JobType type_of(const Queue &queue, const ClaimedJob &job)
{
    const JobType *type = queue.find_job_type(job.type);
    return type != nullptr ? *type : unregistered_job_type(queue.id, job.type);
}

std::optional<std::string> what_stops_retries(const Queue &queue, const JobType *type)
{
    if (type != nullptr && type->retry_enabled.has_value())
        return *type->retry_enabled ? std::nullopt : std::optional<std::string>("retry_enabled of the job type");
    if (queue.retry_enabled.has_value())
        return *queue.retry_enabled ? std::nullopt : std::optional<std::string>("retry_enabled of the queue");
    return settings::retry_enabled ? std::nullopt : std::optional<std::string>("hipq.retry_enabled");
}

Failure timeout_failure(const ClaimedJob &job, std::int64_t extended)
{
    const std::string besides = extended == 0 ? "" : ", extended by " + std::to_string(extended) + " s";
    return {core::Reason::timeout, "57014", "job exceeded its timeout of " + std::to_string(job.timeout) + " s" + besides};
}

Failure cancelled_failure(std::string_view error, int executor_pid)
{
    Failure failure{core::Reason::cancelled, "57014", error};
    failure.executor_pid = executor_pid;
    return failure;
}

Settled settle_failure(const Queue &queue, const ClaimedJob &job, const Failure &failure, pg::Time now)
{
    const JobType type = type_of(queue, job);
    record_attempt(queue, job, failure, now);
    if (asks_retry_handler(queue, type, failure))
        return fail_to_error(queue, job, failure, now) ? Settled::ask_retry_handler : Settled::stale;
    return follow_policy(queue, type, job, failure, now) ? Settled::decided : Settled::stale;
}

Settled settle_untried(const Queue &queue, const ClaimedJob &job, const Failure &failure, pg::Time now)
{
    const JobType type = type_of(queue, job);
    record_attempt(queue, job, failure, now);
    if (asks_retry_handler(queue, type, failure))
        return Settled::ask_retry_handler;
    return follow_policy(queue, type, job, failure, now) ? Settled::decided : Settled::stale;
}

Settled settle_conflict(const Queue &queue, const ClaimedJob &job, const Failure &failure, pg::Time now)
{
    const JobType type = type_of(queue, job);
    const int before = may_begin_anew(queue, type, failure) ? conflicts_of(queue, job) : core::most_conflicts;
    if (before >= core::most_conflicts)
        return settle_failure(queue, job, failure, now);
    Failure conflict = failure;
    conflict.reason = core::Reason::conflict;
    record_attempt(queue, job, conflict, now);
    const std::int64_t delay = core::conflict_delay(before, ::pg_prng_double(&::pg_global_prng_state));
    return carry_out(queue, job, conflict, core::Decision{true, delay, false}, now) ? Settled::decided : Settled::stale;
}

void settle_snoozed(const Queue &queue, ClaimedJob job, std::int64_t delay, pg::Time now)
{
    const Failure snoozed{core::Reason::snoozed, "", "snoozed"};
    record_attempt(queue, job, snoozed, now);
    const bool is_mine = !job.is_locked || record_locked(queue, job);
    if (!is_mine || !carry_out(queue, job, snoozed, core::Decision{true, delay, false}, now))
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("job %lld cannot be snoozed", static_cast<long long>(job.id)),
                   errdetail("It has enqueued its own successor, or was taken from this attempt."));
}

bool end_cancelled(const Queue &queue, std::int64_t id, const Failure &failure, pg::Time now)
{
    if (finish_waiting(queue, id, failure, now))
        return true;
    const auto job = take_for_decision(queue, id);
    return job.has_value() && carry_out(queue, *job, failure, core::Decision{false, 0, false}, now);
}

bool end_with_worker(const Queue &queue, std::int64_t id, const Failure &failure, pg::Time now)
{
    const auto job = take_from_worker(queue, id);
    if (!job.has_value())
        return false;
    record_attempt(queue, *job, failure, now);
    return carry_out(queue, *job, failure, core::Decision{false, 0, false}, now);
}

Failure stored_failure(const ClaimedJob &job)
{
    return Failure{core::parse_reason(job.retry_reason).value_or(core::Reason::transient_error), "", job.error};
}

bool carry_out_answer(const Queue &queue, const ClaimedJob &job, std::optional<std::int64_t> delay, pg::Time now)
{
    core::Decision decision{false, 0, false};
    if (delay.has_value())
        decision = {true,
                    core::granted_delay(*delay, type_of(queue, job).policy, job.retry_count, job.max_retries,
                                        ::pg_prng_double(&::pg_global_prng_state)),
                    true};
    return carry_out(queue, job, stored_failure(job), decision, now);
}

Failure retry_handler_failure(std::string_view sqlstate, std::string_view error)
{
    return {core::Reason::retry_handler_failed, sqlstate, error};
}

bool end_undecided(const Queue &queue, const ClaimedJob &job, const Failure &of_handler, pg::Time now)
{
    ClaimedJob asked = job;
    asked.started = pg::Time{job.values->as_int64(core::Column::update_time)};  // since then it stands in `error`
    record_attempt(queue, asked, of_handler, now);
    Failure both = of_handler;
    both.error = short_text(job.error + " (retry handler failed: " + of_handler.error + ")");
    return carry_out(queue, job, both, core::Decision{false, 0, false}, now);
}

bool decide_by_policy(const Queue &queue, const ClaimedJob &job, pg::Time now)
{
    return follow_policy(queue, type_of(queue, job), job, stored_failure(job), now);
}

}  // namespace hipq::storage
