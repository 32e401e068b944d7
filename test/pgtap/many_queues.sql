-- A statement over the jobs of many queues (more than 32) reads them one by one, without a plan of
-- their tables. The rows are those of a plan over the tables: of the statement for half of the
-- queues, twice.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SET LOCAL client_min_messages = warning;
SELECT plan(39);

CREATE ROLE many_owner LOGIN;
CREATE ROLE many_reader;
CREATE ROLE many_monitor IN ROLE pg_monitor;
CREATE TABLE pg_temp.queue AS
SELECT 'many.q' || translate(n::text, '0123456789', 'abcdefghij') AS name, n % 2 AS half
FROM generate_series(1, 40) AS n;
GRANT SELECT ON pg_temp.queue TO PUBLIC;
SELECT count(hipq.create_queue(name, owner => 'many_owner')) FROM pg_temp.queue;
SELECT count(hipq.register_job_type(name, type, handler_kind => 'notify'))
FROM pg_temp.queue, unnest('{type, other}'::text[]) AS type;
SELECT count(hipq.grant_queue(name, 'many_reader', 'read'))
FROM pg_temp.queue WHERE name <> 'many.qc';

-- A live leaf whose columns have another order, and a column more than when hipq made it.
ALTER TABLE hipq.job ADD COLUMN gone integer;
ALTER TABLE hipq.job ADD COLUMN added integer DEFAULT 7;
ALTER TABLE hipq.job DROP COLUMN gone;
DO $$
BEGIN
    ALTER TABLE hipq.many_qd DETACH PARTITION hipq.many_qd_live;
    DROP TABLE hipq.many_qd_live;
    EXECUTE (
        SELECT format('CREATE TABLE hipq.many_qd_live (%s)', string_agg(
            format('%I %s %s %s', attname, format_type(atttypid, atttypmod),
                'COLLATE ' || nullif(attcollation, 0)::regcollation,
                CASE WHEN attnotnull THEN 'NOT NULL' END), ', ' ORDER BY attnum DESC))
        FROM pg_attribute
        WHERE attrelid = 'hipq.job'::regclass AND attnum > 0 AND NOT attisdropped);
    EXECUTE (
        SELECT string_agg(format('ALTER TABLE hipq.many_qd_live ADD CONSTRAINT %I %s', conname,
            pg_get_constraintdef(oid)), ';')
        FROM pg_constraint WHERE conrelid = 'hipq.job'::regclass AND contype = 'c');
    ALTER TABLE hipq.many_qd ATTACH PARTITION hipq.many_qd_live
        FOR VALUES IN (NULL, 'initial', 'running', 'error', 'retry');
END
$$;
-- A leaf by time, and an index of a user.
CREATE TABLE hipq.many_qe_final_old PARTITION OF hipq.many_qe_final
    FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE INDEX ON hipq.many_qf_live (throttle_key);

-- Rows in all states, as a restore loads them: id 1,000 * queue + number.
SET LOCAL session_replication_role = replica;
INSERT INTO hipq.job (id, queue_id, state, error, retry_reason, throttle_factor, scheduled_run_time,
    update_time, created_time, timeout, max_retries, priority, job_type, job_key, time_windows,
    attempt, throttle_key, retry_of)
SELECT 1000000 + queue_id * 1000 + number,
       queue_id, state, CASE WHEN state IN ('final', 'error', 'retry') THEN 'error' ELSE 'NONE' END,
       'NONE', 1.5, '2020-02-02', '2020-02-02'::timestamptz + (number % 3) * interval '1 year',
       now(), 60, 0, number % 3, CASE number % 4 WHEN 0 THEN 'other' ELSE 'type' END,
       CASE number % 3 WHEN 0 THEN 'NONE' ELSE 'key ' || number END, 'NONE',
       CASE state WHEN 'initial' THEN 0 ELSE 1 END, 'tenant ' || number % 5, nullif(number % 7, 0)
FROM hipq.queue
CROSS JOIN generate_series(1, 20) AS number
CROSS JOIN LATERAL (
    SELECT ('{initial,running,error,retry,final}'::hipq.job_state[])[1 + number % 5] AS state
) AS one
WHERE instance_id = (SELECT instance_id FROM hipq.instance WHERE name = 'many');
RESET session_replication_role;

-- The statement for half of the queues, by a plan over their tables.
CREATE FUNCTION pg_temp.planned(statement text, half integer) RETURNS text LANGUAGE sql AS $$
    SELECT replace(statement, 'WHERE', format('WHERE queue = ANY (%L::text[]) AND',
        array_agg(name)))
    FROM pg_temp.queue WHERE queue.half = planned.half
$$;
CREATE FUNCTION pg_temp.nodes(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
    RETURN (
        SELECT string_agg(DISTINCT coalesce(node ->> 'Custom Plan Provider', 'tables'), ', ')
        FROM jsonb_path_query(plan, '$.** ? (@."Node Type" == "Custom Scan"
            || @."Relation Name" like_regex "^many_")') AS node
    );
END
$$;

-- ---- which statements

SELECT is(pg_temp.nodes('SELECT * FROM hipq.jobs'), 'hipq jobs', 'all queues: one by one');
SELECT is(pg_temp.nodes(pg_temp.planned('SELECT * FROM hipq.jobs WHERE true', 0)), 'tables',
    'half of them: by a plan over their tables');
SELECT is(pg_temp.nodes('SELECT * FROM hipq.jobs WHERE id = 1'), NULL, 'by id: neither');

-- ---- the rows

SELECT bag_eq(statement, format('%s UNION ALL %s', pg_temp.planned(statement, 0),
    pg_temp.planned(statement, 1)), condition)
FROM unnest(ARRAY[
    'true',
    'job_type = ''type'' AND job_key = ''key 5''',
    'job_type = ''type'' AND ''key 5'' = job_key',
    'job_type = ''type'' AND job_key IN (''key 5'', ''key 8'', NULL)',
    'job_type IN (''other'', ''none'') AND job_key = ''key 4''',
    'job_type = ''type'' AND job_key = ''NONE''',
    'job_type = ''type'' AND job_key IS NULL',
    'job_type = ''type'' AND job_key = NULL',
    'job_type = ''other'' AND priority = 1',
    'throttle_key = ''tenant 3''',
    'state = ''running''',
    'state = ''final''',
    'state <> ''final''',
    'outcome = ''failed''',
    'update_time >= ''2021-02-01''',
    'update_time < ''2021-01-01''',
    'update_time = ''2020-02-02'' AND state = ''final''',
    '(retry_of = 3 OR attempt = 0)',
    'job_type = ''type'' COLLATE "C" AND id % 2 = 0'
]) AS condition
CROSS JOIN LATERAL (
    SELECT 'SELECT * FROM hipq.jobs_detail WHERE ' || condition AS statement
) AS one;
SELECT is((SELECT count(*)::integer FROM hipq.jobs), 800, 'count');
SELECT is((SELECT count(*)::integer FROM (SELECT FROM hipq.jobs LIMIT 30) AS first), 30, 'LIMIT');
SELECT is((SELECT array_agg(id) FROM (SELECT id FROM hipq.jobs ORDER BY id DESC LIMIT 3) AS newest),
    (SELECT array_agg(id) FROM (SELECT id FROM hipq.job ORDER BY id DESC LIMIT 3) AS newest),
    'the newest');
SELECT bag_eq($$SELECT queue, job_key FROM unnest('{key 5, key 7}'::text[]) AS asked (key)
    CROSS JOIN LATERAL (SELECT * FROM hipq.jobs WHERE job_type = 'type' AND job_key = asked.key
        OFFSET 0) AS job$$,
    $$SELECT name, key FROM pg_temp.queue, unnest('{key 5, key 7}'::text[]) AS key$$,
    'for each row of something else');
PREPARE by_key (text) AS SELECT count(*) FROM hipq.jobs WHERE job_type = 'type' AND job_key = $1;
SET LOCAL plan_cache_mode = force_generic_plan;
SELECT results_eq($$EXECUTE by_key('key 5')$$, 'VALUES (40::bigint)', 'a plan for any value');
SELECT results_eq($$EXECUTE by_key(NULL)$$, 'VALUES (0::bigint)', 'and for NULL');
RESET plan_cache_mode;
DECLARE back SCROLL CURSOR FOR SELECT id FROM hipq.jobs WHERE job_key = 'key 5' ORDER BY id;
MOVE 40 IN back;
SELECT results_eq('FETCH PRIOR FROM back', 'SELECT max(id) - 1000 FROM hipq.jobs
    WHERE job_key = $$key 5$$', 'a cursor goes back');
SAVEPOINT written;
UPDATE hipq.many_qb SET job_data = '{"changed": true}' WHERE job_key = 'key 5';
SELECT results_eq($$SELECT queue FROM hipq.jobs_detail WHERE job_data ? 'changed'$$,
    $$VALUES ('many.qb'::text COLLATE "C")$$, 'what the transaction itself has written');
ROLLBACK TO written;

-- ---- the other views

SELECT bag_eq('SELECT queue, id, job_key FROM hipq.running', $$SELECT queue, id, job_key
    FROM hipq.jobs_detail WHERE state = 'running'$$, 'what runs');
SELECT bag_eq('SELECT queue, initial, running, error, retry FROM hipq.queues_detail',
    $$SELECT queue, count(*) FILTER (WHERE state = 'initial') AS initial,
        count(*) FILTER (WHERE state = 'running') AS running,
        count(*) FILTER (WHERE state = 'error') AS error,
        count(*) FILTER (WHERE state = 'retry') AS retry FROM hipq.jobs_detail GROUP BY queue$$,
    'how many jobs there are');
SELECT bag_eq('SELECT queue, initial + retry AS waiting FROM hipq.queues_detail',
    $$SELECT queue, waiting_time + waiting_window + waiting_hold + waiting_pause + waiting_handler
        + waiting_throttle + waiting_rate + ready AS waiting FROM hipq.queues_detail$$,
    'and what they wait for');

-- ---- rights

SET LOCAL ROLE many_reader;
SELECT is(count(*)::integer, 780, 'a role sees the queues that it may read')
FROM hipq.jobs WHERE queue <> 'many.qc' OR job_key = 'key 5';
SELECT bag_eq($$SELECT queue FROM hipq.jobs WHERE job_type = 'type' AND job_key = 'key 5'$$,
    $$SELECT name FROM pg_temp.queue WHERE name <> 'many.qc'$$, 'by an index, too');
SET LOCAL ROLE many_monitor;
SELECT is(count(*)::integer, 0, 'pg_monitor sees no job') FROM hipq.jobs;
SELECT results_eq('SELECT count(*), count(job_key) FROM hipq.running',
    'VALUES (160::bigint, 0::bigint)', 'pg_monitor sees what runs, without the keys');
SELECT results_eq($$SELECT count(job_key), count(key)
    FROM hipq._unfinished_queue_by_queue() AS job (queue, id, state, job_key, key)$$,
    'VALUES (640::bigint, 0::bigint)', 'nor does the function show them, whatever their name');
RESET ROLE;
SELECT throws_ok('SELECT job FROM hipq._jobs_queue_by_queue() AS job', '0A000',
    'only views of hipq read jobs this way', 'the function itself returns no row');

SELECT * FROM finish();
ROLLBACK;
