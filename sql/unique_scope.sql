-- Keys that are unique for each shard key: unique_scope of create_queue and alter_queue.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all
SELECT pg_temp.try($$SELECT hipq.create_queue('scope.q', unique_scope => 'tenant')$$);
SELECT pg_temp.try($$SELECT hipq.create_queue('scope.q', unique_scope => 'shard_key')$$);
SELECT hipq.create_queue('scope.q', shard_key => $$job_data->>'tenant'$$,
    unique_scope => 'shard_key') > 0;
SELECT hipq.create_queue('scope.g', shard_key => $$job_data->>'tenant'$$) > 0;
SELECT hipq.register_job_type('scope.q', 't');
SELECT hipq.register_job_type('scope.g', 't');
CREATE FUNCTION pg_temp.indexes() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT substring(pg_get_indexdef(indexrelid) FROM 'ON .*')
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indisunique AND NOT indisprimary AND relname LIKE 'scope\_%\_key'
      AND relname NOT LIKE '%\_final\_%'
    ORDER BY relname
$$;
-- a queue with scope global has the usual index
SELECT pg_temp.indexes();
CREATE FUNCTION pg_temp.shown(tables text DEFAULT 'hipq.scope_q')
RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT format(''%%s/%%s %%s %%s'', shard_key, job_key, state, job_data)
        FROM %s WHERE state <> ''final'' ORDER BY shard_key, job_key', tables);
END
$$;
\set later '''2100-01-01'''

-- ---- each tenant has its own job with the key
SELECT hipq.enqueue('t', '{"tenant": "a", "n": 1}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) AS a \gset
SELECT hipq.enqueue('t', '{"tenant": "b", "n": 1}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) AS b \gset
SELECT hipq.enqueue('t', '{"n": 1}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) AS none \gset
SELECT pg_temp.shown();
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', '{"tenant": "a"}', queue => 'scope.q', job_key => 'k')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', '{"tenant": "b"}', queue => 'scope.q', job_key => 'k')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', '{"tenant": null}', queue => 'scope.q', job_key => 'k')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', '{"tenant": "NONE"}', queue => 'scope.q', job_key => 'k')$$);
SELECT pg_temp.try($$INSERT INTO hipq.scope_q (job_type, job_key, job_data)
    VALUES ('t', 'k', '{"tenant": "b"}')$$);
SELECT pg_temp.try(
    $$INSERT INTO hipq.scope_q (job_type, job_key, shard_key) VALUES ('t', 'k', 'a')$$);
\set VERBOSITY terse
COPY hipq.scope_q (job_type, job_key, job_data, scheduled_run_time) FROM stdin;
t	copied	{"tenant": "a"}	2100-01-01
t	copied	{"tenant": "b"}	2100-01-01
\.
COPY hipq.scope_q (job_type, job_key, job_data, scheduled_run_time) FROM stdin;
t	copied	{"tenant": "c"}	2100-01-01
t	copied	{"tenant": "b"}	2100-01-01
\.
\set VERBOSITY default
-- the whole queue, in the other one; a given shard key takes precedence over the path
SELECT hipq.enqueue('t', '{"tenant": "a"}', queue => 'scope.g', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', '{"tenant": "b"}', queue => 'scope.g', job_key => 'k')$$);
SELECT pg_temp.shown('hipq.scope_g');
INSERT INTO hipq.scope_q (job_type, job_key, job_data, shard_key, scheduled_run_time)
VALUES ('t', 'k', '{"tenant": "a"}', 'given', :later);
SELECT pg_temp.shown();
-- numbers and objects are compared as ->> returns them; a shard key may be as long as the column
-- allows
SELECT hipq.enqueue('t', '{"tenant": 7}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', '{"tenant": "7"}', queue => 'scope.q', job_key => 'k')$$);
SELECT pg_temp.try(format($$SELECT hipq.enqueue('t', '{"tenant": "%s"}', queue => 'scope.q',
    job_key => 'k')$$, repeat('x', 1001)));
SELECT hipq.enqueue('t', jsonb_build_object('tenant', repeat('x', 1000)), queue => 'scope.q',
    job_key => repeat('k', 1000), scheduled_run_time => :later) > 0;
SELECT hipq.cancel_jobs('scope.q', state => 'initial', job_key => repeat('k', 1000));
-- without a job key the shard key need not be stored
SELECT pg_temp.try(format($$SELECT hipq.enqueue('t', '{"tenant": "%s"}', queue => 'scope.q')$$,
    repeat('x', 1001)));
SELECT shard_key FROM hipq.scope_q WHERE job_key = 'NONE' AND state <> 'final';
SELECT hipq.cancel_jobs('scope.q', created_before => 'infinity', job_key => 'NONE');

-- ---- on_duplicate applies to the job of the tenant
SELECT hipq.enqueue('t', '{"tenant": "b"}', queue => 'scope.q', job_key => 'k',
    on_duplicate => 'return') = :b;
SELECT hipq.enqueue('t', '{"tenant": "b", "n": 2}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later, on_duplicate => 'replace') = :b;
SELECT hipq.enqueue('t', '{"tenant": "a", "more": 1}', queue => 'scope.q', job_key => 'k',
    on_duplicate => 'merge') = :a;
SELECT hipq.enqueue('t', '{"tenant": "b"}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => '2100-02-02', on_duplicate => 'debounce') = :b;
SELECT scheduled_run_time FROM hipq.scope_q WHERE id IN (:a, :b) ORDER BY id;
SELECT hipq.enqueue('t', '{"tenant": "a"}', queue => 'scope.q', job_key => 'k',
    on_duplicate => 'after') = :a;
SELECT id = :a, action
FROM hipq.enqueue_unique('t', '{"tenant": "a"}', queue => 'scope.q', job_key => 'k');
SELECT action FROM hipq.enqueue_unique('t', '{"tenant": "d"}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later, on_duplicate => 'replace');
SELECT pg_temp.shown();
-- many jobs: keys and tenants in any order
SELECT array_position(ids, :a), array_position(ids, :b), array_position(ids, :none),
       ids[1] = ids[6], cardinality(ids)
FROM hipq.enqueue_many('t', ARRAY['{"tenant": "e"}', '{"tenant": "b"}', '{}', '{"tenant": "a"}',
    '{"tenant": "f"}', '{"tenant": "e"}', '{"tenant": "e"}']::jsonb[],
    ARRAY['k', 'k', 'k', 'k', 'k', 'k', NULL], queue => 'scope.q', scheduled_run_time => :later,
    on_duplicate => 'return') AS ids;
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t',
    ARRAY['{"tenant": "g"}', '{"tenant": "b"}']::jsonb[], ARRAY['k', 'k'], queue => 'scope.q')$$);
SELECT hipq.enqueue_many('t', ARRAY['{"tenant": "b", "n": 3}', '{"tenant": "a", "n": 3}']::jsonb[],
    ARRAY['k', 'k'], queue => 'scope.q', scheduled_run_time => :later, on_duplicate => 'replace')
    = ARRAY[:b, :a]::bigint[];
SELECT pg_temp.shown();
-- by SQL, which a table with an additional unique index needs
CREATE UNIQUE INDEX scope_more ON hipq.scope_q_live (id, job_type);
SELECT array_position(ids, :a), array_position(ids, :b), ids[3] = ids[4], cardinality(ids)
FROM hipq.enqueue_many('t', ARRAY['{"tenant": "b"}', '{"tenant": "a"}', '{"tenant": "h"}',
    '{"tenant": "h"}', '{"tenant": "i"}']::jsonb[],
    ARRAY['k', 'k', 'k', 'k', 'k'], queue => 'scope.q', scheduled_run_time => :later,
    on_duplicate => 'return') AS ids;
DROP INDEX hipq.scope_more;
SELECT count(*), count(DISTINCT shard_key)
FROM hipq.scope_q WHERE job_key = 'k' AND state <> 'final';
-- the defaults of the type are part of the data
SELECT hipq.register_job_type('scope.q', 'with_default',
    parameters => '{"tenant": {"type": "string", "default": "b"}}');
SELECT hipq.enqueue('with_default', '{}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) AS by_default \gset
SELECT hipq.enqueue('with_default', '{"tenant": "b"}', queue => 'scope.q', job_key => 'k',
    on_duplicate => 'return') = :by_default;
SELECT hipq.enqueue('with_default', '{"tenant": "c"}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later, on_duplicate => 'return') = :by_default;

-- ---- a handler and the jobs of its key
SELECT hipq.cancel_jobs('scope.q') > 0;
CREATE ROLE regress_hipq_scope LOGIN;
SELECT hipq.alter_queue('scope.q', owner => 'regress_hipq_scope');
CREATE TABLE scope_ran (tenant text, n text);
GRANT ALL ON scope_ran TO regress_hipq_scope;
CREATE FUNCTION scope_run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO scope_ran VALUES (job.job_data ->> 'tenant', job.job_data ->> 'n');
    IF job.job_data ? 'next' THEN
        PERFORM hipq.enqueue(job.job_type, job.job_data - 'next' || '{"n": "own"}',
            queue => 'scope.q', job_key => job.job_key);
        PERFORM hipq.enqueue(job.job_type, '{"tenant": "other", "n": "of another"}',
            queue => 'scope.q', job_key => job.job_key);
    END IF;
    IF job.job_data ? 'after' THEN
        PERFORM hipq.enqueue(job.job_type, '{"tenant": "a", "n": "after a"}', queue => 'scope.q',
            job_key => job.job_key, on_duplicate => 'after');
        PERFORM hipq.enqueue(job.job_type, '{"tenant": "b", "n": "b"}', queue => 'scope.q',
            job_key => job.job_key, on_duplicate => 'after');
    END IF;
    IF job.job_data ? 'fail' THEN RAISE 'fails'; END IF;
END
$$;
SET SESSION AUTHORIZATION regress_hipq_scope;
SELECT hipq.register_job_type('scope.q', 'run', handler => 'scope_run', max_retries => 0);
BEGIN;
SELECT hipq.enqueue('run', '{"tenant": "a", "n": "first", "next": 1}', queue => 'scope.q',
    job_key => 'k') > 0;
SELECT hipq.run_until_idle('scope.q');
COMMIT;
SELECT * FROM scope_ran ORDER BY tenant, n;
TRUNCATE scope_ran;
BEGIN;
SELECT hipq.enqueue('run', '{"tenant": "a", "n": "first", "after": 1}', queue => 'scope.q',
    job_key => 'k') > 0;
SELECT hipq.run_until_idle('scope.q');
COMMIT;
SELECT * FROM scope_ran ORDER BY tenant, n;
RESET SESSION AUTHORIZATION;
SELECT count(*) FROM hipq.job WHERE waits_for IS NOT NULL;

-- ---- calls by key
CREATE FUNCTION scope_leave(job hipq.job)
RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM hipq.complete_later(); END $$;
SELECT hipq.register_job_type('scope.q', 'outside', handler => 'scope_leave', max_retries => 0);
SET SESSION AUTHORIZATION regress_hipq_scope;
BEGIN;
SELECT hipq.enqueue('outside', jsonb_build_object('tenant', tenant), queue => 'scope.q',
    job_key => 'k') > 0
FROM unnest('{a, b, c, NULL}'::text[]) AS tenant;
SELECT hipq.run_until_idle('scope.q');
COMMIT;
RESET SESSION AUTHORIZATION;
SELECT pg_temp.try($$SELECT hipq.complete_by_key('scope.q', 'outside', 'k')$$);
SELECT pg_temp.try($$SELECT hipq.fail_by_key('scope.q', 'outside', 'k', 'no')$$);
SELECT pg_temp.try($$SELECT hipq.complete_by_key('scope.q', 'outside', 'other')$$);
SELECT pg_temp.try(
    $$SELECT hipq.complete_by_key('scope.q', 'outside', 'k', shard_key => 'other')$$);
SELECT pg_temp.try($$SELECT hipq.complete_by_key('scope.g', 'outside', 'k', shard_key => 'a')$$);
SELECT hipq.complete_by_key('scope.q', 'outside', 'k', '"of b"', shard_key => 'b') > 0;
SELECT hipq.fail_by_key('scope.q', 'outside', 'k', 'no', retriable => false, shard_key => 'NONE');
SELECT hipq.enqueue('outside', '{"tenant": "b"}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) AS b \gset
SELECT pg_temp.try($$SELECT hipq.complete_by_key('scope.q', 'outside', 'k', shard_key => 'b')$$);
SELECT hipq.complete_by_key('scope.q', 'outside', 'k', '"of a"', shard_key => 'a') > 0;
-- the only running job need not be the intended one
SELECT pg_temp.try($$SELECT hipq.complete_by_key('scope.q', 'outside', 'k')$$);
SELECT hipq.cancel(:b);
SELECT hipq.complete_by_key('scope.q', 'outside', 'k', '"of c"') > 0;
SELECT shard_key, job_key, error, result
FROM hipq.scope_q WHERE job_type = 'outside' AND state = 'final' AND id <> :b ORDER BY shard_key;

-- ---- jobs that are made from others
SELECT hipq.register_job_type('scope.q', 'fail', handler => 'scope_run', max_retries => 0);
SET SESSION AUTHORIZATION regress_hipq_scope;
BEGIN;
SELECT hipq.enqueue('fail', format('{"tenant": "%s", "fail": 1}', tenant)::jsonb,
    queue => 'scope.q', job_key => 'k') > 0
FROM unnest('{a, b, c}'::text[]) AS tenant;
SELECT hipq.run_until_idle('scope.q');
COMMIT;
RESET SESSION AUTHORIZATION;
SELECT hipq.pause('scope.q');
SELECT hipq.enqueue('fail', '{"tenant": "b"}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) AS b \gset
SELECT * FROM hipq.redrive_jobs('scope.q', job_type => 'fail', max_jobs => 1);
SELECT pg_temp.shown();
SELECT hipq.retry_jobs('scope.q', job_type => 'fail');
SELECT pg_temp.shown();
SELECT pg_temp.try(format('SELECT hipq.retry(%s)', id)) FROM hipq.scope_q
WHERE job_type = 'fail' AND state = 'final' AND shard_key = 'b' AND job_data ? 'fail';
SELECT pg_temp.try(format('SELECT hipq.redrive(%s)', job_id))
FROM hipq.dead_letter WHERE job ->> 'shard_key' = 'b';
SELECT * FROM hipq.redrive_jobs('scope.q', job_type => 'fail');
-- the new jobs get the shard keys of their new queue
SELECT hipq.cancel_jobs('scope.q', job_type => 'fail', state => 'initial');
SELECT hipq.create_queue('scope.n', shard_key => $$job_data->'of'->>'n'$$,
    unique_scope => 'shard_key') > 0;
SELECT hipq.register_job_type('scope.n', 'fail');
SELECT hipq.enqueue('fail', '{"of": {"n": 1}}', queue => 'scope.n', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT hipq.resume('scope.q');
SET SESSION AUTHORIZATION regress_hipq_scope;
BEGIN;
SELECT hipq.enqueue('fail',
    format('{"tenant": "%s", "fail": 2, "of": {"n": %s}}', tenant, n)::jsonb,
    queue => 'scope.q', job_key => 'k') > 0
FROM (VALUES ('x', 1), ('y', 2), ('z', 2)) AS given (tenant, n);
SELECT hipq.run_until_idle('scope.q');
COMMIT;
RESET SESSION AUTHORIZATION;
SELECT hipq.purge_dead_letters('scope.q', job_type => 'fail',
    before => (SELECT min(died_time) FROM hipq.dead_letter WHERE job -> 'job_data' ? 'of'));
SELECT * FROM hipq.redrive_jobs('scope.q', job_type => 'fail', to_queue => 'scope.n');
SELECT pg_temp.shown('hipq.scope_n');

-- ---- moves between queues
SELECT hipq.cancel_jobs('scope.q') > 0;
SELECT hipq.cancel_jobs('scope.g') > 0;
SELECT hipq.enqueue('t', '{"tenant": "a"}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT hipq.enqueue('t', '{"tenant": "b"}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) > 0;
-- the other queue accepts one of the two
SELECT * FROM hipq.move_jobs('scope.q', 'scope.g', 't');
SELECT pg_temp.shown(), pg_temp.shown('hipq.scope_g');
SELECT hipq.cancel_jobs('scope.g') > 0;
SELECT hipq.enqueue('t', '{"tenant": "a"}', queue => 'scope.g', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT * FROM hipq.move_jobs('scope.g', 'scope.q', 't');
SELECT hipq.enqueue('t', '{"tenant": "b"}', queue => 'scope.g', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT * FROM hipq.move_jobs('scope.g', 'scope.q', 't');
SELECT pg_temp.shown();
SELECT pg_temp.shown('hipq.scope_g');
SELECT hipq.cancel_jobs('scope.g') > 0;

-- the shard key is that of the other queue
SELECT hipq.register_job_type('scope.n', 't');
SELECT hipq.enqueue('t', '{"tenant": "c", "of": {"n": 5}}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT hipq.enqueue('t', '{"tenant": "d", "of": {"n": 5}}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT hipq.enqueue('t', '{"of": {"n": 6}}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT * FROM hipq.move_jobs('scope.q', 'scope.n', 't');
SELECT pg_temp.shown('hipq.scope_n');
SELECT pg_temp.shown();

-- ---- changes of the scope
SELECT pg_temp.try($$SELECT hipq.alter_queue('scope.q', unique_scope => 'global')$$);
SELECT pg_temp.try($$SELECT hipq.alter_queue('scope.q', shard_key => 'throttle_key')$$);
SELECT pg_temp.try($$SELECT hipq.alter_queue('scope.q', unique_scope => 'queue')$$);
SELECT pg_temp.try($$SELECT hipq.create_queue('scope.q', or_replace => true)$$);
SELECT pg_temp.try($$SELECT hipq.alter_queue('scope.q', unique_scope => 'shard_key',
    shard_key => $x$job_data->>'tenant'$x$)$$);
SELECT hipq.cancel_jobs('scope.q') > 0;
-- a job without a key is no obstacle
SELECT hipq.enqueue('t', '{"tenant": "a"}', queue => 'scope.q', scheduled_run_time => :later) > 0;
SELECT pg_temp.try($$SELECT hipq.alter_queue('scope.q', shard_key => 'NONE')$$);
SELECT hipq.alter_queue('scope.q', unique_scope => 'global', shard_key => 'NONE');
SELECT hipq.alter_queue('scope.g', unique_scope => 'shard_key');
SELECT pg_temp.indexes();
SELECT hipq.enqueue('t', '{"tenant": "a"}', queue => 'scope.q', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', '{"tenant": "b"}', queue => 'scope.q', job_key => 'k')$$);
SELECT hipq.enqueue('t', '{"tenant": "a"}', queue => 'scope.g', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT hipq.enqueue('t', '{"tenant": "b"}', queue => 'scope.g', job_key => 'k',
    scheduled_run_time => :later) > 0;
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', '{"tenant": "b"}', queue => 'scope.g', job_key => 'k')$$);
SELECT pg_temp.try($$SELECT hipq.alter_queue('scope.q', unique_scope => 'shard_key')$$);
-- a queue with scope global may change its shard key at any time
SELECT hipq.alter_queue('scope.q', shard_key => 'throttle_key');

-- ---- describe() and apply()
SELECT queue - 'owner' FROM jsonb_array_elements(hipq.describe() -> 'queues') AS queue
WHERE queue ->> 'queue' LIKE 'scope.%' ORDER BY queue ->> 'queue';
SELECT object, action, property, before, after
FROM hipq.apply($${"queues": [{"queue": "scope.new", "shard_key": "throttle_key",
    "unique_scope": "shard_key"}]}$$);
SELECT count(*) FROM hipq.apply($${"queues": [{"queue": "scope.new", "shard_key": "throttle_key",
    "unique_scope": "shard_key"}]}$$);
SELECT object, action, property, before, after
FROM hipq.apply($${"queues": [{"queue": "scope.new", "shard_key": "throttle_key"}]}$$);
SELECT hipq.alter_queue('scope.new', unique_scope => 'shard_key');
-- the shard key is a column
SELECT hipq.enqueue('t', '1', queue => 'scope.new', job_key => 'k', throttle_key => 'x',
    scheduled_run_time => :later) AS x \gset
SELECT hipq.enqueue('t', '2', queue => 'scope.new', job_key => 'k', throttle_key => 'y',
    scheduled_run_time => :later) > 0;
SELECT hipq.enqueue('t', '3', queue => 'scope.new', job_key => 'k', throttle_key => 'x',
    scheduled_run_time => :later, on_duplicate => 'replace') = :x;
SELECT pg_temp.shown('hipq.scope_new');

-- ---- a queue with the same scope takes over a table that a dump without data left
SELECT hipq.cancel_jobs('scope.new') > 0;
DELETE FROM hipq.queue WHERE table_name = 'scope_new';
TRUNCATE hipq.scope_new;
SELECT pg_temp.try($$SELECT hipq.create_queue('scope.new', shard_key => 'throttle_key')$$);
SELECT hipq.create_queue('scope.new', shard_key => 'throttle_key', unique_scope => 'shard_key') > 0;
SELECT hipq.enqueue('t', '1', queue => 'scope.new', job_key => 'k', throttle_key => throttle_key,
    scheduled_run_time => :later) > 0
FROM unnest('{x, y}'::text[]) AS throttle_key;

SELECT hipq.drop_queue('scope.new', force => true);
SELECT hipq.drop_queue('scope.q', force => true);
SELECT hipq.drop_queue('scope.g', force => true);
SELECT hipq.drop_queue('scope.n', force => true);
DROP FUNCTION scope_run(hipq.job);
DROP FUNCTION scope_leave(hipq.job);
DROP TABLE scope_ran;
DROP ROLE regress_hipq_scope;
