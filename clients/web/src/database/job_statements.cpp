// The statements about jobs and dead letters: searches, pages of one job, actions.
#include "database/statements.hpp"

namespace hipq::web::statements {

const char *const searched_queues = R"(
SELECT queues.queue,
       quote_literal(queues.queue) AS literal,
       queues.table_name,
       has_table_privilege(to_regclass(queues.table_name), 'SELECT') AS may_read
FROM hipq.queues_detail AS queues
WHERE NOT queues.is_dropped AND ($1::text IS NULL OR queues.queue = $1)
ORDER BY queues.queue
)";

const char *const running_jobs = R"(
SELECT coalesce(array_agg(executors.job_id), '{}')
FROM hipq.executors_detail AS executors
WHERE executors.job_id IS NOT NULL
)";

const char *const job_line = R"(
SELECT {queue} AS queue,
       job.id::text AS id,
       job.job_type,
       nullif(job.job_key, 'NONE') AS job_key,
       CASE
           WHEN job.state = 'running' THEN 'running'
           WHEN job.state IN ('initial', 'retry') AND job.id = ANY ($1::bigint[]) THEN 'running'
           WHEN job.state <> 'final' THEN 'waiting'
           WHEN job.error = 'NONE' THEN 'succeeded'
           WHEN job.retry_reason IN ('cancelled', 'expired', 'skipped') THEN job.retry_reason
           ELSE 'failed'
       END AS outcome,
       job.state,
       job.state <> 'final' AND {0.3? job.waits_for : NULL::text} IS NOT NULL AS is_held,
       job.priority,
       job.attempt,
       job.retry_count,
       job.scheduled_run_time,
       job.created_time,
       CASE WHEN job.accepted_time < '9999-01-01 00:00:00+00' THEN job.accepted_time END AS start_time,
       CASE WHEN job.state = 'final' THEN job.update_time END AS finished_time,
       nullif(job.error, 'NONE') AS error
FROM {table} AS job)";

const char *const job_bounds =
    "SELECT min(job.id) AS least, max(job.id) AS greatest FROM {table} AS job";

const char *const job_is_in =
    "SELECT {queue} AS queue FROM {table} AS job WHERE job.id = $1::bigint";

const char *const job_page = R"(
SELECT {queue} AS queue,
       job.id::text AS id,
       job.job_type,
       nullif(job.job_key, 'NONE') AS job_key,
       job.state,
       CASE
           WHEN job.state = 'running' THEN 'running'
           WHEN job.state IN ('initial', 'retry') AND job.id = ANY ($2::bigint[]) THEN 'running'
           WHEN job.state <> 'final' THEN 'waiting'
           WHEN job.error = 'NONE' THEN 'succeeded'
           WHEN job.retry_reason IN ('cancelled', 'expired', 'skipped') THEN job.retry_reason
           ELSE 'failed'
       END AS outcome,
       job.state <> 'final' AND {0.3? job.waits_for : NULL::text} IS NOT NULL AS is_held,
       nullif(job.error, 'NONE') AS error,
       job.attempt,
       job.retry_count,
       job.max_retries,
       nullif(job.retry_reason, 'NONE') AS retry_reason,
       job.manual_reason,
       job.scheduled_run_time,
       job.priority,
       job.timeout,
       job.created_time,
       CASE WHEN job.accepted_time < '9999-01-01 00:00:00+00' THEN job.accepted_time END AS start_time,
       CASE WHEN job.state = 'final' THEN job.update_time END AS finished_time,
       job.update_time,
       CASE WHEN job.deadline < '9999-01-01 00:00:00+00' THEN job.deadline END AS deadline,
       CASE WHEN job.expires_time < '9999-01-01 00:00:00+00' THEN job.expires_time END AS expires_time,
       jsonb_pretty(hipq._masked(job.queue_id, job.job_type, job.job_data)) AS job_data_text,
       jsonb_pretty(nullif(job.result, 'null')) AS result_text,
       job.original_job_id::text AS original_job_id,
       job.retry_of::text AS retry_of,
       job.throttle_factor,
       nullif(job.throttle_key, 'NONE') AS throttle_key,
       nullif(job.time_windows::text, 'NONE') AS time_windows,
       nullif(job.shard_key, 'NONE') AS shard_key,
       nullif(job.worker_id, -1) AS worker_id,
       job.queue_ttl,
       job.traceparent,
       hipq._may(job.queue_id, 'operate') AS may_operate,
       hipq._may(job.queue_id, 'control') AS may_control
FROM {table} AS job
WHERE job.id = $1::bigint
)";

const char *const job_attempts = R"(
SELECT attempts.attempt, attempts.reason, attempts.sqlstate, attempts.error, attempts.detail,
       attempts.hint, attempts.context, attempts.executor_pid, attempts.worker_id,
       attempts.started_time, attempts.ended_time,
       extract(epoch FROM attempts.duration) AS seconds, attempts.traceparent
FROM hipq.attempts_detail AS attempts
WHERE attempts.job_id = $1::bigint AND attempts.queue = $2
ORDER BY attempts.attempt, attempts.ended_time
LIMIT 500
)";

const char *const job_log = R"(
SELECT attempt_logs.attempt, attempt_logs.logged_time, attempt_logs.level, attempt_logs.sqlstate,
       attempt_logs.message, attempt_logs.detail, attempt_logs.hint, attempt_logs.context
FROM hipq.attempt_logs_detail AS attempt_logs
WHERE attempt_logs.job_id = $1::bigint AND attempt_logs.queue = $2
ORDER BY attempt_logs.logged_time, attempt_logs.attempt
LIMIT 1000
)";

const char *const job_why = R"(
SELECT why.condition, why.passed, why.explanation
FROM hipq.why($1::bigint, $2) AS why
)";

const char *const job_chain = R"(
SELECT chain.job_id::text AS job_id, chain.retry_of::text AS retry_of, chain.attempt, chain.state,
       chain.reason, chain.sqlstate, chain.error, chain.executor_pid, chain.worker_id,
       chain.started_time, chain.ended_time, chain.manual_reason
FROM hipq.retry_chain($1::bigint, $2) AS chain
LIMIT 500
)";

// The view hipq.progress searches the jobs of all queues; here the queue is already known to be
// readable.
const char *const job_progress = R"(
SELECT reported.attempt, reported.done, reported.total,
       CASE WHEN reported.total = 0 THEN 100.0
            ELSE round(100.0 * reported.done / reported.total, 1) END AS percent,
       reported.message, reported.reported_time, running.started_time
FROM hipq._progress() AS reported
LEFT JOIN hipq._running_jobs() AS running ON running.job_id = reported.job_id
WHERE reported.job_id = $1::bigint
)";

// What the process that runs it waits for; a role that may not see another role's activity sees the
// blocking processes.
// the way.
const char *const job_running = R"(
SELECT running.pid, activity.wait_event_type, activity.wait_event, blockers.blocked_by
FROM hipq._running_jobs() AS running
LEFT JOIN pg_stat_activity AS activity ON activity.pid = running.pid
CROSS JOIN LATERAL (
    SELECT string_agg(concat_ws(' ', blocker.pid, '(' || concat_ws(', ', who.usename, who.state) || ')'),
                      ', ') AS blocked_by
    FROM unnest(pg_blocking_pids(running.pid)) AS blocker (pid)
    LEFT JOIN pg_stat_activity AS who ON who.pid = blocker.pid
) AS blockers
WHERE running.job_id = $1::bigint AND running.pid IS NOT NULL
)";

const char *const job_dead_letter = R"(
SELECT dead_letters.state, dead_letters.reason, dead_letters.sqlstate, dead_letters.error,
       dead_letters.died_time, dead_letters.handled_time, dead_letters.redriven_time,
       dead_letters.dismissed_time, dead_letters.redriven_as::text AS redriven_as,
       dead_letters.handler_error, dead_letters.attempts_left_out, dead_letters.reduced_because
FROM hipq.dead_letters_detail AS dead_letters
WHERE dead_letters.job_id = $1::bigint AND dead_letters.queue = $2
)";

const char *const cancel = "SELECT hipq.cancel($1::bigint, reason => $2)";
const char *const retry = "SELECT hipq.retry($1::bigint, coalesce($2, 'manual_retry'))";
const char *const reschedule = "SELECT hipq.reschedule($1::bigint, $2::timestamptz)";
const char *const redrive = "SELECT hipq.redrive($1::bigint)";
const char *const dismiss = "SELECT hipq.dismiss_dead_letter($1::bigint)";

const char *const redrive_many = R"(
SELECT redriven.redriven AS done, redriven.key_taken
FROM hipq.redrive_jobs($1, job_type => $2, reason => $3, max_jobs => $4::integer,
                       before => $5::timestamptz) AS redriven
)";

const char *const dismiss_many = R"(
SELECT hipq.dismiss_dead_letters($1, job_type => $2, reason => $3, max_jobs => $4::integer,
                                 before => $5::timestamptz) AS done
)";

const char *const dead_letter_groups = R"(
SELECT dead_letter_reasons.queue, dead_letter_reasons.job_type, dead_letter_reasons.reason,
       dead_letter_reasons.dead_letters, dead_letter_reasons.depth, dead_letter_reasons.last_died_time
FROM hipq.dead_letter_reasons
ORDER BY dead_letter_reasons.depth DESC, dead_letter_reasons.queue, dead_letter_reasons.job_type
)";

const char *const dead_letters = R"(
SELECT dead_letters.queue, dead_letters.job_id::text AS job_id, dead_letters.state,
       dead_letters.job_type, dead_letters.job_key, dead_letters.reason, dead_letters.sqlstate,
       dead_letters.error, dead_letters.died_time, dead_letters.handled_time,
       dead_letters.redriven_time, dead_letters.dismissed_time, dead_letters.attempts,
       dead_letters.redriven_as::text AS redriven_as, dead_letters.handler_error
FROM hipq.dead_letters_detail AS dead_letters
WHERE ($1::text IS NULL OR dead_letters.queue = $1)
  AND ($2::text IS NULL OR dead_letters.job_type = $2)
  AND ($3::text IS NULL OR dead_letters.reason = $3)
  AND ($4::text IS NULL OR dead_letters.state = $4)
  AND ($5::timestamptz IS NULL OR dead_letters.died_time >= $5)
  AND ($6::timestamptz IS NULL OR (dead_letters.died_time, dead_letters.job_id) < ($6, $7::bigint))
ORDER BY dead_letters.died_time DESC, dead_letters.job_id DESC
LIMIT $8::integer
)";

const char *const pause = R"(
SELECT hipq.pause(queue => $1, job_type => $2, throttle_key => $3, instance => $4,
                  reason => coalesce($5, 'NONE')) AS done
)";

const char *const resume = R"(
SELECT hipq.resume(queue => $1, job_type => $2, throttle_key => $3, instance => $4) AS done
)";

std::string filled(std::string statement, const std::string &queue, const std::string &table)
{
    const auto replace = [&](const std::string &place, const std::string &with) {
        if (const std::size_t at = statement.find(place); at != std::string::npos)
            statement.replace(at, place.size(), with);
    };
    // Replaces {table} first: it comes after {queue}, whose name may contain anything.
    replace("{table}", table);
    replace("{queue}", queue);
    return statement;
}

}  // namespace hipq::web::statements
