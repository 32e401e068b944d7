-- complete_later and report_progress in a client's session, by run_until_idle and dry_run.
-- test/t/execute/complete_later.pl tests them in executors.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

CREATE ROLE regress_hipq_later_owner LOGIN;
CREATE ROLE regress_hipq_later_worker;
CREATE ROLE regress_hipq_later_reader;
SELECT hipq.create_queue('later.q', owner => 'regress_hipq_later_owner', throttle_limit => 2) > 0;
SELECT hipq.grant_queue('later.q', 'regress_hipq_later_worker', 'work'),
       hipq.grant_queue('later.q', 'regress_hipq_later_reader', 'read');
SELECT hipq.pause('later.q');

CREATE TABLE later_note (said text);
GRANT ALL ON later_note TO regress_hipq_later_owner;
CREATE FUNCTION later_run(job hipq.job) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO later_note VALUES (job.job_key);
    PERFORM hipq.report_progress(1, 2, 'asks');
    PERFORM hipq.complete_later();
    RETURN 'asked';
END $$;
SELECT hipq.register_job_type('later.q', 'ask', handler => 'later_run', default_timeout => 600);
SELECT hipq.enqueue('ask', queue => 'later.q', job_key => 'tried') AS tried \gset
SELECT hipq.enqueue('ask', queue => 'later.q', job_key => 'undone') AS undone \gset
SELECT hipq.enqueue('ask', queue => 'later.q', job_key => 'done') AS done \gset

-- ---- dry_run rolls it back with everything else
SET SESSION AUTHORIZATION regress_hipq_later_owner;
SELECT result, error, sqlstate FROM hipq.dry_run(:tried);
RESET SESSION AUTHORIZATION;
SELECT state, attempt, worker_id FROM hipq.jobs_detail WHERE id = :tried;
SELECT hipq.cancel(:tried);

-- ---- run_until_idle leaves the job running; the transaction commits
BEGIN;
SELECT hipq.resume('later.q');
SET LOCAL hipq.allow_foreign_handlers = on;
SELECT hipq.run_until_idle('later.q', 1);
SELECT state, attempt, worker_id FROM hipq.jobs_detail WHERE id = :undone;
ROLLBACK;
SELECT state, attempt, worker_id FROM hipq.jobs_detail WHERE id = :undone;
SELECT hipq.cancel(:undone);
SELECT count(*) FROM hipq.running WHERE queue = 'later.q';
BEGIN;
SELECT hipq.resume('later.q');
SET LOCAL hipq.allow_foreign_handlers = on;
SELECT hipq.run_until_idle('later.q');
SELECT hipq.pause('later.q');
COMMIT;
SELECT said FROM later_note;
SELECT state, attempt, error, worker_id FROM hipq.jobs_detail WHERE id = :done;
SELECT attempt, pid, worker_id, worker, is_accepted,
       deadline BETWEEN hipq.now() + '550 s' AND hipq.now() + '600 s'
FROM hipq.running_detail WHERE id = :done;
SELECT throttle_used FROM hipq.queues_detail WHERE queue = 'later.q';
SELECT running_jobs FROM hipq.queues WHERE queue = 'later.q';

-- ---- a role that may complete the job also reports its progress
TABLE hipq.progress;
SET ROLE regress_hipq_later_worker;
SELECT hipq.report_progress(:done, 1, 1, 3, 'waits for an answer');
SELECT pg_temp.try('SELECT hipq.report_progress(' || :done || ', 2, 1, 3)');
SELECT pg_temp.try('SELECT hipq.report_progress(' || :done || ', 1, 4, 3)');
SET ROLE regress_hipq_later_reader;
SELECT queue, id = :done, job_type, attempt, done, total, percent, message,
       reported_time <= hipq.now(), pid, worker_id,
    expected_end_time > reported_time FROM hipq.progress_detail;
SELECT pg_temp.try('SELECT hipq.report_progress(' || :done || ', 1, 2, 3)');
RESET ROLE;
BEGIN;
SELECT hipq.report_progress(:done, 1, 5, NULL, repeat('äöü', 40));
ROLLBACK;
SELECT done, total, percent, octet_length(message), message = repeat('äöü', 33) || 'ä'
FROM hipq.progress_detail;
SELECT hipq.report_progress(:done, 1, 0, 0);
SELECT done, total, percent, message, expected_end_time FROM hipq.progress_detail;

-- ---- the job can be failed by hand; then it uses no capacity, and progress is refused
SELECT hipq.fail_job(:done, 'no answer');
SELECT state, error FROM hipq.jobs_detail WHERE id = :done;
SELECT throttle_used FROM hipq.queues_detail WHERE queue = 'later.q';
TABLE hipq.progress;
SELECT pg_temp.try('SELECT hipq.report_progress(' || :done || ', 1, 2, 3)');

SELECT hipq.drop_queue('later.q', force => true);
DROP TABLE later_note;
DROP FUNCTION later_run;
DROP OWNED BY regress_hipq_later_owner, regress_hipq_later_worker, regress_hipq_later_reader;
DROP ROLE regress_hipq_later_owner, regress_hipq_later_worker, regress_hipq_later_reader;
