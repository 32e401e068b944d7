// All statements that hipq-top sends, but for those about graphs.
#include "model/statements.hpp"

namespace hipq::top::statements {

namespace {

using client::Value;

// The columns of a list of jobs. A job that was claimed by lock runs, although its row says that it
// waits.
constexpr const char *job_columns =
    "id, job_type, nullif(job_key, 'NONE') AS job_key,"
    " CASE WHEN state = 'running' OR is_locked THEN 'running'"
    "      WHEN state <> 'final' AND {0.3? waits_for : NULL::text} IS NOT NULL"
    "      THEN 'held'"
    "      WHEN state = 'retry' AND scheduled_run_time > hipq.now() THEN 'waits to retry'"
    "      WHEN state <> 'final' THEN 'waiting'"
    "      WHEN error = 'NONE' THEN 'succeeded'"
    "      WHEN retry_reason IN ('cancelled', 'expired', 'skipped') THEN retry_reason"
    "      ELSE 'failed' END AS outcome,"
    " attempt, priority,"
    " extract(epoch FROM hipq.now() - scheduled_run_time) AS due_for,"
    " extract(epoch FROM hipq.now() - created_time) AS age,"
    " nullif(error, 'NONE') AS error";

// Some rows of the queue's table, as a list of jobs.
std::string list(const std::string &rows, const std::string &order)
{
    return std::string("SELECT ") + job_columns +
           " FROM (SELECT *, state <> 'final' AND hipq._is_running(queue_id, id) AS is_locked"
           " FROM (" +
           rows + ") AS row) AS job ORDER BY " + order;
}

// Few of many finished jobs have failed: this many are read for a page.
constexpr int examined_for_failures = 5000;

// The rate of a queue or a job type, a row of the view with this alias.
std::string rate_columns(const std::string &row)
{
    return "{0.3? " + row + ".rate_limit : NULL::text} AS rate_limit, {0.3? " + row +
           ".rate_used : NULL::numeric} AS rate_used, extract(epoch FROM {0.3? " + row +
           ".next_turn : NULL::timestamptz} - hipq.now()) AS next_turn";
}

Value or_null(const std::string &text)
{
    return text.empty() ? Value() : Value(text);
}

}  // namespace

// ---- queries

Statement settings()
{
    return {"SELECT current_database() AS database, current_user AS role,"
            " current_setting('server_version') AS server,"
            " coalesce((SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'hipq'), '')"
            " AS hipq",
            {}};
}

// No query of hipq-top keeps the server, or another session's DROP TABLE, busy for long.
Statement prepare_session()
{
    return {"SELECT pg_catalog.set_config(name, value, false) FROM (VALUES"
            " ('statement_timeout', '5s'), ('lock_timeout', '1s'),"
            " ('idle_in_transaction_session_timeout', '10s'),"
            " ('search_path', 'pg_catalog, pg_temp'), ('IntervalStyle', 'postgres'))"
            " AS setting (name, value)",
            {}};
}

Statement top(const std::string &sort, int lines)
{
    return {
        "SELECT queue, backlog, {0.3? exact : false} AS exact, running, per_min, failed, p50, p99,"
        " extract(epoch FROM oldest) AS oldest, state,"
        " {0.3? hipq._held(queue) : NULL::bigint} AS held"
        " FROM hipq.top($1, $2::integer)",
        {sort, lines < 0 ? Value() : Value(std::to_string(lines))}};
}

Statement queue_of_job(const std::string &id)
{
    return {"SELECT substring(explanation FROM 'in queue \"([^\"]+)\"') AS queue, explanation"
            " FROM hipq.why($1::bigint) WHERE condition = 'exists'",
            {id}};
}

Statement table_of_queue(const std::string &queue)
{
    return {"SELECT table_name FROM hipq.activity_detail WHERE queue = $1", {queue}};
}

Statement activity_of(const QueueName &queue)
{
    return {"SELECT backlog_estimate AS backlog, {0.3? is_exact : false} AS exact, running_jobs, "
            "finished_per_minute, failed, "
            "retried, wait_p50,"
            " wait_p99, extract(epoch FROM hipq.now() - oldest_due_time) AS oldest, state,"
            " throttle_limit, throttle_used, extract(epoch FROM empty_in) AS empty_in,"
            " CASE WHEN has_table_privilege(to_regclass(table_name), 'SELECT') THEN table_name END"
            " AS readable_table, rated.*"
            " FROM hipq.activity_detail LEFT JOIN (SELECT " +
                rate_columns("queue") +
                " FROM hipq.queues_detail AS queue WHERE queue.queue = $1) AS rated ON true"
                " WHERE queue = $1",
            {queue.name}};
}

// Reads an index that has only these jobs.
Statement held_in(const QueueName &queue)
{
    return {"SELECT count(*) AS held FROM (SELECT FROM " + queue.table +
                " WHERE state <> 'final' AND {0.3? waits_for : NULL::text} IS NOT NULL"
                " LIMIT " +
                std::to_string(most_held) + ") AS held",
            {}};
}

Statement types_of(const QueueName &queue)
{
    return {"SELECT type.job_type, type.handler_kind, type.workers, type.is_paused,"
            " {0.3? type.breaker_state : 'closed'} AS breaker_state,"
            " extract(epoch FROM {0.3? type.breaker_until : NULL::timestamptz} - hipq.now())"
            " AS breaker_ends_in, type.throttle_limit, type.throttle_used, type.max_retries,"
            " hour.succeeded, hour.failed, hour.retried, hour.wait_p50, hour.wait_p99,"
            " hour.run_p50, hour.run_p99, " +
                rate_columns("type") +
                " FROM hipq.job_types_detail AS type"
                " LEFT JOIN hipq.statistics_detail AS hour ON hour.queue = type.queue"
                " AND hour.job_type = type.job_type AND hour.period = 'hour'"
                " WHERE type.queue = $1 ORDER BY type.job_type",
            {queue.name}};
}

Statement pauses_of(const QueueName &queue)
{
    return {"SELECT job_type, throttle_key, paused_by, reason, crashes, queue IS NULL AS"
            " is_of_instance, extract(epoch FROM hipq.now() - paused_time) AS paused_for,"
            " extract(epoch FROM {0.3? paused_until : NULL::timestamptz} - hipq.now()) AS ends_in"
            " FROM hipq.pauses_detail WHERE queue = $1 OR"
            " queue IS NULL AND instance = split_part($1, '.', 1)"
            " ORDER BY job_type NULLS FIRST, throttle_key NULLS FIRST",
            {queue.name}};
}

Statement fillers_of(const QueueName &queue)
{
    return {"SELECT filler.job_type, filler.throttle_key, filler.jobs, filler.percent,"
            " filler.last_minute, filler.waits_for, filler.first_job,"
            " extract(epoch FROM hipq.now() - filler.oldest_due_time) AS oldest,"
            " EXISTS (SELECT FROM hipq.pauses_detail AS pause WHERE pause.queue = $1"
            " AND pause.job_type = filler.job_type"
            " AND pause.throttle_key IS NOT DISTINCT FROM filler.throttle_key) AS is_paused"
            " FROM hipq.who_fills($1, 100) AS filler",
            {queue.name}};
}

// $1: the last id of the previous page; $2: the job type; $3: how many.
Statement jobs_of(const QueueName &queue, const JobPage &page)
{
    const Value after = page.after.empty() ? Value() : Value(page.after);
    const Value type = page.job_type.empty() ? Value() : Value(page.job_type);
    const std::string of_type = " AND ($2::text IS NULL OR job_type = $2)";
    const std::string older = " AND ($1::bigint IS NULL OR id < $1)";
    const std::string end = " LIMIT $3::integer";
    std::string text;
    switch (page.kind) {
    case JobKind::newest:
        text = list("SELECT * FROM " + queue.table + " WHERE true" + older + of_type +
                        " ORDER BY id DESC" + end,
                    "id DESC");
        break;
    case JobKind::unfinished:
        text = list("SELECT * FROM " + queue.table +
                        " WHERE state <> 'final' AND ($1::bigint IS NULL OR id > $1)" + of_type +
                        " ORDER BY id" + end,
                    "id");
        break;
    case JobKind::running:
        text = list("SELECT * FROM " + queue.table +
                        " WHERE state <> 'final' AND id = ANY (ARRAY(SELECT job_id FROM"
                        " hipq._running_jobs())) AND ($1::bigint IS NULL OR id > $1)" +
                        of_type + " ORDER BY id" + end,
                    "id");
        break;
    case JobKind::failed:
        text = list("SELECT * FROM (SELECT * FROM " + queue.table + " WHERE state = 'final'" +
                        older + " ORDER BY id DESC LIMIT " + std::to_string(examined_for_failures) +
                        ") AS latest WHERE error <> 'NONE'" + of_type + " ORDER BY id DESC" + end,
                    "id DESC");
        break;
    }
    return {text, {after, type, std::to_string(page.lines)}};
}

Statement jobs_by_id(const QueueName &queue, const std::string &id)
{
    return {list("SELECT * FROM " + queue.table + " WHERE id = $1::bigint", "id"), {id}};
}

Statement jobs_by_key(const QueueName &queue, const std::string &key)
{
    return {list("SELECT * FROM " + queue.table +
                     " WHERE job_key = $1 AND job_key <> 'NONE' AND job_type = ANY (ARRAY(SELECT"
                     " job_type FROM hipq.job_types_detail WHERE queue = $2)) ORDER BY id DESC "
                     "LIMIT 200",
                 "id DESC"),
            {key, queue.name}};
}

Statement job(const QueueName &queue, const std::string &id)
{
    const auto shown = [&](const std::string &column) {
        return " CASE WHEN " + column + " < '9999-01-01 00:00:00+00' THEN to_char(" + column +
               ", 'YYYY-MM-DD HH24:MI:SS TZ') END AS " + column + ",";
    };
    return {"SELECT job_type, nullif(job_key, 'NONE') AS job_key, state, error, retry_reason,"
            " attempt, retry_count, max_retries, priority, timeout,"
            " nullif(manual_reason, 'NONE') AS manual_reason, throttle_factor,"
            " nullif(throttle_key, 'NONE') AS throttle_key,"
            " nullif(time_windows, 'NONE') AS time_windows, nullif(retry_of, -1) AS retry_of,"
            " original_job_id, nullif(worker_id, -1) AS worker_id, traceparent,"
            " {0.3? waits_for : NULL::text} IS NOT NULL AS is_held," +
                shown("created_time") + shown("scheduled_run_time") + shown("accepted_time") +
                shown("update_time") + shown("deadline") + shown("expires_time") +
                " hipq._masked(queue_id, job_type, job_data)::text AS job_data,"
                " nullif(result, 'null')::text AS result,"
                " state <> 'final' AND hipq._is_running(queue_id, id) AS is_locked"
                " FROM " +
                queue.table + " WHERE id = $1::bigint",
            {id}};
}

Statement why(const QueueName &queue, const std::string &id)
{
    return {"SELECT condition, passed, explanation"
            " FROM hipq.why($1::bigint, $2)",
            {id, queue.name}};
}

Statement attempts(const QueueName &queue, const std::string &id)
{
    return {"SELECT attempt, reason, sqlstate, error, detail, hint, executor_pid, worker_id,"
            " to_char(started_time, 'YYYY-MM-DD HH24:MI:SS') AS started_time,"
            " extract(epoch FROM duration) AS seconds"
            " FROM hipq.attempts_detail WHERE queue = $1 AND job_id = $2::bigint"
            " ORDER BY attempt DESC, started_time DESC LIMIT 50",
            {queue.name, id}};
}

Statement log(const QueueName &queue, const std::string &id)
{
    return {"SELECT attempt, to_char(logged_time, 'HH24:MI:SS.MS') AS logged_time, level, message"
            " FROM hipq.attempt_logs_detail WHERE queue = $1 AND job_id = $2::bigint"
            " AND level <> 'ERROR' ORDER BY attempt_logs_detail.logged_time DESC LIMIT 100",
            {queue.name, id}};
}

Statement dead_letter(const QueueName &queue, const std::string &id)
{
    return {"SELECT state, reason, redriven_as, handler_error"
            " FROM hipq.dead_letters_detail WHERE queue = $1 AND job_id = $2::bigint",
            {queue.name, id}};
}

// The view joins with hipq.job, which has a table for each queue.
Statement progress(const std::string &id)
{
    return {"SELECT done, total, message FROM hipq._progress() WHERE job_id = $1::bigint", {id}};
}

// What the process that runs it waits for in PostgreSQL, and which processes hold the locks.
Statement waits(const std::string &id)
{
    return {
        "SELECT running.pid, activity.wait_event_type || ': ' || activity.wait_event AS waits_for,"
        " nullif(array_to_string(pg_blocking_pids(running.pid), ', '), '') AS blocked_by"
        " FROM hipq._running_jobs() AS running"
        " LEFT JOIN pg_stat_activity AS activity ON activity.pid = running.pid"
        " WHERE running.job_id = $1::bigint AND running.pid IS NOT NULL",
        {id}};
}

Statement workers()
{
    return {"SELECT worker_id, name, role, status, health ->> 'status' AS health, capacity,"
            " running_jobs, queue_depth, failure_rate, is_draining,"
            " array_to_string(queues, ', ') AS queues,"
            " extract(epoch FROM hipq.now() - last_heartbeat) AS silent_for"
            " FROM hipq.workers_detail",
            {}};
}

Statement executors()
{
    return {"SELECT executor.pid, database, role, status, queue, executor.job_id, executor.attempt,"
            " job_type, jobs_done, extract(epoch FROM hipq.now() - job_started_time) AS runs_for,"
            " 100.0 * told.done / nullif(told.total, 0) AS percent,"
            " extract(epoch FROM told.reported_time - job_started_time)"
            " * (told.total - told.done) / nullif(told.done, 0) AS ends_in,"
            " CASE WHEN executor.job_id IS NOT NULL"
            " THEN activity.wait_event_type || ': ' || activity.wait_event END AS waits_for,"
            " CASE WHEN executor.job_id IS NOT NULL"
            " THEN nullif(array_to_string(pg_blocking_pids(executor.pid), ', '), '') END"
            " AS blocked_by"
            " FROM hipq.executors_detail AS executor"
            " LEFT JOIN pg_stat_activity AS activity ON activity.pid = executor.pid"
            " LEFT JOIN hipq._progress() AS told ON told.job_id = executor.job_id"
            " AND told.pid = executor.pid"
            " ORDER BY job_started_time NULLS LAST, executor.pid",
            {}};
}

Statement dead_letters(const QueueName &queue, const std::string &state)
{
    return {"SELECT job_id, state, job_type, job_key, reason, error,"
            " extract(epoch FROM hipq.now() - died_time) AS age,"
            " to_char(died_time, 'YYYY-MM-DD HH24:MI:SS') AS died,"
            " (died_time + interval '1 microsecond')::text AS until"
            " FROM hipq.dead_letters_detail WHERE queue = $1 AND ($2 = '' OR state = $2)"
            " ORDER BY died_time DESC, job_id DESC LIMIT 500",
            {queue.name, state}};
}

// The outcome of the last job is not read: the view looks for it in all queues.
Statement schedules()
{
    return {"SELECT schedule.queue, schedule.name, schedule.cron, schedule.job_type,"
            " schedule.is_active, extract(epoch FROM schedule.next_run_time - hipq.now()) AS"
            " next_in, to_char(schedule.next_run_time AT TIME ZONE zone.name,"
            " 'YYYY-MM-DD HH24:MI:SS') AS local_time, zone.name AS zone,"
            " extract(epoch FROM hipq.now() - schedule.last_run_time) AS last_ago,"
            " schedule.last_action, {0.3? schedule.last_error : NULL::text} AS last_error"
            " FROM hipq.schedules_detail AS schedule CROSS JOIN LATERAL (SELECT"
            " {0.3? coalesce(schedule.time_zone, current_setting('TimeZone'))"
            " : current_setting('TimeZone')} AS name) AS zone"
            " ORDER BY schedule.next_run_time, schedule.queue, schedule.name",
            {}};
}

Statement alerts()
{
    return {"SELECT alert, severity, times, detail, hint,"
            " extract(epoch FROM hipq.now() - last_time) AS age"
            " FROM hipq.alerts_detail ORDER BY severity, alert",
            {}};
}

// Runs once before a redrive of all dead letters; it counts no further than this.
Statement waiting_dead_letters(const QueueName &queue, const std::string &job_type,
                               const std::string &before)
{
    return {"SELECT count(*) AS letters FROM (SELECT FROM hipq.dead_letters_detail WHERE queue = $1"
            " AND state = 'waiting' AND ($2::text IS NULL OR job_type = $2)"
            " AND ($3::timestamptz IS NULL OR died_time < $3) LIMIT 100000) AS waiting",
            {queue.name, or_null(job_type), or_null(before)}};
}

Statement all_settings()
{
    return {"SELECT name, current_setting(name) AS value, concat_ws(' ', short_desc, extra_desc)"
            " AS description FROM pg_catalog.pg_settings WHERE name LIKE 'hipq.%' ORDER BY name",
            {}};
}

// ---- actions

Statement pause(const std::string &queue, const std::string &job_type,
                const std::string &throttle_key, const std::string &reason)
{
    return client::Call("pause")
        .with("queue", "text", queue)
        .with("job_type", "text", or_null(job_type))
        .with("throttle_key", "text", or_null(throttle_key))
        .with("reason", "text", or_null(reason))
        .select(" AS done");
}

Statement resume(const std::string &queue, const std::string &job_type,
                 const std::string &throttle_key)
{
    return client::Call("resume")
        .with("queue", "text", queue)
        .with("job_type", "text", or_null(job_type))
        .with("throttle_key", "text", or_null(throttle_key))
        .select(" AS done");
}

Statement cancel(const QueueName &queue, const std::string &id)
{
    return client::Call("cancel")
        .with("id", "bigint", id)
        .with("reason", "text", "by hipq-top")
        .with("queue", "text", queue.name)
        .select(" AS done");
}

Statement retry(const QueueName &queue, const std::string &id)
{
    return client::Call("retry")
        .with("id", "bigint", id)
        .with("queue", "text", queue.name)
        .select(" AS id");
}

Statement redrive(const std::string &id)
{
    return client::Call("redrive").with("id", "bigint", id).select(" AS id");
}

Statement dismiss(const std::string &id)
{
    return client::Call("dismiss_dead_letter").with("id", "bigint", id).select(" AS done");
}

// A slice, which takes a fraction of a second: it is repeated until nothing is left.
Statement redrive_some(const QueueName &queue, const std::string &job_type,
                       const std::string &before)
{
    return client::Call("redrive_jobs")
        .with("queue", "text", queue.name)
        .with("job_type", "text", or_null(job_type))
        .with("before", "timestamptz", or_null(before))
        .with("max_jobs", "integer", "200")
        .select_from("redriven, key_taken");
}

Statement drain_worker(const std::string &worker_id)
{
    return client::Call("drain_worker").with("worker", "bigint", worker_id).select(" AS done");
}

}  // namespace hipq::top::statements
