-- redrive, dismiss_dead_letters, purge_dead_letters: which dead letters they take, what stays, and
-- what they refuse.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all
CREATE FUNCTION pg_temp.add(id bigint, queue integer, job_type text, job_key text, reason text,
    ago interval, more jsonb DEFAULT '{}')
RETURNS bigint LANGUAGE sql AS $$
    INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key,
        reason, error, job)
    VALUES (id, now() - ago, queue, job_type, job_key, reason, 'no',
            jsonb_build_object('id', id, 'queue_id', queue, 'job_type', job_type,
                               'job_key', job_key, 'job_data', jsonb_build_object('n', id),
                               'timeout', 17, 'max_retries', 2, 'priority', 3,
                               'throttle_factor', 0.5, 'throttle_key', 'tk',
                               'time_windows', 'NONE', 'shard_key', 'NONE', 'attempt', 3,
                               'retry_count', 2, 'state', 'final', 'error', 'no') || more)
    RETURNING job_id
$$;
CREATE FUNCTION pg_temp.letters() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('%s %s %s %s %s attempts=%s%s', queue, job_id, job_type, reason, state, attempts,
        CASE WHEN redriven_as IS NOT NULL THEN ' has a new job' END)
    FROM hipq.dead_letters_detail WHERE queue LIKE 'dead.%' ORDER BY job_id
$$;
CREATE FUNCTION pg_temp.jobs() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('%s %s %s of=%s first=%s %s', queue, job_type, job_key, retry_of,
        original_job_id, outcome)
    FROM hipq.jobs_detail WHERE queue LIKE 'dead.%' ORDER BY retry_of, id
$$;

CREATE ROLE regress_hipq_dead_owner LOGIN;
CREATE ROLE regress_hipq_dead_operator;
CREATE ROLE regress_hipq_dead_reader;
CREATE ROLE regress_hipq_dead_stranger;
SELECT hipq.create_queue('dead.a', owner => 'regress_hipq_dead_owner') AS a,
       hipq.create_queue('dead.b', owner => 'regress_hipq_dead_owner') AS b \gset
SELECT hipq.register_job_type('dead.a', 't'), hipq.register_job_type('dead.a', 'u'),
       hipq.register_job_type('dead.b', 't');
SELECT hipq.grant_queue('dead.a', 'regress_hipq_dead_operator', 'control'),
       hipq.grant_queue('dead.a', 'regress_hipq_dead_operator', 'read'),
       hipq.grant_queue('dead.a', 'regress_hipq_dead_reader', 'read'),
       hipq.grant_queue('dead.b', 'regress_hipq_dead_reader', 'read');
SELECT hipq.grant_queue('dead.b', 'regress_hipq_dead_stranger', 'control');
SELECT pg_temp.add(-999, :a, 't', 'NONE', 'timeout', '9 h'),
       pg_temp.add(-998, :a, 't', 'k', 'timeout', '8 h', '{"original_job_id": -1}'),
       pg_temp.add(-997, :a, 't', 'k', 'explicit_failure', '7 h'),
       pg_temp.add(-996, :a, 'u', 'NONE', 'explicit_failure', '6 h'),
       pg_temp.add(-995, :a, 't', 'held', 'timeout', '5 h'),
       pg_temp.add(-994, :a, 't', 'NONE', 'queue_timeout', '4 h'),
       pg_temp.add(-993, :b, 't', 'NONE', 'timeout', '3 h');
SELECT hipq.enqueue('t', queue => 'dead.a', job_key => 'held',
    scheduled_run_time => now() + interval '1 day') > 0;
SELECT pg_temp.letters();

-- ---- one job
SELECT hipq.redrive(-998) AS new \gset
SELECT job_type, job_key, job_data, retry_reason, manual_reason, retry_of, original_job_id, state,
       attempt, retry_count, max_retries, timeout, priority, throttle_factor, throttle_key,
       scheduled_run_time <= now(), expires_time
FROM hipq.jobs_detail WHERE id = :new;
SELECT redriven_as = :new FROM hipq.dead_letters_detail WHERE job_id = -998;
SELECT pg_temp.try('SELECT hipq.redrive(-998)');
SELECT pg_temp.try('SELECT hipq.redrive(-997)');
SELECT pg_temp.try('SELECT hipq.redrive(-995)');
SELECT pg_temp.try('SELECT hipq.redrive(-1)');
SELECT pg_temp.try('SELECT hipq.redrive(NULL::bigint)');
SELECT pg_temp.try($$SELECT hipq.redrive(-996, to_queue => 'dead.b')$$);
SELECT pg_temp.try($$SELECT hipq.redrive(-996, to_queue => 'dead.nowhere')$$);
SELECT pg_temp.letters();
SELECT hipq.redrive(-999, to_queue => 'dead.b') AS new \gset
SELECT queue, retry_of FROM hipq.jobs_detail WHERE id = :new;
SELECT hipq.dismiss_dead_letter(-996);
SELECT pg_temp.try('SELECT hipq.dismiss_dead_letter(-996)');
SELECT pg_temp.try('SELECT hipq.dismiss_dead_letter(-998)');
SELECT pg_temp.try('SELECT hipq.dismiss_dead_letter(-1)');
SELECT pg_temp.try('SELECT hipq.handle_again(-994)');
SELECT pg_temp.try('SELECT hipq.handle_again(-1)');
-- a dead-letter handler that waits until the queue is resumed
BEGIN;
CREATE FUNCTION public.regress_dead_letter_handler(hipq.job) RETURNS void LANGUAGE sql AS '';
SELECT hipq.pause('dead.a'),
       hipq.alter_queue('dead.a', dead_letter_handler => 'regress_dead_letter_handler');
UPDATE hipq.dead_letter SET awaits_handler = false, handler_error = 'no' WHERE job_id = -994;
SELECT hipq.handle_again(-994);
SELECT awaits_handler, handler_error FROM hipq.dead_letter WHERE job_id = -994;
SELECT pg_temp.try('SELECT hipq.handle_again(-996)');
SELECT hipq.handle_jobs_again('dead.a', 'none'), hipq.handle_jobs_again('dead.a', reason => 'none');
SELECT pg_temp.try($$SELECT hipq.handle_jobs_again('dead.a', state => 'dismissed')$$);
ROLLBACK;
SELECT hipq.purge_dead_letter(-994);
SELECT pg_temp.try('SELECT hipq.purge_dead_letter(-994)');
SELECT pg_temp.letters();
SELECT pg_temp.jobs();
SELECT hipq.redrive(-996) > 0 AS "what was dismissed may be redriven";

-- ---- many at once
SELECT hipq.cancel_jobs('dead.a', job_key => 'k'), hipq.purge_dead_letters('dead.a'),
       hipq.purge_dead_letters('dead.a');
SELECT pg_temp.add(-989, :a, 't', 'NONE', 'timeout', '9 h'),
       pg_temp.add(-988, :a, 't', 'k', 'timeout', '8 h'),
       pg_temp.add(-987, :a, 't', 'k', 'timeout', '7 h'),
       pg_temp.add(-986, :a, 't', 'held', 'timeout', '6 h'),
       pg_temp.add(-985, :a, 'u', 'NONE', 'explicit_failure', '5 h'),
       pg_temp.add(-984, :a, 't', 'NONE', 'explicit_failure', '4 h'),
       pg_temp.add(-983, :a, 't', 'NONE', 'timeout', '3 h'),
       pg_temp.add(-982, :a, 't', 'NONE', 'timeout', '2 h');
UPDATE hipq.dead_letter SET handled_time = now() WHERE job_id = -983;
UPDATE hipq.dead_letter SET dismissed_time = now() WHERE job_id = -982;
BEGIN; SELECT * FROM hipq.redrive_jobs('dead.a', 't', max_jobs => 1);
SELECT * FROM hipq.redrive_jobs('dead.a', 't', max_jobs => 1);
SELECT pg_temp.letters(); ROLLBACK;
BEGIN; SELECT * FROM hipq.redrive_jobs('dead.a', before => now() - interval '270 min',
    reason => 'timeout'); ROLLBACK;
BEGIN; SELECT * FROM hipq.redrive_jobs('dead.a', state => 'handled');
SELECT * FROM hipq.redrive_jobs('dead.a', state => 'dismissed');
SELECT pg_temp.letters(); ROLLBACK;
BEGIN; SELECT * FROM hipq.redrive_jobs('dead.a', 't', to_queue => 'dead.b');
SELECT pg_temp.jobs(); ROLLBACK;
-- the other queue does not know type u: nothing happens
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a', to_queue => 'dead.b')$$);
SELECT pg_temp.letters();
-- at a rate: a job whose key is taken leaves its time unused
SELECT * FROM hipq.redrive_jobs('dead.a', rate => 0.5);
SELECT retry_of, job_key, scheduled_run_time - min(scheduled_run_time) OVER () FROM hipq.jobs_detail
WHERE queue = 'dead.a' AND retry_of BETWEEN -989 AND -980 ORDER BY scheduled_run_time;
SELECT * FROM hipq.redrive_jobs('dead.a', rate => 0.5);
SELECT pg_temp.letters();
SELECT hipq.dismiss_dead_letters('dead.a', before => now() - interval '450 min'),
       hipq.dismiss_dead_letters('dead.a', job_type => 'u'),
       hipq.dismiss_dead_letters('dead.a', max_jobs => 1), hipq.dismiss_dead_letters('dead.a'),
       hipq.dismiss_dead_letters('dead.a');
SELECT hipq.purge_dead_letters('dead.a', state => 'waiting'),
       hipq.purge_dead_letters('dead.a', state => 'handled'),
       hipq.purge_dead_letters('dead.a', reason => 'explicit_failure', job_type => 'u'),
       hipq.purge_dead_letters('dead.a', max_jobs => 2);
SELECT pg_temp.letters();

-- ---- retry() and redrive() respect each other
SELECT hipq.cancel_jobs('dead.a') > 0;
SET session_replication_role = replica;
INSERT INTO hipq.job (id, queue_id, job_type, state, error, retry_reason, attempt, update_time,
    created_time, timeout, max_retries, priority, throttle_factor, time_windows)
VALUES (-970, :a, 't', 'final', 'no', 'timeout', 1, now(), now(), 300, 0, 0, 1, 'NONE'),
       (-969, :a, 't', 'final', 'no', 'timeout', 1, now(), now(), 300, 0, 0, 1, 'NONE');
RESET session_replication_role;
SELECT pg_temp.add(-970, :a, 't', 'NONE', 'timeout', '1 h'),
       pg_temp.add(-969, :a, 't', 'NONE', 'timeout', '1 h');
SELECT hipq.retry(-970) AS new \gset
SELECT state, redriven_as = :new FROM hipq.dead_letters_detail WHERE job_id = -970;
SELECT pg_temp.try('SELECT hipq.redrive(-970)');
SELECT hipq.redrive(-969) > 0, hipq.retry_jobs('dead.a');

-- ---- bad input
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.nowhere')$$);
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a', rate => 0)$$);
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a', rate => -1)$$);
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a', rate => 'NaN')$$);
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a', state => 'redriven')$$);
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a', state => 'final')$$);
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a', state => NULL)$$);
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a', max_jobs => 0)$$);
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a', to_queue => 'dead.nowhere')$$);
SELECT pg_temp.try($$SELECT hipq.redrive_jobs(NULL::text)$$);
SELECT pg_temp.try($$SELECT hipq.handle_jobs_again('dead.nowhere')$$);
SELECT pg_temp.try($$SELECT hipq.handle_jobs_again('dead.a')$$);
SELECT pg_temp.try($$SELECT hipq.dismiss_dead_letters('dead.nowhere')$$);
SELECT pg_temp.try($$SELECT hipq.dismiss_dead_letters('dead.a', max_jobs => -1)$$);
SELECT pg_temp.try($$SELECT hipq.purge_dead_letters('dead.nowhere')$$);
SELECT pg_temp.try($$SELECT hipq.purge_dead_letters('dead.a', state => 'gone')$$);

-- ---- rights
SELECT hipq.purge_dead_letters('dead.a') > 0, pg_temp.add(-959, :a, 't', 'NONE', 'timeout', '1 h'),
       pg_temp.add(-958, :a, 't', 'NONE', 'timeout', '1 h'),
       pg_temp.add(-957, :a, 't', 'NONE', 'queue_timeout', '1 min');
SET ROLE regress_hipq_dead_stranger;
SELECT pg_temp.try('SELECT hipq.redrive(-959)');
SELECT pg_temp.try('SELECT hipq.dismiss_dead_letter(-959)');
SELECT pg_temp.try('SELECT hipq.handle_again(-959)');
SELECT pg_temp.try('SELECT hipq.purge_dead_letter(-959)');
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a')$$);
SET ROLE regress_hipq_dead_reader;
SELECT pg_temp.letters();
SELECT pg_temp.try('SELECT hipq.redrive(-959)');
SELECT pg_temp.try($$SELECT hipq.dismiss_dead_letters('dead.a')$$);
SELECT pg_temp.try($$SELECT hipq.handle_jobs_again('dead.a')$$);
SELECT pg_temp.try($$SELECT hipq.purge_dead_letters('dead.a')$$);
SET ROLE regress_hipq_dead_operator;
SELECT pg_temp.try($$SELECT hipq.redrive_jobs('dead.a', to_queue => 'dead.b')$$);
SELECT pg_temp.try($$SELECT hipq.redrive(-959, to_queue => 'dead.b')$$);
SELECT hipq.redrive(-959) > 0;
SELECT hipq.dismiss_dead_letters('dead.a', reason => 'timeout');
SELECT queue, count(*), sum(dead_letters)
FROM hipq.dead_letter_rates WHERE queue LIKE 'dead.%' GROUP BY 1;
SELECT queue, kept, depth, oldest_waiting_time < now(), per_minute, failed_by_ttl, handler_failures,
       avg_latency > '59 min', p95_latency > '59 min'
FROM hipq.dead_letter_stats_detail WHERE queue LIKE 'dead.%';
SELECT queue, job_type, reason, dead_letters, depth
FROM hipq.dead_letter_reasons WHERE queue LIKE 'dead.%' ORDER BY 1, 2, 3;
SET ROLE regress_hipq_dead_owner;
SELECT queue, kept, depth, failed_by_ttl
FROM hipq.dead_letter_stats_detail WHERE queue LIKE 'dead.%' ORDER BY 1;
RESET ROLE;

-- ---- options of a queue
CREATE SCHEMA regress_dead;
CREATE FUNCTION regress_dead.good(job hipq.job) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION regress_dead.number(job integer) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION regress_dead.many(jobs jsonb[]) RETURNS void LANGUAGE sql AS '';
CREATE PROCEDURE regress_dead.procedure(data jsonb) LANGUAGE sql AS '';
SELECT queue, dead_letter_max, dead_letter_handler FROM hipq.queues_detail WHERE queue = 'dead.a';
SELECT pg_temp.try(
    $$SELECT hipq.alter_queue('dead.a', dead_letter_handler => 'regress_dead.good')$$);
GRANT USAGE ON SCHEMA regress_dead TO regress_hipq_dead_owner;
SELECT hipq.alter_queue('dead.a', dead_letter_handler => 'regress_dead.good', dead_letter_max => 7);
SELECT hipq.create_queue('dead.c', owner => 'regress_hipq_dead_owner',
    dead_letter_handler => 'regress_dead.good', dead_letter_max => 8) > 0;
SELECT queue, dead_letter_max, dead_letter_handler
FROM hipq.queues_detail WHERE queue IN ('dead.a', 'dead.c') ORDER BY 1;
SELECT pg_temp.try(
    $$SELECT hipq.alter_queue('dead.a', dead_letter_handler => 'regress_dead.nowhere')$$);
SELECT pg_temp.try(
    $$SELECT hipq.alter_queue('dead.a', dead_letter_handler => 'regress_dead.number')$$);
SELECT pg_temp.try(
    $$SELECT hipq.alter_queue('dead.a', dead_letter_handler => 'regress_dead.many')$$);
SELECT pg_temp.try(
    $$SELECT hipq.alter_queue('dead.a', dead_letter_handler => 'regress_dead.procedure')$$);
SELECT pg_temp.try($$SELECT hipq.alter_queue('dead.a', dead_letter_handler => '')$$);
SELECT pg_temp.try(
    $$SELECT hipq.alter_queue('dead.a', dead_letter_handler => 'regress_dead.good(text)')$$);
SELECT pg_temp.try($$SELECT hipq.alter_queue('dead.a', dead_letter_max => 0)$$);
SELECT pg_temp.try(
    $$SELECT hipq.alter_queue('dead.a', dead_letter_max => 1, reset => '{dead_letter_max}')$$);
SELECT pg_temp.try($$SELECT hipq.alter_queue('dead.a', owner => current_user::text::regrole)$$);
SELECT hipq.alter_queue('dead.a', dead_letter_handler => 'NONE', reset => '{dead_letter_max}');
SELECT queue, dead_letter_max, dead_letter_handler FROM hipq.queues_detail WHERE queue = 'dead.a';

DROP SCHEMA regress_dead CASCADE;
SELECT hipq.drop_queue('dead.a', force => true), hipq.drop_queue('dead.b', force => true),
       hipq.drop_queue('dead.c');
DROP OWNED BY regress_hipq_dead_owner, regress_hipq_dead_operator, regress_hipq_dead_reader,
    regress_hipq_dead_stranger;
DROP ROLE regress_hipq_dead_owner, regress_hipq_dead_operator, regress_hipq_dead_reader,
    regress_hipq_dead_stranger;
