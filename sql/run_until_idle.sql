-- enqueued, run_until_idle, dry_run: jobs in the transaction that enqueued them, without an
-- executor.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

CREATE ROLE regress_hipq_run_owner LOGIN;
CREATE ROLE regress_hipq_run_member IN ROLE regress_hipq_run_owner;
CREATE ROLE regress_hipq_run_controller;
CREATE ROLE regress_hipq_run_reader;
CREATE ROLE regress_hipq_run_stranger;
SELECT hipq.create_queue('try.q', owner => 'regress_hipq_run_owner', history => 'all') > 0,
       hipq.create_queue('try.other', owner => 'regress_hipq_run_owner') > 0,
       hipq.create_queue('try.third') > 0;
SELECT hipq.grant_queue('try.q', 'regress_hipq_run_controller', 'control'),
       hipq.grant_queue('try.q', 'regress_hipq_run_reader', 'read');
SELECT hipq.grant_queue('try.third', 'regress_hipq_run_stranger', 'read'),
       hipq.grant_queue('try.third', 'regress_hipq_run_stranger', 'control');

CREATE TABLE run_note (said text, by_whom text DEFAULT current_user);
CREATE TABLE run_parent (id integer PRIMARY KEY);
CREATE TABLE run_child (parent integer
    CONSTRAINT run_child_has_a_parent REFERENCES run_parent DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE run_strict (parent integer
    CONSTRAINT run_strict_has_a_parent REFERENCES run_parent DEFERRABLE);
GRANT ALL ON run_note, run_parent, run_child, run_strict TO regress_hipq_run_owner;
CREATE FUNCTION run_note(job hipq.job) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO run_note
    VALUES (format('%s %s, attempt %s', job.job_data->>'say', job.state, job.attempt));
    IF job.job_data ? 'sqlstate' THEN
        RAISE EXCEPTION 'no' USING ERRCODE = job.job_data->>'sqlstate'; END IF;
    RETURN job.job_data->'say';
END $$;
CREATE FUNCTION run_data(data jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    IF data->>'do' LIKE 'SELECT %' THEN EXECUTE data->>'do' INTO answer;
    ELSE EXECUTE data->>'do'; END IF;
    RETURN answer;
END $$;
CREATE FUNCTION run_batch(jobs hipq.job[]) RETURNS jsonb[] LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO run_note
    SELECT string_agg(job.job_data->>'say', ' ' ORDER BY job.id) FROM unnest(jobs) AS job;
    IF EXISTS (SELECT FROM unnest(jobs) AS job WHERE job.job_data->>'say' = 'bad') THEN
        RAISE EXCEPTION 'a bad one'; END IF;
    RETURN array(SELECT to_jsonb(cardinality(jobs)) FROM unnest(jobs));
END $$;
CREATE FUNCTION run_delay(job hipq.job)
RETURNS interval LANGUAGE sql AS $$ SELECT CASE WHEN job.retry_count = 0 THEN interval '0' END $$;
CREATE FUNCTION run_no_delay(job hipq.job)
RETURNS interval LANGUAGE sql AS $$ SELECT interval '1 s' / (job.attempt - job.attempt) $$;
CREATE PROCEDURE run_procedure(data jsonb)
LANGUAGE sql AS $$ INSERT INTO run_note VALUES ('procedure') $$;
SELECT hipq.register_job_type('try.q', 'note', handler => 'run_note', max_retries => 1,
           retry_base => '1 h', retry_jitter => 0),
       hipq.register_job_type('try.q', 'do', handler => 'run_data'),
       hipq.register_job_type('try.q', 'batch', handler => 'run_batch', batch_size => 3),
       hipq.register_job_type('try.q', 'asks', handler => 'run_note', retry_handler => 'run_delay',
           max_retries => 1),
       hipq.register_job_type('try.q', 'asks in vain', handler => 'run_note',
           retry_handler => 'run_no_delay'),
       hipq.register_job_type('try.q', 'sql',
           handler => 'INSERT INTO run_note VALUES ($1->>''say'')'),
       hipq.register_job_type('try.q', 'night', handler => 'run_note',
           default_time_windows => '00:00-00:01', time_zone => 'UTC'),
       hipq.register_job_type('try.q', 'external', handler_kind => 'notify'),
       hipq.register_job_type('try.q', 'nothing'),
       hipq.register_job_type('try.other', 'procedure', handler => 'run_procedure'),
       hipq.register_job_type('try.other', 'vacuum', handler => 'VACUUM run_note');

-- This superuser trusts these handlers.
SET hipq.allow_foreign_handlers = on;

-- ---- jobs enqueued, before anything is committed
BEGIN;
SELECT hipq.enqueue('note', '{"say": "first"}', queue => 'try.q') AS first \gset
SELECT hipq.enqueue('sql', '{"say": "second"}', job_key => 'k',
    scheduled_run_time => '2040-01-01') AS second \gset
SELECT hipq.enqueue('procedure') AS third \gset
SELECT job_type, job_key, job_data->>'say', state, attempt FROM hipq.enqueued(queue => 'try.q');
SELECT job_type FROM hipq.enqueued('procedure');
SELECT job_type FROM hipq.enqueued('procedure', 'try.q');
SELECT count(*) FROM hipq.enqueued() WHERE id IN (:first, :second, :third);
SELECT id = :second, scheduled_run_time FROM hipq.enqueued('sql', 'hipq.try_q');

-- ---- run in the same transaction: due jobs, as the queue owner
SELECT hipq.run_until_idle('try.q');
TABLE run_note;
SELECT job_type, outcome, result, attempt, error
FROM hipq.jobs_detail WHERE queue = 'try.q' ORDER BY id;
SELECT job_type, reason, executor_pid = pg_backend_pid()
FROM hipq.attempts_detail WHERE queue = 'try.q' ORDER BY job_id;
SELECT hipq.run_until_idle('try.q');
SET LOCAL hipq.clock_offset = '10000 d';
SELECT hipq.run_until_idle('try.q');
SELECT job_type, outcome, result FROM hipq.jobs_detail WHERE queue = 'try.q' ORDER BY id;
SELECT current_user = session_user, current_setting('search_path');
ROLLBACK;
SELECT count(*) FROM run_note;
SELECT count(*) FROM hipq.jobs WHERE queue = 'try.q';

-- ---- failures: with the same result as in executors
BEGIN;
SELECT hipq.enqueue('note', '{"say": "again", "sqlstate": "P0001"}', queue => 'try.q') > 0,
       hipq.enqueue('note', '{"say": "wrong", "sqlstate": "22012"}') > 0,
       hipq.enqueue('note', '{"say": "well"}') > 0,
       hipq.enqueue('asks', '{"say": "asks", "sqlstate": "P0001"}') > 0,
       hipq.enqueue('asks in vain', '{"say": "asks in vain", "sqlstate": "P0001"}') > 0;
SELECT hipq.run_until_idle('try.q');
SELECT said FROM run_note;
SELECT job_data->>'say', state, error, attempt, retry_count, retry_reason,
       scheduled_run_time > hipq.now()
FROM hipq.jobs_detail WHERE queue = 'try.q' ORDER BY id;
SELECT job_type, attempt, reason, sqlstate, error
FROM hipq.attempts_detail WHERE queue = 'try.q' ORDER BY job_id, attempt;
SELECT job_type, reason FROM hipq.dead_letters WHERE queue = 'try.q' ORDER BY job_id;
-- the retry, an hour later
SET LOCAL hipq.clock_offset = '2 h';
SELECT hipq.run_until_idle('try.q');
SELECT state, error, attempt, retry_count FROM hipq.jobs_detail WHERE job_data->>'say' = 'again';
ROLLBACK;

-- ---- jobs that handlers enqueue, also under their own key; successors; the limit; the order
BEGIN;
SELECT hipq.enqueue('do',
    '{"do": "SELECT hipq.enqueue(''note'', ''{\"say\": \"from a handler\"}'')"}') > 0;
SELECT hipq.enqueue('do',
    '{"do": "SELECT hipq.enqueue(''do'', ''{\"do\": \"SELECT 2\"}'', job_key => ''self'')"}',
    job_key => 'self') > 0;
SELECT hipq.enqueue('note', '{"say": "more urgent"}', priority => -5) > 0;
SELECT hipq.run_until_idle('try.q', 2), (SELECT count(*) FROM hipq.enqueued(queue => 'try.q'));
SELECT hipq.run_until_idle('try.q');
SELECT said FROM run_note;
SELECT job_key, outcome, result = '"2"'
FROM hipq.jobs_detail WHERE queue = 'try.q' AND job_type = 'do' AND job_key IS NOT NULL ORDER BY id;
ROLLBACK;
BEGIN;
SELECT hipq.enqueue('do', '{"do": "SELECT hipq.enqueue(''do'', ''{\"do\": \"SELECT 3\"}'', '
    'job_key => ''one'', on_duplicate => ''after'')"}', job_key => 'one') > 0;
SELECT hipq.run_until_idle('try.q');
SELECT outcome, result = '"3"' FROM hipq.jobs_detail WHERE queue = 'try.q' ORDER BY id;
ROLLBACK;

-- ---- batches: in one call, or one by one
BEGIN;
SELECT cardinality(hipq.enqueue_many('batch', '{"{\"say\": \"a\"}", "{\"say\": \"b\"}",
    "{\"say\": \"c\"}", "{\"say\": \"d\"}", "{\"say\": \"bad\"}"}', queue => 'try.q'));
SELECT hipq.run_until_idle('try.q');
SELECT said FROM run_note;
SELECT job_data->>'say', outcome, result FROM hipq.jobs_detail WHERE queue = 'try.q' ORDER BY id;
ROLLBACK;

-- ---- the conditions that jobs wait for with executors hold here too
BEGIN;
SELECT hipq.enqueue('night', '{"say": "night"}') > 0, hipq.enqueue('external') > 0,
       hipq.enqueue('nothing') > 0, hipq.enqueue('unknown', queue => 'try.q') > 0,
       hipq.enqueue('note', '{"say": "key"}', throttle_key => 'k') > 0,
       hipq.enqueue('note', '{"say": "no key"}') > 0, hipq.enqueue('sql', '{"say": "type"}') > 0;
SELECT hipq.pause('try.q', 'note', 'k'), hipq.pause('try.q', 'sql');
UPDATE hipq.try_q SET time_windows = CASE WHEN (now() AT TIME ZONE 'UTC')::time < '12:00' THEN
    '18:00-19:00' ELSE '06:00-07:00' END
WHERE job_type = 'night';
SELECT hipq.run_until_idle('try.q');
SELECT said FROM run_note;
SELECT hipq.pause('try.q');
SELECT hipq.enqueue('note', '{"say": "paused"}') > 0, hipq.run_until_idle('try.q');
SELECT hipq.resume('try.q'), hipq.resume('try.q', 'note', 'k'), hipq.resume('try.q', 'sql');
UPDATE hipq.try_q SET time_windows = 'NONE' WHERE job_type = 'night';
SELECT hipq.run_until_idle('try.q');
SELECT said FROM run_note;
SELECT job_type FROM hipq.enqueued(queue => 'try.q');
ROLLBACK;
-- a missing handler: on_missing_handler decides
BEGIN;
SELECT hipq.enqueue('note', queue => 'try.q') > 0, hipq.enqueue('asks', queue => 'try.q') > 0;
SELECT hipq.alter_job_type('try.q', 'asks', on_missing_handler => 'fail', retry_handler => 'NONE');
ALTER FUNCTION run_note(hipq.job) RENAME TO run_note_away;
SELECT hipq.run_until_idle('try.q');
SELECT job_type, outcome, retry_reason FROM hipq.jobs_detail WHERE queue = 'try.q' ORDER BY id;
SELECT pg_temp.try(
    format('SELECT hipq.dry_run(%s)', (SELECT min(id) FROM hipq.enqueued(queue => 'try.q'))));
ROLLBACK;

-- ---- functions for handlers
BEGIN;
SELECT hipq.enqueue('do', '{"do": "SELECT hipq.snooze(''1 h'')"}') > 0,
       hipq.enqueue('do', '{"do": "SELECT hipq.extend(interval ''1 h'')"}') > 0,
       hipq.enqueue('do', '{"do": "SELECT hipq.fail_permanently(''never'')"}') > 0,
       hipq.enqueue('do', '{"do": "SELECT hipq.run_until_idle(''try.q'')"}') > 0,
       hipq.enqueue('do', '{"do": "SELECT hipq.dry_run(1)"}') > 0;
SELECT hipq.run_until_idle('try.q');
SELECT state, result, error, retry_reason, retry_count, scheduled_run_time > hipq.now()
FROM hipq.jobs_detail WHERE queue = 'try.q' ORDER BY id;
ROLLBACK;

-- ---- requests in a block that is rolled back do not count, earlier requests do
CREATE FUNCTION run_wish(wishes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    wish jsonb;
BEGIN
    FOR wish IN SELECT value FROM jsonb_array_elements(wishes) LOOP
        IF wish ? 'snooze' THEN PERFORM hipq.snooze((wish->>'snooze')::interval); CONTINUE; END IF;
        BEGIN
            PERFORM public.run_wish(coalesce(wish->'kept', wish->'undone'));
            IF wish ? 'undone' THEN RAISE assert_failure; END IF;
        EXCEPTION WHEN assert_failure THEN NULL;
        END;
    END LOOP;
END $$;
BEGIN;
SELECT hipq.register_job_type('try.q', 'wish', handler => 'run_wish');
SELECT hipq.enqueue('wish', wishes::jsonb) > 0 FROM (VALUES
    ('[{"undone": [{"snooze": "1 h"}]}]'),
    ('[{"snooze": "2 h"}, {"undone": [{"snooze": "1 h"}]}]'),
    ('[{"snooze": "2 h"}, {"kept": [{"snooze": "1 h"}]}]'),
    ('[{"kept": [{"snooze": "2 h"}]}, {"undone": [{"snooze": "1 h"}]}]'),
    ('[{"snooze": "2 h"}, {"undone": [{"kept": [{"snooze": "1 h"}]}]}]'),
    ('[{"snooze": "3 h"}, {"kept": [{"snooze": "2 h"}, {"undone": [{"snooze": "1 h"}]}]}]'),
    ('[{"snooze": "3 h"}, {"undone": [{"snooze": "2 h"}, {"kept": [{"snooze": "1 h"}]},
        {"kept": [{"snooze": "4 h"}]}]}]'),
    ('[{"snooze": "3 h"}, {"undone": [{"kept": [{"snooze": "2 h"}]}, {"snooze": "1 h"}]},
        {"undone": []}]')) AS wish (wishes);
SELECT hipq.run_until_idle('try.q');
SELECT job_data, state, error,
       round(extract(epoch FROM scheduled_run_time - hipq.now()) / 3600) AS hours
FROM hipq.jobs_detail WHERE job_type = 'wish' ORDER BY id;
ROLLBACK;

-- ---- with the queue owner's rights, which no handler can leave; its settings, cursors and
-- deferred triggers end with it
CREATE TABLE run_secret (said text);
CREATE FUNCTION run_at_commit() RETURNS trigger
LANGUAGE plpgsql AS $$ BEGIN INSERT INTO run_note VALUES ('deferred trigger'); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER run_at_commit AFTER INSERT ON run_parent DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION run_at_commit();
BEGIN;
SELECT hipq.enqueue('do', '{"do": "INSERT INTO run_secret VALUES (1)"}') > 0,
       hipq.enqueue('do', '{"do": "RESET ROLE"}') > 0,
       hipq.enqueue('do', '{"do": "SET work_mem = 77"}') > 0,
       hipq.enqueue('do', '{"do": "DECLARE theirs CURSOR WITH HOLD FOR SELECT 1"}') > 0,
       hipq.enqueue('do', '{"do": "INSERT INTO run_child VALUES (1)"}') > 0,
       hipq.enqueue('do', '{
        "do": "WITH child AS (INSERT INTO run_child VALUES (2)) INSERT INTO run_parent VALUES (2)"
       }') > 0,
       hipq.enqueue('do', '{"do": "INSERT INTO run_strict VALUES (3)"}') > 0,
       hipq.enqueue('do', '{"do": "CREATE TEMPORARY TABLE run_note AS SELECT 1 AS said"}') > 0,
       hipq.enqueue('do', '{"do": "CREATE TEMPORARY TABLE run_note AS SELECT 2 AS said"}') > 0,
       hipq.enqueue('do', '{
        "do": "CREATE FUNCTION pg_temp.theirs() RETURNS integer LANGUAGE sql AS ''SELECT 1''"
       }') > 0;
CREATE TEMPORARY TABLE run_mine AS SELECT 'mine' AS said;
SELECT hipq.run_until_idle('try.q');
SELECT job_data->>'do', outcome, error FROM hipq.jobs_detail WHERE queue = 'try.q' ORDER BY id;
SELECT said, by_whom FROM run_note;
TABLE run_child;
TABLE run_mine;
SELECT to_regproc('pg_temp.theirs');
SELECT name FROM pg_cursors WHERE name = 'theirs';
SELECT current_setting('work_mem') <> '77kB';
-- constraints are as before: one deferred, one immediate
INSERT INTO run_child VALUES (9);
INSERT INTO run_parent VALUES (9);
SELECT pg_temp.try('INSERT INTO run_strict VALUES (10)');
ROLLBACK;
-- the caller's own deferred triggers run first, with the caller's rights
BEGIN;
INSERT INTO run_parent VALUES (11);
SELECT hipq.enqueue('note', '{"say": "the job"}') > 0, hipq.run_until_idle('try.q');
SELECT said, by_whom = current_user FROM run_note;
INSERT INTO run_child VALUES (12);
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q')$$);
ROLLBACK;

-- a trigger that defers itself repeatedly ends here
CREATE FUNCTION run_put_off() RETURNS trigger
LANGUAGE plpgsql AS $$ BEGIN SET CONSTRAINTS run_put_off DEFERRED; INSERT INTO run_note
    VALUES (NEW.said); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER run_put_off AFTER INSERT ON run_note DEFERRABLE FOR EACH ROW
    EXECUTE FUNCTION run_put_off();
BEGIN;
SELECT hipq.enqueue('do',
    '{"do": "SET CONSTRAINTS run_put_off DEFERRED; INSERT INTO run_note VALUES (1)"}',
    queue => 'try.q') > 0;
SELECT hipq.run_until_idle('try.q');
SELECT outcome, error FROM hipq.jobs_detail WHERE queue = 'try.q';
-- the caller's trigger too
SET CONSTRAINTS run_put_off DEFERRED;
INSERT INTO run_note VALUES (1);
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q')$$);
ROLLBACK;
DROP TRIGGER run_put_off ON run_note;
DROP FUNCTION run_put_off();

-- ---- handlers cannot reach the objects of the session (test/t/testing/client_session.pl tests all
-- of them)
PREPARE run_mine AS SELECT 'mine';
BEGIN;
SELECT hipq.enqueue('do', '{"do": "EXECUTE run_mine"}') > 0,
       hipq.enqueue('do', '{"do": "EXPLAIN ANALYZE EXECUTE run_mine"}') > 0,
       hipq.enqueue('do', '{"do": "SELECT pg_advisory_lock(1)"}') > 0,
       hipq.enqueue('do', '{"do": "SELECT pg_advisory_xact_lock(1)"}') > 0,
       hipq.enqueue('sql', '{"say": "hello"}') > 0;
SELECT hipq.run_until_idle('try.q');
SELECT job_data->>'do', outcome, error FROM hipq.jobs_detail WHERE queue = 'try.q' ORDER BY id;
EXECUTE run_mine;
DECLARE mine CURSOR FOR SELECT 1;
SELECT hipq.enqueue('do', '{"do": "SELECT 1"}') AS waits \gset
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q')$$);
SELECT pg_temp.try(format('SELECT hipq.dry_run(%s)', :waits));
CLOSE mine;
SELECT hipq.run_until_idle('try.q');
ROLLBACK;
DEALLOCATE run_mine;

-- ---- dry_run: everything is rolled back
BEGIN;
SELECT hipq.enqueue('note', '{"say": "try"}', scheduled_run_time => '2100-01-01') AS waiting \gset
SELECT hipq.enqueue('note', '{"say": "fail", "sqlstate": "22012"}') AS failing \gset
SELECT hipq.enqueue('do', '{"do": "INSERT INTO run_child VALUES (1)"}') AS deferred \gset
SELECT hipq.enqueue('batch', '{"say": "one"}') AS batch \gset
SELECT result, error, sqlstate, duration >= '0' FROM hipq.dry_run(:waiting);
SELECT result, error, sqlstate FROM hipq.dry_run(:failing, 'try.q');
SELECT result, error, sqlstate FROM hipq.dry_run(:deferred);
SELECT result, error, sqlstate FROM hipq.dry_run(:batch);
SELECT count(*) FROM run_note;
SELECT state, attempt FROM hipq.jobs_detail WHERE queue = 'try.q' ORDER BY id;
SELECT count(*) FROM hipq.attempts WHERE queue = 'try.q';
-- of a final job
SELECT hipq.cancel(:waiting);
SELECT result, error FROM hipq.dry_run(:waiting);
SELECT outcome, attempt FROM hipq.jobs WHERE id = :waiting;
-- cancelling the statement ends the call
SELECT hipq.enqueue('do', '{"do": "SELECT pg_sleep(60)"}', priority => -1) AS sleeps \gset
SAVEPOINT before;
SET LOCAL statement_timeout = '2s';
SELECT hipq.dry_run(:sleeps);
ROLLBACK TO before;
SET LOCAL statement_timeout = '2s';
SELECT hipq.run_until_idle('try.q');
ROLLBACK TO before;
SELECT state, attempt FROM hipq.jobs_detail WHERE id = :sleeps;
ROLLBACK;

-- ---- errors
BEGIN;
SELECT hipq.enqueue('procedure') AS procedure \gset
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.other')$$);
SELECT pg_temp.try(format('SELECT hipq.dry_run(%s)', :procedure));
UPDATE hipq.try_other SET scheduled_run_time = '2100-01-01';
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.other')$$);
SELECT hipq.enqueue('vacuum') > 0;
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.other')$$);
SELECT hipq.enqueue('unknown', queue => 'try.q') AS unknown \gset
SELECT pg_temp.try(format('SELECT hipq.dry_run(%s)', :unknown));
ROLLBACK;
SELECT hipq.enqueue('nothing') AS nothing \gset
SELECT pg_temp.try(format('SELECT hipq.dry_run(%s)', :nothing));
SELECT pg_temp.try('SELECT hipq.dry_run(-1)');
SELECT pg_temp.try('SELECT hipq.dry_run(NULL)');
SELECT pg_temp.try(format('SELECT hipq.dry_run(%s, %L)', :nothing, 'no.such'));
SELECT pg_temp.try($$SELECT hipq.run_until_idle('no.such')$$);
SELECT pg_temp.try('SELECT hipq.run_until_idle(NULL)');
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q', 0)$$);
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q', NULL)$$);
SELECT pg_temp.try($$SELECT hipq.enqueued(queue => 'no.such')$$);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q')$$);
SELECT pg_temp.try(format('SELECT hipq.dry_run(%s)', :nothing));
ROLLBACK;
BEGIN READ ONLY;
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q')$$);
ROLLBACK;

-- ---- rights
SET ROLE regress_hipq_run_member;
SELECT hipq.run_until_idle('try.q'), (SELECT count(*) FROM hipq.enqueued(queue => 'try.q'));
SET hipq.allow_foreign_handlers = off;
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q')$$);
SELECT pg_temp.try(format('SELECT hipq.dry_run(%s)', :nothing));
SET ROLE regress_hipq_run_owner;
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q')$$);
RESET ROLE;
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q')$$);
SET SESSION AUTHORIZATION regress_hipq_run_owner;
SELECT hipq.run_until_idle('try.q');
RESET SESSION AUTHORIZATION;
SELECT pg_temp.try('ALTER ROLE regress_hipq_run_owner SET hipq.allow_foreign_handlers = on');
SET hipq.allow_foreign_handlers = on;
SET ROLE regress_hipq_run_controller;
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q')$$);
SELECT pg_temp.try(format('SELECT hipq.dry_run(%s)', :nothing));
SET ROLE regress_hipq_run_stranger;
SELECT pg_temp.try($$SELECT hipq.run_until_idle('try.q')$$);
SELECT pg_temp.try(format('SELECT hipq.dry_run(%s)', :nothing));
SELECT pg_temp.try($$SELECT hipq.enqueued(queue => 'try.q')$$);
SELECT count(*) FROM hipq.enqueued();
SET ROLE regress_hipq_run_reader;
SELECT count(*) FROM hipq.enqueued();
RESET ROLE;

-- ---- retry_after and rate_limited: the delay of the retry, instead of the type's; a request holds
-- if its error ends the attempt
SELECT hipq.register_job_type('try.q', 'later', handler => 'run_data', max_retries => 1,
           retry_base => '1 h', retry_jitter => 0),
       hipq.register_job_type('try.q', 'much later', handler => 'run_data', max_retries => 1,
           retry_base => '1 s', retry_max => '2 s', retry_jitter => 1),
       hipq.register_job_type('try.q', 'asks later', handler => 'run_data',
           retry_handler => 'run_delay');
BEGIN;
SET LOCAL ROLE regress_hipq_run_owner;
SELECT count(hipq.enqueue(job_type, jsonb_build_object('do', statement), queue => 'try.q',
    max_retries => max_retries))
FROM (VALUES ('later', $q$SELECT hipq.retry_after('7 min', 'busy')$q$, 1),
             ('later', $q$SELECT hipq.retry_after('0')$q$, 2),
             ('later', $q$SELECT hipq.retry_after('7 min')$q$, 0),
             ('later', $q$SELECT hipq.retry_after('-1 s')$q$, 1),
             ('later', 'DO $d$ BEGIN PERFORM hipq.retry_after(''7 min''); '
                 'EXCEPTION WHEN OTHERS THEN RAISE; END $d$ ', 1),
             ('later', 'DO $d$ BEGIN PERFORM hipq.retry_after(''7 min''); '
                 'EXCEPTION WHEN OTHERS THEN RAISE ''else''; END $d$ ', 1),
             ('later', 'DO $d$ BEGIN PERFORM hipq.retry_after(''7 min''); '
                 'EXCEPTION WHEN OTHERS THEN NULL; END $d$ ', 1),
             ('later', $q$SELECT hipq.fail_retriable('as the type says')$q$, 1),
             ('much later', $q$SELECT hipq.rate_limited('2 days')$q$, 1),
             ('much later', $q$SELECT hipq.rate_limited('2 days', '429')$q$, 0),
             ('much later', $q$SELECT hipq.rate_limited('-1 s')$q$, 1),
             ('asks later', $q$SELECT hipq.retry_after('7 min', 'not before')$q$, 1),
             ('asks later', $q$SELECT 1 / 0$q$, 1)) AS wanted (job_type, statement, max_retries);
SELECT hipq.run_until_idle('try.q');
RESET ROLE;
SELECT job_type, regexp_replace(job_data->>'do', '(SELECT hipq.|DO \$d\$ BEGIN PERFORM hipq.)', ''),
       state, attempt, retry_count, retry_reason, error,
       CASE WHEN state = 'retry' THEN
           date_trunc('minute', scheduled_run_time - update_time + interval '30 s') END AS waits
FROM hipq.job WHERE job_type LIKE '%later' ORDER BY id;
SELECT scheduled_run_time - update_time = interval '2 days' AS is_exact
FROM hipq.job WHERE job_type = 'much later' AND state = 'retry';
ROLLBACK;
SELECT pg_temp.try($$SELECT hipq.retry_after('7 min')$$);
SELECT pg_temp.try($$SELECT hipq.rate_limited('7 min')$$);

-- ---- dry_fail: what would follow, by the policy or a retry handler
CREATE FUNCTION run_answer(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO run_note VALUES ('asked');
    IF job.error = 'weak' THEN RAISE 'no answer' USING ERRCODE = '22012'; END IF;
    RETURN CASE job.error WHEN 'no' THEN NULL ELSE job.attempt * interval '1 min' END
        + CASE WHEN job.state = 'error' AND job.retry_reason = 'transient_error' THEN
            interval '5 s' ELSE '0' END;
END $$;
SELECT hipq.register_job_type('try.q', 'answers', handler => 'run_data', max_retries => 1,
    retry_handler => 'run_answer');
BEGIN;
SELECT hipq.enqueue('later', '{}', queue => 'try.q', max_retries => 1) AS plain,
       hipq.enqueue('later', '{}', queue => 'try.q', max_retries => 0) AS last,
       hipq.enqueue('answers', '{}', queue => 'try.q') AS asks \gset
SELECT hipq.dry_fail(:plain), hipq.dry_fail(:plain, retriable => false),
       hipq.dry_fail(:plain, 'busy', retry_after => '7 min'), hipq.dry_fail(:last);
SELECT hipq.cancel(:asks, queue => 'try.q');
SELECT hipq.dry_fail(:asks), hipq.dry_fail(:asks, 'x', false), hipq.dry_fail(:asks, 'no'),
       hipq.dry_fail(:asks, 'x', retry_after => '7 min');
SELECT pg_temp.try(format('SELECT hipq.dry_fail(%s, %L)', :asks, 'weak'));
SELECT pg_temp.try(format('SELECT hipq.dry_fail(%s, %L)', :plain, NULL));
SELECT pg_temp.try(format('SELECT hipq.dry_fail(%s, retry_after => %L)', :plain, '-1 s'));
SELECT pg_temp.try('SELECT hipq.dry_fail(-1)');
SET LOCAL ROLE regress_hipq_run_controller;
SELECT hipq.dry_fail(:plain);
SELECT pg_temp.try(format('SELECT hipq.dry_fail(%s)', :asks));
SET LOCAL ROLE regress_hipq_run_stranger;
SELECT pg_temp.try(format('SELECT hipq.dry_fail(%s)', :plain));
SET LOCAL ROLE regress_hipq_run_owner;
SET LOCAL hipq.allow_foreign_handlers = off;
SELECT pg_temp.try(format('SELECT hipq.dry_fail(%s)', :asks));
RESET ROLE;
SELECT job_type, state, attempt, error
FROM hipq.job WHERE job_type IN ('later', 'answers') ORDER BY id;
SELECT count(*) FROM hipq.attempt WHERE job_id >= :plain AND job_type <> 'answers';
SELECT count(*) FROM run_note;
ROLLBACK;

SELECT hipq.drop_queue('try.q', force => true), hipq.drop_queue('try.other', force => true),
       hipq.drop_queue('try.third');
DROP TABLE run_note, run_parent, run_child, run_strict, run_secret;
DROP FUNCTION run_answer(hipq.job), run_note(hipq.job), run_data(jsonb), run_wish(jsonb),
    run_batch(hipq.job[]), run_delay(hipq.job), run_no_delay(hipq.job), run_at_commit();
DROP PROCEDURE run_procedure(jsonb);
DROP OWNED BY regress_hipq_run_owner, regress_hipq_run_member, regress_hipq_run_controller,
    regress_hipq_run_reader, regress_hipq_run_stranger;
DROP ROLE regress_hipq_run_owner, regress_hipq_run_member, regress_hipq_run_controller,
    regress_hipq_run_reader, regress_hipq_run_stranger;
