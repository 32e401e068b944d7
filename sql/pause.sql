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

-- ---- the end of a pause
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SELECT hipq.pause('halt.a', 't', 'k', 'one tenant', until => '2100-01-01 12:00+02');
SELECT pg_temp.condition(:job);
SELECT reason, paused_until FROM hipq.pauses_detail;
-- the last call says when it ends, and who said so, and why if it says
SET ROLE regress_hipq_pause_operator;
SELECT hipq.pause('halt.a', 't', 'k', until => '2100-02-01 12:00:00.5'::timestamp);
RESET ROLE;
SELECT paused_by, reason, paused_until FROM hipq.pauses_detail;
SELECT hipq.pause('halt.a', 't', 'k', 'two tenants', until => '2100-03-01'::date);
SELECT pg_temp.condition(:job);
SELECT paused_by = current_user AS by_me, reason, paused_until FROM hipq.pauses_detail;
SELECT hipq.pause('halt.a', 't', 'k', 'three tenants', until => '2100-03-01 00:00'::timestamptz);
SELECT reason, paused_until FROM hipq.pauses_detail;
SELECT hipq.pause('halt.a', 't', 'k');
SELECT pg_temp.condition(:job);
SELECT reason, paused_until FROM hipq.pauses;
-- durations count from the call, also those that a function has as constants
CREATE FUNCTION pg_temp.length_of(until hipq.time_or_duration) RETURNS interval LANGUAGE sql AS $$
    SELECT hipq.pause('halt.a', 't', 'k', until => until);
    SELECT date_trunc('minute', justify_hours(paused_until - hipq.now() + interval '20 s'))
    FROM hipq.pauses_detail;
$$;
SELECT pg_temp.length_of('2 hours'), pg_temp.length_of('PT2H'), pg_temp.length_of('1.5 h'),
       pg_temp.length_of('36 hours'), pg_temp.length_of(interval '1 month'),
       pg_temp.length_of('90 s'::text), pg_temp.length_of('90 s'::varchar);
-- a queue and its types show when the last of their pauses ends
SELECT hipq.pause('halt.a', 't', 'k', until => '2100-04-01'),
       hipq.pause('halt.a', 't', until => '2100-03-01'),
       hipq.pause('halt.a', until => '2100-01-01'),
       hipq.pause(instance => 'halt', until => '2100-02-01');
SELECT queue, is_paused, paused_until FROM hipq.queues_detail
WHERE queue LIKE 'halt.%' ORDER BY queue;
SELECT queue, job_type, is_paused, paused_until FROM hipq.job_types_detail
WHERE queue LIKE 'halt.%' ORDER BY queue, job_type;
SELECT instance, queue, job_type, throttle_key, paused_until FROM hipq.pauses
ORDER BY paused_until;
SELECT pg_temp.condition(:job);
SELECT hipq.pause('halt.a');
SELECT queue, is_paused, paused_until FROM hipq.queues_detail
WHERE queue LIKE 'halt.%' ORDER BY queue;
-- a described pause has its end; one that is over is left out
SELECT hipq.describe() -> 'pauses' AS pauses \gset
SELECT pause FROM jsonb_array_elements(:'pauses') AS pause ORDER BY pause;
SELECT * FROM hipq.apply(jsonb_build_object('pauses', :'pauses'::jsonb));
SELECT object, action, property, before, after FROM hipq.apply('{"pauses": [
    {"queue": "halt.a", "until": "2100-05-01T12:00:00Z"},
    {"instance": "halt", "until": "2020-01-01"},
    {"queue": "halt.a", "job_type": "u", "until": "2020-01-01"},
    {"queue": "halt.a", "job_type": "t", "until": "2100-03-01"}]}', drop_others => true);
SELECT pg_temp.try($$SELECT hipq.apply('{"pauses": [{"queue": "halt.a", "until": "18:00"}]}')$$);
SELECT pg_temp.try($$SELECT hipq.apply('{"pauses": [{"queue": "halt.a", "until": 300}]}')$$);
SELECT count(*) FROM hipq.apply('{"pauses": []}', drop_others => true);
-- bad ends
SELECT regexp_replace(
    pg_temp.try(format('SELECT hipq.pause(''halt.a'', until => %L)', until)),
    '\d+-\d+-\d+ \d+:\d+:\d+\+00', '<time>', 'g')
FROM unnest('{yesterday,-2 hours,infinity,9999-01-01,9000 years,18:00,300,24 dec,soon,""}'::text[])
     AS until;
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
