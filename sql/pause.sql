-- pause, resume: what they accept, what views show, and which rights they need.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all
CREATE FUNCTION pg_temp.condition(job bigint) RETURNS text LANGUAGE sql AS $$
    SELECT passed || ' '
        || regexp_replace(explanation, 'by \S+ since \S+ [0-9:.]+\+00', 'by <me> since <time>')
    FROM hipq.why(job) WHERE condition = 'pause'
$$;

CREATE ROLE regress_hipq_pause_owner LOGIN;
CREATE ROLE regress_hipq_pause_operator;
CREATE ROLE regress_hipq_pause_reader;
CREATE ROLE regress_hipq_pause_stranger;
SELECT hipq.create_queue('halt.a', owner => 'regress_hipq_pause_owner') > 0,
       hipq.create_queue('halt.b', owner => 'regress_hipq_pause_owner') > 0,
       hipq.create_queue('walk.a', owner => 'regress_hipq_pause_owner') > 0,
       hipq.create_instance('empty') > 0;
SELECT hipq.register_job_type('halt.a', 't'), hipq.register_job_type('halt.a', 'u'),
       hipq.register_job_type('halt.b', 't');
SELECT hipq.grant_queue('halt.a', 'regress_hipq_pause_operator', 'control'),
       hipq.grant_queue('walk.a', 'regress_hipq_pause_operator', 'control');
SELECT hipq.grant_queue('halt.a', 'regress_hipq_pause_reader', 'read'),
       hipq.grant_queue('walk.a', 'regress_hipq_pause_stranger', 'control');
SELECT hipq.enqueue('t', queue => 'halt.a', throttle_key => 'k',
    scheduled_run_time => '2100-01-01') AS job \gset

-- ---- each kind of pause, and what it stops
SELECT pg_temp.condition(:job);
SELECT hipq.pause('halt.a', 't', 'k', 'one tenant'), hipq.pause('halt.a', 't', 'k', 'again');
SELECT pg_temp.condition(:job);
SELECT hipq.pause('halt.a', 't');
SELECT pg_temp.condition(:job);
SELECT hipq.pause('hipq.halt_a', reason => '');
SELECT pg_temp.condition(:job);
SELECT hipq.pause(instance => 'halt', reason => NULL);
SELECT pg_temp.condition(:job);
SELECT instance, queue, job_type, throttle_key, paused_by = current_user AS by_me,
       paused_time <= hipq.now() AS in_the_past, reason
FROM hipq.pauses_detail ORDER BY queue, job_type, throttle_key;
SELECT queue, is_paused
FROM hipq.queues WHERE queue LIKE 'halt.%' OR queue LIKE 'walk.%' ORDER BY queue;
SELECT hipq.resume(instance => 'halt');
SELECT queue, is_paused
FROM hipq.queues WHERE queue LIKE 'halt.%' OR queue LIKE 'walk.%' ORDER BY queue;
SELECT queue, job_type, is_paused
FROM hipq.job_types WHERE queue LIKE 'halt.%' ORDER BY queue, job_type;
SELECT hipq.resume('halt.a');
SELECT queue, job_type, is_paused
FROM hipq.job_types WHERE queue LIKE 'halt.%' ORDER BY queue, job_type;
SELECT hipq.resume('halt.a', 't');
SELECT queue, job_type, is_paused
FROM hipq.job_types WHERE queue LIKE 'halt.%' ORDER BY queue, job_type;
SELECT pg_temp.condition(:job);
SELECT hipq.resume('halt.a', 't', 'other'), hipq.resume('halt.a', 't', 'k'),
       hipq.resume('halt.a', 't', 'k'), hipq.resume(instance => 'halt');
SELECT pg_temp.condition(:job);
SELECT count(*) FROM hipq.pauses;
-- pause rolls back with its transaction
BEGIN;
SELECT hipq.pause('halt.a');
SELECT pg_temp.condition(:job);
ROLLBACK;
SELECT pg_temp.condition(:job);
-- enqueue, reschedule and cancel still work
SELECT hipq.pause('halt.a'), hipq.enqueue('u', queue => 'halt.a') > 0,
       hipq.reschedule(:job, '2101-01-01'), hipq.cancel(:job);
SELECT hipq.resume('halt.a');
-- a pause is dropped with its object
SELECT hipq.pause('halt.b', 't', 'k'), hipq.pause('halt.b', 't'), hipq.drop_job_type('halt.b', 't'),
       hipq.register_job_type('halt.b', 't');
SELECT job_type, is_paused FROM hipq.job_types WHERE queue = 'halt.b';
SELECT hipq.pause(instance => 'empty'), hipq.drop_instance('empty');
SELECT count(*) FROM hipq.pause;

-- ---- bad input: nothing changes
SELECT pg_temp.try('SELECT hipq.pause()');
SELECT pg_temp.try('SELECT hipq.resume()');
SELECT pg_temp.try($$SELECT hipq.pause('halt.a', instance => 'halt')$$);
SELECT pg_temp.try($$SELECT hipq.pause(job_type => 't', instance => 'halt')$$);
SELECT pg_temp.try($$SELECT hipq.pause(throttle_key => 'k', instance => 'halt')$$);
SELECT pg_temp.try($$SELECT hipq.pause('halt.a', throttle_key => 'k')$$);
SELECT pg_temp.try($$SELECT hipq.pause('halt.a', 't', 'NONE')$$);
SELECT pg_temp.try($$SELECT hipq.resume('halt.a', 't', '')$$);
SELECT pg_temp.try($$SELECT hipq.pause('halt.a', 't', repeat('x', 1001))$$);
SELECT pg_temp.try($$SELECT hipq.pause('halt.nowhere')$$);
SELECT pg_temp.try($$SELECT hipq.pause('halt')$$);
SELECT pg_temp.try($$SELECT hipq.pause('halt.a', 'unheard_of')$$);
SELECT pg_temp.try($$SELECT hipq.resume('halt.a', 'unheard_of')$$);
SELECT pg_temp.try($$SELECT hipq.pause(instance => 'nowhere')$$);
SELECT pg_temp.try($$SELECT hipq.resume(instance => 'nowhere')$$);
SELECT count(*) FROM hipq.pause;

-- ---- rights
SET ROLE regress_hipq_pause_operator;
SELECT hipq.pause('halt.a'), hipq.resume('halt.a'), hipq.pause(instance => 'walk'),
       hipq.resume(instance => 'walk');
SELECT pg_temp.try($$SELECT hipq.pause(instance => 'halt')$$);
SELECT pg_temp.try($$SELECT hipq.pause('halt.b')$$);
SET ROLE regress_hipq_pause_owner;
SELECT hipq.pause(instance => 'halt'), hipq.pause('halt.b');
SET ROLE regress_hipq_pause_stranger;
SELECT pg_temp.try($$SELECT hipq.resume('halt.a')$$);
SELECT pg_temp.try($$SELECT hipq.resume(instance => 'halt')$$);
SELECT count(*) FROM hipq.pauses;
SET ROLE regress_hipq_pause_reader;
SELECT instance, queue FROM hipq.pauses;
SELECT pg_temp.try($$SELECT hipq.resume('halt.a')$$);
SELECT pg_temp.try($$SELECT hipq.resume('halt.b')$$);
SELECT pg_temp.try($$SELECT hipq.resume(instance => 'halt')$$);
RESET ROLE;
SELECT count(*) FROM hipq.pause;

SELECT hipq.drop_queue('halt.a', force => true), hipq.drop_queue('halt.b', force => true),
       hipq.drop_queue('walk.a', force => true);
SELECT hipq.drop_instance('halt'), hipq.drop_instance('walk');
SELECT count(*) FROM hipq.pause;
DROP OWNED BY regress_hipq_pause_owner, regress_hipq_pause_operator, regress_hipq_pause_reader,
    regress_hipq_pause_stranger;
DROP ROLE regress_hipq_pause_owner, regress_hipq_pause_operator, regress_hipq_pause_reader,
    regress_hipq_pause_stranger;
