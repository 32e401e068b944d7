-- cancel_jobs, retry_jobs, move_jobs: which jobs they take, what stays, and what they refuse.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all
CREATE FUNCTION pg_temp.shown(wanted text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('%s %s %s attempt=%s retries=%s %s', queue, job_type, job_key, attempt,
        retry_count, outcome)
    FROM hipq.jobs_detail WHERE queue LIKE wanted ORDER BY queue, job_type, job_key, id
$$;

CREATE ROLE regress_hipq_many_owner LOGIN;
CREATE ROLE regress_hipq_many_operator;
CREATE ROLE regress_hipq_many_reader;
SELECT hipq.create_queue('bulk.a', owner => 'regress_hipq_many_owner') AS a,
       hipq.create_queue('bulk.b', owner => 'regress_hipq_many_owner') AS b,
       hipq.create_queue('bulk.c', owner => 'regress_hipq_many_owner') AS c \gset
SELECT hipq.register_job_type('bulk.a', 't'), hipq.register_job_type('bulk.a', 'u'),
       hipq.register_job_type('bulk.b', 't');
SELECT hipq.grant_queue('bulk.a', 'regress_hipq_many_operator', 'control'),
       hipq.grant_queue('bulk.a', 'regress_hipq_many_reader', 'read'),
       hipq.grant_queue('bulk.c', 'regress_hipq_many_reader', 'control');

-- Jobs in all states, as a restore loads them.
CREATE FUNCTION pg_temp.add(id bigint, queue_id integer, type text, key text, state hipq.job_state,
    error text, reason text, age interval)
RETURNS void
LANGUAGE sql AS $$
    INSERT INTO hipq.job (id, queue_id, state, error, retry_reason, throttle_factor,
        scheduled_run_time, update_time, created_time, timeout, max_retries, priority, job_type,
        job_key, time_windows, attempt, retry_count, job_data)
    VALUES (id, queue_id, state, error, reason, 1, now() + interval '1 day', now() - age,
        now() - age, 60, 3, 0, type, key, 'NONE', CASE state WHEN 'initial' THEN 0 ELSE 2 END,
        CASE state WHEN 'initial' THEN 0 ELSE 1 END, '{"n": 1}')
$$;

-- ---- cancel_jobs
SET session_replication_role = replica;
SELECT pg_temp.add(-999, :a, 't', 'one', 'initial', 'NONE', 'NONE', '3 h'),
       pg_temp.add(-998, :a, 't', 'two', 'retry', 'no', 'timeout', '2 h'),
       pg_temp.add(-997, :a, 't', 'three', 'retry', 'no', 'timeout', '1 h'),
       pg_temp.add(-996, :a, 'u', 'one', 'initial', 'NONE', 'NONE', '1 h'),
       pg_temp.add(-995, :a, 'u', 'five', 'initial', 'NONE', 'NONE', '1 h'),
       pg_temp.add(-994, :b, 't', 'one', 'initial', 'NONE', 'NONE', '1 h'),
       pg_temp.add(-993, :a, 't', 'done', 'final', 'NONE', 'NONE', '1 h');
RESET session_replication_role;
BEGIN;
SELECT hipq.cancel_jobs('bulk.a', reason => 'all of it');
SELECT pg_temp.shown('bulk.%');
SELECT DISTINCT error, retry_reason
FROM hipq.jobs_detail WHERE queue = 'bulk.a' AND outcome = 'cancelled';
SELECT job_type, job_key, reason, error
FROM hipq.attempts_detail WHERE queue = 'bulk.a' ORDER BY job_id;
ROLLBACK;
BEGIN; SELECT hipq.cancel_jobs('bulk.a', 't'), hipq.cancel_jobs('bulk.a', 't'); ROLLBACK;
BEGIN; SELECT hipq.cancel_jobs('bulk.a', job_key => 'one'); ROLLBACK;
BEGIN; SELECT hipq.cancel_jobs('bulk.a', state => 'initial'),
              hipq.cancel_jobs('bulk.a', state => 'retry'),
              hipq.cancel_jobs('bulk.a', state => 'error'),
              hipq.cancel_jobs('bulk.a', state => 'running'); ROLLBACK;
BEGIN; SELECT hipq.cancel_jobs('bulk.a', created_before => now() - interval '90 min');
SELECT pg_temp.shown('bulk.a'); ROLLBACK;
BEGIN; SELECT hipq.cancel_jobs('bulk.a', max_jobs => 2), hipq.cancel_jobs('bulk.a', max_jobs => 2),
              hipq.cancel_jobs('bulk.a', max_jobs => 2),
              hipq.cancel_jobs('bulk.a', max_jobs => 2); ROLLBACK;
SELECT hipq.cancel_jobs('bulk.c'), hipq.cancel_jobs('hipq.bulk_a', 'u', 'five');
SELECT pg_temp.try($$SELECT hipq.cancel_jobs('bulk.a', state => 'final')$$);
SELECT pg_temp.try($$SELECT hipq.cancel_jobs('bulk.a', state => 'sleeping')$$);
SELECT pg_temp.try($$SELECT hipq.cancel_jobs('bulk.a', max_jobs => 0)$$);
SELECT pg_temp.try($$SELECT hipq.cancel_jobs('bulk.a', max_jobs => 1000001)$$);
SELECT pg_temp.try($$SELECT hipq.cancel_jobs('bulk.a', max_jobs => NULL)$$);
SELECT pg_temp.try($$SELECT hipq.cancel_jobs(NULL)$$);
SELECT pg_temp.try($$SELECT hipq.cancel_jobs('bulk.nowhere')$$);
SELECT pg_temp.shown('bulk.%');

-- ---- move_jobs
SELECT * FROM hipq.move_jobs('bulk.a', 'bulk.b', 't');
SELECT pg_temp.shown('bulk.%');
SELECT id, table_name, state, retry_count, retry_reason, manual_reason, error, timeout, max_retries,
       job_data, created_time < now() - interval '1 h' AS old, queue_id = :b AS of_b
FROM (SELECT *, tableoid::regclass AS table_name FROM hipq.job) AS job WHERE id = -998;
INSERT INTO hipq.attempt (job_id, started_time, ended_time, queue_id, attempt, job_type, job_key,
    reason, error)
VALUES (-998, now(), now(), :b, 1, 't', 'two', 'timeout', 'no');
SELECT * FROM hipq.move_jobs('bulk.b', 'bulk.a', 't', max_jobs => 1);
SELECT pg_temp.shown('bulk.%');
SELECT queue FROM hipq.attempts WHERE job_id = -998;
SELECT * FROM hipq.move_jobs('bulk.b', 'bulk.a', 't');
SELECT * FROM hipq.move_jobs('bulk.b', 'bulk.a', 't');
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.a', 'bulk.a', 't')$$);
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.a', 'hipq.bulk_a', 't')$$);
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.a', 'bulk.b', 'u')$$);
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.a', 'bulk.b', NULL)$$);
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.a', 'bulk.nowhere', 't')$$);
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.nowhere', 'bulk.a', 't')$$);
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.a', 'bulk.b', 't', -1)$$);
SELECT pg_temp.shown('bulk.%');

-- ---- retry_jobs
SELECT hipq.cancel_jobs('bulk.a'), hipq.cancel_jobs('bulk.b');
SET session_replication_role = replica;
SELECT pg_temp.add(-979, :c, 't', 'k', 'final', 'no', 'timeout', '3 h'),
       pg_temp.add(-978, :c, 't', 'k', 'final', 'no', 'timeout', '2 h'),
       pg_temp.add(-977, :c, 't', 'NONE', 'final', 'no', 'transient_error', '1 h'),
       pg_temp.add(-976, :c, 't', 'held', 'final', 'no', 'timeout', '1 h'),
       pg_temp.add(-975, :c, 'u', 'NONE', 'final', 'no', 'cancelled', '1 h'),
       pg_temp.add(-974, :c, 'u', 'NONE', 'final', 'no', 'expired', '1 h'),
       pg_temp.add(-973, :c, 'u', 'NONE', 'final', 'NONE', 'timeout', '1 h'),
       pg_temp.add(-972, :c, 'u', 'NONE', 'final', 'no', 'explicit_failure', '1 h'),
       pg_temp.add(-971, :c, 't', 'held', 'initial', 'NONE', 'NONE', '0');
RESET session_replication_role;
INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason, error, job)
VALUES (-977, now(), :c, 't', 'NONE', 'transient_error', 'no', '{}'),
       (-972, now(), :c, 'u', 'NONE', 'explicit_failure', 'no', '{}');
BEGIN; SELECT hipq.retry_jobs('bulk.c', 't', max_jobs => 1),
              hipq.retry_jobs('bulk.c', 't', max_jobs => 1),
              hipq.retry_jobs('bulk.c', 't', max_jobs => 1); ROLLBACK;
BEGIN; SELECT hipq.retry_jobs('bulk.c', failed_after => now() - interval '150 min',
    failed_before => now() - interval '90 min'); ROLLBACK;
BEGIN; SELECT hipq.retry_jobs('bulk.c', max_retries => 9);
SELECT DISTINCT max_retries
FROM hipq.jobs_detail WHERE retry_of IS NOT NULL AND queue = 'bulk.c'; ROLLBACK;
SELECT hipq.retry_jobs('bulk.c', reason => 'mended'), hipq.retry_jobs('bulk.c');
SELECT retry_of, original_job_id, job_type, job_key, state, retry_reason, manual_reason,
       retry_count, max_retries, job_data
FROM hipq.jobs_detail WHERE retry_of IS NOT NULL AND queue = 'bulk.c' ORDER BY retry_of;
BEGIN; SELECT * FROM hipq.move_jobs('bulk.c', 'bulk.b', 't');
SELECT retry_reason, manual_reason
FROM hipq.jobs_detail WHERE queue = 'bulk.b' AND retry_of = -977; ROLLBACK;
SELECT job_id, redriven_time IS NOT NULL
FROM hipq.dead_letters_detail WHERE queue = 'bulk.c' ORDER BY job_id;
-- a key that is free again
SELECT hipq.cancel_jobs('bulk.c', job_key => 'k'), hipq.retry_jobs('bulk.c'),
       hipq.cancel_jobs('bulk.c', job_key => 'held'), hipq.retry_jobs('bulk.c'),
       hipq.retry_jobs('bulk.c');
SELECT pg_temp.try($$SELECT hipq.retry_jobs('bulk.c', max_jobs => 0)$$);
SELECT pg_temp.try($$SELECT hipq.retry_jobs('bulk.c', max_retries => 1000001)$$);
SELECT pg_temp.try($$SELECT hipq.retry_jobs(NULL)$$);
SELECT pg_temp.try($$SELECT hipq.retry_jobs('bulk.nowhere')$$);

-- ---- rights
SET ROLE regress_hipq_many_operator;
SELECT hipq.cancel_jobs('bulk.a'), hipq.retry_jobs('bulk.a');
SELECT pg_temp.try($$SELECT hipq.cancel_jobs('bulk.c')$$);
SELECT pg_temp.try($$SELECT hipq.retry_jobs('bulk.c')$$);
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.a', 'bulk.c', 't')$$);
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.c', 'bulk.a', 't')$$);
SET ROLE regress_hipq_many_reader;
SELECT pg_temp.try($$SELECT hipq.cancel_jobs('bulk.a')$$);
SELECT pg_temp.try($$SELECT hipq.retry_jobs('bulk.a')$$);
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.a', 'bulk.c', 't')$$);
SELECT pg_temp.try($$SELECT hipq.move_jobs('bulk.c', 'bulk.a', 't')$$);
SET ROLE regress_hipq_many_owner;
SELECT hipq.cancel_jobs('bulk.c', 'u');
RESET ROLE;

-- 'control' moves no job to a queue where other roles read it, and none to a queue where other
-- roles run it
SELECT hipq.create_queue('bulk.own', owner => 'regress_hipq_many_operator') > 0;
SELECT hipq.register_job_type('bulk.own', 't');
SELECT hipq.enqueue('t', '{"card": 1}', queue => 'bulk.a', job_key => 'carried') AS carried \gset
INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason, error, job)
SELECT -970 - queue.queue_id, now(), queue.queue_id, 't', 'NONE', 'timeout', 'no',
       to_jsonb(job) || '{"job_key": "NONE"}'
FROM hipq.job, hipq.queue WHERE job.id = :carried AND queue.name IN ('a', 'own');
SET ROLE regress_hipq_many_operator;
\set out 'SELECT pg_temp.try($$SELECT moved FROM hipq.move_jobs(\'bulk.a\', \'bulk.own\', \'t\')$$);'
\set back 'SELECT pg_temp.try($$SELECT moved FROM hipq.move_jobs(\'bulk.own\', \'bulk.a\', \'t\')$$);'
\set redrive 'SELECT pg_temp.try($$SELECT redriven FROM hipq.redrive_jobs(\'bulk.a\', to_queue => \'bulk.own\')$$);'
\set return 'SELECT pg_temp.try($$SELECT redriven FROM hipq.redrive_jobs(\'bulk.own\', to_queue => \'bulk.a\')$$);'
:out :back :redrive :return
RESET ROLE;
SELECT hipq.grant_queue('bulk.a', 'regress_hipq_many_operator', 'enqueue');
SET ROLE regress_hipq_many_operator;
:out :back :redrive :return
RESET ROLE;
SELECT hipq.revoke_queue('bulk.a', 'regress_hipq_many_operator', 'enqueue'),
       hipq.grant_queue('bulk.a', 'regress_hipq_many_operator', 'read');
SET ROLE regress_hipq_many_operator;
:out :back :redrive :return
RESET ROLE;
SELECT queue, job_data FROM hipq.jobs_detail WHERE id = :carried;
SELECT hipq.drop_queue('bulk.own', force => true);

SELECT hipq.drop_queue('bulk.a', force => true), hipq.drop_queue('bulk.b', force => true),
       hipq.drop_queue('bulk.c', force => true);
DROP OWNED BY regress_hipq_many_owner, regress_hipq_many_operator, regress_hipq_many_reader;
DROP ROLE regress_hipq_many_owner, regress_hipq_many_operator, regress_hipq_many_reader;
