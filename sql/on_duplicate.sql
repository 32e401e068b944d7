-- on_duplicate of enqueue, enqueue_unique and enqueue_many: the new job's key is held by an
-- unfinished job.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all
-- The type has no handler: its jobs wait.
CREATE ROLE regress_hipq_dup_app;
SELECT hipq.create_queue('dup.q') > 0;
SELECT hipq.register_job_type('dup.q', 't', default_priority => 7);
SELECT hipq.grant_queue('dup.q', 'regress_hipq_dup_app', 'enqueue');
CREATE FUNCTION pg_temp.shown(wanted text) RETURNS text LANGUAGE sql AS $$
    SELECT format('%s data=%s priority=%s at=%s', state, job_data, priority,
        CASE WHEN scheduled_run_time > '2099-01-01' THEN scheduled_run_time::text ELSE 'now' END)
    FROM hipq.dup_q WHERE job_key = wanted
$$;

-- ---- replace: the waiting job gets data, time and priority of the new one
SELECT hipq.enqueue('t', '{"n": 1}', job_key => 'k', priority => 1,
    scheduled_run_time => '2100-01-01', max_retries => 4) AS id \gset
SELECT hipq.enqueue('t', '{"n": 2}', job_key => 'k', priority => 2,
    scheduled_run_time => '2100-01-02', on_duplicate => 'replace') = :id;
SELECT pg_temp.shown('k');
SELECT hipq.enqueue('t', 'text', job_key => 'k', on_duplicate => 'replace') = :id;
SELECT pg_temp.shown('k');
SELECT hipq.enqueue('t', NULL::jsonb, job_key => 'k', on_duplicate => 'replace',
    scheduled_run_time => '2100-01-01') = :id;
SELECT pg_temp.shown('k');
-- of the other values only the given ones
SELECT timeout, throttle_factor, throttle_key, time_windows, max_retries, expires_time
FROM hipq.dup_q WHERE id = :id;
SELECT hipq.enqueue('t', job_key => 'k', on_duplicate => 'replace',
    scheduled_run_time => '2100-01-01', timeout => 5, throttle_factor => 0.5, throttle_key => 'a',
    time_windows => 'mon', expires_time => '2100-02-01', queue_ttl => 17) = :id;
SELECT timeout, throttle_factor, throttle_key, time_windows, max_retries, expires_time, queue_ttl
FROM hipq.dup_q WHERE id = :id;
-- the rules for new values apply
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', job_key => 'k', on_duplicate => 'replace', timeout => 0)$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', job_key => 'k', on_duplicate => 'replace',
    time_windows => 'someday')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', job_key => 'k', on_duplicate => 'replace', queue_ttl => 0)$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', job_key => 'k', on_duplicate => 'replace',
    scheduled_run_time => 'infinity')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', to_jsonb(repeat('x', 1100000)), job_key => 'k',
    on_duplicate => 'replace')$$);
SELECT pg_temp.shown('k');

-- ---- merge: jsonb || on the waiting job, and nothing else
SELECT hipq.enqueue('t', '{"n": 1, "old": true}', job_key => 'k',
    scheduled_run_time => '2100-01-01', on_duplicate => 'replace') = :id;
SELECT hipq.enqueue('t', '{"n": 3, "more": true}', job_key => 'k', priority => 9,
    scheduled_run_time => '2101-01-01', on_duplicate => 'merge') = :id;
SELECT hipq.enqueue('t', '{"n": 4}', job_key => 'k', on_duplicate => 'merge') = :id;
SELECT pg_temp.shown('k');
SELECT hipq.enqueue('t', '[1]', job_key => 'list', scheduled_run_time => '2100-01-01',
    on_duplicate => 'merge') > 0;
SELECT hipq.enqueue('t', '[2, 3]', job_key => 'list', on_duplicate => 'merge') > 0;
SELECT pg_temp.shown('list');
SELECT hipq.enqueue('t', NULL, job_key => 'list', on_duplicate => 'merge') > 0;
SELECT pg_temp.try($$SELECT hipq.enqueue('t', to_jsonb(repeat('x', 1048560)), job_key => 'list',
    on_duplicate => 'merge')$$);

-- ---- debounce: the later of both times
SELECT hipq.enqueue('t', '{"n": 5}', job_key => 'k', priority => 9,
    scheduled_run_time => '2100-01-05', on_duplicate => 'debounce') = :id;
SELECT pg_temp.shown('k');
SELECT hipq.enqueue('t', job_key => 'k', scheduled_run_time => '2100-01-04',
    on_duplicate => 'debounce') = :id;
SELECT hipq.enqueue('t', job_key => 'k', on_duplicate => 'debounce') = :id;
SELECT pg_temp.shown('k');

-- ---- after: if the holder waits, gives it the newest data, after_first returns it (if it runs:
-- test/t/enqueue/on_duplicate.pl)
SELECT hipq.enqueue('t', '{"n": 6}', job_key => 'k', on_duplicate => 'after') = :id;
SELECT pg_temp.shown('k');
SELECT count(*) FROM hipq.job WHERE waits_for IS NOT NULL;

-- ---- enqueue_unique: returns the action
SELECT action, id = :id AS same FROM hipq.enqueue_unique('t', job_key => 'k');
SELECT action, id = :id AS same
FROM hipq.enqueue_unique('t', job_key => 'new', scheduled_run_time => '2100-01-01');
SELECT mode, (hipq.enqueue_unique('t', '{}'::jsonb, job_key => 'k',
           scheduled_run_time => '2100-02-01', on_duplicate => mode)).action
FROM unnest('{return, replace, merge, debounce, after, after_first}'::text[]) AS mode;
-- not later than its expiry
SELECT pg_temp.try($$SELECT hipq.enqueue_unique('t', job_key => 'k',
    scheduled_run_time => '2100-03-01', on_duplicate => 'debounce')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_unique('t', job_key => 'k',
    scheduled_run_time => '2100-03-01', on_duplicate => 'replace')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_unique('t', job_key => 'k', expires_time => '2100-01-31',
    scheduled_run_time => '2100-02-01', on_duplicate => 'replace')$$);
UPDATE hipq.dup_q SET expires_time = 'infinity' WHERE job_key = 'k';
SELECT action FROM hipq.enqueue_unique('t', job_key => 'k', scheduled_run_time => '2100-03-01',
    on_duplicate => 'debounce');
SELECT action FROM hipq.enqueue_unique('t', job_key => 'k', on_duplicate => NULL);
SELECT pg_temp.try($$SELECT hipq.enqueue_unique('t', job_key => 'k', on_duplicate => 'error')$$);

-- ---- enqueue_many: in order; a later job of an array can meet an earlier one
SELECT ids[1] = ids[3] AS same, ids[2] <> ids[1] AS other
FROM hipq.enqueue_many('t', '{1, 2, 3}', '{b, a, b}', scheduled_run_time => '2100-01-01',
    on_duplicate => 'replace') AS ids;
SELECT job_key, job_data FROM hipq.dup_q WHERE job_key IN ('a', 'b') ORDER BY job_key;
SELECT count(*) FROM unnest(hipq.enqueue_many('t', '{"[1]", "[2]", "[3]"}', '{c, c, a}',
    scheduled_run_time => '2100-01-01', on_duplicate => 'merge'));
SELECT job_key, job_data FROM hipq.dup_q WHERE job_key IN ('a', 'b', 'c') ORDER BY job_key;
SELECT hipq.enqueue_many('t', '{}', on_duplicate => 'replace');

-- ---- invalid calls
SELECT pg_temp.try($$SELECT hipq.enqueue('t', job_key => 'k', on_duplicate => 'ignore')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_unique('t', job_key => 'k', on_duplicate => '')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', on_duplicate => 'replace')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', job_key => 'NONE', on_duplicate => 'debounce')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_unique('t')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue_many('t', '{1, 2}', '{a, NULL}', on_duplicate => 'merge')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', '{1}', on_duplicate => 'merge')$$);

-- ---- the right to enqueue suffices, and shows only the id
SET ROLE regress_hipq_dup_app;
SELECT hipq.enqueue('t', '"app"', job_key => 'k', scheduled_run_time => '2100-01-01',
    on_duplicate => 'replace') = :id;
SELECT action FROM hipq.enqueue_unique('t', job_key => 'k');
RESET ROLE;
SELECT pg_temp.shown('k');

-- ---- in a transaction that is rolled back nothing changes; a snapshot that does not see the
-- holder's end is an error
BEGIN;
SELECT hipq.enqueue('t', '"gone"', job_key => 'k', on_duplicate => 'replace') = :id;
ROLLBACK;
SELECT pg_temp.shown('k');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT hipq.enqueue('t', '"kept"', job_key => 'k', scheduled_run_time => '2100-01-01',
    on_duplicate => 'replace') = :id;
COMMIT;
SELECT pg_temp.shown('k');

-- ---- a cancelled job releases its key
SELECT hipq.cancel(:id);
SELECT action, id <> :id AS other
FROM hipq.enqueue_unique('t', '"next"', job_key => 'k', scheduled_run_time => '2100-01-01',
    on_duplicate => 'merge');

SELECT hipq.drop_queue('dup.q', force => true);
DROP OWNED BY regress_hipq_dup_app;
DROP ROLE regress_hipq_dup_app;
