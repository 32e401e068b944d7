-- The retry policy's answer for a job, the history of a job, and failing a job by hand. Nothing
-- runs here: this test writes jobs as they look after an attempt, as a replica would.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

CREATE ROLE regress_hipq_retries_owner LOGIN;
CREATE ROLE regress_hipq_retries_reader;
CREATE ROLE regress_hipq_retries_stranger;
SELECT hipq.create_queue('tries.q', owner => 'regress_hipq_retries_owner', throttle_limit => 0) > 0;
SELECT hipq.register_job_type('tries.q', 'plain', max_retries => 3,
    do_not_retry_on => '{40001, worker_lost}');
SELECT hipq.register_job_type('tries.q', 'external', handler_kind => 'notify', max_retries => 1);
SELECT hipq.grant_queue('tries.q', 'regress_hipq_retries_reader', 'read');

-- The job as it is after an attempt that failed with this reason and SQLSTATE.
CREATE FUNCTION pg_temp.put(wanted bigint, state text, reason text, sqlstate text DEFAULT NULL,
    retries integer DEFAULT 1, job_type text DEFAULT 'plain')
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL session_replication_role = replica;
    INSERT INTO hipq.tries_q (id, job_type, job_key, state, attempt, retry_count, max_retries,
        retry_reason, error, timeout, priority, throttle_factor, time_windows, created_time,
        update_time, scheduled_run_time, accepted_time, deadline)
    VALUES (wanted, job_type, 'NONE', state::hipq.job_state, 1, retries, 3, reason,
            CASE WHEN reason = 'NONE' OR state = 'running' THEN 'NONE' ELSE 'broken' END,
            5, 0, 1, 'NONE', '2020-01-01', hipq.now(), '2020-01-01', '2020-01-01',
            CASE WHEN state = 'running' THEN '2100-01-01'::timestamptz ELSE 'infinity' END);
    IF reason <> 'NONE' THEN
        INSERT INTO hipq.attempt (job_id, started_time, ended_time, queue_id, attempt, job_type,
            job_key, reason, sqlstate, error)
        SELECT wanted, '2020-01-01', hipq.now(), queue_id, 1, job.job_type, 'NONE', reason,
               put.sqlstate, 'broken'
        FROM hipq.tries_q AS job WHERE id = wanted;
    END IF;
    SET LOCAL session_replication_role = origin;
    RETURN wanted;
END
$$;

-- ---- why_retriable, and only its answer
-- In one transaction, so that no other process rescues these jobs.
BEGIN;
SELECT hipq.pause('tries.q');
SELECT hipq.enqueue('plain', queue => 'tries.q') AS fresh \gset
SELECT * FROM hipq.why_retriable(:fresh);
SELECT hipq.enqueue('plain', queue => 'tries.q', max_retries => 0) AS none \gset
SELECT * FROM hipq.why_retriable(:none, 'tries.q');
SELECT * FROM hipq.why_retriable(pg_temp.put(9100000001, 'final', 'NONE'));
SELECT hipq.is_job_retriable(:fresh), hipq.is_job_retriable(9100000001, 'tries.q');
SELECT pg_temp.try('SELECT hipq.is_job_retriable(-1)');
SELECT * FROM hipq.why_retriable(pg_temp.put(9100000002, 'final', 'timeout', NULL, 3));
SELECT * FROM hipq.why_retriable(pg_temp.put(-9100000003, 'final', 'validation_error', '22012'));
SELECT * FROM hipq.why_retriable(pg_temp.put(9100000004, 'final', 'transient_error', '40001'));
SELECT * FROM hipq.why_retriable(pg_temp.put(9100000005, 'final', 'worker_lost'));
SELECT * FROM hipq.why_retriable(pg_temp.put(9100000006, 'final', 'crashed'));
SELECT * FROM hipq.why_retriable(pg_temp.put(9100000007, 'error', 'timeout'));
SELECT * FROM hipq.why_retriable(pg_temp.put(9100000008, 'error', 'permission_denied', '42501'));
SELECT * FROM hipq.why_retriable(pg_temp.put(9100000009, 'retry', 'timeout'));
SELECT * FROM hipq.why_retriable(pg_temp.put(9100000010, 'running', 'NONE', NULL, 3));
SELECT hipq.cancel(:none);
SELECT * FROM hipq.why_retriable(:none);
-- a retry handler decides about failures, whatever the policy would decide
SELECT hipq.alter_job_type('tries.q', 'plain', retry_handler => 'regress_retries_decide')
FROM (SELECT pg_temp.try('CREATE FUNCTION public.regress_retries_decide(hipq.job)
    RETURNS interval LANGUAGE sql AS ''SELECT NULL::interval''')) AS made (said)
WHERE said = 'passes';
SELECT * FROM hipq.why_retriable(9100000008);
SELECT * FROM hipq.why_retriable(hipq.enqueue('plain', queue => 'tries.q', max_retries => 0));
SELECT * FROM hipq.why_retriable(9100000009);
SELECT * FROM hipq.why_retriable(9100000010);
SELECT * FROM hipq.why_retriable(9100000002);
SELECT * FROM hipq.why_retriable(pg_temp.put(9100000013, 'final', 'retry_handler_failed'));
SELECT * FROM hipq.why_retriable(9100000001);
SELECT * FROM hipq.why_retriable(:none);
SELECT hipq.alter_job_type('tries.q', 'plain', retry_handler => 'NONE');
DROP FUNCTION public.regress_retries_decide(hipq.job);
SELECT pg_temp.try('SELECT * FROM hipq.why_retriable(-1)');
SELECT pg_temp.try('SELECT * FROM hipq.why_retriable(NULL)');
SELECT pg_temp.try($$SELECT * FROM hipq.why_retriable(9100000001, 'tries.nowhere')$$);

-- ---- retry_chain
SELECT attempt, state, reason, sqlstate, error, started_time IS NULL AS not_started,
       ended_time IS NULL AS not_ended
FROM hipq.retry_chain(:fresh);
SELECT hipq.retry(-9100000003) AS second \gset
SELECT hipq.cancel(:second, 'in vain') \g /dev/null
SELECT hipq.retry(:second, 'once more') AS third \gset
SELECT CASE job_id WHEN :second THEN 'second' WHEN :third THEN 'third' ELSE 'first' END AS job,
       CASE retry_of WHEN :second THEN 'second' WHEN -9100000003 THEN 'first' END AS retry_of,
       attempt, state, reason, sqlstate, error, manual_reason
FROM hipq.retry_chain(:second);
-- the same from both ends
SELECT count(*), count(*) FILTER (WHERE chain
           = ANY (ARRAY(SELECT chain FROM hipq.retry_chain(:third, 'tries.q') AS chain)))
FROM hipq.retry_chain(-9100000003) AS chain;
SELECT attempt, state, reason FROM hipq.retry_chain(9100000001);
SELECT attempt, state, reason FROM hipq.retry_chain(9100000007);
SELECT attempt, state, reason, started_time IS NOT NULL, ended_time IS NOT NULL
FROM hipq.retry_chain(9100000010);
SELECT pg_temp.try('SELECT * FROM hipq.retry_chain(-1)');
SELECT pg_temp.try('SELECT * FROM hipq.retry_chain(NULL)');

-- ---- fail_job
SELECT hipq.fail_job(:fresh, 'no worker will ever come');
SELECT state, attempt, error, retry_reason FROM hipq.job WHERE id = :fresh;
SELECT reason, error, job->>'state', jsonb_array_length(history)
FROM hipq.dead_letters_detail WHERE job_id = :fresh;
SELECT hipq.fail_job(9100000007, 'nobody decides');
SELECT state, attempt, error, retry_reason FROM hipq.job WHERE id = 9100000007;
-- a job of an external worker: the policy decides
SELECT hipq.fail_job(pg_temp.put(9100000011, 'running', 'NONE', NULL, 0, 'external'),
    'its worker hangs', 'tries.q');
SELECT state, attempt, retry_count, error, retry_reason FROM hipq.job WHERE id = 9100000011;
SELECT hipq.fail_job(pg_temp.put(9100000012, 'running', 'NONE', NULL, 3, 'external'),
    'its worker hangs');
SELECT state, retry_count, error, retry_reason FROM hipq.job WHERE id = 9100000012;
SELECT reason, error FROM hipq.dead_letters_detail WHERE job_id = 9100000012;
SELECT pg_temp.try(format('SELECT hipq.fail_job(%s, ''again'')', :fresh));
SELECT pg_temp.try('SELECT hipq.fail_job(-1, ''x'')');
SELECT pg_temp.try('SELECT hipq.fail_job(NULL, ''x'')');
SELECT pg_temp.try('SELECT hipq.fail_job(9100000009, NULL)');
SELECT pg_temp.try('SELECT hipq.fail_job(9100000009, '''')');
SELECT pg_temp.try('SELECT hipq.fail_job(9100000009, ''NONE'')');

-- ---- the chain of a job that passes through other queues
SELECT hipq.create_queue('tries.other', owner => 'regress_hipq_retries_owner') > 0,
       hipq.register_job_type('tries.other', 'plain');
SELECT hipq.pause('tries.other');
SELECT hipq.redrive(:fresh, 'tries.other') AS elsewhere \gset
SELECT hipq.fail_job(:elsewhere, 'nor there') \g /dev/null
SELECT hipq.redrive(:elsewhere) AS again \gset
SELECT moved FROM hipq.move_jobs('tries.other', 'tries.q', 'plain');
SELECT chain.job_id = :fresh AS is_first, chain.retry_of = :fresh AS is_second,
       chain.retry_of = :elsewhere AS is_third, attempt, state, reason, error, manual_reason
FROM hipq.retry_chain(:again) AS chain;
SELECT asked, count(*), count(*) FILTER (WHERE chain
           = ANY (ARRAY(SELECT chain FROM hipq.retry_chain(:again) AS chain)))
FROM (VALUES (1, :fresh), (2, :elsewhere)) AS job (asked, id), hipq.retry_chain(job.id) AS chain
GROUP BY asked
ORDER BY asked;
-- except the jobs that the caller may not read
SET ROLE regress_hipq_retries_reader;
SELECT count(*), bool_or(job_id = :elsewhere) FROM hipq.retry_chain(:fresh);
RESET ROLE;

-- ---- rights
SET ROLE regress_hipq_retries_reader;
SELECT retriable FROM hipq.why_retriable(9100000009);
SELECT count(*) FROM hipq.retry_chain(9100000009);
SELECT pg_temp.try('SELECT hipq.fail_job(9100000009, ''x'')');
RESET ROLE;
GRANT USAGE ON SCHEMA hipq TO regress_hipq_retries_stranger;
SET ROLE regress_hipq_retries_stranger;
SELECT pg_temp.try('SELECT * FROM hipq.why_retriable(9100000009)');
SELECT pg_temp.try('SELECT * FROM hipq.retry_chain(9100000009)');
SELECT pg_temp.try('SELECT hipq.fail_job(9100000009, ''x'')');
RESET ROLE;
SELECT state FROM hipq.job WHERE id = 9100000009;

ROLLBACK;
SELECT hipq.drop_queue('tries.q', force => true);
DROP OWNED BY regress_hipq_retries_owner, regress_hipq_retries_reader,
    regress_hipq_retries_stranger;
DROP ROLE regress_hipq_retries_owner, regress_hipq_retries_reader, regress_hipq_retries_stranger;
