-- No view shows the values that tables use for "none": NONE, year 9999, JSON null, -1. A search for
-- a key uses its index all the same.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(24);

-- ---- a database with a job in every state, with all columns set and with none

CREATE ROLE null_owner LOGIN;
GRANT CREATE ON SCHEMA public TO null_owner;
SET LOCAL ROLE null_owner;
CREATE FUNCTION public.null_handler(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'it runs';
    IF data ? 'fail' THEN RAISE EXCEPTION 'no'; END IF;
END $$;
RESET ROLE;
SELECT hipq.create_instance('empty'),
       hipq.create_instance('whole', shard_key => 'throttle_key',
           table_naming_strategy => '$1 || ''_the_'' || $2');
SELECT hipq.create_queue('empty.q', owner => 'null_owner', history => 'all') AS empty \gset
SELECT hipq.create_queue('whole.q', owner => 'null_owner', throttle_limit => 9,
    dead_letter_handler => 'public.null_handler(jsonb)') AS whole \gset
SELECT hipq.register_job_type(queue, 'bare'),
       hipq.register_job_type(queue, 'run', handler => 'public.null_handler'),
       hipq.register_job_type(queue, 'out', handler_kind => 'notify'),
       hipq.register_job_type(queue, 'full', handler => 'public.null_handler',
           retry_handler => 'SELECT ''1 s''::interval', default_time_windows => '00:00-24:00',
           throttle_limit => 5, throttle_limit_per_key => 2)
FROM unnest('{empty.q, whole.q}'::text[]) AS queue;

CREATE FUNCTION pg_temp.add_jobs(queue_id integer, first bigint, key text, tenant text, shard text,
    windows text, expires timestamptz)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO hipq.job (id, queue_id, state, error, retry_reason, scheduled_run_time, update_time,
        created_time, expires_time, timeout, max_retries, priority, throttle_factor, job_type,
        job_key, throttle_key, shard_key, time_windows, attempt, worker_id)
    SELECT first + number, queue_id, state::hipq.job_state, error, reason, now(), now(), now(),
           expires, 60, 0, 0, 1, 'bare',
           CASE WHEN key = 'NONE' THEN key ELSE key || number END, tenant, shard, windows, attempt,
           worker_id
    FROM (VALUES (1, 'initial', 'NONE', 'NONE', 0, NULL),
                 (2, 'initial', 'NONE', 'manual_retry', 0, -1),
                 (3, 'running', 'NONE', 'NONE', 1, NULL),
                 (4, 'retry', 'no', 'timeout', 1, NULL), (5, 'error', 'no', 'timeout', 1, NULL),
                 (6, 'final', 'NONE', 'NONE', 1, NULL), (7, 'final', 'no', 'timeout', 1, NULL),
                 (8, 'final', 'no', 'cancelled', 0, NULL))
        AS state (number, state, error, reason, attempt, worker_id)
$$;
SET LOCAL session_replication_role = replica;
SELECT pg_temp.add_jobs(:empty, 9100000000, 'NONE',
    'NONE', 'NONE', 'NONE', '9999-01-01 00:00:00+00'),
       pg_temp.add_jobs(:empty, 9100000010, 'NONE', 'NONE', 'NONE', 'NONE', 'infinity'),
       pg_temp.add_jobs(:whole, 9100000020, 'key', 'tenant', 'shard', 'mon',
           now() + interval '1 day');
RESET session_replication_role;
INSERT INTO hipq.schedule (name, cron, role, queue_id, job_type, job_key)
VALUES ('without', '@daily', 'null_owner', :empty, 'bare', 'NONE');
SELECT hipq.pause('empty.q', 'full'), hipq.pause('whole.q', 'full', reason => 'no mail today');
SELECT hipq.register_worker('one', '{empty.q}', '{out}', listen => false) IS NOT NULL AS registered;

-- Run here: attempts that succeed and fail, their messages, dead letters.
SELECT hipq.enqueue('run', queue => 'empty.q', max_retries => 0),
       hipq.enqueue('run', '{"fail": true}', queue => 'empty.q', max_retries => 0) AS failing \gset
SET LOCAL hipq.allow_foreign_handlers = on;
SELECT hipq.run_until_idle('empty.q') > 1 AS ran;
SELECT hipq.fail_job(9100000003, 'by hand', 'empty.q'),
       hipq.fail_job(9100000023, 'by hand', 'whole.q');
INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason, error, job)
SELECT 9100000030 + number, now(), :empty, 'bare', 'NONE', 'timeout', 'no', job
FROM unnest('{Etc/GMT+12, Etc/GMT-12}'::text[]) WITH ORDINALITY AS zone (name, number)
CROSS JOIN LATERAL (SELECT set_config('TimeZone', zone.name, true)) AS set
CROSS JOIN LATERAL (SELECT to_jsonb(job) AS job FROM hipq.job
    WHERE job.id IN (9100000001, 9100000011) AND (job.id = 9100000011) = (number = 2)) AS job;

-- ---- every value of every view

-- The columns of a row that have a value for "none".
CREATE FUNCTION pg_temp.sentinels(data jsonb, place text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT place || ': ' || (data #>> '{}') FROM (SELECT jsonb_typeof(data) AS kind) AS of
    WHERE kind = 'string' AND data #>> '{}' ~ '^(NONE|-?infinity|999[89]-.*|)$' OR kind = 'number'
      AND (data #>> '{}')::numeric NOT BETWEEN 0 AND 9223372036854775806
    UNION ALL
    SELECT pg_temp.sentinels(value, place || '.' || key)
    FROM jsonb_each(CASE jsonb_typeof(data) WHEN 'object' THEN data ELSE '{}' END)
    UNION ALL
    SELECT pg_temp.sentinels(value, place || '[]')
    FROM jsonb_array_elements(CASE jsonb_typeof(data) WHEN 'array' THEN data ELSE '[]' END)
$$;
CREATE TABLE pg_temp.rows_of_views (view text, row jsonb);
DO $$
DECLARE
    view name;
BEGIN
    FOR view IN SELECT relname FROM pg_class WHERE relnamespace = 'hipq'::regnamespace
        AND relkind = 'v' AND relname !~ '^_' LOOP
        EXECUTE format('INSERT INTO pg_temp.rows_of_views SELECT %L, to_jsonb(shown)
            FROM hipq.%I AS shown', view, view);
    END LOOP;
END $$;

SELECT set_eq($$SELECT sentinel FROM pg_temp.sentinels(
    '{"a": "NONE", "b": {"c": ["infinity", "9999-01-01T00:00:00+00:00", ""]}, '
    '"d": [-1, 9223372036854775807], "e": "none", "f": null, "g": 0}', 'x') AS sentinel$$,
    '{x.a: NONE,x.b.c[]: infinity,x.b.c[]: 9999-01-01T00:00:00+00:00,"x.b.c[]: ",x.d[]: -1,'
    'x.d[]: 9223372036854775807}'::text[], 'values that mean "nothing" are found');
SELECT is_empty($$SELECT DISTINCT sentinel FROM pg_temp.rows_of_views
    CROSS JOIN pg_temp.sentinels(row, view) AS sentinel$$, 'no view shows it');
SELECT is_empty($$SELECT view FROM unnest('{attempt_logs, attempts, dead_letter_rates,
    dead_letter_reasons, dead_letter_stats, dead_letters, instances, job_types, jobs, pauses,
    queues, running, schedules, sizes, worker_health, workers}'::text[]) AS view
    WHERE view NOT IN (SELECT rows_of_views.view FROM pg_temp.rows_of_views)$$,
    'each of these views had rows');
SELECT results_eq('SELECT count(job_key), count(error), count(retry_reason), count(throttle_key),
    count(time_windows), count(shard_key), count(result), count(expires_time), count(worker_id)
    FROM hipq.jobs_detail WHERE id BETWEEN 9100000001 AND 9100000019',
    'VALUES (0::bigint, 9::bigint, 11::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint,
        0::bigint, 0::bigint)', 'unset values of jobs are NULL');
SELECT results_eq('SELECT count(job_key), count(error), count(throttle_key),
    count(time_windows), count(shard_key), count(expires_time) FROM hipq.jobs_detail
    WHERE id BETWEEN 9100000021 AND 9100000028',
    'VALUES (8::bigint, 5::bigint, 8::bigint, 8::bigint, 8::bigint, 8::bigint)',
    'what there is some of is there');
SELECT set_eq($$SELECT job_type, ARRAY[handler IS NULL, retry_handler IS NULL,
    default_time_windows IS NULL, throttle_limit IS NULL, throttle_limit_per_key IS NULL] AS nulls
    FROM hipq.job_types_detail WHERE queue = 'whole.q'$$,
    $$VALUES ('bare', '{t, t, t, t, t}'::boolean[]), ('full', '{f, f, f, f, f}'),
        ('out', '{t, t, t, t, t}'), ('run', '{f, t, t, t, t}')$$,
    'unset values of job types are NULL');
SELECT set_eq('SELECT queue, throttle_limit, dead_letter_handler IS NULL FROM hipq.queues_detail',
    $$VALUES ('empty.q', NULL, true), ('whole.q', 9.000, false)$$, 'of queues');
SELECT set_eq('SELECT name, shard_key, table_naming_strategy IS NULL FROM hipq.instances_detail',
    $$VALUES ('empty', NULL, true), ('whole', 'throttle_key', false)$$, 'of instances');
SELECT set_eq('SELECT queue, reason FROM hipq.pauses',
    $$VALUES ('empty.q', NULL), ('whole.q', 'no mail today')$$, 'of pauses');
SELECT results_eq(
    $$SELECT job -> 'job_key', job -> 'throttle_key', job -> 'deadline', job -> 'expires_time',
    job ->> 'priority' FROM hipq.dead_letters_detail WHERE job_id IN (9100000031, 9100000032)$$,
    $$SELECT 'null'::jsonb, 'null'::jsonb, 'null'::jsonb, 'null'::jsonb, '0'
        FROM generate_series(1, 2)$$,
    'unset values of a dead letter''s job are null, in any time zone');
SELECT set_eq($$SELECT error, sqlstate FROM hipq.dry_run(hipq.enqueue('run', queue => 'empty.q'))$$,
    'VALUES (NULL, NULL)', 'dry_run() does as views do');
SELECT set_eq($$SELECT reason, error FROM hipq.retry_chain(9100000006)$$,
    $$VALUES ('succeeded', NULL)$$, 'retry_chain() does as views do');

-- ---- search for keys

CREATE FUNCTION pg_temp.plan_of(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || statement;
END $$;
-- The ids that a condition finds in the view; is_apart: where the planner cannot use an index for
-- the condition.
CREATE FUNCTION pg_temp.finds(condition text, is_apart boolean)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    ids bigint[];
BEGIN
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s AS jobs WHERE %s', CASE WHEN is_apart
        THEN '(SELECT * FROM hipq.jobs OFFSET 0)' ELSE 'hipq.jobs' END, condition) INTO ids;
    RETURN ids;
END $$;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
PREPARE by_key(text) AS SELECT * FROM hipq.jobs WHERE job_type = 'bare' AND job_key = $1;
SELECT ok(EXISTS (SELECT FROM pg_temp.plan_of(
    $$SELECT * FROM hipq.jobs WHERE job_type = 'bare' AND job_key = 'key1'$$) AS line
    WHERE line ~ 'Index Cond: .*job_type = ''bare''.*job_key = ''key1'''),
        'a key is found by its index');
SELECT ok(EXISTS (SELECT FROM pg_temp.plan_of(
    $$SELECT * FROM hipq.jobs WHERE job_type = 'bare' AND job_key IN ('key1', 'key2')$$) AS line
    WHERE line ~ 'Index Scan using empty_q_one_unfinished_job_per_type_and_key'), 'so are several');
SET LOCAL plan_cache_mode = force_generic_plan;
SELECT ok(EXISTS (SELECT FROM pg_temp.plan_of($$EXECUTE by_key('key1')$$) AS line
    WHERE line ~ 'Index Cond: .*job_key = \(?\$1'), 'and one that is not known yet');
SELECT is(pg_temp.finds(condition, false), pg_temp.finds(condition, true),
    'the same jobs: ' || condition)
FROM unnest(ARRAY[$$job_key = 'key1'$$, $$job_key IN ('key1', 'key3', 'none')$$,
    $$job_key <> ALL ('{}')$$, $$job_key > 'key4'$$, $$job_key = 'NONE'$$, $$job_key IS NULL$$,
    $$job_key IS DISTINCT FROM 'key1'$$, $$NOT job_key = 'key1'$$,
    $$job_key = 'key1' OR id = 9100000002$$]) AS condition;

SELECT * FROM finish();
ROLLBACK;
