-- Privileges right after installation. PUBLIC may call the functions that check their caller and
-- read the views that show only what the caller may read, but may not use the schema, without which
-- no role can reach them; pg_monitor may. (bystander.sql tests their answers.)
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(18);

-- Every privilege on the schema, tables, columns, sequences and functions, as (object, grantee,
-- privilege); grantee 0 is PUBLIC. An ACL of NULL stands for the built-in privileges, which for
-- functions include PUBLIC.
CREATE TEMPORARY VIEW given AS
SELECT pg_describe_object('pg_namespace'::regclass, oid, 0) AS object, nspowner AS owner, acl.*
FROM pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) AS acl
WHERE nspname = 'hipq'
UNION ALL
SELECT pg_describe_object('pg_class'::regclass, oid, 0), relowner, acl.*
FROM pg_class, aclexplode(coalesce(relacl,
    acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner))) AS acl
WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
UNION ALL
SELECT pg_describe_object('pg_class'::regclass, attrelid, attnum), relowner, acl.*
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid, aclexplode(attacl) AS acl
WHERE relnamespace = 'hipq'::regnamespace
UNION ALL
SELECT pg_describe_object('pg_proc'::regclass, oid, 0), proowner, acl.*
FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl
WHERE pronamespace = 'hipq'::regnamespace;

SELECT set_eq($$SELECT object, privilege_type FROM given WHERE grantee = 0
    AND object NOT LIKE 'function %'$$, $$VALUES
    ('view hipq.activity', 'SELECT'),
    ('view hipq.activity_detail', 'SELECT'),
    ('view hipq.attempts', 'SELECT'),
    ('view hipq.attempts_detail', 'SELECT'),
    ('view hipq.batches', 'SELECT'),
    ('view hipq.batches_detail', 'SELECT'),
    ('view hipq.dead_letter_rates', 'SELECT'),
    ('view hipq.dead_letter_reasons', 'SELECT'),
    ('view hipq.dead_letter_stats', 'SELECT'),
    ('view hipq.dead_letter_stats_detail', 'SELECT'),
    ('view hipq.dead_letters', 'SELECT'),
    ('view hipq.dead_letters_detail', 'SELECT'),
    ('view hipq.executors', 'SELECT'),
    ('view hipq.executors_detail', 'SELECT'),
    ('view hipq.failure_statistics', 'SELECT'),
    ('view hipq.graph_jobs', 'SELECT'),
    ('view hipq.graph_jobs_detail', 'SELECT'),
    ('view hipq.graphs', 'SELECT'),
    ('view hipq.graphs_detail', 'SELECT'),
    ('view hipq.healthy_workers', 'SELECT'),
    ('view hipq.healthy_workers_detail', 'SELECT'),
    ('view hipq.attempt_logs', 'SELECT'),
    ('view hipq.attempt_logs_detail', 'SELECT'),
    ('view hipq.backlog', 'SELECT'),
    ('view hipq.histograms', 'SELECT'),
    ('view hipq.instances', 'SELECT'),
    ('view hipq.instances_detail', 'SELECT'),
    ('view hipq.job_types', 'SELECT'),
    ('view hipq.job_types_detail', 'SELECT'),
    ('view hipq.jobs', 'SELECT'),
    ('view hipq.jobs_detail', 'SELECT'),
    ('view hipq.lanes', 'SELECT'),
    ('view hipq.lanes_detail', 'SELECT'),
    ('view hipq.pauses', 'SELECT'),
    ('view hipq.pauses_detail', 'SELECT'),
    ('view hipq.progress', 'SELECT'),
    ('view hipq.progress_detail', 'SELECT'),
    ('view hipq.queues', 'SELECT'),
    ('view hipq.queues_detail', 'SELECT'),
    ('view hipq.retry_distribution', 'SELECT'),
    ('view hipq.running', 'SELECT'),
    ('view hipq.running_detail', 'SELECT'),
    ('view hipq.schedules', 'SELECT'),
    ('view hipq.schedules_detail', 'SELECT'),
    ('view hipq.cluster_queues', 'SELECT'),
    ('view hipq.cluster_queues_detail', 'SELECT'),
    ('view hipq.shard_rejects', 'SELECT'),
    ('view hipq.shard_rejects_detail', 'SELECT'),
    ('view hipq.sizes', 'SELECT'),
    ('view hipq.sizes_detail', 'SELECT'),
    ('view hipq.statistics', 'SELECT'),
    ('view hipq.statistics_detail', 'SELECT'),
    ('view hipq.throttle_keys', 'SELECT'),
    ('view hipq.throughput', 'SELECT'),
    ('view hipq.worker_health', 'SELECT'),
    ('view hipq.workers', 'SELECT'),
    ('view hipq.workers_detail', 'SELECT')
$$, 'PUBLIC may read these views, and has no right on the schema, a table, column or sequence');

SELECT set_eq($$
SELECT oid::regprocedure::text FROM pg_proc
WHERE pronamespace = 'hipq'::regnamespace
  AND NOT EXISTS (SELECT FROM given WHERE grantee = 0
      AND object = pg_describe_object('pg_proc'::regclass, pg_proc.oid, 0))
$$, $$VALUES
    ('hipq.create_instance(text,text,text,jsonb,boolean,boolean,boolean,integer)'),
    ('hipq.alter_instance(text,boolean,text,text,jsonb,integer,text[])'),
    ('hipq.drop_instance(text)'),
    ('hipq.create_queue(text,regrole,double precision,hipq.duration,text,boolean,hipq.duration,'
        'boolean,hipq.duration,text,integer,integer,text,hipq.duration,integer,boolean,boolean,'
        'boolean,boolean,text,text,text,text,hipq.duration,integer,text,text)'),
    ('hipq.release_hold()'),
    ('hipq.release_hold(text)'),
    ('hipq.restore_schedules()'),
    ('hipq._catalogue_changed()'),
    ('hipq._guard_job()'),
    ('hipq._fitting_data(integer,text,bigint,jsonb)'),
    ('hipq._is_held()'),
    ('hipq.create_shard(text,integer,text,text,integer)'),
    ('hipq.drop_shard(text,integer,boolean)'),
    ('hipq.resync_shard(text,integer,boolean)'),
    ('hipq._own_timeline()'),
    ('hipq._receive_again(jsonb,boolean)'),
    ('hipq._begin_resync(text,jsonb)'),
    ('hipq.drain_shard(text,integer)'),
    ('hipq._leave_shards(text)'),
    ('hipq._position_after_all_sent(timestamp with time zone)'),
    ('hipq._unsubscribe_from_outbox(text)'),
    ('hipq._unpublish_outbox(text)'),
    ('hipq.rebalance(text)'),
    ('hipq.move_slots(text,integer[],integer)'),
    ('hipq._shards_changed()'),
    ('hipq._receive()'),
    ('hipq._tell_shards()'),
    ('hipq._set_up_of(text)'),
    ('hipq._send_set_up(text,integer)'),
    ('hipq._unfit_for_shards()'),
    ('hipq._join_shards(text,text,integer)'),
    ('hipq._publish_outbox(text,text,integer)'),
    ('hipq._keep_outbox(text)'),
    ('hipq._subscribe_to_outbox(text,text,integer)'),
    ('hipq._answer(text,integer,text,text,bigint,text[],boolean)'),
    ('hipq._wait_until_read(text)'),
    ('hipq._is_one_of_support(internal)'),
    ('hipq._is_in_reach_by_scan_support(internal)'),
    ('hipq._asked_ids_support(internal)'),
    ('hipq._is_asked_for_support(internal)'),
    ('hipq._is_as_asked_support(internal)'),
    ('hipq._role_recv(internal)')
$$, 'all functions but these');

SELECT is_empty($$
SELECT oid::regclass FROM pg_class
WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v' AND relname !~ '^_'
  AND relname NOT IN ('alerts', 'alerts_detail', 'shards', 'shard_limits')
  AND NOT EXISTS (SELECT FROM given WHERE grantee = 0
      AND object = pg_describe_object('pg_class'::regclass, pg_class.oid, 0))
$$, 'all views but those of alerts and of servers, and what other views alone read');

SELECT is_empty($$SELECT object, grantee::regrole, privilege_type FROM given WHERE is_grantable
    AND grantee <> owner$$,
    'nobody but the extension owner may grant');

SELECT set_eq($$SELECT object, privilege_type FROM given WHERE grantee = 'pg_monitor'::regrole$$,
    $$VALUES ('schema hipq', 'USAGE'), ('view hipq.alerts', 'SELECT'),
        ('view hipq.alerts_detail', 'SELECT'),
    ('view hipq.shards', 'SELECT'), ('view hipq.shard_limits', 'SELECT')$$, 'rights of pg_monitor');

SELECT is_empty($$
SELECT DISTINCT object, grantee::regrole FROM given
WHERE grantee NOT IN (0, owner, 'pg_monitor'::regrole)
  AND NOT EXISTS (SELECT FROM hipq.queue WHERE queue.owner::oid = given.grantee)
$$, 'nobody else has any');

CREATE ROLE contract_stranger;
CREATE ROLE contract_monitor IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA public TO contract_stranger, contract_monitor;

SELECT hipq.create_queue('contract.secret') IS NOT NULL AS queue_created \gset
INSERT INTO hipq.contract_secret (job_type, job_data, scheduled_run_time)
VALUES ('secret', '{"password": "x"}', now() + interval '1 day');

SET LOCAL ROLE contract_stranger;
SELECT throws_ok('TABLE hipq.jobs', '42501', NULL, 'a stranger reads no view');
SELECT throws_ok('TABLE hipq.job', '42501', NULL, 'a stranger reads no table');
SELECT throws_ok($$SELECT hipq.enqueue('mail')$$, '42501', NULL, 'a stranger enqueues nothing');
SELECT throws_ok($$INSERT INTO hipq.contract_secret (job_type) VALUES ('mail')$$, '42501', NULL,
    'nor by INSERT');

SET LOCAL ROLE contract_monitor;
SELECT set_eq($$SELECT queue, initial FROM hipq.queues WHERE queue = 'contract.secret'$$,
    $$VALUES ('contract.secret', 1::bigint)$$,
    'a monitor sees queues that it may not read');
SELECT is((SELECT count(*) FROM hipq.sizes WHERE queue = 'contract.secret' AND kind = 'live'),
    1::bigint, 'and their sizes');
SELECT lives_ok('TABLE hipq.running', 'and what runs');
SELECT lives_ok('TABLE hipq.executors', 'and executors');
SELECT is((SELECT db_config FROM hipq.instances_detail WHERE name = 'contract'), NULL,
    'but no connection data');
SELECT is_empty('TABLE hipq.jobs', 'no jobs');
SELECT is_empty('TABLE hipq.dead_letters', 'no dead letters');
SELECT is_empty('TABLE hipq.attempts', 'no attempts');

RESET ROLE;
SELECT * FROM finish();
ROLLBACK;
