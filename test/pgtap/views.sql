-- What the views show of given rows, and to which roles. Rows in all states, as a restore loads
-- them: under session_replication_role = replica.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(30);

CREATE ROLE contract_owner LOGIN;
CREATE ROLE contract_reader;
CREATE ROLE contract_monitor IN ROLE pg_monitor;
SELECT hipq.create_queue('contract.mail', owner => 'contract_owner',
    retention => '8 days') AS mail \gset
SELECT hipq.create_queue('contract.secret', owner => 'contract_owner') AS secret \gset
SELECT hipq.grant_queue('contract.mail', 'contract_reader', 'read');
SELECT hipq.register_job_type('contract.mail', 'plain');
SELECT hipq.register_job_type('contract.mail', 'own', default_timeout => 7, max_retries => 3,
    retry_base => '2 s', retry_multiplier => 3, retry_max => '1 h', retry_jitter => 0.5,
    default_priority => 4, queue_ttl => 9);

CREATE FUNCTION pg_temp.add_job(id bigint, queue_id integer, state hipq.job_state, error text,
    retry_reason text, factor numeric, due interval, key text)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO hipq.job (id, queue_id, state, error, retry_reason, throttle_factor,
        scheduled_run_time, update_time, created_time, timeout, max_retries, priority, job_type,
        job_key, time_windows, attempt, accepted_time, deadline, job_data)
    VALUES (id, queue_id, state, error, retry_reason, factor, now() + due, now(), now(), 60, 0, 0,
        'plain', key, 'NONE', CASE state WHEN 'initial' THEN 0 ELSE 1 END, now(),
        now() + interval '60 s', '{"to": "someone"}')
$$;
SET LOCAL session_replication_role = replica;
SELECT pg_temp.add_job(1, :mail, 'initial', 'NONE', 'NONE', 1, '-1 hour', 'one'),
       pg_temp.add_job(2, :mail, 'initial', 'NONE', 'NONE', 1, '1 hour', 'NONE'),
       pg_temp.add_job(3, :mail, 'retry', 'no', 'transient_error', 1, '-2 hours', 'NONE'),
       pg_temp.add_job(4, :mail, 'error', 'no', 'timeout', 1, '0', 'NONE'),
       pg_temp.add_job(5, :mail, 'running', 'NONE', 'NONE', 1.5, '0', 'five'),
       pg_temp.add_job(6, :mail, 'running', 'NONE', 'timeout', 2, '0', 'NONE'),
       pg_temp.add_job(7, :mail, 'final', 'NONE', 'NONE', 1, '0', 'NONE'),
       pg_temp.add_job(8, :mail, 'final', 'NONE', 'timeout', 1, '0', 'NONE'),
       pg_temp.add_job(9, :mail, 'final', 'no', 'transient_error', 1, '0', 'NONE'),
       pg_temp.add_job(10, :mail, 'final', 'not needed', 'cancelled', 1, '0', 'NONE'),
       pg_temp.add_job(11, :mail, 'final', 'too late', 'expired', 1, '0', 'NONE'),
       pg_temp.add_job(12, :secret, 'running', 'NONE', 'NONE', 1, '0', 'secret'),
       pg_temp.add_job(13, :secret, 'final', 'no', 'timeout', 1, '0', 'secret');
RESET session_replication_role;
INSERT INTO hipq.attempt (job_id, started_time, ended_time, queue_id, attempt, job_type, job_key,
    reason, error)
VALUES (9, now() - interval '5 s', now() - interval '3 s', :mail, 1, 'plain', 'NONE',
        'transient_error', 'no'),
       (13, now(), now(), :secret, 1, 'plain', 'secret', 'timeout', 'no');
INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason, error, job)
VALUES (9, now(), :mail, 'plain', 'NONE', 'transient_error', 'no', '{}'),
       (13, now(), :secret, 'plain', 'secret', 'timeout', 'no', '{}');

SET LOCAL ROLE contract_reader;

SELECT set_eq('SELECT id, outcome FROM hipq.jobs', $$VALUES
    (1::bigint, 'waiting'), (2, 'waiting'), (3, 'waiting'), (4, 'waiting'), (5, 'running'),
    (6, 'running'),
    (7, 'succeeded'), (8, 'succeeded'), (9, 'failed'), (10, 'cancelled'), (11, 'expired')
$$, 'jobs: outcome');
SELECT set_eq('SELECT queue, running_jobs, initial, running, error, retry, throttle_used,
    oldest_due_time, retention FROM hipq.queues_detail',
    $$VALUES ('contract.mail', 2::bigint, 2::bigint, 2::bigint, 1::bigint, 1::bigint, 0.000,
        now() - interval '2 hours', interval '8 days')$$,
    'queues: jobs by state, throttle use (no executor runs anything), the job due longest');
SELECT set_eq('SELECT queue, waiting_time, waiting_window, waiting_hold, waiting_pause,
    waiting_handler, waiting_throttle, waiting_rate, ready FROM hipq.queues_detail',
    $$VALUES ('contract.mail', 1::bigint, 0::bigint, 0::bigint, 0::bigint, 2::bigint,
        0::bigint, 0::bigint, 0::bigint)$$,
    'queues: waiting jobs by what they wait for');
SELECT set_eq('SELECT id, job_key, attempt, pid, timeout, since = now() FROM hipq.running_detail',
    $$VALUES (5::bigint, 'five', 1, NULL::integer, 60, true), (6, NULL, 1, NULL, 60, true)$$,
    'running: includes jobs that no executor has');
SELECT set_eq('SELECT queue, job_id, duration FROM hipq.attempts_detail',
    $$VALUES ('contract.mail', 9::bigint, interval '2 s')$$, 'attempts of the queue alone');
SELECT set_eq('SELECT queue, job_id FROM hipq.dead_letters',
    $$VALUES ('contract.mail', 9::bigint)$$, 'dead letters of the queue alone');
SELECT set_eq('SELECT job_type, default_timeout, max_retries, retry_base, retry_multiplier,
    retry_max, retry_jitter, default_priority, queue_ttl FROM hipq.job_types_detail', $$VALUES
    ('plain', 300, 0, interval '1 s', 2::double precision, interval '5 min', 0.2::double precision,
        0::smallint, 300),
    ('own', 7, 3, interval '2 s', 3, interval '1 h', 0.5, 4::smallint, 9)
$$, 'job_types: the type''s values, else the settings''');
SELECT set_eq('SELECT kind, count(*) AS leaves, count(from_time) AS from_times,
    count(to_time) AS to_times FROM hipq.sizes_detail GROUP BY kind',
    $$VALUES ('live', 1::bigint, 0::bigint, 0::bigint), ('final', 1, 0, 0)$$,
    'sizes: a row per leaf; leaves by time, which have bounds, come with the first final job');
SELECT is_empty($$SELECT * FROM hipq.sizes_detail WHERE bytes IS NULL OR row_estimate IS NULL
    OR to_time - from_time <> interval '2 days'$$, 'sizes: bytes, rows, length of a leaf');
SELECT is_empty('SELECT * FROM hipq.executors WHERE queue IS NOT NULL',
    'executors: none has a job of the queue');
SELECT is((SELECT db_config FROM hipq.instances_detail WHERE name = 'contract'), '{}',
    'instances: db_config for who may read');
-- A view must not pass rows of other queues to a function that leaks its arguments, however low its
-- cost.
CREATE FUNCTION pg_temp.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$
BEGIN
    IF $1 LIKE '%secret%' THEN RAISE EXCEPTION 'leaked'; END IF;
    RETURN true;
END
$$;
SELECT lives_ok('SELECT * FROM hipq.jobs WHERE pg_temp.leak(job_key)', 'jobs does not leak');
SELECT lives_ok('SELECT * FROM hipq.jobs WHERE pg_temp.leak(queue)',
    'jobs does not leak names of queues');
SELECT lives_ok('SELECT * FROM hipq.queues WHERE pg_temp.leak(queue)', 'queues does not leak');
SELECT lives_ok('SELECT * FROM hipq.job_types WHERE pg_temp.leak(queue)',
    'job_types does not leak');
SELECT lives_ok('SELECT * FROM hipq.running WHERE pg_temp.leak(job_key)', 'running does not leak');
SELECT lives_ok('SELECT * FROM hipq.attempts_detail WHERE pg_temp.leak(job_key)',
    'attempts does not leak');
SELECT lives_ok('SELECT * FROM hipq.attempt_logs WHERE pg_temp.leak(message)',
    'attempt_logs does not leak');
SELECT lives_ok('SELECT * FROM hipq.dead_letters WHERE pg_temp.leak(job_key)',
    'dead_letters does not leak');
SELECT lives_ok('SELECT * FROM hipq.executors WHERE pg_temp.leak(queue)',
    'executors does not leak');
SELECT lives_ok('SELECT * FROM hipq.sizes WHERE pg_temp.leak(table_name)', 'sizes does not leak');

SET LOCAL ROLE contract_monitor;
SELECT set_eq($$SELECT id FROM hipq.running WHERE queue LIKE 'contract.%'$$,
    'VALUES (5::bigint), (6), (12)', 'a monitor sees what runs in every queue');
SELECT set_eq($$SELECT queue, running FROM hipq.queues_detail WHERE queue LIKE 'contract.%'$$,
    $$VALUES ('contract.mail', 2::bigint), ('contract.secret', 1)$$,
    'and how much waits in every queue');
SELECT isnt_empty($$SELECT * FROM hipq.sizes WHERE kind = 'attempt'$$,
    'and the size of the history');
SELECT isnt_empty($$SELECT * FROM hipq.sizes WHERE kind = 'dead_letter'$$,
    'and of the dead letters');
SELECT is((SELECT queues FROM hipq.instances WHERE name = 'contract'),
    '{contract.mail,contract.secret}', 'and which queues there are');

SET LOCAL ROLE contract_owner;
SELECT is((SELECT count(*) FROM hipq.jobs), 13::bigint,
    'the queue owner sees the jobs of both queues');

RESET ROLE;
SELECT is((SELECT job_types FROM hipq.queues_detail WHERE queue = 'contract.mail'), '{own,plain}',
    'queues: their job types');
SELECT set_eq(
    $$SELECT table_name, owner::text FROM hipq.queues_detail WHERE queue = 'contract.mail'$$,
    $$VALUES ('hipq.contract_mail', 'contract_owner')$$, 'queues: table and owner');
SELECT is((SELECT count(*) FROM hipq.jobs JOIN hipq.contract_mail USING (id)), 11::bigint,
    'jobs: the rows of the queue''s table');

SELECT * FROM finish();
ROLLBACK;
