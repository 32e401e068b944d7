-- With many queues a plan over the tables of all queues takes long. A statement that names a queue
-- reads only the tables of this queue; a statement that gives ids reads those jobs directly, and
-- its plan scans no table. Views running and queues never need one. The rows are the same.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(28);

CREATE ROLE asked_owner LOGIN;
CREATE ROLE asked_reader;
CREATE ROLE asked_monitor IN ROLE pg_monitor;
SELECT hipq.create_queue('asked.' || name, owner => 'asked_owner')
FROM unnest('{a, b, c}'::text[]) AS name;
SELECT hipq.grant_queue('asked.' || name, 'asked_reader', 'read')
FROM unnest('{a, b}'::text[]) AS name;
SELECT hipq.register_job_type('asked.' || name, 'type', handler_kind => 'notify')
FROM unnest('{a, b, c}'::text[]) AS name;

-- Rows in all states, as a restore loads them: ids from 1,000,001 on in queue a, from 2,000,001 in
-- b, from 3,000,001 in c.
SET LOCAL session_replication_role = replica;
INSERT INTO hipq.job (id, queue_id, state, error, retry_reason, throttle_factor, scheduled_run_time,
    update_time, created_time, timeout, max_retries, priority, job_type, job_key, time_windows,
    attempt, throttle_key)
SELECT (ascii(queue.name) - ascii('a') + 1) * 1000000 + number,
       queue_id, state, CASE WHEN state IN ('final', 'error', 'retry') THEN 'error' ELSE 'NONE' END,
       'NONE', 1.5, now(), now(), now(), 60, 0, 0, 'type', 'key ' || number, 'NONE',
       CASE state WHEN 'initial' THEN 0 ELSE 1 END, 'tenant'
FROM hipq.queue
CROSS JOIN generate_series(1, 5) AS number
CROSS JOIN LATERAL (
    SELECT ('{initial,running,error,retry,final}'::hipq.job_state[])[number] AS state) AS one
WHERE instance_id = (SELECT instance_id FROM hipq.instance WHERE name = 'asked');
RESET session_replication_role;

-- The queues whose tables a statement reads, according to its plan; - if none.
CREATE FUNCTION pg_temp.queues_read(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
    RETURN (
        SELECT coalesce(string_agg(DISTINCT substring(name #>> '{}' FROM '^asked_(.)_'), ' '), '-')
        FROM jsonb_path_query(plan, '$.**."Relation Name"') AS name
        WHERE name #>> '{}' ~ '^asked_'
    );
END
$$;

-- ---- queues by name

SELECT is(pg_temp.queues_read('SELECT * FROM hipq.jobs'), 'a b c', 'all jobs: of all queues');
SELECT is(pg_temp.queues_read(format('SELECT * FROM hipq.%I WHERE queue = %L', view, 'asked.b')),
    CASE WHEN view ~ '^jobs' THEN 'b' ELSE '-' END, view || ' of one queue')
FROM unnest('{jobs, jobs_detail, running, running_detail, queues, queues_detail}'::text[]) AS view;
SELECT is(pg_temp.queues_read($$SELECT * FROM hipq.jobs WHERE queue IN ('asked.a', 'asked.c')$$),
    'a c', 'of two');
SELECT is(pg_temp.queues_read($$SELECT * FROM hipq.jobs WHERE 'asked.c' = queue
    AND job_key = 'key 1'$$), 'c', 'the other way round, with another condition');
SELECT is(pg_temp.queues_read($$SELECT * FROM hipq.jobs WHERE queue = 'asked.z'$$), '-',
    'of one that there is not');
SELECT is(pg_temp.queues_read($$SELECT * FROM hipq.jobs WHERE queue = 'asked.a'
    OR outcome = 'failed'$$), 'a b c', 'one that is not the only one');
SELECT results_eq($$SELECT id FROM hipq.jobs WHERE queue = 'asked.b' ORDER BY id$$,
    'SELECT 2000000::bigint + n FROM generate_series(1, 5) AS n', 'its jobs');
SELECT results_eq($$SELECT initial, retry FROM hipq.queues_detail WHERE queue = 'asked.b'$$,
    'VALUES (1::bigint, 1::bigint)', 'their numbers');
SELECT results_eq($$SELECT id FROM hipq.running WHERE queue = 'asked.b'$$,
    'VALUES (2000002::bigint)', 'what runs in it');

-- ---- jobs by id

SELECT is(pg_temp.queues_read('SELECT * FROM hipq.jobs WHERE ' || condition), '-',
    condition || ': planned without a table')
FROM unnest(ARRAY['id = 2000001', '2000001 = id', 'id = 2000001::bigint',
    'id = ANY (ARRAY[2000001, 1000005])', $$id = 2000001 AND outcome = 'waiting'$$,
    'id = (SELECT 2000001)']) AS condition;
SELECT is(pg_temp.queues_read('SELECT * FROM hipq.jobs WHERE id > 2000001'), 'a b c',
    'not by an equality');
SELECT results_eq(
    'SELECT asked.id, jobs.queue FROM (SELECT id FROM hipq.job WHERE job_type = $$type$$
        OFFSET 0) AS asked CROSS JOIN LATERAL (SELECT min(jobs.queue) AS queue FROM hipq.jobs
        WHERE jobs.id = asked.id) AS jobs ORDER BY id',
    $$SELECT id, ('asked.' || chr(ascii('a') - 1 + (id / 1000000)::integer)) COLLATE "C"
        FROM hipq.job WHERE job_type = 'type' ORDER BY id$$, 'for each row of something else');
SELECT set_eq('SELECT * FROM hipq.jobs_detail WHERE id = ANY ((SELECT array_agg(id)
    FROM hipq.job)::bigint[])', 'SELECT * FROM hipq.jobs_detail', 'a list that is not known yet');
SELECT set_eq($$SELECT * FROM hipq.jobs_detail
    WHERE id IN (1000001, 1000002, 2000003, 2000004, 3000005, 3000005, 7)$$,
    $$SELECT * FROM hipq.jobs_detail WHERE id + 0 IN (1000001, 1000002, 2000003, 2000004,
        3000005)$$, 'the rows are those of a scan, each once');
PREPARE one_job (bigint) AS SELECT queue, outcome FROM hipq.jobs WHERE id = $1;
SET LOCAL plan_cache_mode = force_generic_plan;
SELECT is(pg_temp.queues_read('EXECUTE one_job(3000005)'), '-',
    'a parameter, in a plan for any value');
SELECT results_eq('EXECUTE one_job(3000005)',
    $$VALUES ('asked.c'::text COLLATE "C", 'failed'::text)$$, 'and what it finds');
RESET plan_cache_mode;
SAVEPOINT of_nobody;
UPDATE hipq.asked_b SET job_data = '{"changed": true}' WHERE id = 2000001;
SELECT results_eq('SELECT job_data FROM hipq.jobs_detail WHERE id = 2000001',
    $$VALUES ('{"changed": true}'::jsonb)$$, 'what the transaction itself has written');
ROLLBACK TO of_nobody;

-- ---- rights

SET LOCAL ROLE asked_reader;
SELECT results_eq('SELECT id FROM hipq.jobs WHERE id IN (2000001, 3000001)',
    'VALUES (2000001::bigint)', 'jobs of others'' queues are not found by their ids');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
