// The statements about the signed-in role, the overview, and all lists.
#include "database/statements.hpp"

namespace hipq::web::statements {

const char *const identity = R"(
SELECT current_user AS role,
       current_database() AS database,
       current_setting('server_version') AS server_version,
       hipq.version() AS hipq_version,
       pg_has_role('pg_monitor', 'USAGE') AS may_monitor,
       cardinality(hipq._readable_queues()) > 0 AS may_read
)";

const char *const overview = R"(
WITH catalogue AS MATERIALIZED (
    SELECT queues.queue, queues.instance, queues.owner, queues.table_name, queues.is_paused,
           {0.3? queues.rate_limit : NULL::text} AS rate_limit,
           {0.3? queues.rate_used : NULL::numeric} AS rate_used,
           {0.3? queues.next_turn : NULL::timestamptz} AS next_turn
    FROM hipq.queues_detail AS queues
    WHERE NOT queues.is_dropped
), activity AS MATERIALIZED (
    SELECT activity.queue, activity.backlog_estimate,
           {0.3? activity.is_exact : false} AS is_exact, activity.running_jobs,
           activity.oldest_due_time, activity.state, activity.wait_p50, activity.wait_p99
    FROM hipq.activity_detail AS activity
), ended AS (
    SELECT statistics.queue, statistics.succeeded, statistics.failed, statistics.cancelled,
           statistics.expired, statistics.retried, statistics.dead_letters
    FROM hipq.statistics_detail AS statistics
    WHERE statistics.period = 'total' AND statistics.job_type IS NULL
), lately AS (
    SELECT statistics.queue, statistics.wait_p90, statistics.run_p50,
           statistics.run_p90, statistics.run_p99
    FROM hipq.statistics_detail AS statistics
    WHERE statistics.period = 'hour' AND statistics.job_type IS NULL
), minute AS (
    SELECT throughput.queue, throughput.succeeded, throughput.failed, throughput.retried
    FROM hipq.throughput
    WHERE throughput.minute = date_trunc('minute', hipq.now()) - interval '1 minute'
), processes AS (
    SELECT count(*) FILTER (WHERE executors.status = 'running') AS busy,
           count(*) FILTER (WHERE executors.status = 'idle') AS idle
    FROM hipq.executors_detail AS executors
), health AS (
    SELECT json_object_agg(worker_health.status, worker_health.workers) AS workers
    FROM hipq.worker_health
)
SELECT '' AS queue,
       format('"now":%s,"executors":%s,"workers":%s',
              to_json(clock_timestamp()),
              json_build_object('busy', processes.busy, 'idle', processes.idle,
                                'max', current_setting('hipq.max_executors')::integer),
              coalesce(health.workers, '{}')) AS json
FROM processes
CROSS JOIN health
UNION ALL
SELECT catalogue.queue,
       json_build_object(
           'queue', catalogue.queue,
           'instance', catalogue.instance,
           'owner', catalogue.owner,
           'backlog', activity.backlog_estimate,
           'is_exact', activity.is_exact,
           'running', activity.running_jobs,
           'held', {0.3? hipq._held(catalogue.queue) : NULL::bigint},
           'state', activity.state,
           'per_minute', json_build_object('succeeded', coalesce(minute.succeeded, 0),
                                           'failed', coalesce(minute.failed, 0),
                                           'retried', coalesce(minute.retried, 0)),
           'total', json_build_object('succeeded', coalesce(ended.succeeded, 0),
                                      'failed', coalesce(ended.failed, 0),
                                      'cancelled', coalesce(ended.cancelled, 0),
                                      'expired', coalesce(ended.expired, 0),
                                      'retried', coalesce(ended.retried, 0),
                                      'dead_letters', coalesce(ended.dead_letters, 0)),
           'wait_p50', activity.wait_p50,
           'wait_p90', lately.wait_p90,
           'wait_p99', activity.wait_p99,
           'run_p50', lately.run_p50,
           'run_p90', lately.run_p90,
           'run_p99', lately.run_p99,
           'is_paused', catalogue.is_paused,
           'rate_limit', catalogue.rate_limit,
           'rate_used', catalogue.rate_used,
           'next_turn', catalogue.next_turn,
           'oldest_due', activity.oldest_due_time)::text
FROM catalogue
JOIN activity ON activity.queue = catalogue.queue
LEFT JOIN ended ON ended.queue = catalogue.queue
LEFT JOIN lately ON lately.queue = catalogue.queue
LEFT JOIN minute ON minute.queue = catalogue.queue
)";

const char *const throughput = R"(
SELECT throughput.minute,
       sum(throughput.succeeded) AS succeeded,
       sum(throughput.failed) AS failed,
       sum(throughput.cancelled) AS cancelled,
       sum(throughput.expired) AS expired,
       sum(throughput.retried) AS retried,
       sum(throughput.dead_letters) AS dead_letters
FROM hipq.throughput
WHERE $1::text IS NULL OR throughput.queue = $1
GROUP BY throughput.minute
ORDER BY throughput.minute
)";

const char *const alert_counts = R"(
SELECT json_build_object('alarm', count(*) FILTER (WHERE alerts.severity = 'alarm'),
                         'information', count(*) FILTER (WHERE alerts.severity = 'information'))
FROM hipq.alerts_detail AS alerts
)";

const char *const queues = R"(
SELECT queues.queue, queues.instance, queues.owner, queues.table_name, queues.throttle_limit,
       queues.throttle_used, queues.retention, queues.history, queues.durability, queues.weight,
       queues.is_strict, queues.queue_ttl, queues.dead_letter_enabled, queues.dead_letter_retention,
       queues.dead_letter_max, queues.dead_letter_handler, queues.max_timeout,
       queues.highest_priority, queues.allow_free_jobs, queues.retry_enabled,
       {0.3? queues.max_retries : NULL::integer} AS max_retries,
       {0.3? queues.rate_limit : NULL::text} AS rate_limit,
       {0.3? queues.rate_used : NULL::numeric} AS rate_used,
       {0.3? queues.next_turn : NULL::timestamptz} AS next_turn,
       queues.is_paused, queues.is_dropped, queues.created_time,
       has_table_privilege(to_regclass(queues.table_name), 'SELECT') AS may_read
FROM hipq.queues_detail AS queues
WHERE $1::text IS NULL OR queues.queue = $1
ORDER BY queues.queue
)";

const char *const job_types = R"(
SELECT job_types.queue, job_types.job_type, job_types.handler, job_types.handler_kind,
       job_types.retry_handler, job_types.default_timeout, job_types.default_priority,
       job_types.default_throttle_factor, job_types.default_time_windows, job_types.time_zone,
       job_types.max_retries, job_types.retry_base, job_types.retry_multiplier, job_types.retry_max,
       job_types.retry_jitter, job_types.retry_on, job_types.do_not_retry_on,
       job_types.on_missing_handler, job_types.queue_ttl, job_types.claim, job_types.batch_size,
       job_types.throttle_limit, job_types.throttle_used, job_types.throttle_limit_per_key,
       job_types.requires, job_types.worker_wait_ttl, job_types.retry_enabled, job_types.parameters,
       job_types.validate, job_types.workers, job_types.is_paused, job_types.is_registered,
       job_types.crashes, job_types.created_time, job_types.attempt_log,
       {0.3? job_types.rate_limit : NULL::text} AS rate_limit,
       {0.3? job_types.rate_used : NULL::numeric} AS rate_used,
       {0.3? job_types.next_turn : NULL::timestamptz} AS next_turn,
       {0.3? job_types.breaker_state : 'closed'} AS breaker_state,
       {0.3? job_types.breaker_until : NULL::timestamptz} AS breaker_until
FROM hipq.job_types_detail AS job_types
WHERE $1::text IS NULL OR job_types.queue = $1
ORDER BY job_types.queue, job_types.job_type
)";

const char *const workers = R"(
SELECT workers.worker_id, workers.name, workers.role, workers.queues, workers.job_types,
       workers.status, workers.health, workers.last_heartbeat, workers.capabilities,
       workers.capacity, workers.prefetch, workers.running_jobs, workers.queue_depth,
       workers.failure_rate, workers.is_draining, workers.pid, workers.registered_time
FROM hipq.workers_detail AS workers
)";

const char *const executors = R"(
SELECT executors.pid, executors.database, executors.role, executors.status, executors.started_time,
       executors.queue, executors.job_id::text AS job_id, executors.attempt, executors.job_type,
       executors.job_started_time, executors.jobs_done, reported.done, reported.total,
       reported.reported_time,
       CASE WHEN executors.job_id IS NOT NULL THEN activity.wait_event_type END AS wait_event_type,
       CASE WHEN executors.job_id IS NOT NULL THEN activity.wait_event END AS wait_event,
       blockers.blocked_by
FROM hipq.executors_detail AS executors
LEFT JOIN pg_stat_activity AS activity ON activity.pid = executors.pid
LEFT JOIN LATERAL (
    SELECT string_agg(concat_ws(' ', blocker.pid, '(' || concat_ws(', ', who.usename, who.state) || ')'),
                      ', ') AS blocked_by
    FROM unnest(pg_blocking_pids(executors.pid)) AS blocker (pid)
    LEFT JOIN pg_stat_activity AS who ON who.pid = blocker.pid
) AS blockers ON executors.job_id IS NOT NULL
LEFT JOIN hipq._progress() AS reported
    ON reported.job_id = executors.job_id AND reported.pid = executors.pid
ORDER BY executors.started_time, executors.pid
)";

// coming: the runs within a day of the 20 schedules that run next, in seconds since 1970: how many,
// the first ones, and the intervals of 5 minutes that have any. Of most schedules 100 runs are more
// than enough, and each that is read takes a microsecond or more. Without jitter runs may be before
// next_run_time. An older extension tells the next run alone.
const char *const schedules = R"(
SELECT schedules.name, schedules.cron, schedules.queue, schedules.job_type, schedules.job_key,
       schedules.job_data, schedules.role, schedules.is_active, schedules.next_run_time,
       schedules.last_run_time, schedules.last_action, schedules.last_job_id::text AS last_job_id,
       schedules.created_time, {0.3? schedules.time_zone : NULL::text} AS time_zone,
       {0.3? schedules.last_error : NULL::text} AS last_error,
       CASE
           WHEN schedules.next_run_time IS NOT NULL
                AND row_number() OVER (ORDER BY schedules.next_run_time, schedules.name) <= 20 THEN (
               SELECT json_build_object(
                          'runs', count(*),
                          'first', coalesce((array_agg(run.second ORDER BY run.second))[1:5], '{}'),
                          'marks', coalesce(array_agg(DISTINCT run.second - run.second % 300), '{}'))
               FROM (
                   SELECT extract(epoch FROM next.run_time)::bigint AS second
                   FROM {0.3? hipq.next_runs(schedules.name,
                           CASE
                               WHEN (SELECT max(early.run_time) < hipq.now() + interval '1 day'
                                     FROM hipq.next_runs(schedules.name, 100,
                                                         queue => schedules.queue) AS early)
                                   THEN 1000
                               ELSE 100
                           END, queue => schedules.queue)
                        : (SELECT schedules.next_run_time AS run_time)} AS next
                   WHERE next.run_time < hipq.now() + interval '1 day'
               ) AS run
           )
       END AS coming
FROM hipq.schedules_detail AS schedules
ORDER BY schedules.queue, schedules.name
)";

const char *const pauses = R"(
SELECT pauses.instance, pauses.queue, pauses.job_type, pauses.throttle_key, pauses.paused_by,
       pauses.paused_time, {0.3? pauses.paused_until : NULL::timestamptz} AS paused_until,
       pauses.reason, pauses.crashes
FROM hipq.pauses_detail AS pauses
WHERE $1::text IS NULL OR pauses.queue = $1
   OR pauses.queue IS NULL AND split_part($1, '.', 1) = pauses.instance
ORDER BY pauses.paused_time DESC
)";

const char *const alerts = R"(
SELECT alerts.alert, alerts.severity, alerts.times, alerts.first_time, alerts.last_time,
       alerts.detail, alerts.hint
FROM hipq.alerts_detail AS alerts
ORDER BY alerts.severity, alerts.last_time DESC
)";

// The worst first, in the order of the view.
const char *const doctor = R"(
SELECT found.severity, found.subject, found.finding, found.detail, found.hint, found.statement
FROM hipq.doctor() AS found
)";

const char *const settings = R"(
SELECT pg_settings.name, pg_settings.setting, pg_settings.unit, pg_settings.short_desc AS description,
       pg_settings.extra_desc AS details, pg_settings.context, pg_settings.source,
       pg_settings.boot_val AS default, pg_settings.pending_restart
FROM pg_settings
WHERE pg_settings.name LIKE 'hipq.%'
ORDER BY pg_settings.name
)";

// A right on a queue is a right on its tables: docs/rights.md.
const char *const queue_rights = R"(
SELECT json_build_object('read', has_table_privilege(child.inhparent, 'SELECT'),
                         'control', has_column_privilege(leaf.oid, 'priority', 'UPDATE'))
FROM hipq.queues_detail AS queues
JOIN pg_inherits AS child ON child.inhparent = to_regclass(queues.table_name)
JOIN pg_class AS leaf ON leaf.oid = child.inhrelid AND leaf.relkind = 'r'
WHERE queues.queue = $1
)";

const char *const queue_statistics = R"(
SELECT statistics.job_type, statistics.period, statistics.since, statistics.succeeded,
       statistics.failed, statistics.cancelled, statistics.expired, statistics.retried,
       statistics.put_back, statistics.dead_letters, statistics.finished_per_minute,
       statistics.retry_rate, statistics.retry_success_rate, statistics.failure_rate,
       statistics.retries_per_job, statistics.wait_p50, statistics.wait_p90, statistics.wait_p99,
       statistics.run_p50, statistics.run_p90, statistics.run_p99
FROM hipq.statistics_detail AS statistics
WHERE statistics.queue = $1
ORDER BY statistics.period, statistics.job_type NULLS FIRST
)";

// Reads some pages of a large queue.
const char *const queue_fillers = R"(
SELECT filler.job_type, filler.throttle_key, filler.jobs, filler.percent, filler.last_minute,
       filler.oldest_due_time, filler.waits_for, filler.first_job::text AS first_job
FROM hipq.who_fills($1, 10) AS filler
)";

// Reads an index that has only these jobs, of the queue's {table}.
const char *const queue_held = R"(
SELECT count(*) AS held
FROM (
    SELECT
    FROM {table} AS job
    WHERE job.state <> 'final' AND {0.3? job.waits_for : NULL::text} IS NOT NULL
    LIMIT 10000
) AS counted
)";

const char *const queue_pace = R"(
SELECT extract(epoch FROM activity.empty_in)::bigint AS empty_in
FROM hipq.activity_detail AS activity
WHERE activity.queue = $1
)";

const char *const queue_failures = R"(
SELECT failure_statistics.job_type, failure_statistics.period, failure_statistics.reason,
       failure_statistics.failures, failure_statistics.retries, failure_statistics.recoveries,
       failure_statistics.retry_success_rate
FROM hipq.failure_statistics
WHERE failure_statistics.queue = $1
ORDER BY failure_statistics.period, failure_statistics.failures DESC
)";

// The view hipq.sizes measures all queues; this queue alone is a few files.
const char *const queue_sizes = R"(
SELECT leaf.relname AS table_name,
       CASE tree.level WHEN 1 THEN 'live' ELSE 'final' END AS kind,
       pg_stat_get_live_tuples(leaf.oid) AS row_estimate,
       pg_total_relation_size(leaf.oid) AS bytes
FROM hipq.queues_detail AS queues
CROSS JOIN LATERAL pg_partition_tree(to_regclass(queues.table_name)) AS tree
JOIN pg_class AS leaf ON leaf.oid = tree.relid
WHERE queues.queue = $1 AND tree.isleaf
ORDER BY kind DESC, leaf.relname
)";

}  // namespace hipq::web::statements
