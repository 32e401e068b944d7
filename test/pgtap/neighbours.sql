-- Rows that a role may not read leave no trace: plans of the views, with and without ANALYZE, are
-- the same whether or not a row of another queue matches. Tests every view, and every column that
-- contains values to find out.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(9);

CREATE ROLE nb_owner LOGIN;
CREATE ROLE nb_stranger LOGIN;
CREATE ROLE nb_reader;
CREATE ROLE nb_bystander;
GRANT USAGE ON SCHEMA hipq TO nb_bystander;
SELECT hipq.create_queue('here.' || name, owner => 'nb_owner')
FROM unnest('{a, b, c}'::text[]) AS name;
SELECT hipq.create_queue('there.secret', owner => 'nb_stranger');
SELECT hipq.grant_queue('here.' || name, 'nb_reader', 'read')
FROM unnest('{a, b, c}'::text[]) AS name;
SELECT hipq.register_job_type(queue, 'type of ' || queue, handler_kind => 'notify')
FROM unnest('{here.a, there.secret}'::text[]) AS queue;
SELECT hipq.pause(queue, 'type of ' || queue, reason => 'pause of ' || queue)
FROM unnest('{here.a, there.secret}'::text[]) AS queue;
SELECT hipq.pause(queue, 'type of ' || queue, 'key of ' || queue)
FROM unnest('{here.a, there.secret}'::text[]) AS queue;
INSERT INTO hipq.worker (name, role, queues, job_types) VALUES
    ('worker of here', 'nb_owner', '{here.a}', '{type of here.a}'),
    ('worker of there', 'nb_stranger', '{there.secret}', '{type of there.secret}');
INSERT INTO hipq.schedule (name, cron, role, queue_id, job_type, job_key)
SELECT 'schedule of ' || name, '* * * * *', owner, queue_id, 'type of ' || name, 'key of ' || name
FROM hipq.queue WHERE name IN ('a', 'secret');

-- Rows in all states, as a restore loads them.
SET LOCAL session_replication_role = replica;
INSERT INTO hipq.job (id, queue_id, state, error, retry_reason, throttle_factor, scheduled_run_time,
    update_time, created_time, timeout, max_retries, priority, job_type, job_key, time_windows,
    attempt, accepted_time, deadline, throttle_key, worker_id)
SELECT queue_id * 1000 + number, queue_id, state,
       CASE WHEN state IN ('final', 'error', 'retry') THEN 'error of ' || name ELSE 'NONE' END,
       'reason of ' || name, 1, now(), now(), now(), 60 + queue_id, 0, queue_id,
       'type of here.' || name, 'key of ' || name || number, 'NONE',
    CASE state WHEN 'initial' THEN 0 ELSE queue_id END, now(), now() + interval '60 s',
        'throttle of ' || name, CASE state WHEN 'running' THEN queue_id END
FROM hipq.queue
CROSS JOIN generate_series(1, 50) AS number
CROSS JOIN LATERAL (
    SELECT ('{initial,running,error,retry,final}'::hipq.job_state[])[number % 5 + 1] AS state
) AS one
WHERE name IN ('a', 'b', 'c', 'secret');
RESET session_replication_role;
INSERT INTO hipq.attempt (job_id, started_time, ended_time, queue_id, attempt, executor_pid,
    worker_id, job_type, job_key, reason, sqlstate, error, detail, hint, context)
SELECT id, now() - interval '5 s', now() - queue_id * interval '1 s', queue_id,
       attempt, queue_id, queue_id, job_type, job_key, retry_reason, 'S000' || queue_id % 10, error,
       'detail of ' || error,
    'hint of ' || error, 'context of ' || error
FROM hipq.job;
INSERT INTO hipq.attempt_log (job_id, logged_time, queue_id, attempt, level, sqlstate, message,
    detail, hint, context)
SELECT job_id, ended_time, queue_id, attempt, 'WARNING', sqlstate, error, detail, hint, context
FROM hipq.attempt;
INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason, sqlstate,
    error, job, handler_error, redriven_as)
SELECT id, now() - queue_id * interval '1 s', queue_id, job_type, job_key, retry_reason,
       'S000' || queue_id % 10, error, '{}', 'handler of ' || error, id + 1
FROM hipq.job WHERE state = 'final';
ANALYZE hipq.job, hipq.attempt, hipq.attempt_log, hipq.dead_letter, hipq.queue, hipq.instance,
    hipq.job_type, hipq.pause, hipq.schedule, hipq.worker;

CREATE FUNCTION pg_temp.plan_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan text;
BEGIN
    EXECUTE statement INTO plan;
    RETURN plan;
END
$$;

-- Columns with values that the reader does not see: one such value, and one that no row has.
CREATE TEMP TABLE probe (view text, columns text, type text, theirs text, nobodys text);
CREATE FUNCTION pg_temp.make_probes() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    place record;
    visible text[];
    hidden text;
BEGIN
    FOR place IN
        SELECT class.oid::regclass::text AS view, quote_ident(attname) AS name,
               format_type(atttypid, NULL) AS type, typcategory AS category
        FROM pg_class AS class
        JOIN pg_attribute ON attrelid = class.oid AND attnum > 0
        JOIN pg_type AS type ON type.oid = atttypid
        WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v'
          AND has_table_privilege('nb_reader', class.oid, 'SELECT')
          AND typcategory IN ('S', 'N', 'D', 'T')
        ORDER BY 1, attnum
    LOOP
        SET LOCAL ROLE nb_reader;
        EXECUTE format('SELECT array_agg(DISTINCT %s::text) FROM %s', place.name, place.view)
            INTO visible;
        RESET ROLE;
        EXECUTE format('SELECT min(%1$s::text) FROM %2$s
            WHERE %1$s::text <> ALL (coalesce($1, ''{}''))', place.name, place.view)
            INTO hidden USING visible;
        CONTINUE WHEN hidden IS NULL;
        INSERT INTO probe VALUES (place.view, place.name, place.type, hidden, CASE place.category
            WHEN 'S' THEN overlay(hidden PLACING '~' FROM length(hidden))
            WHEN 'N' THEN CASE WHEN place.type = 'regrole' THEN 'nb_reader'
                ELSE (hidden::numeric + 20000)::bigint::text END
            WHEN 'T' THEN (hidden::interval + interval '7 years')::text
            ELSE (hidden::timestamptz - interval '1 microsecond')::text END);
    END LOOP;
END
$$;
SELECT pg_temp.make_probes();
GRANT SELECT ON probe TO nb_reader, nb_bystander;

-- The plan with a value, without the conditions, which show the value.
CREATE FUNCTION pg_temp.trace(view text, condition text, value text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(
        pg_temp.plan_of(format('EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON)
        SELECT * FROM %s WHERE %s', view, replace(condition, '?', quote_literal(value)))),
        '"[A-Za-z -]*(Filter|Cond)": "[^\n]*', '', 'g')
$$;

CREATE TEMP VIEW telltale AS
SELECT probe.view, condition
FROM probe
CROSS JOIN unnest('{"%1$s = ?::%2$s", "%1$s >= ?::%2$s AND %1$s <= ?::%2$s"}'::text[]) AS form
CROSS JOIN LATERAL (SELECT format(form, columns, type) AS condition) AS one
WHERE pg_temp.trace(view, condition, theirs) <> pg_temp.trace(view, condition, nobodys);
GRANT SELECT ON telltale TO nb_reader, nb_bystander;

SELECT cmp_ok((SELECT count(DISTINCT view) FROM probe), '>', 12::bigint,
    'most views have something to find out in them');
SET LOCAL ROLE nb_reader;
SELECT is_empty('SELECT * FROM telltale', 'no plan of a view tells what there is in other queues');
SET LOCAL enable_seqscan = off;
SELECT is_empty($$SELECT * FROM telltale WHERE view ~ 'attempts|dead_letter'$$,
    'nor by way of an index');
SELECT is((SELECT count(*) FROM hipq.jobs WHERE job_type = 'type of here.a'), 50::bigint,
    'one''s own is found');
SELECT alike(pg_temp.plan_of('EXPLAIN (FORMAT JSON) SELECT * FROM hipq.attempts WHERE job_id = 42'),
    '%"Index Cond": "%job_id%', 'and attempts by the id of their job, by an index');
SELECT alike(
    pg_temp.plan_of('EXPLAIN (FORMAT JSON) SELECT * FROM hipq.attempt_logs WHERE job_id = 42'),
    '%"Index Cond": "%job_id%"Index Cond": "%job_id%', 'and what they have said');
SELECT alike(pg_temp.plan_of('EXPLAIN (FORMAT JSON) SELECT * FROM hipq.dead_letters
    WHERE job_id = 42'), '%"Index Cond": "%job_id%', 'dead letters too');
RESET enable_seqscan;
SET LOCAL ROLE nb_bystander;
SELECT is_empty('SELECT * FROM telltale',
    'nor does one tell a role that may use the schema and has no right on a queue');
SET LOCAL enable_seqscan = off;
SELECT is_empty($$SELECT * FROM telltale WHERE view ~ 'attempts|dead_letter'$$,
    'nor by way of an index, without a right on a queue');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
