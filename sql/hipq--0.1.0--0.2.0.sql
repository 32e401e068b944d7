\echo Use "ALTER EXTENSION hipq UPDATE" to load this file. \quit

SET LOCAL search_path = pg_catalog, pg_temp;

-- A server that was not restarted still runs the library of 0.1.0, which has none of the functions
-- below.
DO $upgrade$
BEGIN
    IF hipq.version() = '0.1.0' THEN
        RAISE EXCEPTION 'the server still runs the library of hipq 0.1.0'
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Restart the server, and then update the extension.';
    END IF;
END
$upgrade$;

-- Whoever works holds what is changed here in another order than this script takes it. So all of it is
-- taken at once, in less time than after which PostgreSQL looks for deadlocks, or given up and tried
-- again. (SET of what they are locks views alone: LOCK would lock what they read, too.)
DO $upgrade$
DECLARE
    lock_timeout_before text := current_setting('lock_timeout');
    latest timestamptz := clock_timestamp() + interval '5 minutes';
BEGIN
    LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '100ms', true);
            LOCK TABLE hipq.job, hipq.job_type, hipq.queue, hipq.pause, hipq.attempt IN ACCESS EXCLUSIVE MODE;
            ALTER VIEW hipq.sizes SET (security_barrier);
            ALTER VIEW hipq.jobs SET (security_barrier);
            ALTER VIEW hipq.running SET (security_barrier);
            ALTER VIEW hipq.lanes SET (security_barrier);
            ALTER VIEW hipq.attempts SET (security_barrier);
            ALTER VIEW hipq.dead_letters SET (security_barrier);
            ALTER VIEW hipq.schedules SET (security_barrier);
            ALTER VIEW hipq.pauses SET (security_barrier);
            ALTER VIEW hipq.instances SET (security_barrier);
            ALTER VIEW hipq.queues SET (security_barrier);
            ALTER VIEW hipq.job_types SET (security_barrier);
            ALTER VIEW hipq.throttle_keys SET (security_barrier);
            ALTER VIEW hipq.progress SET (security_barrier);
            ALTER VIEW hipq.dead_letter_stats SET (security_barrier);
            ALTER VIEW hipq.workers SET (security_barrier);
            ALTER VIEW hipq.healthy_workers SET (security_barrier);
            ALTER VIEW hipq.executors SET (security_barrier);
            ALTER VIEW hipq.statistics SET (security_barrier);
            ALTER VIEW hipq.alerts SET (security_barrier);
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            IF clock_timestamp() > latest THEN
                RAISE EXCEPTION 'somebody holds a lock on the tables of hipq'
                    USING ERRCODE = 'lock_not_available', DETAIL = SQLERRM,
                        HINT = 'Look for long transactions in pg_locks and pg_stat_activity, and update the extension again.';
            END IF;
        END;
        PERFORM pg_sleep(0.1);
    END LOOP;
    PERFORM set_config('lock_timeout', lock_timeout_before, true);
END
$upgrade$;

-- Views with more columns than a terminal shows get a name of their own; whatever reads them goes on
-- to. Narrow ones come in their place, below.
ALTER VIEW hipq.instances RENAME TO instances_detail;
ALTER VIEW hipq.queues RENAME TO queues_detail;
ALTER VIEW hipq.job_types RENAME TO job_types_detail;
ALTER VIEW hipq.jobs RENAME TO jobs_detail;
ALTER VIEW hipq.running RENAME TO running_detail;
ALTER VIEW hipq.progress RENAME TO progress_detail;
ALTER VIEW hipq.attempts RENAME TO attempts_detail;
ALTER VIEW hipq.dead_letters RENAME TO dead_letters_detail;
ALTER VIEW hipq.dead_letter_stats RENAME TO dead_letter_stats_detail;
ALTER VIEW hipq.pauses RENAME TO pauses_detail;
ALTER VIEW hipq.schedules RENAME TO schedules_detail;
ALTER VIEW hipq.workers RENAME TO workers_detail;
ALTER VIEW hipq.healthy_workers RENAME TO healthy_workers_detail;
ALTER VIEW hipq.executors RENAME TO executors_detail;
ALTER VIEW hipq.lanes RENAME TO lanes_detail;
ALTER VIEW hipq.sizes RENAME TO sizes_detail;
ALTER VIEW hipq.statistics RENAME TO statistics_detail;
ALTER VIEW hipq.alerts RENAME TO alerts_detail;

-- The trace of a job. It comes last: rows of handlers keep the order of their columns.
ALTER TABLE hipq.job ADD COLUMN traceparent text;
COMMENT ON COLUMN hipq.job.traceparent
    IS 'trace that the job belongs to, as W3C Trace Context writes it; NULL = none';

-- And in its history.
ALTER TABLE hipq.attempt ADD COLUMN traceparent text;
COMMENT ON COLUMN hipq.attempt.traceparent
    IS 'trace that the job belongs to, as W3C Trace Context writes it; NULL = none';

-- Tables that a subscription fills: their queues stand still until release_hold(queue).
CREATE TABLE hipq.queue_hold (
    queue_id     integer     NOT NULL CONSTRAINT queue_hold_pkey PRIMARY KEY,
    subscription text COLLATE "C" NOT NULL,
    held_time    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE hipq.queue_hold
    IS 'queues whose jobs a logical subscription has brought: they run where they come from, until '
    'hipq.release_hold(queue)';
COMMENT ON COLUMN hipq.queue_hold.queue_id IS 'number of the queue';
COMMENT ON COLUMN hipq.queue_hold.subscription IS 'the subscription';
COMMENT ON COLUMN hipq.queue_hold.held_time IS 'since when the queue stands still';
SELECT pg_extension_config_dump('hipq.queue_hold', '');

CREATE TRIGGER catalogue_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON hipq.queue_hold
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.queue_hold ENABLE ALWAYS TRIGGER catalogue_changed;

CREATE FUNCTION hipq.release_hold(queue text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release_hold_of_queue';
COMMENT ON FUNCTION hipq.release_hold(text)
    IS 'makes this server the one that runs the jobs of a queue that a logical subscription has '
    'fed';
REVOKE ALL ON TABLE hipq.queue_hold FROM PUBLIC;
REVOKE ALL ON FUNCTION hipq.release_hold(text) FROM PUBLIC;

-- Subscriptions that are there already.
INSERT INTO hipq.queue_hold (queue_id, subscription)
SELECT queue.queue_id, pg_catalog.min(subscription.subname)
FROM pg_catalog.pg_subscription AS subscription
JOIN pg_catalog.pg_subscription_rel AS fed ON fed.srsubid OPERATOR(pg_catalog.=) subscription.oid
JOIN pg_catalog.pg_class AS relation ON relation.oid OPERATOR(pg_catalog.=) fed.srrelid
LEFT JOIN LATERAL pg_catalog.pg_partition_ancestors(fed.srrelid) AS ancestor ON relation.relispartition
JOIN pg_catalog.pg_class AS root ON root.oid OPERATOR(pg_catalog.=) coalesce(ancestor.relid, relation.oid)
JOIN hipq.queue AS queue
    ON queue.table_name OPERATOR(pg_catalog.=) root.relname OR relation.relname OPERATOR(pg_catalog.=) 'job'
WHERE subscription.subenabled
  AND root.relnamespace OPERATOR(pg_catalog.=) 'hipq'::pg_catalog.regnamespace
  AND subscription.subdbid OPERATOR(pg_catalog.=)
      (SELECT oid FROM pg_catalog.pg_database WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
GROUP BY queue.queue_id;

-- What handlers say.
CREATE TABLE hipq.attempt_log (
    job_id      bigint      NOT NULL,
    logged_time timestamptz NOT NULL,
    queue_id    integer     NOT NULL,
    attempt     integer     NOT NULL,
    level       text        NOT NULL,
    sqlstate    text        NOT NULL,
    message     text        NOT NULL,
    detail      text,
    hint        text,
    context     text
) PARTITION BY RANGE (logged_time);
COMMENT ON TABLE hipq.attempt_log
    IS 'what handlers have said in their attempts: INFO, NOTICE, WARNING';
COMMENT ON COLUMN hipq.attempt_log.job_id IS 'id of the job; of a batch, the first one';
COMMENT ON COLUMN hipq.attempt_log.logged_time IS 'when it was said';
COMMENT ON COLUMN hipq.attempt_log.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.attempt_log.attempt IS 'number of the attempt, from 1';
COMMENT ON COLUMN hipq.attempt_log.level
    IS 'INFO, NOTICE or WARNING; LOG: hipq says how many messages were not kept';
COMMENT ON COLUMN hipq.attempt_log.sqlstate IS 'SQLSTATE of the message';
COMMENT ON COLUMN hipq.attempt_log.message IS 'the message';
COMMENT ON COLUMN hipq.attempt_log.detail IS 'its detail';
COMMENT ON COLUMN hipq.attempt_log.hint IS 'its hint';
COMMENT ON COLUMN hipq.attempt_log.context IS 'its context';
ALTER TABLE hipq.attempt_log
    ALTER COLUMN job_id SET STATISTICS 0,
    ALTER COLUMN logged_time SET STATISTICS 0,
    ALTER COLUMN attempt SET STATISTICS 0,
    ALTER COLUMN level SET STATISTICS 0,
    ALTER COLUMN sqlstate SET STATISTICS 0,
    ALTER COLUMN message SET STATISTICS 0,
    ALTER COLUMN detail SET STATISTICS 0,
    ALTER COLUMN hint SET STATISTICS 0,
    ALTER COLUMN context SET STATISTICS 0;
REVOKE ALL ON TABLE hipq.attempt_log FROM PUBLIC;
CREATE VIEW hipq.attempt_logs_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       entry.job_id,
       entry.attempt,
       entry.logged_time,
       entry.level,
       entry.sqlstate,
       entry.message,
       entry.detail,
       entry.hint,
       entry.context
FROM (
    SELECT log.queue_id, log.job_id, log.attempt, log.logged_time, log.level, log.sqlstate, log.message, log.detail, log.hint, log.context
    FROM hipq.attempt_log AS log
    UNION ALL
    SELECT attempt.queue_id, attempt.job_id, attempt.attempt, attempt.ended_time, 'ERROR', attempt.sqlstate, attempt.error, attempt.detail,
           attempt.hint, attempt.context
    FROM hipq.attempt
    WHERE attempt.reason NOT IN ('succeeded', 'snoozed', 'released')
) AS entry
JOIN hipq._readable_queue AS queue ON queue.queue_id = entry.queue_id
WHERE hipq._is_one_of(entry.queue_id, hipq._readable_queues()) AND entry.queue_id = ANY (hipq._readable_queues());
COMMENT ON VIEW hipq.attempt_logs_detail
    IS 'what handlers have said in their attempts, and the errors that ended these';
COMMENT ON COLUMN hipq.attempt_logs_detail.queue IS 'queue of the job';
COMMENT ON COLUMN hipq.attempt_logs_detail.job_id IS 'id of the job; of a batch, the first one';
COMMENT ON COLUMN hipq.attempt_logs_detail.attempt IS 'number of the attempt, from 1';
COMMENT ON COLUMN hipq.attempt_logs_detail.logged_time
    IS 'when it was said; of an error, when the attempt ended';
COMMENT ON COLUMN hipq.attempt_logs_detail.level
    IS 'INFO, NOTICE, WARNING or ERROR; LOG: hipq says how many messages were not kept';
COMMENT ON COLUMN hipq.attempt_logs_detail.sqlstate IS 'SQLSTATE of the message, if it has one';
COMMENT ON COLUMN hipq.attempt_logs_detail.message IS 'the message';
COMMENT ON COLUMN hipq.attempt_logs_detail.detail IS 'its detail';
COMMENT ON COLUMN hipq.attempt_logs_detail.hint IS 'its hint';
COMMENT ON COLUMN hipq.attempt_logs_detail.context IS 'its context';
GRANT SELECT ON TABLE hipq.attempt_logs_detail TO PUBLIC;

-- Leaves of queues with long names do not start with the name of the table.
CREATE OR REPLACE VIEW hipq.sizes_detail WITH (security_barrier) AS
SELECT leaf.queue,
       leaf.name AS table_name,
       leaf.kind,
       span.from_time,
       span.to_time,
       pg_stat_get_live_tuples(leaf.oid) AS row_estimate,
       pg_total_relation_size(leaf.oid) AS bytes,
       CASE WHEN leaf.kind = 'final' THEN round(pg_stat_get_live_tuples(leaf.oid) / span.days, 1) END AS rows_per_day,
       CASE WHEN leaf.kind = 'final' THEN round(pg_total_relation_size(leaf.oid) / span.days) END AS bytes_per_day
FROM (
    SELECT seen.name AS queue,
           'hipq.' || quote_ident(class.relname) AS name,
           CASE tree.level WHEN 1 THEN 'live' ELSE 'final' END AS kind,
           class.oid,
           class.relpartbound
    FROM (
        SELECT queue.queue_id, queue.table_name
        FROM hipq.queue
        WHERE queue.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()))
        OFFSET 0
    ) AS queue
    JOIN hipq._visible_queue AS seen ON seen.queue_id = queue.queue_id
    JOIN pg_class AS top ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
    CROSS JOIN LATERAL pg_partition_tree(top.oid) AS tree
    JOIN pg_class AS class ON class.oid = tree.relid
    WHERE tree.isleaf
    UNION ALL
    SELECT NULL, 'hipq.' || quote_ident(class.relname), cut.kind, class.oid, class.relpartbound
    FROM (VALUES ('attempt', 'hipq.attempt'::regclass), ('attempt_log', 'hipq.attempt_log')) AS cut (kind, parent)
    CROSS JOIN LATERAL pg_partition_tree(cut.parent) AS tree
    JOIN pg_class AS class ON class.oid = tree.relid
    WHERE tree.isleaf AND class.relkind = 'r' AND pg_has_role('pg_monitor', 'USAGE')
    UNION ALL
    SELECT NULL, 'hipq.dead_letter', 'dead_letter', 'hipq.dead_letter'::regclass, NULL
    WHERE pg_has_role('pg_monitor', 'USAGE')
    OFFSET 0
) AS leaf
CROSS JOIN LATERAL (
    SELECT bound.from_time,
           bound.to_time,
           CASE WHEN bound.from_time < hipq.now()
               THEN (extract(epoch FROM least(bound.to_time, hipq.now()) - bound.from_time) / 86400)::numeric END AS days
    FROM (SELECT pg_get_expr(leaf.relpartbound, leaf.oid) AS definition) AS partition
    CROSS JOIN LATERAL (
        SELECT substring(partition.definition FROM 'FROM \(''([^'']*)''\)')::timestamptz AS from_time,
               substring(partition.definition FROM 'TO \(''([^'']*)''\)')::timestamptz AS to_time
    ) AS bound
    OFFSET 0
) AS span;

-- Drivers cannot read infinity. Tables of queues that are there keep their defaults, so that a
-- library of 0.1.0 takes their rows: its successor changes them as they come.
ALTER TABLE ONLY hipq.job
    ALTER COLUMN accepted_time SET DEFAULT '9999-01-01 00:00:00+00',
    ALTER COLUMN deadline SET DEFAULT '9999-01-01 00:00:00+00',
    ALTER COLUMN expires_time SET DEFAULT '9999-01-01 00:00:00+00';
COMMENT ON COLUMN hipq.job.accepted_time
    IS 'when the present or last attempt started; the year 9999 = none yet';
COMMENT ON COLUMN hipq.job.deadline
    IS 'when the running attempt times out; the year 9999 = it does not run';
COMMENT ON COLUMN hipq.job.expires_time
    IS 'not started by then: final with reason expired; the year 9999 = it does not expire';

-- Where tables say NONE, or 0 for no limit, views show NULL. A search for a key finds its index all
-- the same.
CREATE FUNCTION hipq._is_in_reach_by_scan_support(internal) RETURNS internal LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_in_reach_by_scan_support';
COMMENT ON FUNCTION hipq._is_in_reach_by_scan_support(internal)
    IS 'the same for hipq._is_in_reach_by_scan()';

CREATE FUNCTION hipq._is_in_reach_by_scan(queue_id integer, queues integer[]) RETURNS boolean LANGUAGE c STRICT IMMUTABLE
    SUPPORT hipq._is_in_reach_by_scan_support AS 'MODULE_PATHNAME', 'hipq__is_one_of';
COMMENT ON FUNCTION hipq._is_in_reach_by_scan(integer, integer[])
    IS 'the same, for a table that is scanned unless the statement asks for rows by their ids: then '
    'the planner leaves out all tables';

CREATE FUNCTION hipq._asked_ids_support(internal) RETURNS internal LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__asked_ids_support';
COMMENT ON FUNCTION hipq._asked_ids_support(internal)
    IS 'gives the planner the ids that the statement asks for in the place of hipq._asked_ids()';

CREATE FUNCTION hipq._asked_ids() RETURNS bigint[] LANGUAGE c STABLE SUPPORT hipq._asked_ids_support AS 'MODULE_PATHNAME', 'hipq__asked_ids';
COMMENT ON FUNCTION hipq._asked_ids()
    IS 'the ids that the statement asks for, as id = ..., beside hipq._is_in_reach_by_scan(); NULL = '
    'none';

CREATE FUNCTION hipq._is_asked_for_support(internal) RETURNS internal LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_asked_for_support';
COMMENT ON FUNCTION hipq._is_asked_for_support(internal)
    IS 'gives the planner the numbers of the queues that the statement names in the place of '
    'hipq._is_asked_for()';

CREATE FUNCTION hipq._is_asked_for(queue text, queue_id integer) RETURNS boolean LANGUAGE c IMMUTABLE
    SUPPORT hipq._is_asked_for_support AS 'MODULE_PATHNAME', 'hipq__is_asked_for';
COMMENT ON FUNCTION hipq._is_asked_for(text, integer)
    IS 'true; in a view that shows the name of a queue it has the planner know the number of one '
    'that is asked for by its name';

CREATE FUNCTION hipq._is_as_asked_support(internal) RETURNS internal LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_as_asked_support';
COMMENT ON FUNCTION hipq._is_as_asked_support(internal)
    IS 'gives the planner what the statement implies of a column in the place of '
    'hipq._is_as_asked()';

CREATE FUNCTION hipq._is_as_asked(value text) RETURNS boolean LANGUAGE c IMMUTABLE
    SUPPORT hipq._is_as_asked_support AS 'MODULE_PATHNAME', 'hipq__is_as_asked';
COMMENT ON FUNCTION hipq._is_as_asked(text)
    IS 'true; in a view that shows nullif(value, ''NONE'') it has the planner use the index of the '
    'column';

REVOKE ALL ON FUNCTION
    hipq._is_as_asked_support(internal),
    hipq._is_in_reach_by_scan_support(internal),
    hipq._asked_ids_support(internal),
    hipq._is_asked_for_support(internal)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    hipq._is_as_asked(text),
    hipq._is_in_reach_by_scan(integer, integer[]),
    hipq._asked_ids(),
    hipq._is_asked_for(text, integer)
    TO PUBLIC;

CREATE FUNCTION hipq._jobs_by_id(ids bigint[]) RETURNS SETOF hipq.job LANGUAGE c STRICT STABLE ROWS 1 AS 'MODULE_PATHNAME', 'hipq__jobs_by_id';
COMMENT ON FUNCTION hipq._jobs_by_id(bigint[])
    IS 'jobs with these ids, in all queues that the current user may read';

CREATE FUNCTION hipq._unfinished_job(
    queue_id integer, id bigint, OUT state text, OUT job_type text, OUT job_key text, OUT throttle_key text, OUT throttle_factor numeric, OUT timeout integer,
    OUT accepted_time timestamptz
) RETURNS SETOF record LANGUAGE c STRICT STABLE ROWS 1 AS 'MODULE_PATHNAME', 'hipq__unfinished_job';
COMMENT ON FUNCTION hipq._unfinished_job(integer, bigint)
    IS 'a job that is not final, of a queue that the current user may look at; job_key: NULL if he '
    'may not read it';

GRANT EXECUTE ON FUNCTION hipq._jobs_by_id(bigint[]), hipq._unfinished_job(integer, bigint) TO PUBLIC;
COMMENT ON FUNCTION hipq._masked_job(integer, text, jsonb)
    IS 'the same of a whole job in a dead letter, with null where the row says that there is none';

CREATE OR REPLACE VIEW hipq.attempts_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       attempt.job_id,
       attempt.attempt,
       attempt.job_type,
       nullif(attempt.job_key, 'NONE') AS job_key,
       attempt.reason,
       attempt.sqlstate,
       nullif(attempt.error, 'NONE') AS error,
       attempt.detail,
       attempt.hint,
       attempt.context,
       attempt.executor_pid,
       attempt.worker_id,
       attempt.started_time,
       attempt.ended_time,
       attempt.ended_time - attempt.started_time AS duration,
       attempt.traceparent
FROM hipq.attempt
JOIN hipq._readable_queue AS queue ON queue.queue_id = attempt.queue_id
WHERE hipq._is_one_of(attempt.queue_id, hipq._readable_queues()) AND attempt.queue_id = ANY (hipq._readable_queues());
COMMENT ON COLUMN hipq.attempts_detail.job_key IS 'job key; NULL = none';
COMMENT ON COLUMN hipq.attempts_detail.error IS 'message; NULL for a success';
COMMENT ON COLUMN hipq.attempts_detail.traceparent
    IS 'trace that the job belongs to, as W3C Trace Context writes it; NULL = none';

CREATE OR REPLACE VIEW hipq.dead_letters_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       dead_letter.job_id,
       dead_letter.state,
       dead_letter.job_type,
       nullif(dead_letter.job_key, 'NONE') AS job_key,
       dead_letter.reason,
       dead_letter.sqlstate,
       dead_letter.error,
       dead_letter.died_time,
       dead_letter.handled_time,
       dead_letter.redriven_time,
       dead_letter.dismissed_time,
       (dead_letter.job ->> 'attempt')::integer AS attempts,
       dead_letter.redriven_as,
       dead_letter.handler_error,
       hipq._masked_job(dead_letter.queue_id, dead_letter.job_type, dead_letter.job) AS job,
       dead_letter.history,
       dead_letter.attempts_left_out,
       dead_letter.reduced_because
FROM hipq.dead_letter
JOIN hipq._readable_queue AS queue ON queue.queue_id = dead_letter.queue_id
WHERE hipq._is_one_of(dead_letter.queue_id, hipq._readable_queues()) AND dead_letter.queue_id = ANY (hipq._readable_queues());
COMMENT ON COLUMN hipq.dead_letters_detail.job_key IS 'job key; NULL = none';
COMMENT ON COLUMN hipq.dead_letters_detail.job
    IS 'the whole row of the job, with null for what there is none of; secret parameters are ***';

CREATE OR REPLACE VIEW hipq.schedules_detail WITH (security_barrier) AS
SELECT schedule.name,
       schedule.cron,
       queue.name AS queue,
       schedule.job_type,
       nullif(schedule.job_key, 'NONE') AS job_key,
       hipq._masked(schedule.queue_id, schedule.job_type, schedule.job_data) AS job_data,
       schedule.role,
       entry.is_active,
       CASE WHEN entry.is_active THEN hipq._next_run(schedule.cron, schedule.last_run_time) END AS next_run_time,
       schedule.last_run_time,
       schedule.last_action,
       schedule.last_job_id,
       last.outcome AS last_outcome,
       schedule.created_time
FROM hipq.schedule
JOIN hipq._readable_queue AS queue ON queue.queue_id = schedule.queue_id
CROSS JOIN LATERAL (SELECT hipq._has_cron_entry(schedule.schedule_id) AS is_active) AS entry
-- An aggregate, which has one row: who does not ask for the outcome does not have it looked for.
LEFT JOIN LATERAL (SELECT min(jobs.outcome) AS outcome FROM hipq.jobs_detail AS jobs WHERE jobs.id = schedule.last_job_id) AS last ON true
OFFSET 0;
COMMENT ON COLUMN hipq.schedules_detail.job_key IS 'job key of its jobs; NULL = none';

CREATE OR REPLACE VIEW hipq.pauses_detail WITH (security_barrier) AS
WITH readable_queue AS MATERIALIZED (SELECT queue.queue_id, queue.instance_id FROM hipq._readable_queue AS queue)
SELECT instance.name AS instance,
       instance.name || '.' || queue.name AS queue,
       pause.job_type,
       pause.throttle_key,
       pause.paused_by,
       pause.paused_time,
       nullif(pause.reason, 'NONE') AS reason,
       pause.crashes
FROM hipq.pause
LEFT JOIN hipq.queue ON queue.queue_id = pause.queue_id
JOIN hipq.instance ON instance.instance_id = coalesce(pause.instance_id, queue.instance_id)
WHERE pg_has_role('pg_monitor', 'USAGE')
   OR EXISTS (
       SELECT FROM readable_queue AS concerned
       WHERE concerned.queue_id = pause.queue_id OR concerned.instance_id = pause.instance_id
   )
OFFSET 0;
COMMENT ON COLUMN hipq.pauses_detail.reason IS 'why, as given; NULL = nothing was given';

CREATE OR REPLACE VIEW hipq.instances_detail WITH (security_barrier) AS
WITH visible_queue AS MATERIALIZED (
    SELECT queue.name, queue.instance_id, queue.is_dropped, hipq._may(queue.queue_id, 'read') AS is_readable FROM hipq._visible_queue AS queue
)
SELECT instance.name,
       nullif(instance.shard_key, 'NONE') AS shard_key,
       nullif(instance.table_naming_strategy, 'NONE') AS table_naming_strategy,
       CASE WHEN visible.readable > 0 OR current_setting('is_superuser') = 'on' THEN instance.db_config END AS db_config,
       visible.queues,
       instance.created_time,
       instance.is_strict
FROM hipq.instance
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE queue.is_readable) AS readable,
           coalesce(array_agg(queue.name ORDER BY queue.name) FILTER (WHERE NOT queue.is_dropped), '{}') AS queues
    FROM visible_queue AS queue
    WHERE queue.instance_id = instance.instance_id
) AS visible
WHERE visible.readable > 0 OR pg_has_role('pg_monitor', 'USAGE')
OFFSET 0;
COMMENT ON COLUMN hipq.instances_detail.shard_key
    IS 'what a sharded instance would spread jobs by; without effect; NULL = not sharded';
COMMENT ON COLUMN hipq.instances_detail.table_naming_strategy
    IS 'SQL expression that gives the name of a queue''s table; NULL = <instance>_<queue>';

ALTER TABLE hipq.queue ADD COLUMN shard_key text NOT NULL DEFAULT 'NONE';
ALTER TABLE hipq.queue ADD COLUMN throttle_mode text NOT NULL DEFAULT 'home' CONSTRAINT queue_throttle_mode_is_known CHECK (throttle_mode IN ('home', 'shared'));
ALTER TABLE hipq.queue ADD COLUMN move_order text NOT NULL DEFAULT 'key' CONSTRAINT queue_move_order_is_known CHECK (move_order IN ('key', 'strict'));
ALTER TABLE hipq.queue ADD COLUMN unique_scope text NOT NULL DEFAULT 'global' CONSTRAINT queue_unique_scope_is_known CHECK (unique_scope IN ('global', 'shard_key'));

ALTER TABLE hipq.successor ADD COLUMN shard_key text COLLATE "C" NOT NULL DEFAULT 'NONE';
ALTER TABLE hipq.successor DROP CONSTRAINT successor_pkey;
ALTER TABLE hipq.successor ADD CONSTRAINT successor_pkey PRIMARY KEY (queue_id, job_type, job_key, shard_key);
COMMENT ON COLUMN hipq.successor.shard_key
    IS 'shard key that the job key is unique within; NONE = none, or the whole queue';

CREATE OR REPLACE VIEW hipq.queues_detail WITH (security_barrier) AS
SELECT queue.full_name AS queue,
       queue.instance,
       queue.owner,
       'hipq.' || quote_ident(queue.table_name) AS table_name,
       CASE WHEN queue.throttle_limit >= 1 THEN queue.throttle_limit END::numeric(12,3) AS throttle_limit,
       coalesce((SELECT round(limiter.used / 1000.0, 3) FROM hipq._limiters() AS limiter WHERE limiter.queue_id = queue.queue_id AND limiter.job_type IS NULL), 0.000) AS throttle_used,
       live.running + locked.running AS running_jobs,
       live.initial,
       live.running,
       live.error,
       live.retry,
       waiting.waiting_time,
       waiting.waiting_window,
       waiting.waiting_hold,
       waiting.waiting_pause,
       waiting.waiting_handler,
       waiting.waiting_throttle,
       waiting.ready,
       live.oldest_due_time,
       coalesce(queue.retention, current_setting('hipq.retention', true)::interval) AS retention,
       queue.history,
       queue.durability,
       queue.weight,
       coalesce(queue.is_strict, (SELECT instance.is_strict FROM hipq.instance WHERE instance.instance_id = queue.instance_id)) AS is_strict,
       coalesce(queue.queue_ttl, ceil(extract(epoch FROM current_setting('hipq.queue_ttl', true)::interval))::integer) AS queue_ttl,
       coalesce(queue.dead_letter_enabled, current_setting('hipq.dead_letter_enabled', true)::boolean) AS dead_letter_enabled,
       coalesce(queue.dead_letter_retention, current_setting('hipq.dead_letter_retention', true)::interval) AS dead_letter_retention,
       coalesce(queue.dead_letter_max, current_setting('hipq.dead_letter_max', true)::integer) AS dead_letter_max,
       nullif(queue.dead_letter_handler, 'NONE') AS dead_letter_handler,
       coalesce(queue.max_timeout, ceil(extract(epoch FROM current_setting('hipq.max_timeout', true)::interval))::integer) AS max_timeout,
       queue.highest_priority,
       queue.allow_free_jobs,
       coalesce(queue.retry_enabled, current_setting('hipq.retry_enabled', true)::boolean) AS retry_enabled,
       EXISTS (
           SELECT FROM hipq.pause
           WHERE pause.instance_id = queue.instance_id OR pause.queue_id = queue.queue_id AND pause.job_type IS NULL
       ) AS is_paused,
       queue.is_dropped,
       queue.created_time
FROM (
    SELECT queue.*, seen.name AS full_name, seen.instance
    FROM hipq.queue
    JOIN hipq._visible_queue AS seen ON seen.queue_id = queue.queue_id
    WHERE queue.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()))
    OFFSET 0
) AS queue
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE job.state = 'initial') AS initial,
           count(*) FILTER (WHERE job.state = 'running') AS running,
           count(*) FILTER (WHERE job.state = 'error') AS error,
           count(*) FILTER (WHERE job.state = 'retry') AS retry,
           min(job.scheduled_run_time) FILTER (WHERE job.state IN ('initial', 'retry') AND job.scheduled_run_time <= hipq.now()) AS oldest_due_time
    FROM hipq.job
    WHERE job.queue_id = queue.queue_id AND hipq._is_in_reach(job.queue_id, hipq._visible_queues()) AND job.state <> 'final'
) AS live ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS running FROM hipq._running_jobs() AS locked WHERE locked.queue_id = queue.queue_id AND locked.is_locked
) AS locked ON true
LEFT JOIN LATERAL (
    SELECT coalesce(sum(kind.jobs) FILTER (WHERE NOT kind.is_due), 0)::bigint AS waiting_time,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'window'), 0)::bigint AS waiting_window,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'hold'), 0)::bigint AS waiting_hold,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'pause'), 0)::bigint AS waiting_pause,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'handler'), 0)::bigint AS waiting_handler,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'throttle'), 0)::bigint AS waiting_throttle,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'none'), 0)::bigint AS ready
    FROM (
        SELECT job.scheduled_run_time <= present.time AS is_due,
               job.job_type,
               job.time_windows,
               job.throttle_key,
               job.throttle_factor,
               count(*) AS jobs
        FROM hipq.job
        CROSS JOIN (SELECT hipq.now() AS time) AS present
        WHERE job.queue_id = queue.queue_id AND hipq._is_in_reach(job.queue_id, hipq._visible_queues())
          AND job.state IN ('initial', 'retry')
          AND job.id NOT IN (SELECT locked.job_id FROM hipq._running_jobs() AS locked WHERE locked.is_locked)
        GROUP BY 1, 2, 3, 4, 5
    ) AS kind
    CROSS JOIN LATERAL (
        SELECT CASE WHEN kind.is_due
            THEN hipq._first_unmet_condition(queue.queue_id, kind.job_type, kind.time_windows::text, kind.throttle_key, kind.throttle_factor) END AS first_unmet
    ) AS condition
) AS waiting ON true
WHERE hipq._is_asked_for(queue.full_name, queue.queue_id);
COMMENT ON COLUMN hipq.queues_detail.throttle_limit
    IS 'limit on the sum of throttle_factor over running jobs; NULL = no limit';
COMMENT ON COLUMN hipq.queues_detail.dead_letter_handler
    IS 'function that is called for each dead letter; NULL = none';

COMMENT ON COLUMN hipq.queue.shard_key
    IS 'what a sharded instance divides its jobs by: a column, or a path within job_data; NONE = '
    'all its jobs are the router''s';
COMMENT ON COLUMN hipq.queue.throttle_mode
    IS 'how a sharded instance keeps throttle limits: home = all jobs of a queue with limits are on '
    'one node, shared = each node has a share';
COMMENT ON COLUMN hipq.queue.move_order
    IS 'what stays in order while slots move from one node of a sharded instance to another: key = '
    'jobs with one job_key, strict = all jobs of a slot';
COMMENT ON COLUMN hipq.queue.unique_scope
    IS 'what keys are unique within: global = the whole queue, shard_key = the jobs of each shard key';
COMMENT ON COLUMN hipq.instance.shard_key
    IS 'what its queues divide their jobs by, in a sharded instance, unless they say otherwise; '
    'NONE = nothing';
COMMENT ON COLUMN hipq.instance.db_config
    IS 'of a sharded instance: {"publisher": connection string}, how shards reach the router';
COMMENT ON COLUMN hipq.job.shard_key
    IS 'what places the job in a sharded instance: given, or taken from where the queue says; NONE = '
    'nothing';

ALTER TABLE hipq.job_type ADD COLUMN attempt_log boolean;
COMMENT ON COLUMN hipq.job_type.attempt_log
    IS 'whether what its handlers say is kept; NULL = setting hipq.attempt_log';
CREATE OR REPLACE VIEW hipq.job_types_detail WITH (security_barrier) AS
SELECT seen.name AS queue,
       job_type.name AS job_type,
       nullif(job_type.handler, 'NONE') AS handler,
       job_type.handler_kind,
       nullif(job_type.retry_handler, 'NONE') AS retry_handler,
       least(coalesce(job_type.default_timeout, ceil(extract(epoch FROM current_setting('hipq.default_timeout', true)::interval))::integer),
             coalesce(queue.max_timeout, ceil(extract(epoch FROM current_setting('hipq.max_timeout', true)::interval))::integer)) AS default_timeout,
       job_type.default_priority,
       job_type.default_throttle_factor,
       CASE WHEN job_type.default_time_windows <> 'NONE' THEN job_type.default_time_windows ELSE NULL::hipq.time_windows END AS default_time_windows,
       job_type.time_zone,
       coalesce(job_type.max_retries, current_setting('hipq.max_retries', true)::integer) AS max_retries,
       coalesce(job_type.retry_base, current_setting('hipq.retry_base', true)::interval) AS retry_base,
       coalesce(job_type.retry_multiplier, current_setting('hipq.retry_multiplier', true)::double precision) AS retry_multiplier,
       coalesce(job_type.retry_max, current_setting('hipq.retry_max', true)::interval) AS retry_max,
       coalesce(job_type.retry_jitter, current_setting('hipq.retry_jitter', true)::double precision) AS retry_jitter,
       job_type.retry_on,
       job_type.do_not_retry_on,
       job_type.on_missing_handler,
       coalesce(job_type.queue_ttl, queue.queue_ttl, ceil(extract(epoch FROM current_setting('hipq.queue_ttl', true)::interval))::integer) AS queue_ttl,
       job_type.claim,
       job_type.batch_size,
       CASE WHEN job_type.throttle_limit >= 1 THEN job_type.throttle_limit END::numeric(12,3) AS throttle_limit,
       coalesce((SELECT round(limiter.used / 1000.0, 3) FROM hipq._limiters() AS limiter WHERE limiter.queue_id = queue.queue_id AND limiter.job_type = job_type.name), 0.000) AS throttle_used,
       CASE WHEN job_type.throttle_limit_per_key >= 1 THEN job_type.throttle_limit_per_key END::numeric(12,3) AS throttle_limit_per_key,
       job_type.requires,
       job_type.worker_wait_ttl,
       coalesce(job_type.retry_enabled, queue.retry_enabled, current_setting('hipq.retry_enabled', true)::boolean) AS retry_enabled,
       job_type.parameters,
       job_type.validate,
       coalesce(service.workers, 0) AS workers,
       EXISTS (
           SELECT FROM hipq.pause
           WHERE pause.instance_id = queue.instance_id
              OR pause.queue_id = queue.queue_id AND (pause.job_type IS NULL OR pause.job_type = job_type.name AND pause.throttle_key IS NULL)
       ) AS is_paused,
       job_type.is_registered,
       cardinality(job_type.crash_times) AS crashes,
       job_type.created_time,
       coalesce(job_type.attempt_log, current_setting('hipq.attempt_log', true)::boolean) AS attempt_log
FROM hipq.job_type
JOIN hipq._visible_queue AS seen ON seen.queue_id = job_type.queue_id
JOIN hipq.queue ON queue.queue_id = seen.queue_id
LEFT JOIN hipq._worker_services() AS service ON service.queue_id = queue.queue_id AND service.job_type = job_type.name
WHERE NOT queue.is_dropped
OFFSET 0;
COMMENT ON COLUMN hipq.job_types_detail.attempt_log
    IS 'whether what its handlers say is kept, unless the handler says otherwise';
COMMENT ON COLUMN hipq.job_types_detail.handler
    IS 'what runs: schema.function(argument types), or one SQL statement; NULL = nothing yet, '
    'jobs wait';
COMMENT ON COLUMN hipq.job_types_detail.retry_handler
    IS 'function or SQL statement that decides about retries; NULL = the retry policy decides';
COMMENT ON COLUMN hipq.job_types_detail.default_time_windows
    IS 'time windows of jobs that give none; NULL = always';
COMMENT ON COLUMN hipq.job_types_detail.throttle_limit
    IS 'limit on the sum of throttle_factor over running jobs of the type; NULL = no limit';
COMMENT ON COLUMN hipq.job_types_detail.throttle_limit_per_key
    IS 'limit on that sum for the jobs of one throttle_key; NULL = no limit';

CREATE OR REPLACE VIEW hipq.throttle_keys WITH (security_barrier) AS
SELECT queue.name AS queue,
       job.job_type,
       job.throttle_key,
       max(job_type.throttle_limit_per_key) FILTER (WHERE job_type.throttle_limit_per_key >= 1) AS throttle_limit_per_key,
       sum(job.throttle_factor) AS throttle_used,
       count(*) AS running_jobs
FROM hipq._running_jobs() AS executor
CROSS JOIN LATERAL (
    SELECT executor.queue_id, found.job_type COLLATE "C" AS job_type, found.throttle_key COLLATE "C" AS throttle_key, found.throttle_factor
    FROM hipq._unfinished_job(executor.queue_id, executor.job_id) AS found
    WHERE found.throttle_key <> 'NONE'
) AS job
JOIN hipq._visible_queue AS queue ON queue.queue_id = job.queue_id
LEFT JOIN (
    SELECT job_type.queue_id, job_type.name, job_type.throttle_limit_per_key FROM hipq.job_type WHERE job_type.queue_id = ANY (hipq._visible_queues()) OFFSET 0
) AS job_type ON job_type.queue_id = job.queue_id AND job_type.name = job.job_type
GROUP BY queue.name, job.job_type, job.throttle_key;
COMMENT ON COLUMN hipq.throttle_keys.throttle_limit_per_key
    IS 'limit on the sum of throttle_factor over running jobs of the key; NULL = no limit';

CREATE OR REPLACE VIEW hipq.jobs_detail WITH (security_barrier) AS
SELECT job.id,
       queue.name AS queue,
       job.job_type,
       nullif(job.job_key, 'NONE') AS job_key,
       job.state,
       CASE
           WHEN job.state = 'running' THEN 'running'
           WHEN job.state IN ('initial', 'retry') AND hipq._is_running(job.queue_id, job.id) THEN 'running'
           WHEN job.state <> 'final' THEN 'waiting'
           WHEN job.error = 'NONE' THEN 'succeeded'
           WHEN job.retry_reason = 'cancelled' THEN 'cancelled'
           WHEN job.retry_reason = 'expired' THEN 'expired'
           ELSE 'failed'
       END AS outcome,
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
       CASE WHEN job.accepted_time < '9999-01-01 00:00:00+00' THEN job.accepted_time END AS accepted_time,
       job.update_time,
       CASE WHEN job.deadline < '9999-01-01 00:00:00+00' THEN job.deadline END AS deadline,
       CASE WHEN job.expires_time < '9999-01-01 00:00:00+00' THEN job.expires_time END AS expires_time,
       hipq._masked(job.queue_id, job.job_type, job.job_data) AS job_data,
       nullif(job.result, 'null') AS result,
       job.original_job_id,
       job.retry_of,
       job.throttle_factor,
       nullif(job.throttle_key, 'NONE') AS throttle_key,
       CASE WHEN job.time_windows <> 'NONE' THEN job.time_windows ELSE NULL::hipq.time_windows END AS time_windows,
       nullif(job.shard_key, 'NONE') AS shard_key,
       nullif(job.worker_id, -1) AS worker_id,
       job.queue_ttl,
       job.traceparent
FROM (
    SELECT *, clock_timestamp()
    FROM hipq.job
    WHERE hipq._is_in_reach_by_scan(job.queue_id, hipq._readable_queues()) AND hipq._is_as_asked(job.job_key)
    UNION ALL
    SELECT *, clock_timestamp()
    FROM hipq._jobs_by_id(hipq._asked_ids()) AS job
) AS job
JOIN hipq._readable_queue AS queue ON queue.queue_id = job.queue_id
WHERE hipq._is_asked_for(queue.name, job.queue_id);
COMMENT ON COLUMN hipq.jobs_detail.job_key IS 'job key; NULL = none';
COMMENT ON COLUMN hipq.jobs_detail.error IS 'error of the last failed attempt; NULL = none';
COMMENT ON COLUMN hipq.jobs_detail.retry_reason
    IS 'why the last attempt did not succeed; before the first of a job that was enqueued again: '
    'manual_retry or redriven; NULL = neither';
COMMENT ON COLUMN hipq.jobs_detail.accepted_time
    IS 'when the present or last attempt started; NULL = none yet';
COMMENT ON COLUMN hipq.jobs_detail.deadline
    IS 'when the running attempt times out; NULL = it does not run';
COMMENT ON COLUMN hipq.jobs_detail.expires_time
    IS 'not started by then: final with reason expired; NULL = it does not expire';
COMMENT ON COLUMN hipq.jobs_detail.result
    IS 'what the handler or the external worker returned; NULL = nothing, or JSON null';
COMMENT ON COLUMN hipq.jobs_detail.throttle_key IS 'jobs with the same key share a limit; NULL = no key';
COMMENT ON COLUMN hipq.jobs_detail.time_windows IS 'when the job may start; NULL = always';
COMMENT ON COLUMN hipq.jobs_detail.shard_key
    IS 'what a sharded instance would place the job by; without effect; NULL = nothing';
COMMENT ON COLUMN hipq.jobs_detail.worker_id
    IS 'external worker that has the job; 0 = its handler has returned and left it to be completed '
    'later; NULL = neither';
COMMENT ON COLUMN hipq.jobs_detail.traceparent
    IS 'trace that the job belongs to, as W3C Trace Context writes it; NULL = none';

CREATE OR REPLACE VIEW hipq.running_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       busy.id,
       busy.job_type,
       CASE WHEN hipq._may(busy.queue_id, 'read') THEN nullif(busy.job_key, 'NONE') END AS job_key,
       busy.attempt,
       busy.pid,
       busy.worker_id,
       worker.name AS worker,
       busy.is_accepted,
       busy.since,
       busy.timeout,
       busy.deadline,
       activity.wait_event_type,
       activity.wait_event,
       pg_blocking_pids(busy.pid) AS blocked_by
FROM (
    SELECT job.queue_id,
           job.id,
           job.job_type,
           job.job_key,
           coalesce(executor.attempt, job.attempt) AS attempt,
           executor.pid,
           CASE WHEN executor.pid IS NULL THEN job.worker_id END AS worker_id,
           CASE WHEN executor.pid IS NULL AND job.worker_id > 0 THEN coalesce(executor.is_accepted, job.accepted_time < '9999-01-01 00:00:00+00') END AS is_accepted,
           coalesce(executor.started_time, CASE WHEN job.accepted_time < '9999-01-01 00:00:00+00' THEN job.accepted_time END, job.update_time) AS since,
           job.timeout,
           coalesce(executor.deadline, CASE WHEN job.deadline < '9999-01-01 00:00:00+00' THEN job.deadline END) AS deadline
    FROM (SELECT *, clock_timestamp() FROM hipq.job WHERE job.state = 'running' AND hipq._is_in_reach(job.queue_id, hipq._visible_queues())) AS job
    LEFT JOIN hipq._running_jobs() AS executor ON executor.job_id = job.id
    UNION ALL
    SELECT executor.queue_id,
           executor.job_id,
           coalesce(waiting.job_type, executor.job_type) COLLATE "C",
           waiting.job_key COLLATE "C",
           executor.attempt,
           executor.pid,
           NULL,
           NULL,
           executor.started_time,
           waiting.timeout,
           executor.deadline
    FROM hipq._running_jobs() AS executor
    LEFT JOIN LATERAL hipq._unfinished_job(executor.queue_id, executor.job_id) AS waiting ON true
    WHERE executor.pid IS NOT NULL AND waiting.state IS DISTINCT FROM 'running'
) AS busy
JOIN hipq._visible_queue AS queue ON queue.queue_id = busy.queue_id
LEFT JOIN (SELECT worker.worker_id, worker.name FROM hipq.worker OFFSET 0) AS worker ON worker.worker_id = busy.worker_id
LEFT JOIN pg_stat_activity AS activity ON activity.pid = busy.pid
WHERE hipq._is_asked_for(queue.name, busy.queue_id);
COMMENT ON COLUMN hipq.running_detail.job_key
    IS 'job key; NULL = none, or the job ended while the view was read, or the caller may not read '
    'the queue';

CREATE OR REPLACE VIEW hipq.lanes_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       lane.job_type,
       lane.priority,
       CASE WHEN isfinite(lane.due_time) THEN lane.due_time END AS due_time,
       CASE WHEN isfinite(lane.frontier_time) THEN lane.frontier_time END AS frontier_time,
       CASE WHEN isfinite(lane.frontier_time) THEN nullif(lane.frontier_id, -9223372036854775808) END AS frontier_id,
       lane.pockets,
       lane.notes,
       lane.is_read
FROM hipq._lanes() AS lane
JOIN hipq._visible_queue AS queue ON queue.queue_id = lane.queue_id;
COMMENT ON COLUMN hipq.lanes_detail.due_time
    IS 'no job in it is due before; NULL = it is empty, or nothing is known yet';
COMMENT ON COLUMN hipq.lanes_detail.frontier_time
    IS 'from this scheduled_run_time on it has not been read yet; NULL = it has not been read, or '
    'is read to its end';
COMMENT ON COLUMN hipq.lanes_detail.frontier_id
    IS 'of the jobs with scheduled_run_time = frontier_time, those from this id on have not been '
    'read yet; NULL = none of them has';

-- Jobs that do not expire are not in the index of those that do.
CREATE FUNCTION hipq._make_expiry_indexes() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    index record;
BEGIN
    FOR index IN
        SELECT indexrelid::regclass AS name, pg_class.relname, indrelid::regclass AS leaf
        FROM hipq.queue
        JOIN pg_class AS top ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
        JOIN pg_inherits ON inhparent = top.oid
        JOIN pg_index ON indrelid = inhrelid
        JOIN pg_class ON pg_class.oid = indexrelid
        WHERE pg_get_expr(indpred, indrelid) = '(expires_time < ''infinity''::timestamp with time zone)'
    LOOP
        EXECUTE format('DROP INDEX %s', index.name);
        EXECUTE format('CREATE INDEX %I ON %s (expires_time) WHERE expires_time < ''9999-01-01 00:00:00+00''', index.relname, index.leaf);
    END LOOP;
END
$$;
SELECT hipq._make_expiry_indexes();
DROP FUNCTION hipq._make_expiry_indexes();
COMMENT ON COLUMN hipq.sizes_detail.kind
    IS 'live (unfinished jobs), final, attempt, attempt_log or dead_letter';

-- Functions with more arguments take the places of others. Who had been given a right on one of
-- those has it on its successor, and pg_dump tells it as theirs, not as the extension's.
CREATE FUNCTION hipq._take_rights(former regprocedure, present regprocedure) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    at_first aclitem[];  -- of the successor
    change text;
BEGIN
    SELECT initprivs INTO at_first FROM pg_catalog.pg_init_privs WHERE classoid = 'pg_proc'::regclass AND objoid = present;
    FOR change IN
        WITH first AS (
            SELECT acl.grantee, acl.is_grantable
            FROM pg_catalog.pg_init_privs, aclexplode(initprivs) AS acl
            WHERE classoid = 'pg_proc'::regclass AND objoid = former
        ), present AS (
            SELECT acl.grantee, acl.is_grantable
            FROM pg_catalog.pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl
            WHERE pg_proc.oid = former
        ), lost AS (TABLE first EXCEPT TABLE present), gained AS (TABLE present EXCEPT TABLE first)
        SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM ', $2) || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END FROM lost
        UNION ALL
        SELECT format('GRANT EXECUTE ON FUNCTION %s TO ', $2) || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
            || CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
        FROM gained
    LOOP
        EXECUTE change;
    END LOOP;
    UPDATE pg_catalog.pg_init_privs SET initprivs = at_first WHERE classoid = 'pg_proc'::regclass AND objoid = present;
END
$$;

CREATE FUNCTION hipq.create_instance(
    name text, shard_key text DEFAULT 'NONE', table_naming_strategy text DEFAULT 'NONE', db_config jsonb DEFAULT '{}', strict boolean DEFAULT false,
    if_not_exists boolean DEFAULT false, or_replace boolean DEFAULT false
) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_or_replace_instance';
COMMENT ON FUNCTION hipq.create_instance(text, text, text, jsonb, boolean, boolean, boolean)
    IS 'makes an instance, a named group of queues, and returns its number. name: lower-case '
    'letters and underscores; table_naming_strategy: SQL expression over $1 (instance) and $2 '
    '(queue) that names a queue''s table; strict: whether its queues refuse jobs of types that '
    'nobody has registered; shard_key: what its queues divide their jobs by when it has shards; '
    'db_config: {"publisher": connection string}, how shards reach this server; '
    'if_not_exists: one that is there stays as it is; or_replace: it becomes what the arguments '
    'say';
REVOKE ALL ON FUNCTION hipq.create_instance(text, text, text, jsonb, boolean, boolean, boolean) FROM PUBLIC;
SELECT hipq._take_rights('hipq.create_instance(text, text, text, jsonb, boolean)', 'hipq.create_instance(text, text, text, jsonb, boolean, boolean, boolean)');
DROP FUNCTION hipq.create_instance(text, text, text, jsonb, boolean);

CREATE FUNCTION hipq.alter_instance(
    name text, strict boolean DEFAULT NULL, shard_key text DEFAULT NULL, table_naming_strategy text DEFAULT NULL, db_config jsonb DEFAULT NULL
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_whole_instance';
COMMENT ON FUNCTION hipq.alter_instance(text, boolean, text, text, jsonb)
    IS 'changes an instance. name: the instance; table_naming_strategy: for queues to come, with '
    'the rights of the caller; all arguments are those of create_instance(), NULL = as it is';
REVOKE ALL ON FUNCTION hipq.alter_instance(text, boolean, text, text, jsonb) FROM PUBLIC;
SELECT hipq._take_rights('hipq.alter_instance(text, boolean)', 'hipq.alter_instance(text, boolean, text, text, jsonb)');
DROP FUNCTION hipq.alter_instance(text, boolean);

CREATE FUNCTION hipq.create_queue(
    queue text, owner regrole DEFAULT NULL, throttle_limit double precision DEFAULT 0, retention hipq.duration DEFAULT NULL,
    history text DEFAULT 'failed', strict boolean DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL,
    dead_letter_enabled boolean DEFAULT NULL, dead_letter_retention hipq.duration DEFAULT NULL, durability text DEFAULT 'strict',
    weight integer DEFAULT 100, dead_letter_max integer DEFAULT NULL, dead_letter_handler text DEFAULT 'NONE',
    max_timeout hipq.duration DEFAULT NULL, highest_priority integer DEFAULT NULL, allow_free_jobs boolean DEFAULT true,
    retry_enabled boolean DEFAULT NULL, if_not_exists boolean DEFAULT false, or_replace boolean DEFAULT false,
    shard_key text DEFAULT NULL, throttle_mode text DEFAULT 'home', move_order text DEFAULT 'key',
    unique_scope text DEFAULT 'global'
) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_or_replace_queue';
COMMENT ON FUNCTION hipq.create_queue(
    text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean,
    hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, boolean,
    boolean, text, text, text, text
) IS 'makes a queue and its table, and returns its number. queue: instance.queue; owner: the role '
    'that handlers run as, NULL = the caller; weight: its share of the executors, 1 to 1000; '
    'queue_ttl, max_timeout: a number is seconds; max_timeout, highest_priority, allow_free_jobs: '
    'caps on what enqueuers ask for; what is NULL is as the setting of that name says; '
    'shard_key: what a sharded instance divides its jobs by, a column or a path within job_data, '
    'NULL = as the instance says; '
    'throttle_mode: how its nodes keep throttle limits, home = all jobs of a queue with limits are on '
    'one, shared = each node has a share; '
    'move_order: what stays in order while slots move between its nodes, key = jobs with one '
    'job_key, strict = all jobs of a slot; '
    'unique_scope: what keys are unique within, global = the whole queue, shard_key = the jobs of each '
    'shard key; '
    'if_not_exists: a queue that is there stays as it is; or_replace: it becomes what the '
    'arguments say, and an owner who is not given stays';
REVOKE ALL ON FUNCTION hipq.create_queue(text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean, hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, boolean, boolean, text, text, text, text) FROM PUBLIC;
SELECT hipq._take_rights('hipq.create_queue(text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean, hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean)', 'hipq.create_queue(text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean, hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, boolean, boolean, text, text, text, text)');
DROP FUNCTION hipq.create_queue(text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean, hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean);

CREATE FUNCTION hipq.alter_queue(
    queue text, owner regrole DEFAULT NULL, throttle_limit double precision DEFAULT NULL, retention hipq.duration DEFAULT NULL,
    history text DEFAULT NULL, strict boolean DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL,
    dead_letter_enabled boolean DEFAULT NULL, dead_letter_retention hipq.duration DEFAULT NULL, durability text DEFAULT NULL,
    weight integer DEFAULT NULL, dead_letter_max integer DEFAULT NULL, dead_letter_handler text DEFAULT NULL,
    max_timeout hipq.duration DEFAULT NULL, highest_priority integer DEFAULT NULL, allow_free_jobs boolean DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, reset text[] DEFAULT '{}', shard_key text DEFAULT NULL, throttle_mode text DEFAULT NULL,
    move_order text DEFAULT NULL, unique_scope text DEFAULT NULL
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_queue';
COMMENT ON FUNCTION hipq.alter_queue(
    text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean,
    hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, text[], text,
    text, text, text
) IS 'changes a queue. queue: the queue; reset: names of arguments that go back to the setting; '
    'the other arguments are those of create_queue(), NULL = as it is';
GRANT EXECUTE ON FUNCTION hipq.alter_queue(text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean, hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, text[], text, text, text, text) TO PUBLIC;
SELECT hipq._take_rights('hipq.alter_queue(text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean, hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, text[])', 'hipq.alter_queue(text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean, hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, text[], text, text, text, text)');
DROP FUNCTION hipq.alter_queue(text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean, hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, text[]);

CREATE FUNCTION hipq.register_job_type(
    queue text, job_type text, handler text DEFAULT 'NONE', handler_kind text DEFAULT 'auto', retry_handler text DEFAULT 'NONE',
    default_timeout hipq.duration DEFAULT NULL, default_priority integer DEFAULT 0, default_throttle_factor double precision DEFAULT 1,
    default_time_windows text DEFAULT 'NONE', time_zone text DEFAULT NULL, max_retries integer DEFAULT NULL,
    retry_base hipq.duration DEFAULT NULL, retry_multiplier double precision DEFAULT NULL, retry_max hipq.duration DEFAULT NULL,
    retry_jitter double precision DEFAULT NULL, retry_on text[] DEFAULT '{}', do_not_retry_on text[] DEFAULT '{}',
    on_missing_handler text DEFAULT 'wait', queue_ttl hipq.duration DEFAULT NULL, claim text DEFAULT 'auto', batch_size integer DEFAULT 1,
    throttle_limit double precision DEFAULT 0, throttle_limit_per_key double precision DEFAULT 0, requires jsonb DEFAULT '{}', worker_wait_ttl hipq.duration DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, parameters jsonb DEFAULT '{}', validate text DEFAULT 'enqueue', attempt_log boolean DEFAULT NULL,
    if_not_exists boolean DEFAULT false, or_replace boolean DEFAULT false
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_register_or_replace_job_type';
COMMENT ON FUNCTION hipq.register_job_type(
    text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer,
    hipq.duration, double precision, hipq.duration, double precision, text[], text[], text,
    hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean,
    jsonb, text, boolean, boolean, boolean
) IS 'registers a job type of a queue: what runs, and what its jobs start with. queue: the queue; '
    'job_type: the type; handler: a function, a procedure or an SQL statement; retry_handler: '
    'what decides about retries; default_timeout, queue_ttl, worker_wait_ttl: a number is '
    'seconds; what is NULL is as the queue, or the setting of that name, says; if_not_exists: a '
    'type that is registered stays as it is; or_replace: it becomes what the arguments say, and a '
    'time zone that is not given stays';
GRANT EXECUTE ON FUNCTION hipq.register_job_type(text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer, hipq.duration, double precision, hipq.duration, double precision, text[], text[], text, hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean, jsonb, text, boolean, boolean, boolean) TO PUBLIC;
SELECT hipq._take_rights('hipq.register_job_type(text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer, hipq.duration, double precision, hipq.duration, double precision, text[], text[], text, hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean, jsonb, text)', 'hipq.register_job_type(text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer, hipq.duration, double precision, hipq.duration, double precision, text[], text[], text, hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean, jsonb, text, boolean, boolean, boolean)');
DROP FUNCTION hipq.register_job_type(text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer, hipq.duration, double precision, hipq.duration, double precision, text[], text[], text, hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean, jsonb, text);

CREATE FUNCTION hipq.alter_job_type(
    queue text, job_type text, handler text DEFAULT NULL, handler_kind text DEFAULT 'auto', retry_handler text DEFAULT NULL,
    default_timeout hipq.duration DEFAULT NULL, default_priority integer DEFAULT NULL, default_throttle_factor double precision DEFAULT NULL,
    default_time_windows text DEFAULT NULL, time_zone text DEFAULT NULL, max_retries integer DEFAULT NULL,
    retry_base hipq.duration DEFAULT NULL, retry_multiplier double precision DEFAULT NULL, retry_max hipq.duration DEFAULT NULL,
    retry_jitter double precision DEFAULT NULL, retry_on text[] DEFAULT NULL, do_not_retry_on text[] DEFAULT NULL,
    on_missing_handler text DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL, claim text DEFAULT NULL, batch_size integer DEFAULT NULL,
    throttle_limit double precision DEFAULT NULL, throttle_limit_per_key double precision DEFAULT NULL, requires jsonb DEFAULT NULL, worker_wait_ttl hipq.duration DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, parameters jsonb DEFAULT NULL, validate text DEFAULT NULL, attempt_log boolean DEFAULT NULL,
    reset text[] DEFAULT '{}'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_whole_job_type';
COMMENT ON FUNCTION hipq.alter_job_type(
    text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer,
    hipq.duration, double precision, hipq.duration, double precision, text[], text[], text,
    hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean,
    jsonb, text, boolean, text[]
) IS 'changes a job type. queue: the queue; job_type: the type; reset: names of arguments that go '
    'back to the queue or setting; the other arguments are those of register_job_type(), NULL = '
    'as it is';
GRANT EXECUTE ON FUNCTION hipq.alter_job_type(text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer, hipq.duration, double precision, hipq.duration, double precision, text[], text[], text, hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean, jsonb, text, boolean, text[]) TO PUBLIC;
SELECT hipq._take_rights('hipq.alter_job_type(text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer, hipq.duration, double precision, hipq.duration, double precision, text[], text[], text, hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean, jsonb, text, text[])', 'hipq.alter_job_type(text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer, hipq.duration, double precision, hipq.duration, double precision, text[], text[], text, hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean, jsonb, text, boolean, text[])');
DROP FUNCTION hipq.alter_job_type(text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer, hipq.duration, double precision, hipq.duration, double precision, text[], text[], text, hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean, jsonb, text, text[]);

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL, job_text text DEFAULT NULL, traceparent text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue';
COMMENT ON FUNCTION hipq.enqueue(
    text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer,
    timestamptz, text, text, hipq.duration, text, text, text
) IS 'enqueues a job in the caller''s transaction and returns its id. job_type: the type; '
    'job_data: JSON, or a text that is none; job_text: a text, whatever is in it; queue: '
    'instance.queue, NULL = the one that has the type; job_key: one unfinished job for each; '
    'on_duplicate: error, return, replace, merge, debounce or after; timeout, queue_ttl: a number '
    'is seconds; worker: the one external worker of the first attempt; traceparent: its trace, '
    'NULL = that of the session; what else is NULL comes from the job type';
GRANT EXECUTE ON FUNCTION hipq.enqueue(text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text, text) TO PUBLIC;
SELECT hipq._take_rights('hipq.enqueue(text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text)', 'hipq.enqueue(text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text, text)');
DROP FUNCTION hipq.enqueue(text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text);

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL, traceparent text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_value';
COMMENT ON FUNCTION hipq.enqueue(
    text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text, text
) IS 'enqueues a job in the caller''s transaction and returns its id. job_data: a value of any '
    'type, as to_jsonb() makes it; the other arguments are those of enqueue() of text';
GRANT EXECUTE ON FUNCTION hipq.enqueue(text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text) TO PUBLIC;
SELECT hipq._take_rights('hipq.enqueue(text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text)', 'hipq.enqueue(text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text)');
DROP FUNCTION hipq.enqueue(text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text);

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL, job_text text DEFAULT NULL,
    traceparent text DEFAULT NULL, OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique';
COMMENT ON FUNCTION hipq.enqueue_unique(
    text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer,
    timestamptz, text, text, hipq.duration, text, text, text
) IS 'enqueues a job unless an unfinished one has its key; returns the id of either, and what was '
    'done: inserted, returned, replaced, merged, debounced or after. job_key: the key, which must '
    'be given; the other arguments are those of enqueue()';
GRANT EXECUTE ON FUNCTION hipq.enqueue_unique(text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text, text) TO PUBLIC;
SELECT hipq._take_rights('hipq.enqueue_unique(text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text)', 'hipq.enqueue_unique(text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text, text)');
DROP FUNCTION hipq.enqueue_unique(text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text);

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL,
    traceparent text DEFAULT NULL, OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique_value';
COMMENT ON FUNCTION hipq.enqueue_unique(
    text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text, text
) IS 'enqueues a job unless an unfinished one has its key; returns the id of either, and what was '
    'done. job_data: a value of any type, as to_jsonb() makes it; the other arguments are those '
    'of enqueue_unique() of text';
GRANT EXECUTE ON FUNCTION hipq.enqueue_unique(text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text) TO PUBLIC;
SELECT hipq._take_rights('hipq.enqueue_unique(text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text)', 'hipq.enqueue_unique(text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text)');
DROP FUNCTION hipq.enqueue_unique(text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text);

CREATE FUNCTION hipq.enqueue_many(
    job_type text, job_data jsonb[], job_keys text[] DEFAULT NULL, queue text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, traceparent text DEFAULT NULL
) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_many';
COMMENT ON FUNCTION hipq.enqueue_many(
    text, jsonb[], text[], text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text
) IS 'enqueues one job for each element of an array and returns the ids in that order. job_data: '
    'the data; job_keys: one key for each, NULL = none; the other arguments are those of '
    'enqueue(), for all jobs';
GRANT EXECUTE ON FUNCTION hipq.enqueue_many(text, jsonb[], text[], text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text) TO PUBLIC;
SELECT hipq._take_rights('hipq.enqueue_many(text, jsonb[], text[], text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration)', 'hipq.enqueue_many(text, jsonb[], text[], text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text)');
DROP FUNCTION hipq.enqueue_many(text, jsonb[], text[], text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration);

-- The same arguments, one more column.
ALTER FUNCTION hipq.claim(bigint, integer, hipq.duration) RENAME TO _former_claim;
CREATE FUNCTION hipq.claim(
    worker bigint, max_jobs integer DEFAULT 1, wait hipq.duration DEFAULT '0', OUT id bigint, OUT attempt integer, OUT queue text, OUT job_type text,
    OUT job_key text, OUT job_data jsonb, OUT deadline timestamptz, OUT retry_count integer, OUT retry_reason text, OUT max_retries integer,
    OUT scheduled_run_time timestamptz, OUT created_time timestamptz, OUT original_job_id bigint,
    OUT traceparent text
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_claim_traced';
COMMENT ON FUNCTION hipq.claim(bigint, integer, hipq.duration)
    IS 'accepts jobs that a worker was given, in that order. worker: the worker; max_jobs: 1 to '
    '10000; wait: how long to wait for the first one';
GRANT EXECUTE ON FUNCTION hipq.claim(bigint, integer, hipq.duration) TO PUBLIC;
SELECT hipq._take_rights('hipq._former_claim(bigint, integer, hipq.duration)', 'hipq.claim(bigint, integer, hipq.duration)');
DROP FUNCTION hipq._former_claim(bigint, integer, hipq.duration);

CREATE FUNCTION hipq.complete_by_key(
    queue text, job_type text, job_key text, result jsonb DEFAULT 'null', shard_key text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_by_key';
COMMENT ON FUNCTION hipq.complete_by_key(text, text, text, jsonb, text)
    IS 'ends the attempt that runs of the job with that key with success, and returns the job''s '
    'id. queue, job_type, job_key: the job; result: its result; shard_key: that of the job, where '
    'keys are unique for each';
GRANT EXECUTE ON FUNCTION hipq.complete_by_key(text, text, text, jsonb, text) TO PUBLIC;
SELECT hipq._take_rights('hipq.complete(text, text, text, jsonb)', 'hipq.complete_by_key(text, text, text, jsonb, text)');
DROP FUNCTION hipq.complete(text, text, text, jsonb);

CREATE FUNCTION hipq.fail_by_key(
    queue text, job_type text, job_key text, error text, retriable boolean DEFAULT true, shard_key text DEFAULT NULL
) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_by_key';
COMMENT ON FUNCTION hipq.fail_by_key(text, text, text, text, boolean, text)
    IS 'fails the attempt that runs of the job with that key, and returns the job''s state. '
    'queue, job_type, job_key: the job; error: why; retriable: whether it may be retried; '
    'shard_key: that of the job, where keys are unique for each';
GRANT EXECUTE ON FUNCTION hipq.fail_by_key(text, text, text, text, boolean, text) TO PUBLIC;
SELECT hipq._take_rights('hipq.fail(text, text, text, text, boolean)', 'hipq.fail_by_key(text, text, text, text, boolean, text)');
DROP FUNCTION hipq.fail(text, text, text, text, boolean);

DROP FUNCTION hipq._take_rights(regprocedure, regprocedure);

-- A driver that gives its parameters no type could not say which of the functions of one name it
-- means.
DROP FUNCTION hipq.extend(bigint, text, text);
ALTER FUNCTION hipq.extend(bigint, hipq.duration, text) RENAME TO extend_job;
ALTER FUNCTION hipq.extend(bigint[], integer[], hipq.duration) RENAME TO extend_attempts;
ALTER FUNCTION hipq.complete(bigint[], integer[], jsonb[]) RENAME TO complete_attempts;
ALTER FUNCTION hipq.fail(bigint[], integer[], text[], boolean) RENAME TO fail_attempts;
ALTER FUNCTION hipq.release(bigint[], integer[]) RENAME TO release_attempts;
ALTER FUNCTION hipq.redrive(text, text, text, timestamptz, double precision, text, text, integer) RENAME TO redrive_jobs;
ALTER FUNCTION hipq.dismiss_dead_letters(bigint) RENAME TO dismiss_dead_letter;
ALTER FUNCTION hipq.purge_dead_letters(bigint) RENAME TO purge_dead_letter;

CREATE FUNCTION hipq.describe() RETURNS jsonb LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_describe';
COMMENT ON FUNCTION hipq.describe()
    IS 'describes what the caller could set up: the queues that he owns with their instances, job '
    'types, grants, schedules and pauses, without what is as by default';

CREATE FUNCTION hipq.apply(
    state jsonb, dry_run boolean DEFAULT false, drop_others boolean DEFAULT false,
    OUT object text, OUT action text, OUT property text, OUT before jsonb, OUT after jsonb
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_apply';
COMMENT ON FUNCTION hipq.apply(jsonb, boolean, boolean)
    IS 'makes what is set up what a description says, and returns what differed. state: as '
    'describe() returns it; dry_run: changes nothing, and returns what a run would; drop_others: '
    'whether what the sections of the description do not name is dropped';

CREATE FUNCTION hipq.heartbeat_attempts(ids bigint[], attempts integer[]) RETURNS bigint[]
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_heartbeat_attempts';
COMMENT ON FUNCTION hipq.heartbeat_attempts(bigint[], integer[])
    IS 'tells that the workers of attempts are alive, and returns the ids of the attempts that are '
    'not over. ids, attempts: the attempts';

CREATE FUNCTION hipq.doctor(OUT severity text, OUT subject text, OUT finding text, OUT detail text, OUT hint text, OUT statement text) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_doctor';
COMMENT ON FUNCTION hipq.doctor()
    IS 'tells what is wrong in how hipq is set up here, the worst first: severity (error, warning, '
    'information), what it is about, and the statement that mends it, where nobody has to choose';

CREATE FUNCTION hipq._histograms(
    OUT queue_id integer, OUT job_type text, OUT measure text, OUT since timestamptz, OUT upper_bound double precision, OUT jobs bigint, OUT sum double precision
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__histograms';
COMMENT ON FUNCTION hipq._histograms()
    IS 'how long jobs waited and attempts ran, from shared memory; view hipq.histograms shows it';

CREATE FUNCTION hipq._backlog(queue_id integer, OUT jobs bigint, OUT is_exact boolean) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__backlog';
COMMENT ON FUNCTION hipq._backlog(integer)
    IS 'counts the unfinished jobs of a queue; view hipq.backlog shows them';

CREATE VIEW hipq.histograms WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.job_type,
       counted.measure,
       counted.upper_bound,
       counted.jobs,
       counted.sum,
       counted.since
FROM hipq._histograms() AS counted
JOIN hipq._visible_queue AS queue ON queue.queue_id = counted.queue_id;
COMMENT ON VIEW hipq.histograms
    IS 'how long jobs waited and attempts ran since the statistics began, as a histogram: 24 '
    'cumulative rows for each queue, job type and measure';
COMMENT ON COLUMN hipq.histograms.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.histograms.job_type IS 'job type';
COMMENT ON COLUMN hipq.histograms.measure
    IS 'wait (from when a job was due to its start) or run (of an attempt)';
COMMENT ON COLUMN hipq.histograms.upper_bound
    IS 'seconds, from 1 ms on twice as many in each row; the last one is Infinity';
COMMENT ON COLUMN hipq.histograms.jobs IS 'how many took less than that';
COMMENT ON COLUMN hipq.histograms.sum
    IS 'seconds that all of them took together, the same in all rows';
COMMENT ON COLUMN hipq.histograms.since IS 'when the statistics began';

CREATE VIEW hipq.backlog WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.jobs,
       counted.is_exact
FROM hipq._visible_queue AS queue
CROSS JOIN LATERAL hipq._backlog(queue.queue_id) AS counted;
COMMENT ON VIEW hipq.backlog
    IS 'how many jobs of each queue are not final. It counts them: of a million in half a '
    'second. hipq.sizes has an estimate that reads nothing';
COMMENT ON COLUMN hipq.backlog.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.backlog.jobs
    IS 'unfinished jobs, due or not; NULL: somebody has locked the queue';
COMMENT ON COLUMN hipq.backlog.is_exact
    IS 'counted; false: there are more than a million, and this is the estimate of the server';

GRANT EXECUTE ON FUNCTION hipq.describe(), hipq.apply(jsonb, boolean, boolean), hipq.heartbeat_attempts(bigint[], integer[]), hipq.doctor(), hipq._histograms(), hipq._backlog(integer) TO PUBLIC;
GRANT SELECT ON hipq.histograms, hipq.backlog TO PUBLIC;

-- One instance over several servers. Each server, a node, has the whole of hipq and the instance with
-- its queues; node 0, the router, says which node has which slot. Whatever goes from one node to
-- another is a row in hipq.shard_outbox, which PostgreSQL's logical replication brings.

CREATE FUNCTION hipq._own_timeline() RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__own_timeline';
COMMENT ON FUNCTION hipq._own_timeline()
    IS 'this server and its timeline: another one after a promotion or a restore';

CREATE FUNCTION hipq._is_own_timeline(noted text) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_own_timeline';
COMMENT ON FUNCTION hipq._is_own_timeline(text)
    IS 'whether what _own_timeline() has said is still so; true on a standby';

CREATE TABLE hipq.shard_map (
    instance_id integer    NOT NULL CONSTRAINT shard_map_pkey PRIMARY KEY,
    cluster     uuid       NOT NULL,
    own_node    smallint   NOT NULL CONSTRAINT shard_map_own_node_is_in_range CHECK (own_node BETWEEN 0 AND 1023),
    generation  bigint     NOT NULL DEFAULT 1,
    nodes       smallint[] NOT NULL CONSTRAINT shard_map_has_4096_slots CHECK (cardinality(nodes) = 4096),
    timeline    text       NOT NULL DEFAULT hipq._own_timeline()
);
COMMENT ON TABLE hipq.shard_map
    IS 'instances that are spread over several servers: which node has which slot';
COMMENT ON COLUMN hipq.shard_map.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_map.cluster IS 'mark of the servers that belong together';
COMMENT ON COLUMN hipq.shard_map.own_node IS 'number of this server among them; 0 = the router';
COMMENT ON COLUMN hipq.shard_map.generation IS 'grows with each change; the router''s is ahead';
COMMENT ON COLUMN hipq.shard_map.nodes
    IS 'node of each slot; the first entry is slot 0, which is always the router''s';
COMMENT ON COLUMN hipq.shard_map.timeline
    IS 'this server and its timeline when it was last in step with the others';
SELECT pg_extension_config_dump('hipq.shard_map', '');

CREATE FUNCTION hipq._shards_changed() RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__shards_changed';
COMMENT ON FUNCTION hipq._shards_changed()
    IS 'trigger: has every process read anew which node has which slot';

CREATE TRIGGER shards_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON hipq.shard_map
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._shards_changed();
ALTER TABLE hipq.shard_map ENABLE ALWAYS TRIGGER shards_changed;

CREATE TABLE hipq.shard (
    instance_id  integer     NOT NULL,
    node         smallint    NOT NULL CONSTRAINT shard_node_is_in_range CHECK (node BETWEEN 1 AND 1023),
    conninfo     text        NOT NULL,
    publisher    text        NOT NULL,
    channel      text        NOT NULL,
    state        text        NOT NULL DEFAULT 'joining' CONSTRAINT shard_state_is_known CHECK (state IN ('joining', 'active', 'draining', 'leaving')),
    weight       integer     NOT NULL DEFAULT 100 CONSTRAINT shard_weight_is_in_range CHECK (weight BETWEEN 1 AND 1000),
    timeline     integer,
    created_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT shard_pkey PRIMARY KEY (instance_id, node)
);
COMMENT ON TABLE hipq.shard IS 'on the router: the other servers of an instance';
COMMENT ON COLUMN hipq.shard.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard.node IS 'number of the server in the instance, 1 to 1023';
COMMENT ON COLUMN hipq.shard.conninfo IS 'how the router reaches it: a libpq connection string';
COMMENT ON COLUMN hipq.shard.publisher IS 'how it reaches the router';
COMMENT ON COLUMN hipq.shard.channel
    IS 'start of the names of publications, slots and subscriptions between the two: _to_<node>, '
    '_from_<node>';
COMMENT ON COLUMN hipq.shard.state
    IS 'joining: being set up; active; draining: its slots move away; leaving: being dropped';
COMMENT ON COLUMN hipq.shard.weight IS 'its share of the slots beside those of the others';
COMMENT ON COLUMN hipq.shard.timeline IS 'timeline of the server when it was last looked at';
COMMENT ON COLUMN hipq.shard.created_time
    IS 'since when it is connected: letters from before are not for it';
SELECT pg_extension_config_dump('hipq.shard', '');

CREATE SEQUENCE hipq.shard_outbox_id_seq;
COMMENT ON SEQUENCE hipq.shard_outbox_id_seq IS 'numbers of rows in hipq.shard_outbox';

-- No index: rows are written, and read by replication alone.
CREATE TABLE hipq.shard_outbox (
    id        bigint      NOT NULL DEFAULT nextval('hipq.shard_outbox_id_seq'),
    sent_time timestamptz NOT NULL DEFAULT clock_timestamp(),
    instance  text COLLATE "C" NOT NULL,
    sender    smallint    NOT NULL,
    node      smallint    NOT NULL,
    kind      text        NOT NULL,
    queue     text COLLATE "C",
    jobs      jsonb[],
    body      jsonb
) PARTITION BY RANGE (sent_time);
COMMENT ON TABLE hipq.shard_outbox
    IS 'what this server has sent to others of an instance; kept for hipq.outbox_keep';
COMMENT ON COLUMN hipq.shard_outbox.id IS 'number of the row, of its sender';
COMMENT ON COLUMN hipq.shard_outbox.sent_time IS 'when it was written; its commit may come later';
COMMENT ON COLUMN hipq.shard_outbox.instance IS 'name of the instance';
COMMENT ON COLUMN hipq.shard_outbox.sender IS 'node that sent it';
COMMENT ON COLUMN hipq.shard_outbox.node IS 'node that it is for';
COMMENT ON COLUMN hipq.shard_outbox.kind
    IS 'what it is: jobs; moved = jobs of a slot that has left the sender; returned = no more of them '
    'come; last = no more jobs of a slot come from the router, in strict order; set_up; map; rejected; stats; taken = ids of jobs of a shard that the router has taken '
    'itself; alive = nothing';
COMMENT ON COLUMN hipq.shard_outbox.queue IS 'of jobs: their queue';
COMMENT ON COLUMN hipq.shard_outbox.jobs IS 'at most 1,000 jobs: what of each is not in the body';
COMMENT ON COLUMN hipq.shard_outbox.body IS 'of new jobs: what all have that do not say otherwise; all else';

CREATE TABLE hipq.shard_outbox_default PARTITION OF hipq.shard_outbox DEFAULT;
COMMENT ON TABLE hipq.shard_outbox_default IS 'rows of hipq.shard_outbox for which there is no leaf yet';

CREATE TABLE hipq.shard_outbox_mark (
    is_only     boolean     NOT NULL DEFAULT true CONSTRAINT shard_outbox_mark_pkey PRIMARY KEY
                            CONSTRAINT shard_outbox_mark_check CHECK (is_only),
    position    pg_lsn      NOT NULL,
    marked_time timestamptz NOT NULL,
    read_time   timestamptz
);
COMMENT ON TABLE hipq.shard_outbox_mark
    IS 'how far other servers have read hipq.shard_outbox: what they may not have read is kept';
COMMENT ON COLUMN hipq.shard_outbox_mark.is_only IS 'there is one row at most';
COMMENT ON COLUMN hipq.shard_outbox_mark.position IS 'a position of the WAL that not all have confirmed yet';
COMMENT ON COLUMN hipq.shard_outbox_mark.marked_time IS 'when the WAL was there';
COMMENT ON COLUMN hipq.shard_outbox_mark.read_time IS 'what was written until then all have read; NULL = not known yet';

CREATE TABLE hipq.shard_received (
    instance  text COLLATE "C" NOT NULL,
    sender    smallint    NOT NULL,
    id        bigint      NOT NULL,
    sent_time timestamptz NOT NULL,
    CONSTRAINT shard_received_pkey PRIMARY KEY (instance, sender, id, sent_time)
) PARTITION BY RANGE (sent_time);
COMMENT ON TABLE hipq.shard_received
    IS 'rows of other servers'' outboxes that have taken effect here: each does so once';
COMMENT ON COLUMN hipq.shard_received.instance IS 'name of the instance';
COMMENT ON COLUMN hipq.shard_received.sender IS 'node that sent it';
COMMENT ON COLUMN hipq.shard_received.id IS 'number of the row there';
COMMENT ON COLUMN hipq.shard_received.sent_time IS 'when it was written there';

CREATE TABLE hipq.shard_received_default PARTITION OF hipq.shard_received DEFAULT;
COMMENT ON TABLE hipq.shard_received_default IS 'rows of hipq.shard_received for which there is no leaf yet';

CREATE TABLE hipq.shard_reject (
    instance      text COLLATE "C" NOT NULL,
    sender        smallint    NOT NULL,
    node          smallint    NOT NULL,
    outbox_id     bigint      NOT NULL,
    rejected_time timestamptz NOT NULL DEFAULT clock_timestamp(),
    queue         text COLLATE "C",
    job_id        bigint,
    sqlstate      text        NOT NULL,
    error         text        NOT NULL,
    job           jsonb       NOT NULL
);
COMMENT ON TABLE hipq.shard_reject
    IS 'jobs that the server that they were for could not take; the same row on both servers';
COMMENT ON COLUMN hipq.shard_reject.instance IS 'name of the instance';
COMMENT ON COLUMN hipq.shard_reject.sender IS 'node that sent the job';
COMMENT ON COLUMN hipq.shard_reject.node IS 'node that did not take it';
COMMENT ON COLUMN hipq.shard_reject.outbox_id IS 'row of the sender''s outbox that it was in';
COMMENT ON COLUMN hipq.shard_reject.rejected_time IS 'when that was';
COMMENT ON COLUMN hipq.shard_reject.queue IS 'its queue';
COMMENT ON COLUMN hipq.shard_reject.job_id IS 'its id';
COMMENT ON COLUMN hipq.shard_reject.sqlstate IS 'SQLSTATE of the error; 23505: an unfinished job had its key';
COMMENT ON COLUMN hipq.shard_reject.error IS 'the error';
COMMENT ON COLUMN hipq.shard_reject.job IS 'the job, as it was sent';
CREATE INDEX shard_reject_job ON hipq.shard_reject (job_id);
SELECT pg_extension_config_dump('hipq.shard_reject', '');

CREATE FUNCTION hipq._receive() RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__receive';
COMMENT ON FUNCTION hipq._receive()
    IS 'trigger: has a row that a subscription brings from another server of an instance take '
    'effect, once';

CREATE TRIGGER receive BEFORE INSERT ON hipq.shard_outbox FOR EACH ROW EXECUTE FUNCTION hipq._receive();
ALTER TABLE hipq.shard_outbox ENABLE ALWAYS TRIGGER receive;
COMMENT ON TRIGGER receive ON hipq.shard_outbox
    IS 'has a row that a subscription brings from another server of an instance take effect, once';

CREATE FUNCTION hipq.slot_of(key text) RETURNS integer LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq_slot_of';
COMMENT ON FUNCTION hipq.slot_of(text)
    IS 'tells the slot, 0 to 4095, of jobs with a shard key. key: the shard key';

-- ---- slots that move ----

CREATE TABLE hipq.shard_move (
    instance_id  integer     NOT NULL,
    slot         smallint    NOT NULL CONSTRAINT shard_move_slot_is_in_range CHECK (slot BETWEEN 1 AND 4095),
    from_node    smallint    NOT NULL,
    to_node      smallint    NOT NULL,
    started_time timestamptz NOT NULL DEFAULT clock_timestamp(),
    busy_keys    jsonb,
    in_order     text[] COLLATE "C" NOT NULL DEFAULT '{}',
    seen_time    timestamptz,
    last_sent    boolean     NOT NULL DEFAULT false,
    CONSTRAINT shard_move_pkey PRIMARY KEY (instance_id, slot)
);
COMMENT ON TABLE hipq.shard_move IS 'on the router: slots on their way from one node to another';
COMMENT ON COLUMN hipq.shard_move.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_move.slot IS 'the slot';
COMMENT ON COLUMN hipq.shard_move.from_node IS 'node that had it';
COMMENT ON COLUMN hipq.shard_move.to_node IS 'node that has it now';
COMMENT ON COLUMN hipq.shard_move.started_time IS 'since when';
COMMENT ON COLUMN hipq.shard_move.busy_keys
    IS 'keys of the jobs that still run at the node before, as it said last, and what queues in strict '
    'order wait for there; NULL = it has said nothing';
COMMENT ON COLUMN hipq.shard_move.in_order
    IS 'queues whose jobs stay in order, as it was when the move began (move_order = strict)';
COMMENT ON COLUMN hipq.shard_move.seen_time
    IS 'when the scheduler saw it first: transactions from before may still send jobs to the node '
    'before; NULL = not yet, or nothing has to stay in order';
COMMENT ON COLUMN hipq.shard_move.last_sent IS 'the node before has been told that these have ended';
SELECT pg_extension_config_dump('hipq.shard_move', '');
CREATE TRIGGER shards_changed AFTER UPDATE OF last_sent OR TRUNCATE ON hipq.shard_move
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._shards_changed();
ALTER TABLE hipq.shard_move ENABLE ALWAYS TRIGGER shards_changed;

CREATE TABLE hipq.shard_leaving (
    instance_id integer     NOT NULL,
    slot        smallint    NOT NULL,
    seen_time   timestamptz,
    busy_keys   jsonb,
    in_order    text[] COLLATE "C" NOT NULL DEFAULT '{}',
    last_came   boolean     NOT NULL DEFAULT false,
    CONSTRAINT shard_leaving_pkey PRIMARY KEY (instance_id, slot)
);
COMMENT ON TABLE hipq.shard_leaving
    IS 'slots that were this node''s: what waits in them goes to the node that has them now';
COMMENT ON COLUMN hipq.shard_leaving.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_leaving.slot IS 'the slot';
COMMENT ON COLUMN hipq.shard_leaving.seen_time
    IS 'when the scheduler saw it first: transactions from before may still bring jobs; NULL = not yet';
COMMENT ON COLUMN hipq.shard_leaving.busy_keys
    IS 'keys of the jobs that still ran when the new node was last told, and what queues in strict '
    'order waited for; NULL = not yet';
COMMENT ON COLUMN hipq.shard_leaving.in_order
    IS 'queues of which no job starts here any more, and none there before all of them have gone';
COMMENT ON COLUMN hipq.shard_leaving.last_came
    IS 'the router has said that none of its transactions may send more jobs; of use to queues in '
    'strict order only';
SELECT pg_extension_config_dump('hipq.shard_leaving', '');
CREATE TRIGGER shards_changed AFTER INSERT OR DELETE OR TRUNCATE ON hipq.shard_leaving
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._shards_changed();
ALTER TABLE hipq.shard_leaving ENABLE ALWAYS TRIGGER shards_changed;

CREATE TABLE hipq.shard_coming (
    instance_id integer  NOT NULL,
    slot        smallint NOT NULL,
    busy_keys   jsonb,
    in_order    text[] COLLATE "C" NOT NULL DEFAULT '{}',
    quiet_time  timestamptz,
    CONSTRAINT shard_coming_pkey PRIMARY KEY (instance_id, slot)
);
COMMENT ON TABLE hipq.shard_coming
    IS 'slots that are this node''s since a short while: jobs may still run at the node before';
COMMENT ON COLUMN hipq.shard_coming.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_coming.slot IS 'the slot';
COMMENT ON COLUMN hipq.shard_coming.busy_keys
    IS 'keys of the jobs that run there: [queue, job type, job key], and the '
    'shard key if keys are unique for each; and of queues in strict order, '
    '{"queue": ..., "awaits": "last" or "jobs"}; NULL = any may';
COMMENT ON COLUMN hipq.shard_coming.in_order IS 'queues of which all jobs are held until then';
COMMENT ON COLUMN hipq.shard_coming.quiet_time
    IS 'since when all have come and none was held, of queues in strict order: transactions from '
    'before may still hold one; NULL = not yet';
SELECT pg_extension_config_dump('hipq.shard_coming', '');
CREATE TRIGGER shards_changed AFTER INSERT OR UPDATE OF busy_keys OR DELETE OR TRUNCATE ON hipq.shard_coming
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._shards_changed();
ALTER TABLE hipq.shard_coming ENABLE ALWAYS TRIGGER shards_changed;

CREATE SEQUENCE hipq.shard_held_job_seq;
COMMENT ON SEQUENCE hipq.shard_held_job_seq IS 'order in which jobs were held';

CREATE TABLE hipq.shard_held_job (
    place       bigint   NOT NULL DEFAULT nextval('hipq.shard_held_job_seq') CONSTRAINT shard_held_job_pkey PRIMARY KEY,
    instance_id integer  NOT NULL,
    slot        smallint NOT NULL,
    sender      smallint NOT NULL,
    outbox_id   bigint   NOT NULL,
    queue       text COLLATE "C" NOT NULL,
    job_type    text COLLATE "C" NOT NULL,
    job_key     text COLLATE "C" NOT NULL,
    job         jsonb    NOT NULL,
    was_accepted boolean NOT NULL DEFAULT false,
    shard_key   text COLLATE "C" NOT NULL DEFAULT 'NONE'
);
COMMENT ON TABLE hipq.shard_held_job
    IS 'jobs with a key, of slots that have just come, until no job with their key runs at the node '
    'before; in strict order all jobs of the slot, until none is left there';
COMMENT ON COLUMN hipq.shard_held_job.place IS 'order in which they came';
COMMENT ON COLUMN hipq.shard_held_job.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_held_job.slot IS 'their slot';
COMMENT ON COLUMN hipq.shard_held_job.sender IS 'node that sent them';
COMMENT ON COLUMN hipq.shard_held_job.outbox_id IS 'row of its outbox that they were in; 0 = they were enqueued here';
COMMENT ON COLUMN hipq.shard_held_job.queue IS 'their queue within the instance';
COMMENT ON COLUMN hipq.shard_held_job.job_type IS 'their job type';
COMMENT ON COLUMN hipq.shard_held_job.job_key IS 'their key';
COMMENT ON COLUMN hipq.shard_held_job.job IS 'the job, as it came';
COMMENT ON COLUMN hipq.shard_held_job.was_accepted
    IS 'it comes from the table of the node before, so it has its key; in strict order only';
COMMENT ON COLUMN hipq.shard_held_job.shard_key
    IS 'shard key that their key is unique within; NONE = none, or the whole queue';
CREATE INDEX shard_held_job_slot ON hipq.shard_held_job (instance_id, slot);
SELECT pg_extension_config_dump('hipq.shard_held_job', '');

-- ---- what all nodes know ----

CREATE FUNCTION hipq._set_up_of(instance_name text) RETURNS jsonb LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object(
        'instances', jsonb_path_query_array(whole, '$.instances[*] ? (@.name == $name)', named),
        'queues', jsonb_path_query_array(whole, '$.queues[*] ? (@.queue starts with $prefix)', named),
        'job_types', jsonb_path_query_array(whole, '$.job_types[*] ? (@.queue starts with $prefix)', named),
        'pauses', jsonb_path_query_array(whole, '$.pauses[*] ? (@.instance == $name || @.queue starts with $prefix)', named))
        #- '{instances,0,db_config}' #- '{instances,0,table_naming_strategy}'
    FROM (SELECT hipq.describe() AS whole, jsonb_build_object('name', instance_name, 'prefix', instance_name || '.') AS named) AS described
$$;
COMMENT ON FUNCTION hipq._set_up_of(text)
    IS 'queues, job types and pauses of an instance, as describe() has them: what its shards are to '
    'have';

CREATE FUNCTION hipq._send_set_up(instance_name text, to_node integer DEFAULT NULL) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT instance.name, 0, shard.node, letter.kind, letter.body
    FROM hipq.instance
    JOIN hipq.shard_map AS map USING (instance_id)
    JOIN hipq.shard USING (instance_id)
    CROSS JOIN LATERAL (VALUES
        (1, 'set_up', hipq._set_up_of(instance.name)),
        (2, 'map', jsonb_build_object('generation', map.generation, 'nodes', to_jsonb(map.nodes)))
    ) AS letter (place, kind, body)
    WHERE instance.name = instance_name AND map.own_node = 0 AND shard.node = coalesce(to_node::smallint, shard.node)
    ORDER BY shard.node, letter.place
$$;
COMMENT ON FUNCTION hipq._send_set_up(text, integer)
    IS 'sends queues, job types, pauses and the map of an instance to a shard; NULL = to all';

CREATE FUNCTION hipq._tell_shards() RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__tell_shards';
COMMENT ON FUNCTION hipq._tell_shards()
    IS 'trigger: sends what is set up anew to the shards, before any job that needs it';

CREATE TRIGGER tell_shards AFTER INSERT OR UPDATE OR DELETE ON hipq.queue FOR EACH STATEMENT EXECUTE FUNCTION hipq._tell_shards();
ALTER TABLE hipq.queue ENABLE ALWAYS TRIGGER tell_shards;
CREATE TRIGGER tell_shards AFTER INSERT OR UPDATE OR DELETE ON hipq.job_type FOR EACH STATEMENT EXECUTE FUNCTION hipq._tell_shards();
ALTER TABLE hipq.job_type ENABLE ALWAYS TRIGGER tell_shards;
CREATE TRIGGER tell_shards AFTER INSERT OR UPDATE OR DELETE ON hipq.pause FOR EACH STATEMENT EXECUTE FUNCTION hipq._tell_shards();
ALTER TABLE hipq.pause ENABLE ALWAYS TRIGGER tell_shards;

-- ---- set-up ----

CREATE PROCEDURE hipq.create_shard(instance text, shard integer, conninfo text, publisher text DEFAULT NULL, weight integer DEFAULT 100)
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_shard';
COMMENT ON PROCEDURE hipq.create_shard(text, integer, text, text, integer)
    IS 'makes another server a shard of an instance, step by step, and commits each; after a failure, '
    'call it again. instance: the instance, which is there; shard: its number, 1 to 1023; conninfo: how '
    'this server reaches it; publisher: how it reaches this server, NULL = db_config of the instance '
    'says; weight: its share of the slots beside those of the others';

CREATE FUNCTION hipq._unfit_for_shards() RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__unfit_for_shards';
COMMENT ON FUNCTION hipq._unfit_for_shards()
    IS 'why this server cannot be a shard, and what to do, with | between them; its router asks';

CREATE FUNCTION hipq._join_shards(instance_name text, cluster text, node integer) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__join_shards';
COMMENT ON FUNCTION hipq._join_shards(text, text, integer)
    IS 'makes this database a node of an instance; its router calls it';

CREATE FUNCTION hipq._publish_outbox(publication text, instance_name text, node integer) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__publish_outbox';
COMMENT ON FUNCTION hipq._publish_outbox(text, text, integer)
    IS 'publishes the rows of the outbox that are for a node; the router calls it';

CREATE FUNCTION hipq._keep_outbox(slot text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__keep_outbox';
COMMENT ON FUNCTION hipq._keep_outbox(text)
    IS 'makes the replication slot of a publication of the outbox; the router calls it';

CREATE FUNCTION hipq._subscribe_to_outbox(publication text, publisher text, publisher_version integer) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__subscribe_to_outbox';
COMMENT ON FUNCTION hipq._subscribe_to_outbox(text, text, integer)
    IS 'subscribes to a publication of another node''s outbox; the router calls it. publisher_version: '
    'server_version_num there';

CREATE FUNCTION hipq._leave_shards(instance_name text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__leave_shards';
COMMENT ON FUNCTION hipq._leave_shards(text)
    IS 'has this database be a node of an instance no more; its router calls it';

CREATE FUNCTION hipq._position_after_all_sent(since timestamptz) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__position_after_all_sent';
COMMENT ON FUNCTION hipq._position_after_all_sent(timestamptz)
    IS 'where the WAL is, behind all that was sent by maps from before; empty = somebody may still '
    'send';

CREATE FUNCTION hipq._unsubscribe_from_outbox(publication text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__unsubscribe_from_outbox';
COMMENT ON FUNCTION hipq._unsubscribe_from_outbox(text)
    IS 'ends what _subscribe_to_outbox() has begun; the router calls it';

CREATE FUNCTION hipq._unpublish_outbox(publication text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__unpublish_outbox';
COMMENT ON FUNCTION hipq._unpublish_outbox(text)
    IS 'ends what _publish_outbox() and _keep_outbox() have begun; the router calls it';

CREATE PROCEDURE hipq.drop_shard(instance text, shard integer, force boolean DEFAULT false) LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drop_shard';
COMMENT ON PROCEDURE hipq.drop_shard(text, integer, boolean)
    IS 'takes a shard without slots out of its instance, step by step, and commits each; after a '
    'failure, call it again. instance: the instance; shard: its number; force: it is dead, and will '
    'never come back: it is not asked';

CREATE FUNCTION hipq._receive_again(letter jsonb, after_loss boolean) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__receive_again';
COMMENT ON FUNCTION hipq._receive_again(jsonb, boolean)
    IS 'has a kept row of another node''s outbox take effect, unless it has already. after_loss: this '
    'node has forgotten what it did last';

CREATE FUNCTION hipq._begin_resync(instance_name text, truth jsonb) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__begin_resync';
COMMENT ON FUNCTION hipq._begin_resync(text, jsonb)
    IS 'has this node, which was promoted or restored, be what its router says; the router calls it, and '
    'sends again what is missing, in one transaction';

CREATE PROCEDURE hipq.resync_shard(instance text, shard integer, force boolean DEFAULT false) LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_resync_shard';
COMMENT ON PROCEDURE hipq.resync_shard(text, integer, boolean)
    IS 'brings a shard back into step after its standby was promoted, it was restored, or a replication '
    'slot was lost, step by step, and commits each; after a failure, call it again. instance: the '
    'instance; shard: its number; force: go on with what is kept, though some of what was sent is not';

CREATE FUNCTION hipq.drain_shard(instance text, shard integer) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drain_shard';
COMMENT ON FUNCTION hipq.drain_shard(text, integer)
    IS 'moves all slots of a shard to the others, and returns how many; jobs follow them by and by, '
    'see view hipq.shards. instance: the instance; shard: its number';

CREATE FUNCTION hipq.rebalance(instance text) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_rebalance';
COMMENT ON FUNCTION hipq.rebalance(text)
    IS 'moves slots so that each node of an instance has its part by weight, with the fewest moves, '
    'and returns how many; jobs follow them by and by, see view hipq.shards. instance: the instance';

CREATE FUNCTION hipq.move_slots(instance text, slots integer[], shard integer) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_move_slots';
COMMENT ON FUNCTION hipq.move_slots(text, integer[], integer)
    IS 'moves slots of an instance to a node, and returns how many; jobs follow them by and by, see '
    'view hipq.shards. instance: the instance; slots: their numbers; shard: the node, 0 = the router';

-- Limits on running jobs that the nodes of a sharded instance share. Each node has a share of a limit
-- and runs no more than that; the router grants shares. Weights are in thousandths of
-- throttle_factor. Nothing of it is dumped: a share of yesterday may be somebody else's today.

CREATE TABLE hipq.permit_share (
    queue_id     integer NOT NULL,
    job_type     text COLLATE "C" NOT NULL,
    throttle_key bigint  NOT NULL,
    epoch        bigint  NOT NULL DEFAULT 0,
    serial       bigint  NOT NULL DEFAULT 0,
    is_waiting   boolean NOT NULL DEFAULT false,
    must_ask     boolean NOT NULL DEFAULT false,
    share        bigint  NOT NULL DEFAULT 0 CONSTRAINT permit_share_is_not_negative CHECK (share >= 0),
    has_all      boolean NOT NULL DEFAULT false,
    target       bigint  NOT NULL DEFAULT 0,
    weight_limit bigint  NOT NULL DEFAULT 0,
    asked_want   bigint  NOT NULL DEFAULT 0,
    asked_unit   bigint  NOT NULL DEFAULT 0,
    timeline     integer NOT NULL DEFAULT 0,
    CONSTRAINT permit_share_pkey PRIMARY KEY (queue_id, job_type, throttle_key)
);
COMMENT ON TABLE hipq.permit_share
    IS 'this node''s shares of limits that all nodes of an instance share: it runs no more';
COMMENT ON COLUMN hipq.permit_share.queue_id IS 'queue that has the limit';
COMMENT ON COLUMN hipq.permit_share.job_type IS 'job type that has it; empty = the whole queue';
COMMENT ON COLUMN hipq.permit_share.throttle_key IS 'hash of the throttle key that has it; 0 = the whole job type';
COMMENT ON COLUMN hipq.permit_share.epoch IS 'the router''s records that the share is by';
COMMENT ON COLUMN hipq.permit_share.serial IS 'number of the last request';
COMMENT ON COLUMN hipq.permit_share.is_waiting IS 'whether it has not been answered yet';
COMMENT ON COLUMN hipq.permit_share.must_ask IS 'whether the router needs to hear what runs here';
COMMENT ON COLUMN hipq.permit_share.share IS 'what may run here';
COMMENT ON COLUMN hipq.permit_share.has_all IS 'whether it is all of the limit, so that a heavier job may run';
COMMENT ON COLUMN hipq.permit_share.target IS 'what the share should be: if it is more, the rest is given up';
COMMENT ON COLUMN hipq.permit_share.weight_limit IS 'the limit; 0 = not known yet';
COMMENT ON COLUMN hipq.permit_share.asked_want IS 'what the last request said is wanted';
COMMENT ON COLUMN hipq.permit_share.asked_unit IS 'weight of the next job, by the last request; 0 = none';
COMMENT ON COLUMN hipq.permit_share.timeline
    IS 'of the server when it was written: on another one the share is forgotten';

CREATE TABLE hipq.permit_authority (
    queue_id     integer NOT NULL,
    job_type     text COLLATE "C" NOT NULL,
    throttle_key bigint  NOT NULL,
    epoch        bigint  NOT NULL,
    weight_limit bigint  NOT NULL,
    turn         integer NOT NULL DEFAULT 0,
    timeline     integer NOT NULL DEFAULT 0,
    CONSTRAINT permit_authority_pkey PRIMARY KEY (queue_id, job_type, throttle_key)
);
COMMENT ON TABLE hipq.permit_authority IS 'on the router: limits that the nodes of an instance share';
COMMENT ON COLUMN hipq.permit_authority.queue_id IS 'queue that has the limit';
COMMENT ON COLUMN hipq.permit_authority.job_type IS 'job type that has it; empty = the whole queue';
COMMENT ON COLUMN hipq.permit_authority.throttle_key IS 'hash of the throttle key that has it; 0 = the whole job type';
COMMENT ON COLUMN hipq.permit_authority.epoch IS 'grows when the router begins to ask all nodes anew';
COMMENT ON COLUMN hipq.permit_authority.weight_limit IS 'the limit';
COMMENT ON COLUMN hipq.permit_authority.turn
    IS 'which node comes first when whole jobs do not come out even, in the order of their numbers';
COMMENT ON COLUMN hipq.permit_authority.timeline
    IS 'of the server when it began: on another one it begins anew';

CREATE TABLE hipq.permit_record (
    queue_id     integer  NOT NULL,
    job_type     text COLLATE "C" NOT NULL,
    throttle_key bigint   NOT NULL,
    node         smallint NOT NULL,
    importance   integer  NOT NULL DEFAULT 1,
    is_heard     boolean  NOT NULL DEFAULT false,
    heard_time   timestamptz NOT NULL DEFAULT clock_timestamp(),
    serial       bigint   NOT NULL DEFAULT 0,
    share        bigint   NOT NULL DEFAULT 0,
    has_all      boolean  NOT NULL DEFAULT false,
    want         bigint   NOT NULL DEFAULT 0,
    unit         bigint   NOT NULL DEFAULT 0,
    told_target  bigint   NOT NULL DEFAULT 0,
    CONSTRAINT permit_record_pkey PRIMARY KEY (queue_id, job_type, throttle_key, node)
);
COMMENT ON TABLE hipq.permit_record
    IS 'on the router: the largest share of a limit that each node may have';
COMMENT ON COLUMN hipq.permit_record.queue_id IS 'queue that has the limit';
COMMENT ON COLUMN hipq.permit_record.job_type IS 'job type that has it; empty = the whole queue';
COMMENT ON COLUMN hipq.permit_record.throttle_key IS 'hash of the throttle key that has it; 0 = the whole job type';
COMMENT ON COLUMN hipq.permit_record.node IS 'the node; 0 = the router';
COMMENT ON COLUMN hipq.permit_record.importance IS 'its part when all want more than there is';
COMMENT ON COLUMN hipq.permit_record.is_heard
    IS 'whether it has said what runs there; until all have, no share grows';
COMMENT ON COLUMN hipq.permit_record.heard_time IS 'when it was heard last';
COMMENT ON COLUMN hipq.permit_record.serial IS 'number of its last request';
COMMENT ON COLUMN hipq.permit_record.share IS 'the largest share that it may have';
COMMENT ON COLUMN hipq.permit_record.has_all IS 'whether it may run a job that is heavier than the limit';
COMMENT ON COLUMN hipq.permit_record.want IS 'what it wants to run, with what runs';
COMMENT ON COLUMN hipq.permit_record.unit IS 'weight of the next job that it could start; 0 = none';
COMMENT ON COLUMN hipq.permit_record.told_target IS 'the share that it was told it should have';

-- What is known of shards, on the router, and of jobs that another node did not take.

CREATE VIEW hipq.shards WITH (security_barrier) AS
SELECT instance.name AS instance,
       shard.node AS shard,
       shard.state,
       slots.count AS slots,
       moves.coming,
       moves.leaving,
       pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), forth.confirmed_flush_lsn)) AS behind,
       date_trunc('milliseconds', sender.replay_lag) AS lag,
       rejects.count AS rejects,
       CASE
           WHEN forth.slot_name IS NULL THEN 'replication slot is gone'
           WHEN forth.wal_status = 'lost' THEN 'replication slot is lost'
           WHEN NOT forth.active THEN 'it does not read'
           WHEN back.subid IS NULL THEN 'subscription is gone'
           WHEN back.pid IS NULL THEN 'it is not read'
       END AS problem,
       moves.wait_for
FROM hipq.shard
JOIN hipq.instance USING (instance_id)
JOIN hipq.shard_map AS map USING (instance_id)
LEFT JOIN pg_replication_slots AS forth ON forth.slot_name = shard.channel || '_to_' || shard.node
LEFT JOIN pg_stat_replication AS sender ON sender.pid = forth.active_pid
LEFT JOIN pg_stat_subscription AS back ON back.subname = shard.channel || '_from_' || shard.node AND back.relid IS NULL
CROSS JOIN LATERAL (SELECT count(*) FROM unnest(map.nodes) AS node WHERE node = shard.node) AS slots
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE move.to_node = shard.node) AS coming,
           count(*) FILTER (WHERE move.from_node = shard.node) AS leaving,
           CASE
               WHEN bool_or(state.awaits_last) THEN 'transactions'
               WHEN bool_or(move.busy_keys IS NULL) THEN 'waiting jobs'
               WHEN bool_or(state.awaits_jobs) THEN 'running jobs'
           END AS wait_for
    FROM hipq.shard_move AS move
    CROSS JOIN LATERAL (
        SELECT move.in_order <> '{}' AND move.from_node <> 0 AND NOT move.last_sent AS awaits_last,
               jsonb_path_exists(move.busy_keys, '$[*] ? (@.type() == "array" || @.awaits == "jobs")') AS awaits_jobs
    ) AS state
    WHERE move.instance_id = shard.instance_id AND shard.node IN (move.from_node, move.to_node)
) AS moves
CROSS JOIN LATERAL (SELECT count(*) FROM hipq.shard_reject AS reject WHERE reject.instance = instance.name AND reject.node = shard.node) AS rejects
WHERE map.own_node = 0;
COMMENT ON VIEW hipq.shards IS 'on the router: the other servers of each instance';
COMMENT ON COLUMN hipq.shards.instance IS 'name of the instance';
COMMENT ON COLUMN hipq.shards.shard IS 'number of the server in the instance';
COMMENT ON COLUMN hipq.shards.state IS 'joining, active, draining or leaving';
COMMENT ON COLUMN hipq.shards.slots IS 'how many of the 4,096 slots it has';
COMMENT ON COLUMN hipq.shards.coming IS 'how many of them have not quite come yet';
COMMENT ON COLUMN hipq.shards.leaving IS 'how many others have not quite left it yet';
COMMENT ON COLUMN hipq.shards.behind IS 'WAL that it has not confirmed yet, of all that this server writes';
COMMENT ON COLUMN hipq.shards.lag IS 'how long the last rows took to take effect there; NULL = nothing is under way';
COMMENT ON COLUMN hipq.shards.rejects IS 'jobs that it could not take: hipq.shard_rejects';
COMMENT ON COLUMN hipq.shards.problem IS 'what keeps rows from going to and fro; NULL = nothing';
COMMENT ON COLUMN hipq.shards.wait_for
    IS 'what slots wait for that are coming or leaving: transactions, which are open on the router, '
    'waiting jobs, or running jobs (jobs with keys from before there were shards, too); NULL = nothing';

CREATE VIEW hipq.shard_limits WITH (security_barrier) AS
SELECT instance.name || '.' || queue.name AS queue,
       nullif(record.job_type, '') AS job_type,
       trim_scale(authority.weight_limit / 1000.0) AS throttle_limit,
       record.node,
       CASE WHEN record.is_heard THEN trim_scale(record.share / 1000.0) END AS share,
       trim_scale(record.want / 1000.0) AS wanted,
       date_trunc('milliseconds', clock_timestamp() - record.heard_time) AS heard_ago
FROM hipq.permit_record AS record
JOIN hipq.permit_authority AS authority USING (queue_id, job_type, throttle_key)
JOIN hipq.queue USING (queue_id)
JOIN hipq.instance USING (instance_id)
WHERE throttle_key = 0;
COMMENT ON VIEW hipq.shard_limits
    IS 'on the router: limits that nodes share, and what each node has of them';
COMMENT ON COLUMN hipq.shard_limits.queue IS 'queue that has the limit: instance.queue';
COMMENT ON COLUMN hipq.shard_limits.job_type IS 'job type that has it; NULL = the whole queue';
COMMENT ON COLUMN hipq.shard_limits.throttle_limit IS 'the limit';
COMMENT ON COLUMN hipq.shard_limits.node IS 'number of a server of the instance; 0 = the router';
COMMENT ON COLUMN hipq.shard_limits.share
    IS 'the most that may run there; NULL = it has not said what runs, so no share grows';
COMMENT ON COLUMN hipq.shard_limits.wanted IS 'what it wants to run, with what runs';
COMMENT ON COLUMN hipq.shard_limits.heard_ago IS 'how long ago it asked last';

CREATE VIEW hipq.shard_rejects_detail WITH (security_barrier) AS
SELECT reject.instance || '.' || reject.queue AS queue,
       reject.job_id,
       reject.sender,
       reject.node,
       reject.rejected_time,
       reject.sqlstate,
       reject.error,
       hipq._masked_job(queue.queue_id, coalesce(reject.job ->> 'job_type', ''), reject.job) AS job
FROM hipq.shard_reject AS reject
JOIN hipq.instance ON instance.name = reject.instance
JOIN hipq.queue ON queue.instance_id = instance.instance_id AND queue.name = reject.queue
WHERE hipq._is_one_of(queue.queue_id, hipq._readable_queues());
COMMENT ON VIEW hipq.shard_rejects_detail
    IS 'jobs that the node that they were for did not take, in both nodes';
COMMENT ON COLUMN hipq.shard_rejects_detail.queue IS 'their queue: instance.queue';
COMMENT ON COLUMN hipq.shard_rejects_detail.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.shard_rejects_detail.sender IS 'node that sent it';
COMMENT ON COLUMN hipq.shard_rejects_detail.node IS 'node that did not take it';
COMMENT ON COLUMN hipq.shard_rejects_detail.rejected_time IS 'when that was';
COMMENT ON COLUMN hipq.shard_rejects_detail.sqlstate IS 'SQLSTATE of the error; 23505: an unfinished job had its key';
COMMENT ON COLUMN hipq.shard_rejects_detail.error IS 'the error';
COMMENT ON COLUMN hipq.shard_rejects_detail.job IS 'the job as it was sent; secret data are ***';

REVOKE ALL ON TABLE
    hipq.shard_map, hipq.shard, hipq.shard_outbox, hipq.shard_outbox_default,
    hipq.shard_outbox_mark, hipq.shard_received, hipq.shard_received_default, hipq.shard_reject,
    hipq.shard_move, hipq.shard_leaving, hipq.shard_coming, hipq.shard_held_job, hipq.shards,
    hipq.shard_rejects_detail
    FROM PUBLIC;
REVOKE ALL ON hipq.permit_share, hipq.permit_authority, hipq.permit_record, hipq.shard_limits FROM PUBLIC;
REVOKE ALL ON SEQUENCE hipq.shard_outbox_id_seq, hipq.shard_held_job_seq FROM PUBLIC;
REVOKE ALL ON FUNCTION
    hipq._shards_changed(), hipq._receive(), hipq._set_up_of(text),
    hipq._send_set_up(text, integer), hipq._tell_shards(), hipq._unfit_for_shards(),
    hipq._join_shards(text, text, integer), hipq._publish_outbox(text, text, integer),
    hipq._keep_outbox(text), hipq._subscribe_to_outbox(text, text, integer), hipq._leave_shards(text),
    hipq._position_after_all_sent(timestamptz), hipq._unsubscribe_from_outbox(text),
    hipq._unpublish_outbox(text), hipq.drain_shard(text, integer), hipq.rebalance(text),
    hipq.move_slots(text, integer[], integer), hipq._own_timeline(),
    hipq._receive_again(jsonb, boolean), hipq._begin_resync(text, jsonb)
    FROM PUBLIC;
REVOKE ALL ON PROCEDURE hipq.create_shard(text, integer, text, text, integer), hipq.drop_shard(text, integer, boolean),
    hipq.resync_shard(text, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hipq.slot_of(text), hipq._is_own_timeline(text) TO PUBLIC;
GRANT SELECT ON hipq.shard_rejects_detail TO PUBLIC;

-- ---- calls by id on other nodes ----

CREATE FUNCTION hipq._answer(instance_name text, asker integer, role text, function text, id bigint, arguments text[], is_about_letter boolean) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__answer';
COMMENT ON FUNCTION hipq._answer(text, integer, text, text, bigint, text[], boolean)
    IS 'does for another node what a role has called there, by the id of a job, with the rights that '
    'this role has here; NULL = there is no such job';

CREATE FUNCTION hipq._wait_until_read(instance_name text) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__wait_until_read';
COMMENT ON FUNCTION hipq._wait_until_read(text)
    IS 'waits for some seconds until others have read what this node has sent; its router asks';

CREATE FUNCTION hipq.find_job(id bigint, queue text DEFAULT NULL) RETURNS SETOF hipq.jobs_detail
    LANGUAGE c ROWS 1 AS 'MODULE_PATHNAME', 'hipq_find_job';
COMMENT ON FUNCTION hipq.find_job(bigint, text)
    IS 'the row of view hipq.jobs_detail of a job, on whichever server of the instance it is; no row '
    'if there is no such job. id: the job; queue: where to look for it';

-- What goes on in the queues of each shard, as it has last said.
CREATE TABLE hipq.shard_stats (
    instance_id integer     NOT NULL,
    node        smallint    NOT NULL,
    as_of       timestamptz NOT NULL,
    queues      jsonb       NOT NULL,
    CONSTRAINT shard_stats_pkey PRIMARY KEY (instance_id, node)
);
COMMENT ON TABLE hipq.shard_stats IS 'on the router: what each shard has last said of its queues';
COMMENT ON COLUMN hipq.shard_stats.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_stats.node IS 'number of the shard';
COMMENT ON COLUMN hipq.shard_stats.as_of IS 'when it has said so, by its clock';
COMMENT ON COLUMN hipq.shard_stats.queues IS 'an object for each queue: columns of view hipq.activity_detail';

REVOKE ALL ON FUNCTION hipq._answer(text, integer, text, text, bigint, text[], boolean), hipq._wait_until_read(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hipq.find_job(bigint, text) TO PUBLIC;
GRANT SELECT ON hipq.shards, hipq.shard_limits TO pg_monitor;

-- Sizes of files are not asked for, which with many queues takes long.
CREATE OR REPLACE VIEW hipq.alerts_detail WITH (security_barrier) AS
SELECT alert.alert,
       alert.severity,
       alert.times,
       alert.first_time,
       alert.last_time,
       alert.detail,
       alert.hint
FROM (
    SELECT raised.alert, 'alarm' AS severity, raised.times, raised.first_time, raised.last_time, raised.detail, raised.hint
    FROM hipq._alerts() AS raised
    UNION ALL
    SELECT overdue.alert, overdue.severity, overdue.jobs, overdue.first_time, overdue.last_time, overdue.detail, overdue.hint
    FROM hipq._overdue() AS overdue
    UNION ALL
    SELECT 'crashing job type',
           'alarm',
           pause.crashes,
           job_type.crash_times[1],
           pause.paused_time,
           format('Job type %s of queue %s.%s is held: its jobs took the server down %s times, at %s.', quote_ident(job_type.name), instance.name, queue.name,
                  pause.crashes, array_to_string(job_type.crash_times, ', ')),
           'Mend the handler, then SELECT hipq.resume(queue, job_type), or give it another one with hipq.alter_job_type().'
    FROM hipq.pause
    JOIN hipq.job_type ON job_type.queue_id = pause.queue_id AND job_type.name = pause.job_type
    JOIN hipq.queue ON queue.queue_id = pause.queue_id
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    WHERE pause.crashes IS NOT NULL
    UNION ALL
    SELECT 'crashing dead letter handler',
           'alarm',
           cardinality(queue.dead_letter_crash_times),
           queue.dead_letter_crash_times[1],
           queue.dead_letter_crash_times[cardinality(queue.dead_letter_crash_times)],
           format('The handler of dead letters of queue %s.%s is not called: it took the server down, at %s.', instance.name, queue.name,
                  array_to_string(queue.dead_letter_crash_times, ', ')),
           'Mend the handler, then SELECT hipq.resume(queue), or give the queue another one with hipq.alter_queue().'
    FROM hipq.queue
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    WHERE NOT queue.is_dropped AND current_setting('hipq.max_type_crashes', true)::integer BETWEEN 1 AND cardinality(queue.dead_letter_crash_times)
    UNION ALL
    SELECT 'dead letters waiting',
           'alarm',
           waiting.letters,
           waiting.first_time,
           waiting.last_time,
           'More than ' || waiting.most || ' dead letters are neither handled, redriven nor dismissed.',
           'View hipq.dead_letters has the jobs with their errors.'
    FROM (
        SELECT count(*) AS letters,
               min(letter.died_time) AS first_time,
               max(letter.died_time) AS last_time,
               current_setting('hipq.alert_dead_letter_depth', true)::integer AS most
        FROM (
            SELECT dead_letter.died_time
            FROM hipq.dead_letter
            WHERE dead_letter.handled_time IS NULL AND dead_letter.redriven_time IS NULL AND dead_letter.dismissed_time IS NULL
            LIMIT greatest(current_setting('hipq.alert_dead_letter_depth', true)::integer, 0) + 1
        ) AS letter
    ) AS waiting
    WHERE waiting.most >= 0 AND waiting.letters > waiting.most
    UNION ALL
    SELECT 'job set aside',
           'alarm',
           count(*),
           min(aside.set_aside_time),
           max(aside.set_aside_time),
           'What became of ' || count(*) || ' job(s) cannot be written down; they are left alone. The latest is job '
               || (array_agg(aside.job_id ORDER BY aside.set_aside_time DESC, aside.job_id DESC))[1] || ': '
               || (array_agg(aside.error ORDER BY aside.set_aside_time DESC, aside.job_id DESC))[1],
           'When the cause is gone hipq.fail_job() or hipq.cancel() ends each, and hipq.retry() runs it again; table hipq.set_aside names them.'
    FROM hipq._jobs_set_aside() AS aside
    HAVING count(*) > 0
    UNION ALL
    SELECT 'schedules',
           'alarm',
           count(*),
           NULL,
           hipq.now(),
           count(*) || ' schedule(s) do not come, as pg_cron has no job for them in this database: '
               || array_to_string((array_agg(quote_ident(lost.name) ORDER BY lost.schedule_id))[1:10], ', ') || CASE WHEN count(*) > 10 THEN ', ...' ELSE '.' END,
           'SELECT hipq.restore_schedules(), which says what is in the way; or end them with hipq.unschedule().'
    FROM hipq._lost_schedules() AS lost
    HAVING count(*) > 0
    UNION ALL
    SELECT 'shard',
           'alarm',
           1,
           NULL,
           hipq.now(),
           format('Shard %s of instance "%s": %s. Jobs that are for it, or come from it, wait.', shard.shard, shard.instance, shard.problem),
           CASE
               WHEN shard.problem ~ ' is (gone|lost)$' THEN format('CALL hipq.resync_shard(%L, %s).', shard.instance COLLATE "default", shard.shard)
               ELSE format('View hipq.shards, and the logs of both servers. If a standby of it was promoted, or it was restored: CALL hipq.resync_shard(%L, %s).', shard.instance COLLATE "default", shard.shard)
           END
    FROM hipq.shards AS shard
    WHERE shard.problem IS NOT NULL
    UNION ALL
    SELECT 'shard',
           'alarm',
           1,
           NULL,
           hipq.now(),
           format('This server is shard %s of instance "%s", and nothing reads what the router sends to it.', map.own_node, instance.name),
           'View pg_stat_subscription, and the logs of both servers.'
    FROM hipq.shard_map AS map
    JOIN hipq.instance USING (instance_id)
    LEFT JOIN pg_stat_subscription AS reader
        ON reader.subname = 'hipq_' || left(map.cluster::text, 8) || '_to_' || map.own_node AND reader.relid IS NULL AND reader.pid IS NOT NULL
    WHERE map.own_node > 0 AND reader.subid IS NULL AND hipq._is_own_timeline(map.timeline)
    UNION ALL
    SELECT 'shard',
           'alarm',
           1,
           NULL,
           hipq.now(),
           format('This server, node %s of instance "%s", was promoted or restored, and may lack what it has sent and received. It starts no job of the instance and takes none.', map.own_node, instance.name),
           CASE
               WHEN map.own_node > 0 THEN format('On the router: CALL hipq.resync_shard(%L, %s).', instance.name COLLATE "default", map.own_node)
               ELSE format('CALL hipq.resync_shard(%L, 0).', instance.name COLLATE "default")
           END
    FROM hipq.shard_map AS map
    JOIN hipq.instance USING (instance_id)
    WHERE NOT hipq._is_own_timeline(map.timeline)
    UNION ALL
    SELECT 'move of slots',
           'alarm',
           waiting.slots,
           waiting.since,
           clock_timestamp(),
           format('%s slot(s) of instance "%s" that move in strict order wait for %s. Their jobs wait, too.', waiting.slots, waiting.instance,
                  coalesce(users.names, 'the scheduler of this database')),
           'End the transaction: jobs that it has enqueued have to come before those that are enqueued now.'
    FROM (
        SELECT instance.name AS instance, count(*) AS slots, min(move.started_time) AS since, max(coalesce(move.seen_time, move.started_time)) AS moment
        FROM hipq.shard_move AS move
        JOIN hipq.instance USING (instance_id)
        WHERE move.in_order <> '{}' AND CASE move.from_node WHEN 0 THEN move.busy_keys IS NULL ELSE NOT move.last_sent END
        GROUP BY instance.name
    ) AS waiting
    CROSS JOIN LATERAL (
        SELECT string_agg(coalesce('process ' || held.pid || coalesce(' (' || activity.usename || ', ' || activity.state || ')', ''), 'a prepared transaction'), ', ' ORDER BY held.pid) AS names
        FROM pg_locks AS held
        JOIN pg_database AS database ON database.oid = held.database AND database.datname = current_database()
        LEFT JOIN pg_stat_activity AS activity ON activity.pid = held.pid
        WHERE held.relation = 'hipq.shard_map'::regclass AND held.mode = 'RowShareLock' AND held.pid IS DISTINCT FROM pg_backend_pid()
          AND (activity.xact_start IS NULL OR activity.xact_start <= waiting.moment)
    ) AS users
    WHERE extract(epoch FROM current_setting('hipq.alert_held_snapshot', true)::interval) >= 0
      AND clock_timestamp() - waiting.since > current_setting('hipq.alert_held_snapshot', true)::interval
    UNION ALL
    SELECT 'jobs refused by a shard',
           'alarm',
           count(*),
           min(reject.rejected_time),
           max(reject.rejected_time),
           count(*) || ' job(s) of instance "' || reject.instance || '" could not be taken by the node that they were for.',
           'View hipq.shard_rejects has them with their errors. Enqueue them again, and delete the rows from hipq.shard_reject.'
    FROM hipq.shard_reject AS reject
    WHERE reject.sqlstate <> '23505'
    GROUP BY reject.instance
    UNION ALL
    SELECT 'held snapshot',
           'alarm',
           1,
           held.since,
           clock_timestamp(),
           held.who || ' keeps dead rows of this database from being removed.',
           'End it: tables of jobs grow meanwhile, and claims slow down.'
    FROM (
        SELECT 'Process ' || activity.pid || ' (' || coalesce(activity.usename, activity.backend_type) || coalesce(', ' || activity.state, '') || ')' AS who,
               activity.xact_start AS since
        FROM pg_stat_activity AS activity
        WHERE activity.datname = current_database() AND activity.backend_type <> 'autovacuum worker'
          AND (activity.backend_xmin IS NOT NULL OR activity.backend_xid IS NOT NULL)
        UNION ALL
        SELECT 'Prepared transaction "' || prepared.gid || '"', prepared.prepared
        FROM pg_prepared_xacts AS prepared
        WHERE prepared.database = current_database()
    ) AS held
    WHERE extract(epoch FROM current_setting('hipq.alert_held_snapshot', true)::interval) >= 0
      AND clock_timestamp() - held.since > current_setting('hipq.alert_held_snapshot', true)::interval
    UNION ALL
    -- A leaf goes when all of it is past the retention; it is a quarter of that long. Where
    -- pg_get_expr() is not told of the table it does not wait for a lock of it.
    SELECT 'retention',
           'alarm',
           count(*),
           min(leaf.to_time + leaf.retention),
           hipq.now(),
           'Final jobs of queue "' || leaf.queue || '" are kept beyond its retention.',
           'A reader of its tables may be in the way; or hipq.databases, or hipq.enabled, keeps hipq out.'
    FROM (
        SELECT instance.name || '.' || queue.name AS queue,
               substring(pg_get_expr(class.relpartbound, 0) FROM 'TO \(''([^'']*)''\)')::timestamptz AS to_time,
               coalesce(nullif(queue.retention, interval '0'), current_setting('hipq.retention', true)::interval) AS retention
        FROM hipq.queue
        JOIN hipq.instance ON instance.instance_id = queue.instance_id
        JOIN pg_class AS top ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
        JOIN pg_inherits AS of_top ON of_top.inhparent = top.oid
        JOIN pg_inherits AS of_final ON of_final.inhparent = of_top.inhrelid
        JOIN pg_class AS class ON class.oid = of_final.inhrelid
        WHERE NOT queue.is_dropped
    ) AS leaf
    WHERE leaf.to_time + leaf.retention + leaf.retention / 4 + interval '1 hour' < hipq.now()
    GROUP BY leaf.queue
    UNION ALL
    SELECT finding.alert, 'alarm', finding.times, NULL, hipq.now(), finding.detail, finding.hint
    FROM (
        SELECT counted.*,
               100 * counted.unhealthy / nullif(counted.workers, 0) AS unhealthy_share,
               counted.queue_depth / nullif(counted.workers, 0) AS average_depth,
               current_setting('hipq.alert_unhealthy_workers', true)::numeric AS most_unhealthy,
               current_setting('hipq.alert_worker_depth', true)::numeric AS most_depth
        FROM (
            SELECT sum(health.workers) AS workers,
                   sum(health.workers) FILTER (WHERE health.status = 'unhealthy') AS unhealthy,
                   sum(health.queue_depth) AS queue_depth
            FROM hipq.worker_health AS health
        ) AS counted
    ) AS all_workers
    CROSS JOIN LATERAL (VALUES
        ('unhealthy workers',
         all_workers.unhealthy_share > all_workers.most_unhealthy,
         all_workers.unhealthy::bigint,
         all_workers.unhealthy || ' of ' || all_workers.workers || ' external workers of this database are unhealthy: ' || trim_scale(round(all_workers.unhealthy_share, 2)) || ' %, limit ' || all_workers.most_unhealthy || ' %.',
         'View hipq.workers says which, and what that follows from.'),
        ('worker depth',
         all_workers.most_depth >= 0 AND all_workers.average_depth > all_workers.most_depth,
         all_workers.queue_depth::bigint,
         'External workers of this database have ' || round(all_workers.average_depth, 1) || ' jobs each that they have not accepted, limit ' || all_workers.most_depth || '.',
         'Start more workers; view hipq.workers says which are behind.')
    ) AS finding (alert, is_the_case, times, detail, hint)
    WHERE finding.is_the_case
) AS alert
WHERE pg_has_role('pg_monitor', 'USAGE');

COMMENT ON COLUMN hipq.workers_detail.status
    IS 'active: heard of within hipq.heartbeat_timeout, or its session is there and owes no '
    'answer; inactive: neither, or there was no room for it';
COMMENT ON COLUMN hipq.healthy_workers_detail.status
    IS 'active: heard of within hipq.heartbeat_timeout, or its session is there and owes no '
    'answer; inactive: neither, or there was no room for it';

CREATE OR REPLACE FUNCTION hipq.worker_queue_depth(worker bigint) RETURNS integer LANGUAGE sql SET search_path = pg_catalog, pg_temp
    AS $$ SELECT detail.queue_depth FROM hipq.workers_detail AS detail WHERE detail.worker_id = worker $$;

CREATE FUNCTION hipq._finished_lately(OUT queue_id integer, OUT since timestamptz, OUT finished bigint) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__finished_lately';
COMMENT ON FUNCTION hipq._finished_lately()
    IS 'jobs that succeeded or failed since the begin of the last whole minute; view hipq.activity '
    'shows it';

CREATE FUNCTION hipq._sort_of_top(sort text) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__sort_of_top';
COMMENT ON FUNCTION hipq._sort_of_top(text)
    IS 'the argument of hipq.top(), which has to be one of its columns, or busy';

CREATE FUNCTION hipq.who_fills(
    queue text, lines integer DEFAULT 20, OUT job_type text, OUT throttle_key text, OUT jobs bigint, OUT percent double precision, OUT last_minute bigint,
    OUT oldest_due_time timestamptz, OUT waits_for text, OUT first_job bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_who_fills';
COMMENT ON FUNCTION hipq.who_fills(text, integer)
    IS 'tells whose unfinished jobs fill a queue: by job type and throttle key, the most first, and '
    'what the first of them waits for. A look at part of a large queue. lines: how many, NULL = all';
GRANT EXECUTE ON FUNCTION hipq.who_fills(text, integer) TO PUBLIC;

-- When a job that runs will have ended.
CREATE OR REPLACE VIEW hipq.progress_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       reported.job_id AS id,
       job.job_type,
       reported.attempt,
       reported.done,
       reported.total,
       CASE WHEN reported.total = 0 THEN 100.0 ELSE round(100.0 * reported.done / reported.total, 1) END AS percent,
       reported.message,
       reported.reported_time,
       reported.pid,
       reported.worker_id,
       reported.reported_time
           + (reported.reported_time - coalesce(executor.started_time, job.accepted_time))
               * ((reported.total - reported.done) / nullif(reported.done, 0)::float8) AS expected_end_time
FROM hipq._progress() AS reported
CROSS JOIN LATERAL (
    SELECT reported.queue_id, found.job_type COLLATE "C" AS job_type, found.accepted_time
    FROM hipq._unfinished_job(reported.queue_id, reported.job_id) AS found
) AS job
JOIN hipq._visible_queue AS queue ON queue.queue_id = job.queue_id
LEFT JOIN hipq._running_jobs() AS executor ON executor.job_id = reported.job_id;
COMMENT ON COLUMN hipq.progress_detail.expected_end_time
    IS 'when it will have ended if it goes on as fast as since the attempt began; NULL = not known';

-- Shared memory, the catalogue and the statistics collector's estimate: no job is looked at, so it
-- costs the same whatever waits.
CREATE VIEW hipq.activity_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       coalesce(backlog.jobs, 0) AS backlog_estimate,
       coalesce(running.jobs, 0) AS running_jobs,
       coalesce(rate.finished_per_minute, 0) AS finished_per_minute,
       coalesce(hour.failed, 0) AS failed,
       coalesce(hour.retried, 0) AS retried,
       hour.wait_p50,
       hour.wait_p99,
       lane.due_time AS oldest_due_time,
       CASE
           WHEN queue.is_dropped THEN 'being dropped'
           WHEN pause.of_all > 0 THEN 'paused'
           WHEN pause.for_crashes > 0 THEN 'held: crashed'
           WHEN queue.throttle_limit >= 1 AND limiter.used >= 1000 * queue.throttle_limit THEN 'at its limit'
           WHEN pause.types > 0 THEN pause.types || CASE pause.types WHEN 1 THEN ' type paused' ELSE ' types paused' END
           WHEN backlog.jobs > coalesce(running.jobs, 0) AND lane.without_worker > 0 THEN 'no worker'
           WHEN lane.due_time < hipq.now() - interval '1 minute' THEN 'late'
           WHEN running.jobs > 0 THEN 'runs'
           WHEN backlog.jobs > 0 THEN 'waits'
           ELSE 'idle'
       END AS state,
       CASE WHEN queue.throttle_limit >= 1 THEN queue.throttle_limit END::numeric(12,3) AS throttle_limit,
       coalesce(round(limiter.used / 1000.0, 3), 0.000) AS throttle_used,
       'hipq.' || quote_ident(queue.table_name) AS table_name,
       CASE WHEN backlog.jobs > 0 THEN make_interval(secs => ceil(60 * backlog.jobs / nullif(rate.finished_per_minute, 0))::float8) END AS empty_in
FROM (
    SELECT queue.queue_id, queue.instance_id, queue.table_name, queue.throttle_limit, queue.is_dropped, seen.name
    FROM hipq.queue
    JOIN hipq._visible_queue AS seen ON seen.queue_id = queue.queue_id
    OFFSET 0
) AS queue
LEFT JOIN LATERAL (
    SELECT greatest(pg_stat_get_live_tuples(live.oid), 0) AS jobs
    FROM pg_class AS whole
    JOIN pg_inherits ON pg_inherits.inhparent = whole.oid
    JOIN pg_class AS live ON live.oid = pg_inherits.inhrelid AND live.relkind = 'r'
    WHERE whole.relname = queue.table_name AND whole.relnamespace = 'hipq'::regnamespace
    OFFSET 0    -- one index scan for each queue, not all of pg_inherits for each
) AS backlog ON true
LEFT JOIN (
    SELECT job.queue_id, count(*) AS jobs FROM hipq._running_jobs() AS job GROUP BY job.queue_id
) AS running ON running.queue_id = queue.queue_id
LEFT JOIN (
    SELECT counted.queue_id,
           round(counted.finished / greatest(1, extract(epoch FROM hipq.now() - counted.since) / 60), 1) AS finished_per_minute
    FROM hipq._finished_lately() AS counted
) AS rate ON rate.queue_id = queue.queue_id
LEFT JOIN (
    SELECT counted.queue_id, counted.failed, counted.retried, counted.wait_p50, counted.wait_p99
    FROM hipq._statistics() AS counted
    WHERE counted.job_type IS NULL AND counted.period = 'hour'
) AS hour ON hour.queue_id = queue.queue_id
LEFT JOIN (
    SELECT known.queue_id,
           min(known.due_time) FILTER (WHERE isfinite(known.due_time) AND known.due_time <= hipq.now()) AS due_time,
           count(*) FILTER (WHERE job_type.handler_kind = 'notify' AND service.workers IS NULL) AS without_worker
    FROM hipq._lanes() AS known
    LEFT JOIN hipq.job_type ON job_type.queue_id = known.queue_id AND job_type.name = known.job_type
    LEFT JOIN (SELECT served.queue_id, served.job_type, served.workers FROM hipq._worker_services() AS served WHERE served.workers > 0) AS service
        ON service.queue_id = known.queue_id AND service.job_type = known.job_type
    GROUP BY known.queue_id
) AS lane ON lane.queue_id = queue.queue_id
LEFT JOIN (
    SELECT known.queue_id, known.used FROM hipq._limiters() AS known WHERE known.job_type IS NULL
) AS limiter ON limiter.queue_id = queue.queue_id
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE held.job_type IS NULL) AS of_all,
           count(*) FILTER (WHERE held.crashes IS NOT NULL) AS for_crashes,
           count(DISTINCT held.job_type) AS types
    FROM hipq.pause AS held
    WHERE held.queue_id = queue.queue_id OR held.instance_id = queue.instance_id
) AS pause ON true;
COMMENT ON VIEW hipq.activity_detail
    IS 'what goes on in each queue: one row a queue, without a look at its jobs';
COMMENT ON COLUMN hipq.activity_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.activity_detail.backlog_estimate
    IS 'unfinished jobs, about: the rows of the live leaf as the statistics of PostgreSQL count '
    'them, which begin again at 0 after a crash';
COMMENT ON COLUMN hipq.activity_detail.running_jobs
    IS 'jobs that executors run, or that external workers have';
COMMENT ON COLUMN hipq.activity_detail.finished_per_minute
    IS 'jobs that succeeded or failed for good, per minute, over the last one or two minutes';
COMMENT ON COLUMN hipq.activity_detail.failed IS 'jobs that failed for good in the last hour';
COMMENT ON COLUMN hipq.activity_detail.retried
    IS 'attempts of the last hour that failed and were retried';
COMMENT ON COLUMN hipq.activity_detail.wait_p50
    IS 'seconds from when jobs were due to their start, over the last hour: half of them waited no '
    'longer';
COMMENT ON COLUMN hipq.activity_detail.wait_p99
    IS 'the same: 99 percent of them waited no longer';
COMMENT ON COLUMN hipq.activity_detail.oldest_due_time
    IS 'no job that is due was due before; NULL = none is due, or nothing is known yet';
COMMENT ON COLUMN hipq.activity_detail.state
    IS 'the first that holds: being dropped, paused, held: crashed (a job type), at its limit, '
    '1 type paused, no worker (no external worker serves a job type of it), late (a job is due '
    'for more than a minute), runs, waits, idle';
COMMENT ON COLUMN hipq.activity_detail.throttle_limit
    IS 'limit on the sum of throttle_factor over its running jobs; NULL = no limit';
COMMENT ON COLUMN hipq.activity_detail.throttle_used
    IS 'sum of throttle_factor over its running jobs';
COMMENT ON COLUMN hipq.activity_detail.table_name IS 'table of the queue';
COMMENT ON COLUMN hipq.activity_detail.empty_in
    IS 'how long its backlog, with what is not due yet, takes at the pace of finished_per_minute, if '
    'no more jobs come; NULL = there is none, or nothing finishes';

CREATE FUNCTION hipq.top(
    sort text DEFAULT 'busy', lines integer DEFAULT 20, OUT queue text, OUT backlog bigint, OUT running bigint, OUT per_min numeric, OUT failed bigint,
    OUT p50 numeric, OUT p99 numeric, OUT oldest interval, OUT state text
) RETURNS SETOF record LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN line.is_all THEN head.executors ELSE line.queue END,
           line.backlog,
           line.running,
           line.per_min,
           line.failed,
           CASE WHEN NOT line.is_all THEN line.p50 END,
           CASE WHEN NOT line.is_all THEN line.p99 END,
           -- Hours, however many: days would make the column wide.
           make_interval(secs => floor(line.due_for)),
           CASE WHEN line.is_all THEN head.alerts || line.queues || CASE line.queues WHEN 1 THEN ' queue' ELSE ' queues' END ELSE line.state END
    FROM (
        SELECT grouping(seen.queue) = 1 AS is_all,
               seen.queue,
               count(seen.queue) AS queues,
               coalesce(sum(seen.backlog_estimate), 0)::bigint AS backlog,
               coalesce(sum(seen.running_jobs), 0)::bigint AS running,
               coalesce(sum(seen.finished_per_minute), 0) AS per_min,
               coalesce(sum(seen.failed), 0)::bigint AS failed,
               round(max(seen.wait_p50)::numeric, 3) AS p50,
               round(max(seen.wait_p99)::numeric, 3) AS p99,
               date_part('epoch', hipq.now() - min(seen.oldest_due_time)) AS due_for,
               min(seen.state) AS state
        FROM hipq.activity_detail AS seen
        GROUP BY GROUPING SETS ((), (seen.queue))
    ) AS line
    CROSS JOIN (
        SELECT 'executors ' || executors.busy || '/' || current_setting('hipq.max_executors', true)
                   || CASE WHEN workers.known > 0 THEN ', workers ' || workers.fit || '/' || workers.known ELSE '' END AS executors,
               CASE alerts.known WHEN 0 THEN '' WHEN 1 THEN '1 alert, ' ELSE alerts.known || ' alerts, ' END AS alerts
        FROM (SELECT count(*) FILTER (WHERE executor.status IN ('running', 'unresponsive')) AS busy FROM hipq._executors() AS executor) AS executors
        CROSS JOIN (
            SELECT count(*) AS known, count(*) FILTER (WHERE worker.status = 'active' AND worker.health ->> 'status' <> 'unhealthy') AS fit
            FROM hipq.workers_detail AS worker
        ) AS workers
        CROSS JOIN (SELECT count(*) AS known FROM hipq._alerts() AS alert) AS alerts
    ) AS head
    CROSS JOIN (SELECT hipq._sort_of_top(top.sort) AS key OFFSET 0) AS wanted
    ORDER BY line.is_all DESC,
             CASE wanted.key
                 WHEN 'backlog' THEN line.backlog
                 WHEN 'per_min' THEN line.per_min
                 WHEN 'failed' THEN line.failed
                 WHEN 'p50' THEN line.p50
                 WHEN 'p99' THEN line.p99
                 WHEN 'oldest' THEN line.due_for
                 WHEN 'running' THEN line.running
                 WHEN 'busy' THEN line.running
             END DESC NULLS LAST,
             CASE WHEN wanted.key = 'state' THEN line.state END,
             CASE WHEN wanted.key = 'busy' THEN line.per_min END DESC,
             CASE WHEN wanted.key = 'busy' THEN line.backlog END DESC,
             line.queue
    LIMIT top.lines + 1
$$;
COMMENT ON FUNCTION hipq.top(text, integer)
    IS 'shows at one glance what goes on, for \watch 1 in psql: a row for all, and the queues. '
    'sort: busy, or a column; lines: how many queues, NULL = all';

GRANT SELECT ON hipq.activity_detail TO PUBLIC;
GRANT EXECUTE ON FUNCTION hipq._finished_lately(), hipq._sort_of_top(text), hipq.top(text, integer) TO PUBLIC;

-- Views that fit into a terminal of 120 columns. Each has the rows of its sibling <view>_detail, and
-- the columns that people look at first; a condition on them goes through to the sibling.

-- What is text fits, too. (A word that is longer stays whole.)
CREATE FUNCTION hipq._in_lines(text text, width integer) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
    AS $$ SELECT rtrim(regexp_replace(text, format(E'([^\n]{1,%s})( |\n|$)', width), E'\\1\n', 'g'), E'\n') $$;
COMMENT ON FUNCTION hipq._in_lines(text, integer)
    IS 'a text in lines that are not wider, for views';

-- Each queue of a sharded instance on each node that this one knows of: the router knows all. Its own
-- figures are those of this moment, those of others what they have last sent.
CREATE VIEW hipq.cluster_queues_detail WITH (security_barrier) AS
SELECT seen.name AS queue,
       map.own_node::integer AS node,
       activity.backlog_estimate,
       activity.running_jobs,
       activity.finished_per_minute,
       activity.failed,
       activity.oldest_due_time,
       activity.state,
       clock_timestamp() AS as_of,
       true AS is_reachable
FROM hipq._visible_queue AS seen
JOIN hipq.queue ON queue.queue_id = seen.queue_id
JOIN hipq.shard_map AS map ON map.instance_id = queue.instance_id
JOIN hipq.activity_detail AS activity ON activity.queue = seen.name
WHERE NOT queue.is_dropped
UNION ALL
SELECT seen.name,
       shard.node::integer,
       figures.backlog_estimate,
       figures.running_jobs,
       figures.finished_per_minute,
       figures.failed,
       figures.oldest_due_time,
       figures.state,
       stats.as_of,
       link.problem IS NULL
FROM hipq._visible_queue AS seen
JOIN hipq.queue ON queue.queue_id = seen.queue_id
JOIN hipq.instance ON instance.instance_id = queue.instance_id
JOIN hipq.shard ON shard.instance_id = queue.instance_id
JOIN hipq.shards AS link ON link.instance = instance.name AND link.shard = shard.node
LEFT JOIN hipq.shard_stats AS stats ON stats.instance_id = shard.instance_id AND stats.node = shard.node
LEFT JOIN LATERAL jsonb_to_recordset(stats.queues) AS figures (
    queue text, backlog_estimate bigint, running_jobs bigint, finished_per_minute numeric, failed bigint, oldest_due_time timestamptz, state text
) ON figures.queue = queue.name
WHERE NOT queue.is_dropped;
COMMENT ON VIEW hipq.cluster_queues_detail
    IS 'what goes on in each queue of a sharded instance on each node: on the router of all, on a '
    'shard of this one alone';
COMMENT ON COLUMN hipq.cluster_queues_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.cluster_queues_detail.node IS 'number of the server; 0 = the router';
COMMENT ON COLUMN hipq.cluster_queues_detail.backlog_estimate IS 'unfinished jobs, about; NULL, as in the next columns: the node has not said anything yet';
COMMENT ON COLUMN hipq.cluster_queues_detail.running_jobs IS 'jobs that executors run, or that external workers have';
COMMENT ON COLUMN hipq.cluster_queues_detail.finished_per_minute IS 'jobs that succeeded or failed for good, per minute';
COMMENT ON COLUMN hipq.cluster_queues_detail.failed IS 'jobs that failed for good in the last hour';
COMMENT ON COLUMN hipq.cluster_queues_detail.oldest_due_time IS 'no job that is due was due before; NULL = none is due';
COMMENT ON COLUMN hipq.cluster_queues_detail.state IS 'as in view hipq.activity';
COMMENT ON COLUMN hipq.cluster_queues_detail.as_of IS 'when the node has said so, by its clock. It says so when something has changed, at most each 2 seconds';
COMMENT ON COLUMN hipq.cluster_queues_detail.is_reachable IS 'whether rows go to the node and come from it: hipq.shards says what keeps them';

REVOKE ALL ON TABLE hipq.shard_stats, hipq.cluster_queues_detail FROM PUBLIC;
GRANT SELECT ON hipq.cluster_queues_detail TO PUBLIC;

CREATE VIEW hipq.instances WITH (security_barrier) AS
SELECT name, queues, is_strict, created_time
FROM hipq.instances_detail;

CREATE VIEW hipq.queues WITH (security_barrier) AS
SELECT queue, owner, initial, retry, running_jobs, oldest_due_time, is_paused
FROM hipq.queues_detail;

CREATE VIEW hipq.job_types WITH (security_barrier) AS
SELECT queue, job_type, handler, handler_kind, max_retries, default_timeout, is_paused
FROM hipq.job_types_detail;

CREATE VIEW hipq.pauses WITH (security_barrier) AS
SELECT instance, queue, job_type, throttle_key, paused_time, hipq._in_lines(reason, 30) AS reason
FROM hipq.pauses_detail;

CREATE VIEW hipq.jobs WITH (security_barrier) AS
SELECT id, queue, job_type, job_key, outcome, attempt, scheduled_run_time
FROM hipq.jobs_detail;

CREATE VIEW hipq.running WITH (security_barrier) AS
SELECT queue, id, job_type, job_key, attempt, pid, worker, since
FROM hipq.running_detail;

CREATE VIEW hipq.progress WITH (security_barrier) AS
SELECT queue, id, job_type, percent, hipq._in_lines(message, 30) AS message, expected_end_time
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
SELECT queue, backlog_estimate, running_jobs, failed, oldest_due_time, empty_in, state
FROM hipq.activity_detail;

CREATE VIEW hipq.statistics WITH (security_barrier) AS
SELECT queue, job_type, period, succeeded, failed, retried, failure_rate, wait_p50, wait_p99, run_p50
FROM hipq.statistics_detail;

CREATE VIEW hipq.shard_rejects WITH (security_barrier) AS
SELECT queue, job_id, node, rejected_time, sqlstate, hipq._in_lines(error, 30) AS error
FROM hipq.shard_rejects_detail;

CREATE VIEW hipq.cluster_queues WITH (security_barrier) AS
SELECT queue, node, backlog_estimate, running_jobs, failed, state, date_trunc('seconds', as_of) AS as_of, is_reachable
FROM hipq.cluster_queues_detail;

CREATE VIEW hipq.alerts WITH (security_barrier) AS
SELECT severity, alert, times, hipq._in_lines(concat_ws(E'\n', detail, hint), 70) AS message
FROM hipq.alerts_detail;
COMMENT ON COLUMN hipq.alerts.message
    IS 'what is slower or waits because of it, and what to do: detail and hint of '
    'hipq.alerts_detail, in lines';

-- They say what their siblings say.
DO $comments$
DECLARE
    narrow record;
BEGIN
    FOR narrow IN
        SELECT class.relname AS name, detail.oid AS detail, obj_description(detail.oid, 'pg_class') AS comment
        FROM pg_class AS class
        JOIN pg_class AS detail ON detail.relname = class.relname || '_detail' AND detail.relnamespace = class.relnamespace
        WHERE class.relnamespace = 'hipq'::regnamespace AND class.relkind = 'v'
    LOOP
        EXECUTE format('COMMENT ON VIEW hipq.%I IS %L', narrow.name, narrow.comment || '; hipq.' || narrow.name || '_detail has all columns');
    END LOOP;
    FOR narrow IN
        SELECT class.relname AS name, attribute.attname AS column_name, col_description(detail.oid, same.attnum) AS comment
        FROM pg_class AS class
        JOIN pg_class AS detail ON detail.relname = class.relname || '_detail' AND detail.relnamespace = class.relnamespace
        JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid
        JOIN pg_attribute AS same ON same.attrelid = detail.oid AND same.attname = attribute.attname
        WHERE class.relnamespace = 'hipq'::regnamespace AND class.relkind = 'v'
    LOOP
        EXECUTE format('COMMENT ON COLUMN hipq.%I.%I IS %L', narrow.name, narrow.column_name, narrow.comment);
    END LOOP;
END
$comments$;

GRANT SELECT ON hipq.instances, hipq.queues, hipq.job_types, hipq.jobs, hipq.running, hipq.progress,
    hipq.attempts, hipq.attempt_logs, hipq.dead_letters, hipq.dead_letter_stats, hipq.pauses,
    hipq.schedules, hipq.workers, hipq.healthy_workers, hipq.executors, hipq.lanes, hipq.sizes,
    hipq.statistics, hipq.activity, hipq.shard_rejects, hipq.cluster_queues TO PUBLIC;
GRANT SELECT ON hipq.alerts TO pg_monitor;
GRANT EXECUTE ON FUNCTION hipq._in_lines(text, integer) TO PUBLIC;
