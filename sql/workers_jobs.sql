-- External workers and their jobs: claim, complete, fail, release, extend; by id, by key, many at
-- once; rights, and calls that come too late.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

-- Ids of jobs and workers differ from run to run.
CREATE FUNCTION pg_temp.try(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
    detail text;
    hint text;
BEGIN
    EXECUTE statement INTO answer;
    RETURN coalesce(nullif(answer, ''), 'passes');
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN regexp_replace(format('%s %s', SQLSTATE, SQLERRM), '(worker|job) \d+', '\1 <id>', 'g')
        || CASE WHEN detail <> '' THEN E'\n  DETAIL: ' || detail ELSE '' END
        || CASE WHEN hint <> '' THEN E'\n  HINT: ' || hint ELSE '' END;
END
$$;
CREATE FUNCTION pg_temp.wait_until(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    is_true boolean;
BEGIN
    FOR i IN 1 .. 6000 LOOP
        EXECUTE 'SELECT ' || condition INTO is_true;
        IF is_true THEN RETURN 'yes'; END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN 'no';
END
$$;
-- Jobs by key, with the attempt that was claimed last.
CREATE TABLE claimed (key text PRIMARY KEY, id bigint, attempt integer);
GRANT SELECT ON claimed TO PUBLIC;
CREATE FUNCTION id(wanted text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER AS $$ SELECT max(id) FROM hipq.job WHERE job_key = wanted $$;
CREATE FUNCTION attempt(wanted text) RETURNS integer
LANGUAGE sql SECURITY DEFINER AS $$ SELECT attempt FROM public.claimed WHERE key = wanted $$;
CREATE FUNCTION note(wanted text, its_id bigint, its_attempt integer)
RETURNS text LANGUAGE sql SECURITY DEFINER AS $$
    INSERT INTO public.claimed
    VALUES (wanted, its_id, its_attempt)
    ON CONFLICT (key) DO UPDATE SET id = its_id, attempt = its_attempt
    RETURNING key
$$;
CREATE FUNCTION w(worker text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER AS $$ SELECT worker_id FROM hipq.workers WHERE name = worker $$;
-- The keys that a worker claims, in order.
CREATE FUNCTION claim(worker text, max_jobs integer DEFAULT 1, wait interval DEFAULT '60 s')
RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(note(job_key, id, attempt) || '#' || attempt, ' ')
    FROM hipq.claim(w(worker), max_jobs, wait)
$$;
CREATE FUNCTION complete(key text, result jsonb DEFAULT 'null') RETURNS text LANGUAGE sql AS $$
    SELECT pg_temp.try(format('SELECT hipq.complete(%s, %s, %L)', id(key), attempt(key), result))
$$;
CREATE FUNCTION fail(key text, retriable boolean DEFAULT true) RETURNS text LANGUAGE sql AS $$
    SELECT pg_temp.try(
        format('SELECT hipq.fail(%s, %s, %L, %L)', id(key), attempt(key), 'no luck', retriable))
$$;
-- The offers of a worker, and the jobs that it runs.
CREATE FUNCTION has(worker text) RETURNS text LANGUAGE sql SECURITY DEFINER AS $$
    SELECT format('%s offered, %s running', queue_depth, running_jobs)
    FROM hipq.workers_detail WHERE name = worker
$$;
CREATE FUNCTION offered(worker text, jobs integer) RETURNS text LANGUAGE sql AS $$
    SELECT pg_temp.wait_until(
        format('(SELECT queue_depth FROM hipq.workers WHERE name = %L) = %s', worker, jobs))
$$;
CREATE FUNCTION shown(wanted text) RETURNS text LANGUAGE sql SECURITY DEFINER AS $$
    SELECT concat_ws(' ', state, attempt, retry_count, retry_reason, error, result)
    FROM hipq.job WHERE job_key = wanted
$$;

CREATE ROLE regress_hipq_ext_owner LOGIN;
CREATE ROLE regress_hipq_ext_a;
CREATE ROLE regress_hipq_ext_b;
CREATE ROLE regress_hipq_ext_stranger;
GRANT ALL ON SCHEMA public TO regress_hipq_ext_owner;
SELECT hipq.create_queue('ext.a', owner => 'regress_hipq_ext_owner') > 0,
       hipq.create_queue('ext.b', owner => 'regress_hipq_ext_owner', retention => '0') > 0;
CREATE FUNCTION decide(job hipq.job)
RETURNS interval LANGUAGE sql AS $$ SELECT interval '50 days' $$;
SELECT hipq.register_job_type('ext.a', 'scan', handler_kind => 'notify', max_retries => 2,
           retry_base => '10000 days', retry_max => '20000 days'),
       hipq.register_job_type('ext.b', 'scan', handler_kind => 'notify'),
       hipq.register_job_type('ext.a', 'asks', handler_kind => 'notify', retry_handler => 'decide'),
       hipq.register_job_type('ext.a', 'inside', handler => 'SELECT pg_sleep(60)',
           handler_kind => 'statement', claim => 'record');
SELECT hipq.grant_queue('ext.a', role::regrole, 'work'),
       hipq.grant_queue('ext.b', role::regrole, 'work')
FROM unnest('{regress_hipq_ext_a, regress_hipq_ext_b}'::text[]) AS role;
-- a role that may call the functions, and has no right on these queues
SELECT hipq.create_queue('ext.other') > 0;
SELECT hipq.grant_queue('ext.other', 'regress_hipq_ext_stranger', 'work');

SET ROLE regress_hipq_ext_a;
SELECT hipq.register_worker('regress ext a', '{ext.a, ext.b}', '{scan, asks}', capacity => 3,
    prefetch => 2) > 0;
RESET ROLE;

-- ---- claim: the offered jobs, in order, as many as fit
SET ROLE regress_hipq_ext_a;
SELECT claim('regress ext a', 10, '0') IS NULL AS nothing_there;
RESET ROLE;
SELECT count(hipq.enqueue('scan', jsonb_build_object('n', n), queue => 'ext.a', job_key => 'k' || n,
    priority => n))
FROM generate_series(1, 6) AS n;
SELECT offered('regress ext a', 5);
SET ROLE regress_hipq_ext_a;
BEGIN READ ONLY;
SELECT pg_temp.try(format('SELECT count(*) FROM hipq.claim(%s)', w('regress ext a')));
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT job_key, attempt FROM hipq.claim(w('regress ext a'), 1);
ROLLBACK;
SELECT queue, job_type, job_key, job_data,
       attempt, retry_count, retry_reason, deadline > now() + interval '4 min', max_retries,
       scheduled_run_time <= now() AND created_time <= now(), original_job_id
FROM hipq.claim(w('regress ext a'), 1);
SELECT has('regress ext a'), claim('regress ext a', 10), has('regress ext a'),
       claim('regress ext a', 10, '0') IS NULL AS full;
RESET ROLE;
SELECT state, attempt, worker_id = w('regress ext a'), accepted_time <= now(),
       deadline = accepted_time + timeout * interval '1 s'
FROM hipq.job WHERE job_key = 'k1';

-- ---- complete
SET ROLE regress_hipq_ext_a;
SELECT note('k1', id('k1'), 1), complete('k1', '{"pages": 3}');
SELECT complete('k1', '{"pages": 4}');
SELECT shown('k1');
SELECT pg_temp.try(format('SELECT hipq.complete(%s, 2)', id('k2')));
SELECT shown('k2');
-- offered, but not accepted
RESET ROLE;
SELECT offered('regress ext a', 3);
SELECT job_key, attempt, worker, is_accepted, since IS NULL AS not_started,
       deadline BETWEEN now() + interval '4 min' AND now() + interval '5 min' AS to_accept
FROM hipq.running_detail WHERE queue = 'ext.a' AND NOT is_accepted ORDER BY job_key;
SET ROLE regress_hipq_ext_a;
SELECT shown('k5');
SELECT pg_temp.try(statement) FROM (SELECT id('k5')) AS _(k5), LATERAL unnest(ARRAY[
    format('SELECT hipq.complete(%s, 1)', k5), format('SELECT hipq.fail(%s, 1, %L)', k5, 'no'),
    format('SELECT hipq.release(%s, 1)', k5), format('SELECT hipq.extend(%s, 1, %L)', k5, '1 h'),
    format('SELECT hipq.report_progress(%s, 1, 1, 2)', k5),
    format('SELECT hipq.complete(%s, 2)', k5), format('SELECT hipq.complete(%s, 0)', k5),
    format('SELECT hipq.complete_by_key(%L, %L, %L)', 'ext.a', 'scan', 'k5'),
    format('SELECT hipq.fail_by_key(%L, %L, %L, %L)', 'ext.a', 'scan', 'k5', 'no')]) AS statement;
SELECT hipq.complete_attempts(ARRAY[id('k5')], '{1}'),
       hipq.fail_attempts(ARRAY[id('k5')], '{1}', '{no}'),
       hipq.release_attempts(ARRAY[id('k5')], '{1}'),
       hipq.extend_attempts(ARRAY[id('k5')], '{1}', '1 h'),
       hipq.heartbeat_attempts(ARRAY[id('k5')], '{1}');
SELECT shown('k5'), has('regress ext a');
-- a transaction that ends jobs may claim others in their place
SELECT offered('regress ext a', 3), complete('k2'), complete('k3'), claim('regress ext a', 2);
SELECT has('regress ext a'), claim('regress ext a', 3), has('regress ext a');
SELECT complete('k4'), complete('k5'), complete('k6'), has('regress ext a');
-- no row is kept of the job
RESET ROLE;
SELECT hipq.enqueue('scan', queue => 'ext.b', job_key => 'b1') > 0;
SET ROLE regress_hipq_ext_a;
SELECT claim('regress ext a');
SELECT complete('b1'), shown('b1');
SELECT pg_temp.try(
    format('SELECT hipq.complete(%s, 1)', (SELECT id FROM claimed WHERE key = 'b1')));

SELECT has('regress ext a');

-- ---- from here on the worker gets all jobs
SELECT hipq.register_worker('regress ext a', '{ext.a, ext.b}', '{scan, asks}', capacity => 50,
    take_over => true) > 0;
RESET ROLE;
SELECT count(hipq.enqueue('scan', queue => 'ext.a', job_key => key))
FROM unnest('{f1, f2, l1, x1, x2, m1, m2, y1, y2, large}'::text[]) AS key;
SELECT hipq.enqueue('scan', queue => 'ext.b', job_key => 'm3') > 0,
       hipq.enqueue('asks', queue => 'ext.a', job_key => 'asks') > 0,
       hipq.enqueue('asks', queue => 'ext.a', job_key => 'stuck') > 0;
SELECT offered('regress ext a', 13);
SET ROLE regress_hipq_ext_a;
SELECT count(claim('regress ext a', 1)) FROM generate_series(1, 13);
SELECT has('regress ext a');

-- ---- fail
SELECT fail('f1'), shown('f1');
SELECT fail('f1');
SELECT fail('f2', false), shown('f2');
SELECT pg_temp.try(format('SELECT hipq.fail(%s, 1, NULL)', id('l1')));
-- without an error text, or with a text that means none
BEGIN;
SELECT hipq.fail(id('l1'), 1, 'NONE'), shown('l1');
SELECT hipq.fail_attempts(ARRAY[id('x1')], '{1}', '{""}') = ARRAY[id('x1')], shown('x1');
SELECT hipq.fail_by_key('ext.a', 'scan', 'x2', '', false), shown('x2');
ROLLBACK;
-- the time of the retry: instead of the type's; if a retry handler decides, not earlier than this
BEGIN;
SELECT hipq.fail(id('l1'), 1, 'busy', retry_after => '1 d'),
       hipq.fail_by_key('ext.a', 'scan', 'x2', 'busy', retry_after => '0'),
       hipq.fail_attempts(ARRAY[id('x1'), id('m1'), id('asks')], '{1, 1, 1}', '{one, two, three}',
           retry_after => ARRAY['2 d', NULL, '60 d']::hipq.duration[])
           = ARRAY[id('x1'), id('m1'), id('asks')];
RESET ROLE;
SELECT job_key, state, retry_count, least(date_trunc('day',
           scheduled_run_time - update_time + interval '1 min'), '99 d') AS waits
FROM hipq.job WHERE job_key IN ('l1', 'x2', 'x1', 'm1', 'asks') ORDER BY id;
ROLLBACK;
SELECT pg_temp.try(statement) FROM unnest(ARRAY[
    format('SELECT hipq.fail(%s, 1, %L, retry_after => %L)', id('l1'), 'busy', '-1 s'),
    format('SELECT hipq.fail_by_key(%L, %L, %L, %L, retry_after => %L)',
        'ext.a', 'scan', 'x2', 'busy', '36526 d'),
    format('SELECT hipq.fail_attempts(ARRAY[%s], %L, %L, retry_after => %L)', id('x1'), '{1}',
        '{busy}', '{1 s, 2 s}'),
    format('SELECT hipq.fail_attempts(ARRAY[%s], %L, %L, retry_after => %L)', id('x1'), '{1}',
        '{busy}', '{-1 s}')]) AS statement;
SELECT pg_temp.try(format('SELECT hipq.fail(%s, 1, %L, NULL)', id('l1'), 'why'));
RESET ROLE;
-- by hand: the call returns what follows
BEGIN;
SELECT hipq.fail_job(id('l1'), 'no sign of it');
ROLLBACK;
SELECT reason, sqlstate, error, worker_id = w('regress ext a'), executor_pid
FROM hipq.attempt WHERE job_id IN (id('f1'), id('f2')) ORDER BY job_id;
SELECT reason, error FROM hipq.dead_letters_detail WHERE job_key = 'f2';
-- a job that was retried by hand shows where it comes from
SELECT hipq.retry(id('f2')) > 0;
SET ROLE regress_hipq_ext_a;
SELECT job_key, attempt, retry_reason, original_job_id = (SELECT id FROM claimed WHERE key = 'f2')
FROM hipq.claim(w('regress ext a'), 1, '60 s');
SELECT hipq.complete_by_key('ext.a', 'scan', 'f2') > 0;
RESET ROLE;
-- a retry handler decides, in an executor
SET ROLE regress_hipq_ext_a;
BEGIN;
SELECT fail('asks');
ROLLBACK;
SELECT shown('asks'), fail('asks');
RESET ROLE;
SELECT pg_temp.wait_until($$(SELECT state = 'retry' FROM hipq.job WHERE job_key = 'asks')$$);
SELECT shown('asks'), scheduled_run_time > now() + interval '49 days'
FROM hipq.job WHERE job_key = 'asks';
-- also after an operator failed the attempt by hand
SELECT hipq.fail_job(id('stuck'), 'no sign of it');
SELECT pg_temp.wait_until($$(SELECT state = 'retry' FROM hipq.job WHERE job_key = 'stuck')$$),
       shown('stuck');

-- ---- release
SET ROLE regress_hipq_ext_a;
SELECT pg_temp.try(format('SELECT hipq.release(%s, 1, %L)', id('l1'), bad))
FROM unnest('{-1 s, 36526 days, NULL}'::text[]) AS bad;
SELECT pg_temp.try(format('SELECT hipq.release(%s, 1, %L)', id('l1'), '10000 days')), shown('l1');
SELECT pg_temp.try(format('SELECT hipq.release(%s, 1)', id('l1')));
RESET ROLE;
SELECT scheduled_run_time > now() + interval '9999 days' FROM hipq.job WHERE job_key = 'l1';

-- ---- extend
SELECT deadline AS before FROM hipq.job WHERE job_key = 'x1' \gset
SET ROLE regress_hipq_ext_a;
-- the attempt has this much time left anyway
SELECT hipq.extend(id('x1'), 1, '59.5 s') = :'before'::timestamptz;
SELECT hipq.extend(id('x1'), 1,
    '59.5 min') - clock_timestamp() BETWEEN interval '59 min' AND interval '1 h';
SELECT pg_temp.try(format('SELECT hipq.extend(%s, 1, %L::interval)', id('x1'), bad))
FROM unnest('{-1 s, 0, 36526 days, NULL}'::text[]) AS bad;
SELECT pg_temp.try(format('SELECT hipq.extend(%s, 2, %L::interval)', id('x1'), '1 s'));
SELECT pg_temp.try(format('SELECT hipq.extend(%s, 1, %L::interval)', id('x1'), '1 day'));
-- repeated calls do not add up
SELECT count(hipq.extend(id('x1'), 1, '6 h')) FROM generate_series(1, 3);
RESET ROLE;
SELECT deadline - clock_timestamp() BETWEEN interval '5 h 59 min' AND interval '6 h 1 s'
FROM hipq.job WHERE job_key = 'x1';

-- ---- many at once
SET ROLE regress_hipq_ext_a;
SELECT hipq.extend_attempts(ARRAY[id('x2'), id('x1'), -1], '{1, 1, 1}', '1 min')
    = ARRAY[id('x1'), id('x2')];
SELECT hipq.heartbeat_attempts(ARRAY[id('x2'), id('x1'), id('x1'), -1], '{1, 1, 2, 1}')
    = ARRAY[id('x2'), id('x1')];
SELECT pg_temp.try(statement) FROM unnest(ARRAY[
    $$SELECT hipq.complete_attempts('{1, 2}'::bigint[], '{1}'::integer[])$$,
    $$SELECT hipq.complete_attempts('{1}'::bigint[], '{1}'::integer[], '{}'::jsonb[])$$,
    $$SELECT hipq.complete_attempts(NULL::bigint[], '{1}'::integer[])$$,
    $$SELECT hipq.complete_attempts('{1}'::bigint[], NULL::integer[])$$,
    $$SELECT hipq.complete_attempts('{1, NULL}'::bigint[], '{1, 1}'::integer[])$$,
    $$SELECT hipq.complete_attempts('{1, 2}'::bigint[], '{1, NULL}'::integer[])$$,
    $$SELECT hipq.fail_attempts('{1}'::bigint[], '{1}'::integer[], '{}')$$,
    $$SELECT hipq.fail_attempts('{1}'::bigint[], '{1}'::integer[], '{NULL}')$$,
    $$SELECT hipq.release_attempts('{1}'::bigint[], '{}'::integer[])$$,
    $$SELECT hipq.extend_attempts('{1}'::bigint[], '{1}'::integer[], '0')$$,
    $$SELECT hipq.heartbeat_attempts('{1}', '{1, 2}')$$,
    $$SELECT hipq.heartbeat_attempts('{NULL}', '{1}')$$,
    $$SELECT hipq.heartbeat_attempts('{}', '{}')$$,
    $$SELECT hipq.complete_attempts('{}'::bigint[], '{}'::integer[])$$,
    $$SELECT hipq.complete_attempts('{-1}'::bigint[], '{1}'::integer[])$$]) AS statement;
SELECT hipq.complete_attempts(ARRAY[id('x2'), id('x1'), id('x2'), id('k1'), id('x1')],
    '{1, 1, 1, 1, 7}', '{1, NULL, 3, 4, 5}') = ARRAY[id('x1'), id('x2')];
SELECT shown('x1'), shown('x2');
SELECT hipq.fail_attempts(ARRAY[id('m1'), id('m1'), id('x1')], '{1, 1, 1}', '{one, two, three}',
    false) = ARRAY[id('m1')], shown('m1');
-- in several queues
SELECT cardinality(hipq.complete_attempts(ARRAY[id('m2'), id('m3')], '{1, 1}')),
       shown('m2'), shown('m3');
SELECT hipq.release_attempts(ARRAY[id('y1'), id('y1'), id('x1')], '{1, 1, 1}') = ARRAY[id('y1')];
SELECT claim('regress ext a'), shown('y1');

-- ---- by key
SELECT pg_temp.try(format('SELECT hipq.complete_by_key(%L, %L, %L)', queue, type, key))
FROM (VALUES ('ext.c', 'scan', 'y1'), ('ext.a', 'scan', 'none'), ('ext.a', 'scan', 'NONE'),
             ('ext.a', 'scan', 'x1'), ('ext.a', 'scan', 'l1'), ('ext.a', NULL, 'y1'))
    AS bad(queue, type, key);
SELECT hipq.complete_by_key('ext.a', 'scan', 'y1', '"by key"') = id('y1'), shown('y1');
BEGIN;
SELECT hipq.fail_by_key('ext.a', 'scan', 'y2', 'by key');
SELECT pg_temp.try($$SELECT hipq.fail_by_key('ext.a', 'scan', 'y2', 'again')$$);
ROLLBACK;
SELECT hipq.fail_by_key('ext.a', 'scan', 'y2', 'by key', false), shown('y2');

-- ---- the size of a result
SELECT pg_temp.try(
    format('SELECT hipq.complete(%s, 1, to_jsonb(repeat(%L, 1100000)))', id('large'), 'x'));
SELECT pg_temp.try(
    format('SELECT hipq.complete_attempts(ARRAY[%s], %L, ARRAY[to_jsonb(repeat(%L, 1100000))])',
    id('large'), '{1}', 'x'));
SELECT pg_temp.try(format('SELECT hipq.complete_by_key(%L, %L, %L, to_jsonb(repeat(%L, 1100000)))',
    'ext.a', 'scan', 'large', 'x'));
SELECT shown('large'), has('regress ext a');
SELECT hipq.complete(id('large'), 1, NULL), shown('large'), has('regress ext a');

-- ---- in a transaction that is rolled back
RESET ROLE;
SELECT hipq.enqueue('scan', queue => 'ext.a', job_key => 't') > 0;
SELECT offered('regress ext a', 1);
SET ROLE regress_hipq_ext_a;
BEGIN;
SAVEPOINT s;
SELECT claim('regress ext a', 5, '0'), claim('regress ext a', 5, '0') IS NULL AS once;
ROLLBACK TO s;
SELECT claim('regress ext a', 5, '0');
SAVEPOINT s;
SELECT complete('t'), claim('regress ext a', 5, '0') IS NULL AS nothing_more;
ROLLBACK TO s;
SELECT shown('t');
ROLLBACK;
SELECT shown('t'), has('regress ext a');
SELECT claim('regress ext a'), has('regress ext a');
BEGIN;
SELECT hipq.release(id('t'), 1, '1 year');
ROLLBACK;
SELECT shown('t'), has('regress ext a');
BEGIN;
SELECT hipq.extend(id('t'), 1, '20 h') > now();
ROLLBACK;
RESET ROLE;
SELECT deadline < now() + interval '1 day' FROM hipq.job WHERE job_key = 't';
-- none of these changes can be prepared, whether or not the server allows prepared transactions
SET ROLE regress_hipq_ext_a;
BEGIN;
SELECT complete('t');
PREPARE TRANSACTION 'ext';
ROLLBACK;
SELECT shown('t'), has('regress ext a');

-- ---- rights
SET ROLE regress_hipq_ext_b;
SELECT pg_temp.try(format('SELECT hipq.claim(%s)', w('regress ext a')));
SELECT pg_temp.try(statement) FROM (SELECT id('t')) AS _(t), LATERAL unnest(ARRAY[
    format('SELECT hipq.complete(%s, 1)', t),
    format('SELECT hipq.fail(%s, 1, %L)', t, 'mine'), format('SELECT hipq.release(%s, 1)', t),
    format('SELECT hipq.extend(%s, 1, %L::interval)', t, '1 s'),
    format('SELECT hipq.complete_attempts(ARRAY[%s], %L)', t, '{1}'),
    format('SELECT hipq.heartbeat_attempts(ARRAY[%s], %L)', t, '{1}'),
    format('SELECT hipq.complete_by_key(%L, %L, %L)', 'ext.a', 'scan', 't')]) AS statement;
RESET ROLE;
SELECT complete('t');
SET ROLE regress_hipq_ext_stranger;
SELECT pg_temp.try(format('SELECT hipq.claim(%s)', w('regress ext a')));
SELECT pg_temp.try(statement) FROM (SELECT id('t')) AS _(t), LATERAL unnest(ARRAY[
    format('SELECT hipq.complete(%s, 1)', t), format('SELECT hipq.complete(%s, 5)', t),
    format('SELECT hipq.complete_attempts(ARRAY[%s], %L)', t, '{1}'),
    format('SELECT hipq.heartbeat_attempts(ARRAY[%s], %L)', t, '{1}'),
    format('SELECT hipq.complete_by_key(%L, %L, %L)', 'ext.a', 'scan', 't')]) AS statement;
RESET ROLE;
SELECT shown('t'), has('regress ext a');
CREATE ROLE regress_hipq_ext_nobody;
SET ROLE regress_hipq_ext_nobody;
SELECT has_schema_privilege('hipq', 'USAGE');
RESET ROLE;
-- without the right the worker neither gets jobs nor ends those that it has
SELECT hipq.enqueue('scan', queue => 'ext.a', job_key => 'revoked') > 0;
SELECT offered('regress ext a', 1);
BEGIN;
SELECT hipq.revoke_queue('ext.a', 'regress_hipq_ext_a', 'work');
SET LOCAL ROLE regress_hipq_ext_a;
SELECT pg_temp.try(statement)
FROM (SELECT id('t'), w('regress ext a')) AS _(t, w), LATERAL unnest(ARRAY[
    format('SELECT hipq.heartbeat(%s)', w),
    format('SELECT hipq.claim(%s)', w), format('SELECT hipq.complete(%s, 1)', t),
    format('SELECT hipq.complete_attempts(ARRAY[%s], %L)', t, '{1}'),
    format('SELECT hipq.complete_by_key(%L, %L, %L)', 'ext.a', 'scan', 't'),
    format('SELECT hipq.fail(%s, 1, %L)', t, 'no'),
    format('SELECT hipq.release(%s, 1)', t), format('SELECT hipq.extend(%s, 1, %L)', t, '1 h'),
    format('SELECT hipq.report_progress(%s, 1, 1, 2)', t)]) AS statement;
ROLLBACK;
SET ROLE regress_hipq_ext_a;
SELECT claim('regress ext a', 1, '0'), complete('t'), shown('t'), complete('revoked');
RESET ROLE;

-- ---- jobs of executors
SELECT hipq.enqueue('inside', queue => 'ext.a', job_key => 'inside') > 0;
SELECT pg_temp.wait_until($$EXISTS (SELECT FROM hipq.running WHERE job_key = 'inside')$$);
SET ROLE regress_hipq_ext_a;
SELECT pg_temp.try(format('SELECT hipq.complete(%s, 1)', id('inside')));
SELECT pg_temp.try($$SELECT hipq.complete_by_key('ext.a', 'inside', 'inside')$$);
SELECT pg_temp.try(format('SELECT hipq.complete_attempts(ARRAY[%s], %L)', id('inside'), '{1}'));
RESET ROLE;
SELECT hipq.cancel(id('inside'));

-- ---- invalid calls of claim
SET ROLE regress_hipq_ext_a;
SELECT pg_temp.try(format('SELECT hipq.claim(%s)', arguments))
FROM (SELECT w('regress ext a')) AS _(w),
    LATERAL unnest(ARRAY['NULL', '-1', w || ', 0', w || ', 10001', w || ', NULL',
        w || ', 1, ''-1 s''', w || ', 1, ''36526 days''', w || ', 1, NULL']) AS arguments;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.try(format('SELECT hipq.claim(%s, 1, %L)', w('regress ext a'), '1 s'));
SELECT count(*) FROM hipq.claim(w('regress ext a'));
COMMIT;

-- ---- waiting: jobs that arrive meanwhile, in one statement; and no longer than requested
SELECT clock_timestamp() AS before \gset
SELECT count(*) FROM hipq.claim(w('regress ext a'), 1, '0.2 s');
SELECT clock_timestamp() BETWEEN :'before'::timestamptz + interval '0.2 s'
    AND :'before'::timestamptz + interval '20 s';

SET statement_timeout = '1s';
SELECT count(*) FROM hipq.claim(w('regress ext a'), 1, '60 s');
RESET statement_timeout;

-- ---- draining
RESET ROLE;
SELECT count(hipq.enqueue('scan', queue => 'ext.a', job_key => 'd' || n))
FROM generate_series(1, 2) AS n;
SELECT offered('regress ext a', 2);
SET ROLE regress_hipq_ext_a;
SELECT claim('regress ext a');
SELECT hipq.drain_worker(w('regress ext a'));
SELECT claim('regress ext a', 10, '1 hour') IS NULL AS nothing_more;
SELECT hipq.extend(id('d1'), 1, '1 s') > now(), complete('d1');
RESET ROLE;
-- what it had not accepted waits for another worker; no attempt is recorded
SELECT offered('regress ext a', 0), has('regress ext a'), shown('d2');
SELECT count(*) FROM hipq.attempt WHERE job_id = id('d2');

-- ---- a worker that has ended
SET ROLE regress_hipq_ext_b;
SELECT hipq.register_worker('regress ext b', '{ext.a}', '{scan}') > 0;
SELECT claim('regress ext b');
RESET ROLE;
SELECT w('regress ext b') AS w \gset
SET ROLE regress_hipq_ext_b;
SELECT hipq.deregister_worker(w('regress ext b'));
SELECT pg_temp.try(format('SELECT hipq.claim(%s)', :w));
SELECT complete('d2'), shown('d2');
SELECT pg_temp.try(format('SELECT hipq.claim(%s)', :w));

RESET ROLE;
SELECT hipq.deregister_worker(worker_id) FROM hipq.workers WHERE name LIKE 'regress ext%';
SELECT hipq.drop_queue(queue, force => true)
FROM unnest('{ext.a, ext.b, ext.other}'::text[]) AS queue;
DROP TABLE claimed;
DROP FUNCTION decide(hipq.job);
DROP FUNCTION fail(text, boolean), complete(text, jsonb), claim(text, integer, interval),
    offered(text, integer), shown(text), has(text), w(text), note(text, bigint, integer),
    attempt(text), id(text);
DROP OWNED BY regress_hipq_ext_owner, regress_hipq_ext_a, regress_hipq_ext_b,
    regress_hipq_ext_stranger;
DROP ROLE regress_hipq_ext_owner, regress_hipq_ext_a, regress_hipq_ext_b, regress_hipq_ext_stranger,
    regress_hipq_ext_nobody;
