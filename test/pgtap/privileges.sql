-- Rights right after installation: next to nothing to PUBLIC, looking at metadata to pg_monitor, nothing else.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(16);

-- Every right on the schema, tables, columns, sequences and functions, as (object, grantee, privilege); grantee 0 is PUBLIC.
-- A column of NULL stands for the built-in rights, which for functions include PUBLIC.
CREATE TEMPORARY VIEW given AS
SELECT pg_describe_object('pg_namespace'::regclass, oid, 0) AS object, nspowner AS owner, acl.*
FROM pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) AS acl
WHERE nspname = 'hipq'
UNION ALL
SELECT pg_describe_object('pg_class'::regclass, oid, 0), relowner, acl.*
FROM pg_class, aclexplode(coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner))) AS acl
WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
UNION ALL
SELECT pg_describe_object('pg_class'::regclass, attrelid, attnum), relowner, acl.*
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid, aclexplode(attacl) AS acl
WHERE relnamespace = 'hipq'::regnamespace
UNION ALL
SELECT pg_describe_object('pg_proc'::regclass, oid, 0), proowner, acl.*
FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl
WHERE pronamespace = 'hipq'::regnamespace;

SELECT set_eq($$SELECT object, privilege_type FROM given WHERE grantee = 0$$, $$VALUES ('function hipq._are_time_windows(text)', 'EXECUTE')$$,
    'PUBLIC has no right but to check time windows, as the domain does for whoever writes one');

SELECT is_empty($$SELECT object, grantee::regrole, privilege_type FROM given WHERE is_grantable AND grantee <> owner$$,
    'nobody but the extension owner may grant');

SELECT set_eq($$SELECT object, privilege_type FROM given WHERE grantee = 'pg_monitor'::regrole$$, $$VALUES
    ('schema hipq', 'USAGE'),
    ('view hipq.alerts', 'SELECT'),
    ('view hipq.dead_letter_rates', 'SELECT'),
    ('view hipq.dead_letter_reasons', 'SELECT'),
    ('view hipq.dead_letter_stats', 'SELECT'),
    ('view hipq.statistics', 'SELECT'),
    ('view hipq.retry_distribution', 'SELECT'),
    ('view hipq.failure_statistics', 'SELECT'),
    ('view hipq.throughput', 'SELECT'),
    ('view hipq.executors', 'SELECT'),
    ('view hipq.lanes', 'SELECT'),
    ('view hipq.instances', 'SELECT'),
    ('view hipq.job_types', 'SELECT'),
    ('view hipq.pauses', 'SELECT'),
    ('view hipq.queues', 'SELECT'),
    ('view hipq.running', 'SELECT'),
    ('view hipq.progress', 'SELECT'),
    ('view hipq.sizes', 'SELECT'),
    ('view hipq.throttle_keys', 'SELECT'),
    ('view hipq.workers', 'SELECT'),
    ('view hipq.healthy_workers', 'SELECT'),
    ('view hipq.worker_health', 'SELECT'),
    ('function hipq._worker_services()', 'EXECUTE'),
    ('function hipq._workers()', 'EXECUTE'),
    ('function hipq.worker_queue_depth(bigint)', 'EXECUTE'),
    ('function hipq._alerts()', 'EXECUTE'),
    ('function hipq._jobs_set_aside()', 'EXECUTE'),
    ('function hipq._lost_schedules()', 'EXECUTE'),
    ('function hipq._overdue()', 'EXECUTE'),
    ('function hipq._readable_queues()', 'EXECUTE'),
    ('function hipq._visible_queues()', 'EXECUTE'),
    ('function hipq._reachable_queues(integer[])', 'EXECUTE'),
    ('function hipq._is_one_of(integer,integer[])', 'EXECUTE'),
    ('function hipq._statistics()', 'EXECUTE'),
    ('function hipq._retry_distribution()', 'EXECUTE'),
    ('function hipq._failure_statistics()', 'EXECUTE'),
    ('function hipq._throughput()', 'EXECUTE'),
    ('function hipq._executors()', 'EXECUTE'),
    ('function hipq._first_unmet_condition(integer,text,text,text,numeric)', 'EXECUTE'),
    ('function hipq._limiters()', 'EXECUTE'),
    ('function hipq._lanes()', 'EXECUTE'),
    ('function hipq._may(integer,text)', 'EXECUTE'),
    ('function hipq._running_jobs()', 'EXECUTE'),
    ('function hipq._progress()', 'EXECUTE'),
    ('function hipq.now()', 'EXECUTE')
$$, 'rights of pg_monitor');

SELECT is_empty($$
SELECT DISTINCT object, grantee::regrole FROM given
WHERE grantee NOT IN (0, owner, 'pg_monitor'::regrole)
  AND NOT EXISTS (SELECT FROM hipq.queue WHERE queue.owner::oid = given.grantee)
$$, 'nobody else has any');

CREATE ROLE contract_stranger;
CREATE ROLE contract_monitor IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA public TO contract_stranger, contract_monitor;

SELECT hipq.create_queue('contract.secret') IS NOT NULL AS queue_created \gset
INSERT INTO hipq.contract_secret (job_type, job_data, scheduled_run_time) VALUES ('secret', '{"password": "x"}', now() + interval '1 day');

SET LOCAL ROLE contract_stranger;
SELECT throws_ok('TABLE hipq.jobs', '42501', NULL, 'a stranger reads no view');
SELECT throws_ok('TABLE hipq.job', '42501', NULL, 'a stranger reads no table');
SELECT throws_ok($$SELECT hipq.enqueue('mail')$$, '42501', NULL, 'a stranger enqueues nothing');
SELECT throws_ok($$INSERT INTO hipq.contract_secret (job_type) VALUES ('mail')$$, '42501', NULL, 'not by INSERT either');

SET LOCAL ROLE contract_monitor;
SELECT set_eq($$SELECT queue, initial FROM hipq.queues WHERE queue = 'contract.secret'$$, $$VALUES ('contract.secret', 1::bigint)$$,
    'a monitor sees queues that it may not read');
SELECT is((SELECT count(*) FROM hipq.sizes WHERE queue = 'contract.secret' AND kind = 'live'), 1::bigint, 'and their sizes');
SELECT lives_ok('TABLE hipq.running', 'and what runs');
SELECT lives_ok('TABLE hipq.executors', 'and executors');
SELECT is((SELECT db_config FROM hipq.instances WHERE name = 'contract'), NULL, 'but no connection data');
SELECT throws_ok('TABLE hipq.jobs', '42501', NULL, 'no jobs');
SELECT throws_ok('TABLE hipq.dead_letters', '42501', NULL, 'no dead letters');
SELECT throws_ok('TABLE hipq.attempts', '42501', NULL, 'no attempts');

RESET ROLE;
SELECT * FROM finish();
ROLLBACK;
