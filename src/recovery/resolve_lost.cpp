// Resolves an attempt that lost its process: uncharged, charged or given up.
//
// What the handler can have done and the job's history decide which.
#include "recovery/resolve_lost.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "job/claimed_job.hpp"
#include "job/count_end.hpp"
#include "job/finish.hpp"
#include "pg/internal_write.hpp"
#include "settings.hpp"

namespace hipq::recovery {

namespace {

const char *sentence_for_executor(core::Reason reason)
{
    return reason == core::Reason::server_restart ? "server stopped while the job ran"
                                                  : "executor ended while the job ran";
}

// How often the job cost its process, according to its history, how often the server with it, and
// whether a crash of this attempt is among them.
struct Losses {
    std::int64_t all;
    std::int64_t crashes;
    bool is_charged;
};

constinit pg::Statement count_losses(R"(
    SELECT count(*), count(*) FILTER (WHERE attempt.reason = 'crashed'),
           count(*) FILTER (WHERE attempt.reason = 'crashed' AND attempt.started_time = $3) > 0
    FROM hipq.attempt AS attempt
    WHERE attempt.queue_id = $1 AND attempt.job_id = $2 AND attempt.reason IN ('crashed', 'worker_lost'))");

constinit pg::Statement count_lost_decisions(R"(
    SELECT count(*)
    FROM hipq.attempt AS attempt
    WHERE attempt.queue_id = $1 AND attempt.job_id = $2 AND attempt.attempt = $3 AND attempt.reason = 'worker_lost')");

Losses losses_of(const catalog::Queue &queue, std::int64_t id, pg::Time started)
{
    const pg::Rows rows = pg::as_hipq([&] { return count_losses.run(queue.id, id, started); });
    const pg::Row row = rows.front();
    return {row.integer(0), row.integer(1), row.boolean(2)};
}

// Puts the job back as if the attempt had not counted. A restart of the server is not the job's
// fault.
bool put_back(const catalog::Queue &queue, const job::ClaimedJob &job, const job::Failure &failure,
              pg::Time now)
{
    job::record_attempt(queue, job, failure, now);
    const bool is_suspicious = failure.reason != core::Reason::server_restart;
    const std::int64_t delay =
        is_suspicious ? core::loss_delay(losses_of(queue, job.id, job.started).all) : 0;
    return job::carry_out(queue, job, failure, core::Decision{true, delay, false}, now);
}

// A procedure may have committed midway, and an external worker may have done anything.
bool may_have_effects(const catalog::JobType &type)
{
    return type.handler_kind == catalog::HandlerKind::procedure ||
           type.handler_kind == catalog::HandlerKind::notify;
}

// The job seems to end its executors itself.
bool is_worn_out(const catalog::Queue &queue, const job::ClaimedJob &job,
                 const job::Failure &failure)
{
    return failure.reason == core::Reason::worker_lost &&
           core::is_loss_charged(losses_of(queue, job.id, job.started).all);
}

retry::Resolved resolve_uncharged(const catalog::Queue &queue, const job::ClaimedJob &job,
                                  const job::Failure &failure, pg::Time now)
{
    if (may_have_effects(retry::type_of(queue, job)) || is_worn_out(queue, job, failure))
        return retry::resolve_failure(queue, job, failure, now);
    return put_back(queue, job, failure, now) ? retry::Resolved::decided : retry::Resolved::stale;
}

// $1 ids, $2 attempts, $3 now, $4 reason, $5 error, $6 job types whose jobs are charged. Written to
// go row by row through the primary key, so that no statistics can mislead the planner.
constexpr const char *put_back_sql = R"(
    WITH taken AS MATERIALIZED (
        SELECT chosen.*
        FROM unnest($1, $2) AS lost(id, attempt)
        CROSS JOIN LATERAL (
            SELECT job.id, job.accepted_time, job.queue_id, job.attempt, job.job_type, job.job_key, job.traceparent
            FROM {live} AS job
            WHERE job.id = lost.id AND job.attempt = lost.attempt AND job.state = 'running' AND job.worker_id IS NULL AND job.job_type <> ALL ($6)
            FOR UPDATE SKIP LOCKED
        ) AS chosen
    ),
    told AS (
        INSERT INTO hipq.attempt (job_id, started_time, ended_time, queue_id, attempt, job_type, job_key, reason, error, traceparent)
        SELECT taken.id, taken.accepted_time, $3, taken.queue_id, taken.attempt, taken.job_type, taken.job_key, $4, $5, taken.traceparent
        FROM taken
    )
    UPDATE {live} AS job
    SET state = 'retry', error = $5, retry_reason = $4, update_time = $3, deadline = '9999-01-01 00:00:00+00', scheduled_run_time = $3
    WHERE job.id = ANY (ARRAY(SELECT taken.id FROM taken))
    RETURNING job.id, job.job_type)";

std::vector<std::string> types_that_charge(const catalog::Queue &queue)
{
    std::vector<std::string> names;
    for (const auto &[name, type] : queue.job_types())
        if (may_have_effects(type))
            names.push_back(name);
    return names;
}

}  // namespace

retry::Resolved resolve_lost(const catalog::Queue &queue, const job::ClaimedJob &job,
                             core::Reason reason, pg::Time now)
{
    return resolve_uncharged(queue, job, {reason, "", sentence_for_executor(reason)}, now);
}

std::vector<std::int64_t> put_back_after_restart(const catalog::Queue &queue,
                                                 const std::vector<std::int64_t> &ids,
                                                 const std::vector<std::int64_t> &attempts,
                                                 pg::Time now)
{
    constexpr core::Reason reason = core::Reason::server_restart;
    const pg::Rows rows = pg::as_hipq([&] {
        return catalog::statement_for(queue, put_back_sql)
            .run(ids, attempts, now, core::name(reason), sentence_for_executor(reason),
                 types_that_charge(queue));
    });
    std::vector<std::int64_t> result;
    for (const pg::Row row : rows) {
        result.push_back(row.integer(0));
        job::count_put_back(queue, row.text(1), reason, now);
    }
    return result;
}

retry::Resolved resolve_crash(const catalog::Queue &queue, const job::ClaimedJob &job,
                              pg::Time started, int pid, pg::Time now)
{
    const bool is_asking = job.error != "NONE";  // the job is in `error`, and its retry handler ran
    const Losses losses = losses_of(queue, job.id, started);
    if (losses.is_charged)
        return is_asking ? retry::Resolved::ask_retry_handler : retry::Resolved::stale;
    job::ClaimedJob charged = job;
    charged.started = started;
    job::Failure failure{core::Reason::crashed, "",
                         is_asking ? "the server crashed in the retry handler"
                                   : "the server crashed in the handler",
                         "The process that ran it, PID " + std::to_string(pid) +
                             ", took the server down; see the server's log."};
    failure.executor_pid = pid;
    if (losses.crashes + 1 >= settings::max_crashes ||
        !core::is_retriable(failure.reason, "", retry::type_of(queue, job).rules())) {
        job::record_attempt(queue, charged, failure, now);
        return job::carry_out(queue, charged, failure, core::Decision{false, 0, false}, now)
                   ? retry::Resolved::decided
                   : retry::Resolved::stale;
    }
    if (!is_asking)
        return resolve_uncharged(queue, charged, failure, now);
    job::record_attempt(queue, charged, failure, now);
    return retry::Resolved::ask_retry_handler;
}

retry::Resolved resolve_lost_decision(const catalog::Queue &queue, const job::ClaimedJob &job,
                                      pg::Time started, pg::Time now)
{
    constexpr std::int64_t most_losses = 3;
    job::ClaimedJob lost = job;
    lost.started = started;
    job::record_attempt(
        queue, lost,
        {core::Reason::worker_lost, "", "executor ended while it asked the retry handler"}, now);
    if (pg::as_hipq([&] { return count_lost_decisions.run(queue.id, job.id, job.attempt); })
            .front()
            .integer(0) < most_losses)
        return retry::Resolved::ask_retry_handler;
    return retry::end_undecided(queue, job,
                                retry::retry_handler_failure("", "it ends its executor"), now)
               ? retry::Resolved::decided
               : retry::Resolved::stale;
}

}  // namespace hipq::recovery
