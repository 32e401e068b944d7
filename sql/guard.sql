-- The state machine from outside: what INSERT, UPDATE, DELETE, MERGE, COPY and TRUNCATE may do to
-- jobs, and for which roles.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

CREATE ROLE regress_hipq_guard_owner LOGIN;
CREATE ROLE regress_hipq_guard_root SUPERUSER;
CREATE ROLE regress_hipq_guard_worker;
SELECT hipq.create_queue('guarded.q', owner => 'regress_hipq_guard_owner') > 0;
SELECT hipq.create_queue('guarded.other', owner => 'regress_hipq_guard_owner') > 0;
SELECT hipq.register_job_type('guarded.q', 't');
SELECT hipq.grant_queue('guarded.q', 'regress_hipq_guard_worker', 'work'),
       hipq.grant_queue('guarded.q', 'regress_hipq_guard_worker', 'read');
INSERT INTO hipq.guarded_q (job_type, job_key, scheduled_run_time)
VALUES ('t', 'waiting', '2100-01-01');

-- ---- The trigger is on every table of the tree, and always fires
SELECT class.relname, trigger.tgname, trigger.tgenabled
FROM pg_partition_tree('hipq.guarded_q') AS tree
JOIN pg_class AS class ON class.oid = tree.relid
LEFT JOIN pg_trigger AS trigger ON trigger.tgrelid = class.oid
ORDER BY 1;

-- ---- INSERT: bookkeeping columns
CREATE TABLE pg_temp.given (n serial, col text, value text);
INSERT INTO given (col, value) VALUES
    ('id', '-1'), ('original_job_id', '1'), ('retry_of', '1'), ('worker_id', '1'),
    ('update_time', 'now()'), ('created_time', 'now()'),
    ('accepted_time', 'now()'), ('deadline', 'now()'), ('state', '''running'''),
    ('state', '''error'''), ('state', '''retry'''), ('state', '''final'''),
    ('attempt', '1'), ('retry_count', '1'), ('error', '''E'''), ('retry_reason', '''R'''),
    ('result', '''1'''), ('manual_reason', '''M''');
GRANT SELECT ON pg_temp.given TO PUBLIC;
SELECT col, value,
       pg_temp.try(format('INSERT INTO hipq.guarded_q (job_type, %I) VALUES (''t'', %s)', col,
           value))
FROM given ORDER BY n;
SET ROLE regress_hipq_guard_owner;
SELECT col, value,
       pg_temp.try(format('INSERT INTO hipq.guarded_q (job_type, %I) VALUES (''t'', %s)', col,
           value))
FROM given ORDER BY n;
RESET ROLE;
-- the start values are accepted
BEGIN;
INSERT INTO hipq.guarded_q (job_type, state, attempt, retry_count, error, retry_reason, result,
    accepted_time, deadline)
VALUES ('t', 'initial', 0, 0, 'NONE', 'NONE', 'null', 'infinity', 'infinity');
ROLLBACK;

-- ---- UPDATE of a waiting job: the columns that users choose
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET job_data = '[1]', scheduled_run_time = '2101-01-01',
    priority = 5, throttle_factor = 2, throttle_key = 'k',
    time_windows = 'SAT', timeout = 9, max_retries = 8, expires_time = '2102-01-01'
    WHERE job_key = 'waiting'$$);
SELECT job_data, scheduled_run_time, priority, throttle_factor, throttle_key, time_windows, timeout,
       max_retries, expires_time, state
FROM hipq.guarded_q;
SET ROLE regress_hipq_guard_worker;
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET priority = 6$$);
RESET ROLE;
SET ROLE regress_hipq_guard_owner;
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET priority = 7$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET timeout = 0$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET timeout = NULL$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET time_windows = 'whenever'$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET scheduled_run_time = 'infinity'$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET throttle_factor = 'NaN'$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET throttle_key = ''$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET max_retries = -1$$);
RESET ROLE;
SELECT priority, timeout, time_windows, max_retries FROM hipq.guarded_q;

-- ---- UPDATE: state, bookkeeping and fixed columns
INSERT INTO given (col, value)
VALUES ('queue_id', '-5'), ('job_type', '''u'''), ('job_key', '''k'''), ('queue_ttl', '5'),
       ('shard_key', '''s''');
SELECT col, value, pg_temp.try(format('UPDATE hipq.guarded_q SET %I = %s', col, value))
FROM given ORDER BY n;
SET ROLE regress_hipq_guard_owner;
SELECT col, value, pg_temp.try(format('UPDATE hipq.guarded_q SET %I = %s', col, value))
FROM given ORDER BY n;
RESET ROLE;
-- from one queue to another
SELECT pg_temp.try($$UPDATE hipq.job SET queue_id = (SELECT queue_id FROM hipq.queue
    WHERE table_name = 'guarded_other') WHERE job_key = 'waiting'$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q_live SET state = 'running', attempt = 1$$);
-- an UPDATE that changes nothing is accepted
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET id = id, state = state, job_key = job_key$$);
SELECT tableoid::regclass, state, attempt, job_key FROM hipq.guarded_q WHERE job_type = 't';

-- ---- Final jobs never change
SELECT id FROM hipq.guarded_q WHERE job_key = 'waiting' \gset
SELECT hipq.cancel(:id, 'for the test');
SELECT col, value, pg_temp.try(format('UPDATE hipq.guarded_q SET %I = %s', col, value))
FROM given ORDER BY n;
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET priority = 1$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET priority = priority$$);

-- ---- Jobs in state running or error: loaded as a restore loads them
\set columns '(id, scheduled_run_time, update_time, created_time, state, timeout, attempt, retry_count, max_retries, priority, throttle_factor, job_type, job_key, error, time_windows)'
\set VERBOSITY terse
BEGIN;  -- no other process may see them and rescue them
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000001|2100-01-01|2026-01-01|2026-01-01|running|5|1|0|0|0|1|loaded|r|NONE|NONE
9000000002|2100-01-01|2026-01-01|2026-01-01|error|5|1|0|0|0|1|loaded|e|broke|NONE
9000000003|2100-01-01|2026-01-01|2026-01-01|retry|5|1|1|3|0|1|loaded|y|broke|NONE
9000000004|2100-01-01|2026-01-01|2026-01-01|final|5|1|0|0|0|1|loaded|f|NONE|NONE
\.
SELECT id, state, attempt, job_key, error FROM hipq.guarded_q WHERE job_type = 'loaded' ORDER BY id;
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET priority = 1 WHERE job_key = 'r'$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET priority = 1 WHERE job_key = 'e'$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET priority = 1 WHERE job_key = 'y'$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET priority = 1 WHERE job_key = 'f'$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET state = 'initial', attempt = 0, error = 'NONE'
    WHERE job_key = 'y'$$);
-- keys and ids stay unique
SAVEPOINT before_copy;
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000029|2100-01-01|2026-01-01|2026-01-01|initial|5|0|0|0|0|1|loaded|r|NONE|NONE
\.
ROLLBACK TO before_copy;
SAVEPOINT before_copy;
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000001|2100-01-01|2026-01-01|2026-01-01|initial|5|0|0|0|0|1|loaded|NONE|NONE|NONE
\.
ROLLBACK TO before_copy;

-- ---- DELETE: only the extension owner
SET ROLE regress_hipq_guard_root;
SELECT pg_temp.try($$DELETE FROM hipq.guarded_q WHERE job_key = 'r'$$);
SELECT pg_temp.try($$DELETE FROM hipq.job WHERE job_key = 'f'$$);
RESET ROLE;
SET ROLE regress_hipq_guard_owner;
SELECT pg_temp.try($$DELETE FROM hipq.guarded_q WHERE job_key = 'r'$$);
SELECT pg_temp.try($$TRUNCATE hipq.guarded_q$$);
SELECT pg_temp.try($$TRUNCATE hipq.guarded_q_live$$);
RESET ROLE;
SET ROLE regress_hipq_guard_worker;
SELECT pg_temp.try($$DELETE FROM hipq.guarded_q$$);
SELECT pg_temp.try($$TRUNCATE hipq.guarded_q$$);
SELECT pg_temp.try($$DROP TABLE hipq.guarded_q$$);
SELECT pg_temp.try($$ALTER TABLE hipq.guarded_q DISABLE TRIGGER guard_job$$);
RESET ROLE;
SELECT pg_temp.try($$DELETE FROM hipq.guarded_q WHERE job_type = 'loaded' AND state = 'running'$$);
SELECT pg_temp.try($$DELETE FROM hipq.guarded_q WHERE job_type = 'loaded' AND state = 'error'$$);
-- an UPDATE that changes nothing writes nothing to final rows
WITH written AS (UPDATE hipq.guarded_q SET priority = priority WHERE job_type = 'loaded'
    AND state = 'final' RETURNING 1)
SELECT count(*) FROM written;
WITH gone AS (DELETE FROM hipq.guarded_q WHERE job_type = 'loaded'
    AND state NOT IN ('running', 'error') RETURNING job_key)
SELECT job_key FROM gone ORDER BY 1;
ROLLBACK;

-- the CHECK constraints check restored rows
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000011|2100-01-01|2026-01-01|2026-01-01|initial|5|1|0|0|0|1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000012|2100-01-01|2026-01-01|2026-01-01|initial|5|0|1|0|0|1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000013|2100-01-01|2026-01-01|2026-01-01|initial|5|0|0|0|0|1|loaded|NONE|E|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000014|2100-01-01|2026-01-01|2026-01-01|running|5|0|0|0|0|1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000015|2100-01-01|2026-01-01|2026-01-01|final|5|0|0|0|0|1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000016|2100-01-01|2026-01-01|2026-01-01|running|5|1|0|0|0|1|loaded|NONE|E|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000017|2100-01-01|2026-01-01|2026-01-01|error|5|1|0|0|0|1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000018|2100-01-01|2026-01-01|2026-01-01|retry|5|1|0|0|0|1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000019|infinity|2026-01-01|2026-01-01|initial|5|0|0|0|0|1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000020|2100-01-01|2026-01-01|2026-01-01|initial|0|0|0|0|0|1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000021|2100-01-01|2026-01-01|2026-01-01|initial|5|0|0|-1|0|1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000022|2100-01-01|2026-01-01|2026-01-01|retry|5|1|-1|0|0|1|loaded|NONE|E|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000023|2100-01-01|2026-01-01|2026-01-01|initial|5|0|0|0|0|-1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000024|2100-01-01|2026-01-01|2026-01-01|initial|5|0|0|0|0|NaN|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000025|2100-01-01|2026-01-01|2026-01-01|initial|5|0|0|0|0|1||NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000026|2100-01-01|2026-01-01|2026-01-01|initial|5|0|0|0|0|1|loaded||NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000027|2100-01-01|2026-01-01|2026-01-01|initial|5|0|0|0|0|1|xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx|NONE|NONE|NONE
\.
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000028|2100-01-01|2026-01-01|2026-01-01|initial|5|0|0|0|0|1|loaded|xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx|NONE|NONE
\.
SELECT count(*) FROM hipq.guarded_q WHERE job_type = 'loaded';
-- incomplete rows are new jobs: bookkeeping is refused
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000031|2100-01-01|2026-01-01|2026-01-01|final|5|1|0|0|\N|1|loaded|NONE|NONE|NONE
\.
COPY hipq.guarded_q (job_type, state, attempt) FROM STDIN;
loaded	final	1
\.
-- complete rows are new jobs too, except from the extension owner and superusers
SET ROLE regress_hipq_guard_owner;
COPY hipq.guarded_q :columns FROM STDIN (DELIMITER '|');
9000000032|2100-01-01|2026-01-01|2026-01-01|final|5|1|0|0|0|1|loaded|NONE|NONE|NONE
\.
RESET ROLE;
\set VERBOSITY default

-- ---- MERGE
INSERT INTO hipq.guarded_q (job_type, job_key, scheduled_run_time)
VALUES ('t', 'merged', '2100-01-01');
SELECT pg_temp.try($$MERGE INTO hipq.guarded_q AS job USING (VALUES ('merged'), ('fresh')) AS v(key)
    ON job.job_key = v.key
    WHEN MATCHED THEN UPDATE SET priority = 9
    WHEN NOT MATCHED THEN INSERT (job_type, job_key, queue_id) VALUES ('t', v.key, NULL)$$);
SELECT job_key, priority, state FROM hipq.guarded_q WHERE job_key IN ('merged', 'fresh') ORDER BY 1;
SELECT pg_temp.try($$MERGE INTO hipq.guarded_q AS job USING (VALUES ('merged')) AS v(key)
    ON job.job_key = v.key WHEN MATCHED THEN UPDATE SET state = 'final'$$);
SELECT pg_temp.try($$MERGE INTO hipq.guarded_q AS job USING (VALUES ('merged')) AS v(key)
    ON job.job_key = v.key WHEN MATCHED THEN UPDATE SET attempt = 3$$);
SELECT pg_temp.try($$MERGE INTO hipq.guarded_q AS job USING (VALUES ('x')) AS v(key)
    ON job.job_key = v.key WHEN NOT MATCHED THEN INSERT (job_type, state) VALUES ('t', 'final')$$);
SET ROLE regress_hipq_guard_root;
SELECT pg_temp.try($$MERGE INTO hipq.guarded_q AS job USING (VALUES ('merged')) AS v(key)
    ON job.job_key = v.key WHEN MATCHED THEN DELETE$$);
RESET ROLE;
SELECT pg_temp.try($$MERGE INTO hipq.guarded_q AS job USING (VALUES ('merged')) AS v(key)
    ON job.job_key = v.key WHEN MATCHED THEN DELETE$$);
SELECT job_key, state FROM hipq.guarded_q WHERE job_key IN ('merged', 'fresh') ORDER BY 1;

-- ---- INSERT ... ON CONFLICT DO UPDATE follows the same rules
SELECT pg_temp.try($$INSERT INTO hipq.guarded_q_live (job_type, job_key) VALUES ('t', 'fresh')
    ON CONFLICT (job_type, job_key, (NOT (waits_for IS DISTINCT FROM 'key')))
    WHERE job_key <> 'NONE' DO UPDATE SET job_data = '"merged"'$$);
SELECT pg_temp.try($$INSERT INTO hipq.guarded_q_live (job_type, job_key) VALUES ('t', 'fresh')
    ON CONFLICT (job_type, job_key, (NOT (waits_for IS DISTINCT FROM 'key')))
    WHERE job_key <> 'NONE' DO UPDATE SET state = 'running'$$);
SELECT job_key, job_data, state FROM hipq.guarded_q WHERE job_key = 'fresh';
-- ---- The replica role bypasses the guard, but neither the constraints nor the index. (In a
-- transaction: hipq rescues at once a row in state running that no process runs.)
BEGIN;
SET session_replication_role = replica;
SELECT pg_temp.try(
    $$INSERT INTO hipq.guarded_q (id, update_time, created_time, state, timeout, attempt,
    max_retries, priority, throttle_factor, job_type, job_key, time_windows, scheduled_run_time)
    VALUES (9000000041, now(), now(), 'running', 5, 1, 0, 0, 1, 'replicated', 'k', 'NONE',
        '2100-01-01')$$);
SELECT pg_temp.try(
    $$INSERT INTO hipq.guarded_q (id, update_time, created_time, state, timeout, attempt,
    max_retries, priority, throttle_factor, job_type, job_key, time_windows, scheduled_run_time)
    VALUES (9000000042, now(), now(), 'running', 5, 1, 0, 0, 1, 'replicated', 'k', 'NONE',
        '2100-01-01')$$);
-- a row without an id was not replicated: it is a new job, as from a trigger on a replicated table
SELECT pg_temp.try($$INSERT INTO hipq.guarded_q (job_type) VALUES ('of a trigger')$$);
SELECT state, id > 0 AS has_id FROM hipq.guarded_q WHERE job_type = 'of a trigger';
SELECT hipq.enqueue('of a trigger', queue => 'guarded.q') > 0 AS enqueued;
SELECT pg_temp.try($$DELETE FROM hipq.guarded_q WHERE job_type = 'of a trigger'$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET error = 'E' WHERE job_type = 'replicated'$$);
SELECT pg_temp.try(
    $$UPDATE hipq.guarded_q SET state = 'error', error = 'E' WHERE job_type = 'replicated'$$);
SELECT pg_temp.try($$UPDATE hipq.guarded_q SET state = 'final' WHERE job_type = 'replicated'$$);
SELECT id, state, tableoid = 'hipq.guarded_q_live'::regclass AS is_live, error
FROM hipq.guarded_q WHERE job_type = 'replicated';
SELECT pg_temp.try($$DELETE FROM hipq.guarded_q WHERE job_type = 'replicated'$$);
COMMIT;
RESET session_replication_role;
SET ROLE regress_hipq_guard_owner;
SELECT pg_temp.try($$SET session_replication_role = replica$$);
RESET ROLE;

-- ---- The trigger function works only as this trigger
SELECT pg_temp.try($$SELECT hipq._guard_job()$$);
CREATE TABLE pg_temp.mine (a integer);
CREATE TRIGGER after_row AFTER INSERT ON pg_temp.mine FOR EACH ROW
    EXECUTE FUNCTION hipq._guard_job();
SELECT pg_temp.try($$INSERT INTO pg_temp.mine VALUES (1)$$);
CREATE TABLE pg_temp.strange (a integer);
CREATE TRIGGER before_row BEFORE INSERT ON pg_temp.strange FOR EACH ROW
    EXECUTE FUNCTION hipq._guard_job();
SELECT pg_temp.try($$INSERT INTO pg_temp.strange VALUES (1)$$);

SELECT hipq.drop_queue('guarded.q', force => true), hipq.drop_queue('guarded.other', force => true);
DROP OWNED BY regress_hipq_guard_owner, regress_hipq_guard_root, regress_hipq_guard_worker;
DROP ROLE regress_hipq_guard_owner, regress_hipq_guard_root, regress_hipq_guard_worker;
