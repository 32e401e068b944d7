// Finishes an attempt after its handler's call, in an executor or in a client's session.
#include "execute/execute.hpp"

#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "catalog/queue_statements.hpp"
#include "claim/claim.hpp"
#include "execute/attempt_log.hpp"
#include "flow/flow.hpp"
#include "job/claimed_job.hpp"
#include "job/current_job.hpp"
#include "job/finish.hpp"
#include "job/lock_attempt.hpp"
#include "job/two_phase.hpp"
#include "pg/clock.hpp"
#include "pg/demand.hpp"
#include "pg/error_codes.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "shared/workers/jobs.hpp"

namespace hipq::execute {

using catalog::Queue;
using job::ClaimedJob;
using job::Failure;

namespace {

// All jobs of a statement share one result, so check equal neighbours once.
void check_results(std::span<const pg::RawValue> results)
{
    const pg::RawValue *before = nullptr;
    for (const pg::RawValue &result : results) {
        if (!result.null && (before == nullptr || result.value != before->value))
            pg::check_result(result.value);
        before = &result;
    }
}

// $1 job, $2 attempt, $3 now
constexpr const char *leave_running_sql = R"(
    UPDATE {live} AS job
    SET worker_id = 0, update_time = $3, deadline = $3 + job.timeout * interval '1 second'
    WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running')";

// Leaves the job that this process runs running after its handler has returned, until it is
// completed or its timeout is over. Runs in the handler's transaction. Raises 55000 if the job no
// longer belongs to this attempt.
void leave_running(const catalog::Queue &queue, job::ClaimedJob job, pg::Time now);
void leave_running(const catalog::Queue &queue, job::ClaimedJob job, pg::Time now)
{
    const bool is_mine = !job.is_locked || job::record_locked(queue, job);
    const bool is_left = is_mine && pg::as_hipq([&] {
                             return catalog::statement_for(queue, leave_running_sql)
                                        .run(job.id, job.attempt, now)
                                        .processed() == 1;
                         });
    if (!is_left)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("job %lld cannot be completed later", static_cast<long long>(job.id)),
                   errdetail("It has enqueued its own successor, or was taken from this attempt."));
    workers::note_job_left_running(job.queue_id, job.id, job.attempt, claim::load_of(job),
                                   now + std::int64_t{job.timeout} * USECS_PER_SEC);
    job::forbid_two_phase(job::NoTwoPhase::job_taken);
}

}  // namespace

void make_current(const std::optional<catalog::Handler> &handler, std::span<const ClaimedJob> jobs)
{
    const bool may_commit = handler.has_value() && handler->may_commit;
    const bool takes_batches = handler.has_value() && catalog::is_batch(handler->arguments);
    std::vector<job::CurrentJob> current;
    for (const ClaimedJob &job : jobs)
        current.push_back({job.queue_id, job.id, job.stored_attempt(), job.type, job.key,
                           may_commit, takes_batches,
                           std::string(job.values->as_text(core::Column::traceparent)),
                           std::string(job.values->as_text(core::Column::shard_key)),
                           job::batch_of(job), job::schedule_time_of(job)});
    job::set_current_jobs(std::move(current));
}

Failure failure_of(const pg::Error &error)
{
    const std::string sqlstate = error.sqlstate();
    const core::Reason reason = sqlstate == pg::permanent_failure_sqlstate
                                    ? core::Reason::explicit_failure
                                    : core::classify(sqlstate);
    const auto text_of = [](const std::optional<std::string> &text) {
        return text.has_value() ? std::string_view(*text) : std::string_view();
    };
    Failure failure{reason,
                    sqlstate,
                    error.message(),
                    text_of(error.detail()),
                    text_of(error.hint()),
                    text_of(error.context())};
    if (sqlstate == pg::retriable_failure_sqlstate)
        failure.retry_after = job::requested_retry_after();
    return failure;
}

Failure missing_handler()
{
    return {core::Reason::handler_not_found, "42883", "handler does not exist or cannot be called"};
}

Failure retry_failure_of(const pg::Error &error)
{
    Failure failure = failure_of(error);
    failure.reason = core::Reason::retry_handler_failed;
    return failure;
}

Failure missing_retry_handler()
{
    return retry::retry_handler_failure("42883",
                                        "retry handler does not exist or cannot be called");
}

Failure overdue_retry_handler()
{
    return retry::retry_handler_failure("57014", "retry handler exceeded the job's timeout");
}

void conclude(const Queue &queue, std::span<const ClaimedJob> jobs,
              std::span<const pg::RawValue> results)
{
    const job::RequestedEnd requested = job::requested_end();
    const pg::OwnSettings own;
    check_results(results);
    write_attempt_log(queue, jobs.front());
    switch (requested.end) {
    case job::HandlerEnd::finished:
        job::finish_succeeded(queue, jobs, results, pg::now());
        flow::release_after(queue, jobs, pg::now());
        break;
    case job::HandlerEnd::snoozed:
        retry::resolve_snoozed(queue, jobs.front(), requested.delay, pg::now());
        break;
    case job::HandlerEnd::left_running:
        leave_running(queue, jobs.front(), pg::now());
        break;
    }
}

retry::Resolved resolve_attempt(const Queue &queue, ClaimedJob &job,
                                const std::optional<catalog::Handler> &handler,
                                const Failure &failure, std::optional<core::Reason> session_fault)
{
    if (job.is_locked && !job::record_locked(queue, job))
        return retry::Resolved::stale;
    write_attempt_log(queue, job);
    const pg::Time now = pg::now();
    const bool has_done_nothing = handler.has_value() && !handler->may_commit;
    if (has_done_nothing && core::is_conflict(failure.sqlstate))
        return retry::resolve_conflict(queue, job, failure, now);
    if (has_done_nothing && session_fault.has_value())
        return retry::resolve_session_fault(queue, job, failure, *session_fault, now);
    return retry::resolve_failure(queue, job, failure, now);
}

}  // namespace hipq::execute
