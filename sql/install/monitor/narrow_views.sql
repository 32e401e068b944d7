-- Views that fit into a terminal of 120 columns. Each has the rows of <view>_detail, and its most
-- important columns; conditions are pushed down to <view>_detail.

-- Wraps text to fit, too. (A word that is longer than the line stays whole.)
CREATE FUNCTION hipq._in_lines(text text, width integer) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
    AS $$ SELECT rtrim(regexp_replace(text, format(E'([^\n]{1,%s})( |\n|$)', width),
                                      E'\\1\n', 'g'), E'\n') $$;
COMMENT ON FUNCTION hipq._in_lines(text, integer)
    IS 'a text in lines that are not wider, for views';

CREATE VIEW hipq.instances WITH (security_barrier) AS
SELECT name, queues, is_strict, created_time
FROM hipq.instances_detail;

CREATE VIEW hipq.queues WITH (security_barrier) AS
SELECT queue, owner, initial, retry, running_jobs, oldest_due_time, is_paused, held
FROM hipq.queues_detail;

CREATE VIEW hipq.job_types WITH (security_barrier) AS
SELECT queue, job_type, handler, handler_kind, max_retries, default_timeout, is_paused
FROM hipq.job_types_detail;

CREATE VIEW hipq.pauses WITH (security_barrier) AS
SELECT instance, queue, job_type, throttle_key, date_trunc('seconds', paused_time) AS paused_time,
       hipq._in_lines(reason, 18) AS reason, date_trunc('seconds', paused_until) AS paused_until
FROM hipq.pauses_detail;

CREATE VIEW hipq.jobs WITH (security_barrier) AS
SELECT id, queue, job_type, job_key, outcome, attempt, scheduled_run_time
FROM hipq.jobs_detail;

CREATE VIEW hipq.batches WITH (security_barrier) AS
SELECT batch_id, name, state, jobs, unfinished, succeeded, failed, skipped
FROM hipq.batches_detail;

CREATE VIEW hipq.graphs WITH (security_barrier) AS
SELECT graph_id, jobs, waiting, running, succeeded, failed, skipped, created_time
FROM hipq.graphs_detail;

CREATE VIEW hipq.graph_jobs WITH (security_barrier) AS
SELECT graph_id, name, outcome, after, job_id, queue
FROM hipq.graph_jobs_detail;

CREATE VIEW hipq.running WITH (security_barrier) AS
SELECT queue, id, job_type, job_key, attempt, pid, worker, since
FROM hipq.running_detail;

CREATE VIEW hipq.progress WITH (security_barrier) AS
SELECT queue, id, job_type, percent, hipq._in_lines(message, 20) AS message, expected_end_time,
       done, total
FROM hipq.progress_detail;

CREATE VIEW hipq.attempts WITH (security_barrier) AS
SELECT queue, job_id, attempt, job_type, reason, sqlstate, ended_time
FROM hipq.attempts_detail;

CREATE VIEW hipq.attempt_logs WITH (security_barrier) AS
SELECT job_id, attempt, logged_time, level, hipq._in_lines(message, 60) AS message
FROM hipq.attempt_logs_detail;

CREATE VIEW hipq.dead_letters WITH (security_barrier) AS
SELECT queue, job_id, job_type, job_key, state, reason, died_time
FROM hipq.dead_letters_detail;

CREATE VIEW hipq.dead_letter_stats WITH (security_barrier) AS
SELECT queue, kept, depth, oldest_waiting_time, per_minute, handler_failures
FROM hipq.dead_letter_stats_detail;

CREATE VIEW hipq.schedules WITH (security_barrier) AS
SELECT name, cron, queue, job_type, is_active, next_run_time, last_outcome
FROM hipq.schedules_detail;

CREATE VIEW hipq.workers WITH (security_barrier) AS
SELECT worker_id, name, status, running_jobs, queue_depth, failure_rate, last_heartbeat
FROM hipq.workers_detail;

CREATE VIEW hipq.healthy_workers WITH (security_barrier) AS
SELECT worker_id, name, status, running_jobs, queue_depth, failure_rate, last_heartbeat
FROM hipq.healthy_workers_detail;

CREATE VIEW hipq.executors WITH (security_barrier) AS
SELECT pid, role, status, queue, job_id, job_type, job_started_time
FROM hipq.executors_detail;

CREATE VIEW hipq.lanes WITH (security_barrier) AS
SELECT queue, job_type, priority, due_time, frontier_time, is_read
FROM hipq.lanes_detail;

CREATE VIEW hipq.sizes WITH (security_barrier) AS
SELECT queue, table_name, kind, from_time, row_estimate, bytes
FROM hipq.sizes_detail;

CREATE VIEW hipq.activity WITH (security_barrier) AS
SELECT queue, backlog_estimate, running_jobs, failed, oldest_due_time, empty_in, state, is_exact
FROM hipq.activity_detail;

CREATE VIEW hipq.statistics WITH (security_barrier) AS
SELECT queue, job_type, period, succeeded, failed, retried, failure_rate,
       wait_p50, wait_p99, run_p50
FROM hipq.statistics_detail;

CREATE VIEW hipq.shard_rejects WITH (security_barrier) AS
SELECT queue, job_id, node, rejected_time, sqlstate, hipq._in_lines(error, 30) AS error
FROM hipq.shard_rejects_detail;

CREATE VIEW hipq.cluster_queues WITH (security_barrier) AS
SELECT queue, node, backlog_estimate, running_jobs, failed, state,
       date_trunc('seconds', as_of) AS as_of, is_reachable
FROM hipq.cluster_queues_detail;

CREATE VIEW hipq.alerts WITH (security_barrier) AS
SELECT severity, alert, times, hipq._in_lines(concat_ws(E'\n', detail, hint), 70) AS message
FROM hipq.alerts_detail;
COMMENT ON COLUMN hipq.alerts.message
    IS 'what is slower or waits because of it, and what to do: detail and hint of '
    'hipq.alerts_detail, in lines';

-- The columns have the comments of the detailed views.
DO $comments$
DECLARE
    narrow record;
BEGIN
    FOR narrow IN
        SELECT class.relname AS name,
               detail.oid AS detail,
               obj_description(detail.oid, 'pg_class') AS comment
        FROM pg_class AS class
        JOIN pg_class AS detail
            ON detail.relname = class.relname || '_detail'
           AND detail.relnamespace = class.relnamespace
        WHERE class.relnamespace = 'hipq'::regnamespace AND class.relkind = 'v'
    LOOP
        EXECUTE format(
            'COMMENT ON VIEW hipq.%I IS %L', narrow.name,
            narrow.comment || '; hipq.' || narrow.name || '_detail has all columns'
        );
    END LOOP;
    FOR narrow IN
        SELECT class.relname AS name,
               attribute.attname AS column_name,
               col_description(detail.oid, same.attnum) AS comment
        FROM pg_class AS class
        JOIN pg_class AS detail
            ON detail.relname = class.relname || '_detail'
           AND detail.relnamespace = class.relnamespace
        JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid
        JOIN pg_attribute AS same ON same.attrelid = detail.oid AND same.attname = attribute.attname
        WHERE class.relnamespace = 'hipq'::regnamespace AND class.relkind = 'v'
    LOOP
        EXECUTE format(
            'COMMENT ON COLUMN hipq.%I.%I IS %L', narrow.name, narrow.column_name, narrow.comment
        );
    END LOOP;
END
$comments$;
