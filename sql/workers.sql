-- External workers: registration, heartbeats, health, draining; requirements of job types; rights.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

CREATE FUNCTION pg_temp.served() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format('%s/%s %s', queue, job_type, workers), ', ' ORDER BY queue, job_type)
    FROM hipq.job_types_detail WHERE queue LIKE 'outside.%'
$$;
\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all
CREATE FUNCTION pg_temp.id(worker text)
RETURNS bigint LANGUAGE sql AS $$ SELECT worker_id FROM hipq.workers WHERE name = worker $$;
CREATE FUNCTION pg_temp.shown() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT concat_ws(' ', name, queues, job_types, status, health - 'last_check')
    FROM hipq.workers_detail WHERE name LIKE 'regress%'
$$;

CREATE ROLE regress_hipq_worker_owner LOGIN;
CREATE ROLE regress_hipq_worker_a;
CREATE ROLE regress_hipq_worker_b;
CREATE ROLE regress_hipq_worker_reader;
CREATE ROLE regress_hipq_worker_stranger;
CREATE ROLE regress_hipq_worker_monitor IN ROLE pg_monitor;
SELECT hipq.create_queue('outside.a', owner => 'regress_hipq_worker_owner') > 0,
       hipq.create_queue('outside.b', owner => 'regress_hipq_worker_owner') > 0;
SELECT hipq.register_job_type('outside.a', 'scan', handler_kind => 'notify'),
       hipq.register_job_type('outside.a', 'none'),
       hipq.register_job_type('outside.b', 'scan', handler_kind => 'notify',
           requires => '{"runtimes": ["python"]}'),
       hipq.register_job_type('outside.b', 'only_b', handler_kind => 'notify'),
       hipq.register_job_type('outside.a', 'inside', handler => 'SELECT 1',
           handler_kind => 'statement');
SELECT hipq.grant_queue('outside.a', role::regrole, 'work'),
       hipq.grant_queue('outside.b', role::regrole, 'work')
FROM unnest('{regress_hipq_worker_a, regress_hipq_worker_b}'::text[]) AS role;
SELECT hipq.grant_queue('outside.a', 'regress_hipq_worker_reader', 'read');

-- ---- requires
SELECT queue, job_type, requires
FROM hipq.job_types_detail WHERE queue LIKE 'outside.%' ORDER BY queue, job_type;
SELECT hipq.alter_job_type('outside.a', 'none', requires => '{"gpu": true}');
SELECT requires FROM hipq.job_types_detail WHERE queue = 'outside.a' AND job_type = 'none';
SELECT hipq.alter_job_type('outside.a', 'none', max_retries => 1),
       hipq.alter_job_type('outside.a', 'none', requires => '{}');
SELECT requires, max_retries
FROM hipq.job_types_detail WHERE queue = 'outside.a' AND job_type = 'none';
SELECT pg_temp.try($$SELECT hipq.register_job_type('outside.a', 'bad', requires => '["python"]')$$);
SELECT pg_temp.try($$SELECT hipq.alter_job_type('outside.a', 'none', requires => '"python"')$$);

-- ---- registrations that are refused
SELECT pg_temp.try(format('SELECT hipq.register_worker(%s)', arguments)) FROM unnest(ARRAY[
    $$NULL, '{outside.a}', '{scan}'$$,
    $$'', '{outside.a}', '{scan}'$$,
    $$repeat('x', 64), '{outside.a}', '{scan}'$$,
    $$'regress', NULL, '{scan}'$$,
    $$'regress', '{}', '{scan}'$$,
    $$'regress', '{outside.a, NULL}', '{scan}'$$,
    $$'regress', '{outside.c}', '{scan}'$$,
    $$'regress', '{outside}', '{scan}'$$,
    $$'regress', '{outside.a}', NULL$$,
    $$'regress', '{outside.a}', '{}'$$,
    $$'regress', '{outside.a}', '{scan, only_b}'$$,
    $$'regress', '{outside.a}', '{inside}'$$,
    $$'regress', '{outside.a}', '{scan}', capacity => 0$$,
    $$'regress', '{outside.a}', '{scan}', capacity => 1000001$$,
    $$'regress', '{outside.a}', '{scan}', capacity => NULL$$,
    $$'regress', '{outside.a}', '{scan}', prefetch => -1$$,
    $$'regress', '{outside.a}', '{scan}', capabilities => '[]'$$]) AS arguments;
-- values that are too large
SELECT pg_temp.try($$SELECT hipq.register_worker('regress',
    ARRAY(SELECT 'outside.' || n FROM generate_series(1, 101) AS n), '{scan}')$$);
SELECT pg_temp.try($$SELECT hipq.register_worker('regress', '{outside.a}',
    ARRAY(SELECT n::text FROM generate_series(1, 101) AS n))$$);
SELECT pg_temp.try($$SELECT hipq.register_worker('regress', '{outside.a}', '{scan}',
    capabilities => jsonb_build_object('all', repeat('x', 65536)))$$);
SELECT pg_temp.try($$SELECT hipq.register_worker(repeat('x', 64), '{outside.a}', '{scan}')$$);
SELECT pg_temp.try(
    $$SELECT hipq.register_worker(E'regress\nLOG:  all is well', '{outside.a}', '{scan}')$$);
SELECT count(*) FROM hipq.workers WHERE name LIKE 'regress%';

-- ---- registration and heartbeats
SET ROLE regress_hipq_worker_a;
SELECT hipq.register_worker('regress a', '{outside.b, hipq.outside_a, outside.a}',
    '{scan, none, scan}', 4, 2, '{"runtimes": ["python", "node"]}') > 0;
SELECT pg_temp.shown();
SELECT capacity, prefetch, capabilities - 'health' AS said,
       capabilities -> 'health' = health AS has_health, running_jobs, is_draining, pid,
       last_heartbeat, registered_time <= now()
FROM hipq.workers_detail WHERE name = 'regress a';
RESET ROLE;
SELECT pg_temp.served();
SET ROLE regress_hipq_worker_a;
SELECT hipq.heartbeat(pg_temp.id('regress a'));
SELECT status, health ->> 'status' AS health, last_heartbeat <= clock_timestamp()
FROM hipq.workers_detail WHERE name = 'regress a';
SELECT hipq.worker_queue_depth(pg_temp.id('regress a')), hipq.worker_queue_depth(-1);
-- the health that the worker reports
SELECT hipq.heartbeat(pg_temp.id('regress a'), '{"status": "degraded", "queue_depth": 7,
    "total_executions": 9, "failed_executions": 2, "average_execution_time_ms": 12.5,
    "mood": "low"}');
SELECT pg_temp.shown();
SELECT hipq.heartbeat(pg_temp.id('regress a'), '{"consecutive_failures": 10}'::jsonb);
SELECT pg_temp.shown();
-- malformed reports are ignored, but the heartbeat counts
SET ROLE regress_hipq_worker_a;
DO $$
DECLARE
    worker bigint := pg_temp.id('regress a');
    report text;
BEGIN
    FOREACH report IN ARRAY ARRAY['{"status":', '[]', '"healthy"', '{"status": "fine"}',
        '{"status": 1}', '{"queue_depth": -1}', '{"queue_depth": "7"}',
        '{"queue_depth": 1e10}', '{"total_executions": 1, "failed_executions": 2}',
        '{"consecutive_failures": 1e400}', '"\u0000"']
    LOOP
        RAISE WARNING '%', hipq.heartbeat(worker, report);
    END LOOP;
    RAISE WARNING '%', hipq.heartbeat(worker, '[]'::jsonb);
END
$$;
SELECT pg_temp.shown();
-- the heartbeat counts nevertheless
RESET ROLE;
SET hipq.clock_offset = 100;
SELECT status, health ->> 'status' AS health FROM hipq.workers_detail WHERE name = 'regress a';
RESET hipq.clock_offset;
SELECT last_heartbeat AS before FROM hipq.workers WHERE name = 'regress a' \gset
SET ROLE regress_hipq_worker_a;
SELECT hipq.heartbeat(pg_temp.id('regress a'), 'nonsense');
SELECT hipq.heartbeat(pg_temp.id('regress a'), '{"mood": "' || repeat('x', 8192) || '"}');
SELECT hipq.heartbeat(pg_temp.id('regress a'), jsonb_build_object('mood', repeat('x', 8192)));
SELECT last_heartbeat > :'before' FROM hipq.workers WHERE name = 'regress a';
SELECT hipq.heartbeat(pg_temp.id('regress a'), NULL), hipq.heartbeat(pg_temp.id('regress a'), '{}');
SELECT pg_temp.shown();

-- ---- the name
SELECT pg_temp.try($$SELECT hipq.register_worker('regress a', '{outside.a}', '{scan}')$$);
SELECT pg_temp.id('regress a') AS first \gset
SELECT hipq.register_worker('regress a', '{outside.a}', '{scan}', take_over => true) > :first;
SELECT pg_temp.shown();
SELECT pg_temp.try(format('SELECT hipq.heartbeat(%s)', :first));
SET ROLE regress_hipq_worker_b;
-- each role has its own names
SELECT hipq.register_worker('regress a', '{outside.a}', '{scan}',
    take_over => true) AS namesake \gset
SELECT hipq.deregister_worker(:namesake);
-- a silent worker does not keep its name
RESET ROLE;
SET hipq.clock_offset = 31;
SET ROLE regress_hipq_worker_a;
SELECT pg_temp.id('regress a') AS first \gset
SELECT hipq.register_worker('regress a', '{outside.a}', '{scan}') > :first;
RESET ROLE;
RESET hipq.clock_offset;

-- ---- rolled back with the transaction
SET ROLE regress_hipq_worker_b;
BEGIN;
SELECT hipq.register_worker('regress b', '{outside.a, outside.b}', '{scan, only_b}',
    capabilities => '{"runtimes": ["node"], "health": {"status": "unhealthy"}}') > 0;
SELECT hipq.heartbeat(pg_temp.id('regress b'));
SELECT pg_temp.shown();
ROLLBACK;
SELECT pg_temp.shown();
SELECT count(*) FROM hipq._workers();
BEGIN;
SAVEPOINT s;
SELECT hipq.register_worker('regress b', '{outside.a}', '{scan}') > 0;
ROLLBACK TO s;
SAVEPOINT s;
SELECT hipq.register_worker('regress c', '{outside.a}', '{scan}') > 0;
RELEASE s;
SELECT hipq.register_worker('regress b', '{outside.a, outside.b}', '{scan, only_b}',
    capabilities => '{"runtimes": ["node"], "health": {"status": "degraded"}}') > 0;
COMMIT;
SELECT pg_temp.shown();
SELECT count(*) FROM hipq._workers();
BEGIN;
SELECT hipq.deregister_worker(pg_temp.id('regress c')), hipq.drain_worker(pg_temp.id('regress b'));
ROLLBACK;
SELECT name, is_draining FROM hipq.workers_detail WHERE name LIKE 'regress%' ORDER BY name;
SELECT count(*) FROM hipq._workers();
SELECT hipq.deregister_worker(pg_temp.id('regress c')), hipq.drain_worker(pg_temp.id('regress b')),
       hipq.drain_worker(pg_temp.id('regress b'));
SELECT name, is_draining FROM hipq.workers_detail WHERE name LIKE 'regress%' ORDER BY name;
SELECT count(*) FROM hipq._workers();
-- a heartbeat in the transaction that registers the worker
BEGIN;
SELECT hipq.register_worker('regress heard', '{outside.a}', '{scan}') AS heard \gset
SELECT hipq.heartbeat(:heard), hipq.heartbeat(:heard, '{"status": "degraded"}');
COMMIT;
SELECT status, health ->> 'status' AS health, last_heartbeat IS NOT NULL
FROM hipq.workers_detail WHERE worker_id = :heard;
SELECT hipq.deregister_worker(:heard);
-- the health report at registration: merged like that of a heartbeat; other capabilities stay
BEGIN;
SELECT hipq.register_worker('regress self', '{outside.a}', '{scan}', capabilities => '{"gpu": true,
    "health": {"status": "degraded", "queue_depth": 3, "total_executions": 20,
        "failed_executions": 5, "mood": "low"}}') AS self \gset
SELECT capabilities - 'health' AS said, (capabilities -> 'health') - 'last_check' AS health,
       (capabilities -> 'health' ->> 'last_check')::timestamptz <= clock_timestamp() AS is_checked,
       capabilities -> 'health' = health AS same
FROM hipq.workers_detail WHERE worker_id = :self;
SELECT status, workers, queue_depth, average_failure_rate FROM hipq.worker_health;
-- the server judges the worker by it; a later report replaces the first
SELECT hipq.heartbeat(:self, '{"queue_depth": 1}');
SELECT status, capabilities -> 'health' ->> 'status' AS health,
       capabilities -> 'health' ->> 'queue_depth' AS depth
FROM hipq.workers_detail WHERE worker_id = :self;
-- active: a heartbeat within hipq.heartbeat_timeout (30 s), whatever the worker's health
SELECT hipq.drain_worker(:self), hipq.heartbeat(:self, '{"status": "unhealthy"}');
SELECT status, health ->> 'status' AS health FROM hipq.workers_detail WHERE worker_id = :self;
RESET ROLE;
SET LOCAL hipq.clock_offset = 31;
SELECT status, health ->> 'status' AS health FROM hipq.workers_detail WHERE worker_id = :self;
ROLLBACK;
-- a malformed report at registration
SELECT hipq.register_worker('regress c', '{outside.a}', '{none}',
    capabilities => '{"health": {"status": "merry"}}') > 0;
SELECT hipq.heartbeat(pg_temp.id('regress c')), hipq.heartbeat(pg_temp.id('regress b'));
SELECT name, status, health ->> 'status' AS health
FROM hipq.healthy_workers_detail WHERE name LIKE 'regress%';
SELECT name, status, health ->> 'status' AS health
FROM hipq.workers_detail WHERE name LIKE 'regress%' AND role = current_user::regrole;
BEGIN;
SELECT hipq.deregister_worker(pg_temp.id('regress c'));
PREPARE TRANSACTION 'regress worker';
ROLLBACK;

-- ---- rights
SELECT hipq.register_worker('regress d', '{outside.b}', '{only_b}') > 0;
SELECT pg_temp.id('regress d') AS d \gset
SET ROLE regress_hipq_worker_a;
SELECT pg_temp.try(format('SELECT hipq.heartbeat(%s)', :d));
SELECT pg_temp.try(format('SELECT hipq.drain_worker(%s)', :d));
SELECT pg_temp.try(format('SELECT hipq.deregister_worker(%s)', :d));
SELECT pg_temp.try('SELECT hipq.heartbeat(NULL)');
SELECT pg_temp.try('SELECT hipq.drain_worker(-1)');
SELECT pg_temp.try('SELECT hipq.deregister_worker(-1)');
-- of other roles' workers a role sees only what it may read
SELECT name FROM hipq.workers WHERE name LIKE 'regress%' ORDER BY name;
SET ROLE regress_hipq_worker_reader;
SELECT name, queues, job_types FROM hipq.workers_detail WHERE name LIKE 'regress%' ORDER BY name;
SELECT hipq.worker_queue_depth(:d) IS NULL;
SELECT status, workers FROM hipq.worker_health;
SELECT pg_temp.try($$SELECT hipq.register_worker('regress e', '{outside.a}', '{scan}')$$);
SET ROLE regress_hipq_worker_monitor;
SELECT name, queues, job_types FROM hipq.workers_detail WHERE name LIKE 'regress%' ORDER BY name;
SELECT hipq.worker_queue_depth(:d);
SELECT status, workers, queue_depth, average_queue_depth, running_jobs FROM hipq.worker_health;
SET ROLE regress_hipq_worker_stranger;
SELECT pg_temp.try('TABLE hipq.workers');
SELECT pg_temp.try('TABLE hipq.worker_health');
SELECT pg_temp.try($$SELECT hipq.register_worker('regress e', '{outside.a}', '{scan}')$$);
RESET ROLE;
SELECT pg_temp.try(format('SELECT hipq.heartbeat(%s)', :d));
SELECT hipq.drain_worker(:d), hipq.deregister_worker(:d);
SELECT name FROM hipq.workers WHERE name LIKE 'regress%' ORDER BY name;
-- ---- which worker serves which type: requirements, rights, queues and types that come and go
SET ROLE regress_hipq_worker_b;
SELECT hipq.register_worker('regress f', '{outside.a, outside.b}', '{scan, only_b, none}',
    capabilities => '{"runtimes": ["node"]}') > 0;
RESET ROLE;
SELECT name, queues, job_types, capabilities - 'health' AS said
FROM hipq.workers_detail WHERE name LIKE 'regress%' ORDER BY name;
SELECT pg_temp.served();
SELECT hipq.alter_job_type('outside.b', 'scan', requires => '{"runtimes": ["node"]}');
SELECT pg_temp.served();
SELECT hipq.alter_job_type('outside.b', 'scan', requires => '{"runtimes": ["node", "go"]}'),
       hipq.alter_job_type('outside.a', 'none', handler => 'SELECT 1', handler_kind => 'statement');
SELECT pg_temp.served();
BEGIN;
SELECT hipq.revoke_queue('outside.a', 'regress_hipq_worker_b', 'work');
SELECT pg_temp.served();
ROLLBACK;
SELECT pg_temp.served();
SELECT hipq.alter_job_type('outside.a', 'none', handler => 'NONE');
SELECT hipq.deregister_worker(pg_temp.id('regress f'));
SELECT pg_temp.served();
-- without the right on one of the queues
SELECT hipq.revoke_queue('outside.b', 'regress_hipq_worker_b', 'work'),
       hipq.grant_queue('outside.b', 'regress_hipq_worker_b', 'read');
SET ROLE regress_hipq_worker_b;
SELECT pg_temp.try(
    $$SELECT hipq.register_worker('regress e', '{outside.a, outside.b}', '{scan}')$$);
SELECT pg_temp.try($$SELECT hipq.register_worker('regress b', '{outside.a, outside.b}', '{scan}',
    take_over => true)$$);
SELECT name, is_draining FROM hipq.workers_detail WHERE name = 'regress b';

-- ---- listening
SET ROLE regress_hipq_worker_a;
SELECT hipq.register_worker('regress listens', '{outside.a}', '{scan}',
    listen => true) AS listener \gset
SELECT count(*) FROM pg_listening_channels() AS channel WHERE channel = 'hipq_worker_' || :listener;
SELECT status, health ->> 'status' AS health, pid = pg_backend_pid(), last_heartbeat
FROM hipq.workers_detail WHERE worker_id = :listener;
SELECT pg_temp.try($$SELECT hipq.register_worker('regress listens', '{outside.a}', '{scan}')$$);
SELECT hipq.deregister_worker(:listener);
SELECT count(*) FROM pg_listening_channels();
-- a session that stops listening is no longer a worker
SELECT hipq.register_worker('regress listens', '{outside.a}', '{scan}',
    listen => true) AS listener \gset
BEGIN;
UNLISTEN *;
ROLLBACK;
SELECT status, health ->> 'status' AS health FROM hipq.workers_detail WHERE worker_id = :listener;
UNLISTEN *;
SELECT status, health ->> 'status' AS health, pid
FROM hipq.workers_detail WHERE worker_id = :listener;
SELECT pg_temp.try(format('SELECT hipq.heartbeat(%s)', :listener));
SELECT hipq.register_worker('regress listens', '{outside.a}', '{scan}', listen => true) > :listener;
RESET ROLE;
SELECT count(hipq.deregister_worker(worker_id)::text) FROM hipq.workers WHERE name LIKE 'regress%';
SELECT count(*) FROM hipq.workers WHERE name LIKE 'regress%';

SELECT hipq.drop_queue('outside.a'), hipq.drop_queue('outside.b');
DROP OWNED BY regress_hipq_worker_a, regress_hipq_worker_b, regress_hipq_worker_reader,
    regress_hipq_worker_stranger, regress_hipq_worker_monitor;
DROP ROLE regress_hipq_worker_a, regress_hipq_worker_b, regress_hipq_worker_reader,
    regress_hipq_worker_stranger, regress_hipq_worker_monitor;
