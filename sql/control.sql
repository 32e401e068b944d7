-- Functions of operators for a job: cancel, retry, reschedule, erase, why; and what roles without
-- rights see.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all
-- The job with a key, for statements that try() runs.
CREATE FUNCTION pg_temp.job(wanted text) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS
    $$ SELECT id FROM hipq.job WHERE job_key = wanted AND tableoid::regclass::text LIKE 'hipq.ctl%'
        ORDER BY id LIMIT 1 $$;
CREATE FUNCTION pg_temp.shown(wanted bigint) RETURNS text LANGUAGE sql AS $$
    SELECT format('%s attempt=%s error=%s reason=%s priority=%s at=%s', state, attempt, error,
        retry_reason, priority,
                  CASE WHEN scheduled_run_time > '2099-01-01' THEN scheduled_run_time::date END)
    FROM hipq.job WHERE id = wanted
$$;

CREATE ROLE regress_hipq_control_owner LOGIN;
CREATE ROLE regress_hipq_control_operator;
CREATE ROLE regress_hipq_control_reader;
CREATE ROLE regress_hipq_control_stranger;
SELECT hipq.create_queue('ctl.q', owner => 'regress_hipq_control_owner') > 0;
SELECT hipq.create_queue('ctl.elsewhere', owner => 'regress_hipq_control_owner') > 0;
SELECT hipq.register_job_type('ctl.q', 't', max_retries => 3, retry_base => '2 seconds',
    retry_multiplier => 3, retry_max => '10 seconds', retry_jitter => 0.5);
SELECT hipq.grant_queue('ctl.q', 'regress_hipq_control_operator', 'control');
SELECT hipq.grant_queue('ctl.q', 'regress_hipq_control_reader', 'read');
-- the functions, but no right on this queue
SELECT hipq.grant_queue('ctl.elsewhere', 'regress_hipq_control_stranger', 'control'),
       hipq.grant_queue('ctl.elsewhere', 'regress_hipq_control_stranger', 'read');

-- ---- cancel
SELECT hipq.enqueue('t', '{"n": 1}', job_key => 'a', scheduled_run_time => '2100-01-01',
    priority => 4, timeout => 5, throttle_factor => 6, time_windows => 'sun', max_retries => 7,
    expires_time => '2100-06-01', throttle_key => 'k') AS a \gset
SET ROLE regress_hipq_control_operator;
SELECT hipq.cancel(:a, 'no longer wanted');
SELECT hipq.cancel(:a), hipq.cancel(:a, 'again');
RESET ROLE;
SELECT pg_temp.shown(:a);
SELECT tableoid::regclass::text LIKE 'hipq.ctl_q_final%' AS is_in_final,
       update_time >= created_time, accepted_time, deadline, expires_time, result, job_data
FROM hipq.job WHERE id = :a;
SELECT attempt, job_type, job_key, reason, sqlstate, error, executor_pid IS NULL AS no_executor
FROM hipq.attempts_detail WHERE job_id = :a;
SELECT count(*) FROM hipq.dead_letters WHERE job_id = :a;
SELECT outcome FROM hipq.jobs WHERE id = :a;
SELECT hipq.enqueue('t', job_key => 'b', scheduled_run_time => '2100-01-01') AS b \gset
SELECT hipq.cancel(:b);
SELECT pg_temp.shown(:b);
SELECT hipq.enqueue('t', job_key => 'b', scheduled_run_time => '2100-01-01') AS b \gset
SELECT hipq.cancel(:b, '', queue => 'ctl.q');
SELECT pg_temp.shown(:b);
SELECT pg_temp.try($$SELECT hipq.cancel(-1)$$);
-- An id from the time before the server's disk was put back to an earlier state.
SELECT pg_temp.try(format('SELECT hipq.cancel(%s)', last_value + 1)) FROM hipq.job_id_seq;
SELECT pg_temp.try(format('SELECT hipq.wait_for(%s)', last_value + 1)) FROM hipq.job_id_seq;
SELECT pg_temp.try($$SELECT hipq.cancel(NULL)$$);
SELECT pg_temp.try($$SELECT hipq.cancel(pg_temp.job('a'), queue => 'ctl.elsewhere')$$);
SELECT pg_temp.try($$SELECT hipq.cancel(pg_temp.job('a'), queue => 'ctl.nowhere')$$);
-- cancel rolls back with its transaction
SELECT hipq.enqueue('t', job_key => 'c', scheduled_run_time => '2100-01-01') AS c \gset
BEGIN;
SELECT hipq.cancel(:c);
SAVEPOINT s;
SELECT hipq.enqueue('t', job_key => 'c', scheduled_run_time => '2100-01-01') <> :c;
ROLLBACK;
SELECT pg_temp.shown(:c);

-- ---- retry: a new job
SELECT hipq.retry(:a) AS a2 \gset
SELECT :a2 > :a, pg_temp.shown(:a2);
SELECT original_job_id = :a, retry_of = :a, job_type, job_key, job_data, timeout, max_retries,
       throttle_factor, throttle_key, time_windows, expires_time,
       scheduled_run_time = created_time AS is_due
FROM hipq.job WHERE id = :a2;
SELECT pg_temp.shown(:a);
-- the new job holds the key now
SELECT pg_temp.try(format('SELECT hipq.retry(%s)', :a));
SELECT pg_temp.try(format('SELECT hipq.retry(%s)', :a2));
SELECT hipq.cancel(:a2);
SELECT hipq.retry(:a2, 'fixed', '{"n": 2}') AS a3 \gset
SELECT original_job_id = :a, retry_of = :a2, job_data, retry_reason, manual_reason
FROM hipq.job WHERE id = :a3;
SELECT hipq.cancel(:a3);
-- NULL reason is the default; JSON null is data
SELECT hipq.retry(:a, NULL, 'null'::jsonb, queue => 'ctl.q') AS a4 \gset
SELECT original_job_id = :a, retry_of = :a, job_data, retry_reason, manual_reason
FROM hipq.job WHERE id = :a4;
SELECT hipq.cancel(:a4);
-- with the given number of retries
SELECT hipq.retry(:a, max_retries => 7) AS a5 \gset
SELECT max_retries, job_data FROM hipq.job WHERE id = :a5;
SELECT hipq.cancel(:a5);
SELECT pg_temp.try($$SELECT hipq.retry(pg_temp.job('a'), max_retries => -1)$$);
SELECT pg_temp.try($$SELECT hipq.retry(-1)$$);
SELECT pg_temp.try($$SELECT hipq.retry(NULL)$$);
SELECT pg_temp.try(
    $$SELECT hipq.retry(pg_temp.job('a'), job_data => to_jsonb(repeat('x', 2000000)))$$);
-- without a key, any number of times
SELECT hipq.enqueue('t') AS n \gset
SELECT hipq.cancel(:n);
SELECT hipq.retry(:n) <> hipq.retry(:n);

-- ---- reschedule
SELECT hipq.reschedule(:c, '2100-02-02');
SELECT pg_temp.shown(:c);
SELECT hipq.reschedule(:c, priority => -7);
SELECT pg_temp.shown(:c);
SELECT hipq.reschedule(:c, '2100-03-03', 8, 'ctl.q');
SELECT pg_temp.shown(:c);
SELECT hipq.reschedule(:c);
SELECT pg_temp.shown(:c);
SELECT pg_temp.try($$SELECT hipq.reschedule(pg_temp.job('c'), 'infinity')$$);
SELECT pg_temp.try($$SELECT hipq.reschedule(pg_temp.job('c'), '-infinity')$$);
SELECT pg_temp.try($$SELECT hipq.reschedule(pg_temp.job('c'), priority => 40000)$$);
SELECT pg_temp.try($$SELECT hipq.reschedule(pg_temp.job('a'), now())$$);
SELECT pg_temp.try($$SELECT hipq.reschedule(-1, now())$$);
SELECT pg_temp.try($$SELECT hipq.reschedule(NULL, now())$$);
SELECT pg_temp.shown(:c);

-- ---- why: every condition
SELECT condition, CASE WHEN condition IN ('exists', 'state', 'scheduled time', 'expiry', 'queue',
           'queue owner', 'handler') THEN passed END AS passed,
       CASE WHEN condition NOT IN ('scheduled time', 'executor', 'enabled', 'loaded', 'hold',
           'version') THEN explanation END AS explanation
FROM hipq.why(:c);
SELECT condition, passed, regexp_replace(explanation, ' at \S+ [0-9:.]+\+\d\d', ' at <time>')
FROM hipq.why(:a);
SELECT condition, passed, explanation FROM hipq.why(-1);
SELECT pg_temp.try($$SELECT hipq.why(NULL)$$);
SELECT hipq._is_held();

-- ---- retry_schedule
SELECT * FROM hipq.retry_schedule('t');
SELECT * FROM hipq.retry_schedule('ctl.q', 't');
SELECT pg_temp.try($$SELECT * FROM hipq.retry_schedule('unheard_of')$$);

-- ---- erase
INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason, error, job)
SELECT id, now(), queue_id, job_type, job_key, 'cancelled', 'E', to_jsonb(job)
FROM hipq.job AS job WHERE id = :a;
SELECT count(*) FROM hipq.attempts WHERE job_id = :a;
SET ROLE regress_hipq_control_operator;
SELECT hipq.erase(:a);
SELECT hipq.erase(:a);
RESET ROLE;
SELECT (SELECT count(*) FROM hipq.job WHERE id = :a),
       (SELECT count(*) FROM hipq.attempt WHERE job_id = :a),
       (SELECT count(*) FROM hipq.dead_letter WHERE job_id = :a);
SELECT pg_temp.try($$SELECT hipq.erase(pg_temp.job('c'))$$);
SELECT hipq.erase(-1), hipq.erase(:a2, 'ctl.q');
SELECT pg_temp.try($$SELECT hipq.erase(NULL)$$);
-- the rest of the chain does not change
SELECT original_job_id = :a, retry_of = :a2 FROM hipq.job WHERE id = :a3;

-- ---- Rights: to a role without rights, each job looks as if it did not exist
SELECT hipq.cancel(hipq.enqueue('t', job_key => 'done', scheduled_run_time => '2100-01-01'));
SET ROLE regress_hipq_control_stranger;
SELECT pg_temp.try($$SELECT hipq.cancel(pg_temp.job('c'))$$);
SELECT pg_temp.try($$SELECT hipq.cancel(pg_temp.job('done'))$$);
SELECT pg_temp.try($$SELECT hipq.retry(pg_temp.job('c'))$$);
SELECT pg_temp.try($$SELECT hipq.retry(pg_temp.job('done'))$$);
SELECT pg_temp.try($$SELECT hipq.reschedule(pg_temp.job('c'), now())$$);
SELECT pg_temp.try($$SELECT hipq.reschedule(pg_temp.job('done'), now())$$);
SELECT hipq.erase(pg_temp.job('c')), hipq.erase(pg_temp.job('done')), hipq.erase(-1);
SELECT condition, passed, explanation FROM hipq.why(:c);
SELECT count(*) FROM hipq.attempts;
SELECT count(*) FROM hipq.jobs;
SELECT pg_temp.try($$SELECT * FROM hipq.retry_schedule('ctl.q', 't')$$);
SELECT pg_temp.try($$SELECT hipq.cancel(-1, queue => 'ctl.q')$$);
SELECT pg_temp.try($$SELECT hipq.cancel(-1, queue => 'ctl.nowhere')$$);
SELECT pg_temp.try($$SELECT hipq.release_hold()$$);
-- a role that may read may know that the job exists
SET ROLE regress_hipq_control_reader;
SELECT condition, passed FROM hipq.why(:c) WHERE condition IN ('exists', 'state', 'scheduled time');
SELECT pg_temp.try($$SELECT hipq.cancel(pg_temp.job('c'))$$);
SELECT pg_temp.try($$SELECT hipq.retry(pg_temp.job('done'))$$);
SELECT pg_temp.try($$SELECT hipq.reschedule(pg_temp.job('c'), now())$$);
SELECT pg_temp.try($$SELECT hipq.erase(pg_temp.job('done'))$$);
RESET ROLE;
SET ROLE regress_hipq_control_owner;
SELECT hipq.reschedule(:c, '2100-04-04'), hipq.cancel(:c, 'by the owner'), hipq.retry(:c) > 0,
       hipq.erase(:c);
RESET ROLE;
SELECT count(*) FROM hipq.job WHERE id = :c;

-- the search for a job keeps no lock on queues that do not have it
BEGIN;
SELECT hipq.erase(-1);
SELECT count(*)
FROM pg_locks WHERE pid = pg_backend_pid() AND relation::regclass::text LIKE 'hipq.ctl%';
ROLLBACK;

SELECT hipq.drop_queue('ctl.q', force => true), hipq.drop_queue('ctl.elsewhere', force => true);
DROP OWNED BY regress_hipq_control_owner, regress_hipq_control_operator,
    regress_hipq_control_reader, regress_hipq_control_stranger;
DROP ROLE regress_hipq_control_owner, regress_hipq_control_operator, regress_hipq_control_reader,
    regress_hipq_control_stranger;
