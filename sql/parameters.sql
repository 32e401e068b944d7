-- Parameters of job types: which declarations are valid, which job_data each way in refuses,
-- defaults, secrets, and errors that appear only when the job starts.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
CREATE FUNCTION pg_temp.wait_until(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    is_true boolean;
BEGIN
    FOR i IN 1 .. 6000 LOOP
        EXECUTE 'SELECT ' || condition INTO is_true;
        IF is_true THEN RETURN 'yes'; END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN 'no';
END
$$;
\set ECHO all

CREATE ROLE regress_hipq_par_owner LOGIN;
CREATE ROLE regress_hipq_par_reader LOGIN;
CREATE ROLE regress_hipq_par_app LOGIN;
SELECT hipq.create_queue('par.q', owner => 'regress_hipq_par_owner') > 0,
       hipq.create_queue('par.other', owner => 'regress_hipq_par_owner') > 0;
SELECT hipq.grant_queue('par.q', 'regress_hipq_par_reader', 'read'),
       hipq.grant_queue('par.q', 'regress_hipq_par_app', 'enqueue');
CREATE FUNCTION par_echo(data jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT data';
CREATE FUNCTION par_many(data jsonb[]) RETURNS void LANGUAGE sql AS '';

-- ---- Valid and invalid declarations
CREATE FUNCTION pg_temp.declare(parameters text, validate text DEFAULT 'enqueue')
RETURNS text LANGUAGE sql AS $$
    SELECT pg_temp.try(format(
        'SELECT hipq.register_job_type(''par.q'', ''bad'', parameters => %L, validate => %L)',
        parameters, validate))
$$;
SELECT pg_temp.declare('[]');
SELECT pg_temp.declare('"to"');
SELECT pg_temp.declare('{"to": "string"}');
SELECT pg_temp.declare('{"to": ["string"]}');
SELECT pg_temp.declare('{"to": {"type": "text"}}');
SELECT pg_temp.declare('{"to": {"type": ["string", "text"]}}');
SELECT pg_temp.declare('{"to": {"type": []}}');
SELECT pg_temp.declare('{"to": {"type": ["string", ["null"]]}}');
SELECT pg_temp.declare('{"to": {"type": null}}');
SELECT pg_temp.declare('{"to": {"type": "string", "requried": true}}');
SELECT pg_temp.declare('{"to": {"required": "yes"}}');
SELECT pg_temp.declare('{"to": {"secret": 1}}');
SELECT pg_temp.declare('{"n": {"type": "integer", "default": 1.5}}');
SELECT pg_temp.declare('{"n": {"default": "x", "type": ["integer", "null"]}}');
SELECT pg_temp.declare('{"key": {"secret": true, "default": "s3cret"}}');
SELECT pg_temp.declare('{}', 'later');
SELECT pg_temp.declare(
    (SELECT jsonb_object_agg('p' || i, '{}'::jsonb) FROM generate_series(1, 10000) AS i)::text);
SELECT count(*) FROM hipq.job_types WHERE job_type = 'bad';

SELECT hipq.register_job_type('par.q', 'welcome', handler => 'par_echo', parameters => '{
    "to": {"type": "string", "required": true},
    "n": {"type": "integer", "default": 3},
    "size": {"type": ["number", "null"], "default": null},
    "tags": {"type": "array", "default": ["a", {"b": 1}]},
    "how": {"type": "object"},
    "any": {},
    "token": {"type": "string", "secret": true}}');
SELECT job_type, parameters -> 'n' AS n, validate FROM hipq.job_types_detail WHERE queue = 'par.q';
SELECT hipq.pause('par.q');

-- ---- enqueue: job_data that is refused, and defaults that are filled in
CREATE FUNCTION pg_temp.give(data text) RETURNS text LANGUAGE sql AS $$
    SELECT pg_temp.try(format('SELECT hipq.enqueue(''welcome'', %L::jsonb)', data))
$$;
SELECT pg_temp.give('{}');
SELECT pg_temp.try('SELECT hipq.enqueue(''welcome'')');
SELECT pg_temp.give('{"to": null}');
SELECT pg_temp.give('{"to": 5}');
SELECT pg_temp.give('{"To": "ann"}');
SELECT pg_temp.give('"ann"');
SELECT pg_temp.give('5');
SELECT pg_temp.give('[]');
SELECT pg_temp.give('null');
SELECT pg_temp.give('{"to": "ann", "n": 1.5}');
SELECT pg_temp.give('{"to": "ann", "n": "1"}');
SELECT pg_temp.give('{"to": "ann", "n": null}');
SELECT pg_temp.give('{"to": "ann", "size": true}');
SELECT pg_temp.give('{"to": "ann", "tags": {}}');
SELECT pg_temp.give('{"to": "ann", "how": []}');
SELECT pg_temp.give('{"to": "ann", "how": "quickly"}');
-- No error shows the values of secrets.
SELECT pg_temp.give('{"to": "ann", "token": ["s3cret"]}');
SELECT hipq.enqueue('welcome', '{"to": "ann"}') AS id \gset
SELECT job_data FROM hipq.par_q WHERE id = :id;
SELECT hipq.enqueue('welcome', '{"to": "", "n": 1e3, "size": 0.5, "tags": [], "how": {}, "any": [1],
    "more": true}'::jsonb) AS id \gset
SELECT job_data FROM hipq.par_q WHERE id = :id;
SELECT hipq.enqueue('welcome', '{"to": "ann", "n": 2.0, "size": null}'::jsonb) AS id \gset
SELECT job_data FROM hipq.par_q WHERE id = :id;
SELECT count(*) FROM hipq.par_q;

-- ---- by other ways
SELECT pg_temp.try(
    $$SELECT hipq.enqueue_many('welcome', ARRAY['{"to": "ann"}', '{"too": "bob"}']::jsonb[])$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue_many('welcome', ARRAY['{"to": "ann"}', NULL]::jsonb[], '{a,b}')$$);
SELECT pg_temp.try($$INSERT INTO hipq.par_q (job_type, job_data) VALUES ('welcome', '{"to": 1}')$$);
SELECT pg_temp.try($$INSERT INTO hipq.par_q (job_type) VALUES ('welcome')$$);
COPY hipq.par_q (job_type, job_data) FROM STDIN (DELIMITER '|');
welcome|{"to": "ann"}
welcome|{"to": 1}
\.
COPY hipq.par_q (job_type) FROM STDIN;
welcome
\.
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 'welcome', '{"to": 1}')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_unique('welcome', '{}', job_key => 'k')$$);
SELECT count(*) FROM hipq.par_q;
SELECT cardinality(
    hipq.enqueue_many('welcome', ARRAY['{"to": "many"}', '{"to": "many", "n": 4}']::jsonb[]));
INSERT INTO hipq.par_q (job_type, job_data) VALUES ('welcome', '{"to": "insert"}');
COPY hipq.par_q (job_type, job_data, priority) FROM STDIN (DELIMITER '|');
welcome|{"to": "copy"}|1
\.
COPY hipq.par_q (job_type, job_data) FROM STDIN WITH (DELIMITER '|', FORMAT text)
WHERE job_type = 'welcome';
welcome|{"to": "copied by PostgreSQL"}
\.
SET SESSION AUTHORIZATION regress_hipq_par_app;
SELECT hipq.enqueue('welcome', '{"to": "app"}') > 0;
SELECT pg_temp.try($$SELECT hipq.enqueue('welcome', '{}')$$);
RESET SESSION AUTHORIZATION;
SELECT job_data ->> 'to', job_data ->> 'n', job_data -> 'tags'
FROM hipq.par_q WHERE job_data ->> 'to' NOT IN ('', 'ann') ORDER BY id;

-- ---- changes of a waiting job: by UPDATE, by another job with its key
SELECT hipq.enqueue('welcome', '{"to": "ann"}', job_key => 'k') AS id \gset
SET SESSION AUTHORIZATION regress_hipq_par_owner;
SELECT pg_temp.try(format($$UPDATE hipq.par_q SET job_data = '{"to": 1}' WHERE id = %s$$, :id));
SELECT pg_temp.try(format($$UPDATE hipq.par_q SET job_data = '[]' WHERE id = %s$$, :id));
UPDATE hipq.par_q SET job_data = '{"to": "bob"}' WHERE id = :id RETURNING job_data;
UPDATE hipq.par_q SET priority = 3 WHERE id = :id RETURNING job_data;
RESET SESSION AUTHORIZATION;
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('welcome', '{"to": 1}', job_key => 'k', on_duplicate => 'merge')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('welcome', '{}', job_key => 'k', on_duplicate => 'replace')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('welcome', '{"to": 1}', job_key => 'k', on_duplicate => 'return')$$);
SELECT hipq.enqueue('welcome', '{"n": 8}', job_key => 'k', on_duplicate => 'merge') = :id;
SELECT job_data FROM hipq.par_q WHERE id = :id;
SELECT hipq.enqueue('welcome', '{"to": "eve"}', job_key => 'k', on_duplicate => 'replace') = :id;
SELECT job_data FROM hipq.par_q WHERE id = :id;

-- ---- retry: new data must fit; the job's own data is accepted as it is
SELECT hipq.cancel(:id);
SELECT pg_temp.try(format($$SELECT hipq.retry(%s, job_data => '{"to": 1}')$$, :id));
SELECT hipq.retry(:id, job_data => '{"to": "again"}') AS again \gset
SELECT job_data FROM hipq.par_q WHERE id = :again;
SELECT hipq.cancel(:again);
SELECT hipq.alter_job_type('par.q', 'welcome', parameters => '{"from": {"required": true}}');
SELECT hipq.retry(:again) > 0;
SELECT pg_temp.give('{"to": "ann"}');
-- Other columns of existing jobs can be changed.
UPDATE hipq.par_q SET priority = 4 WHERE job_data ->> 'to' = 'insert' RETURNING job_data;

-- ---- Existing jobs run with their data as it is, whatever the type declares now
SELECT hipq.cancel_jobs('par.q') > 0;
SELECT hipq.alter_job_type('par.q', 'welcome', parameters => '{}');
SELECT parameters, validate FROM hipq.job_types_detail WHERE job_type = 'welcome';
SELECT pg_temp.give('"ann"');
SELECT hipq.enqueue('welcome', '{"to": "old"}') AS old \gset
SELECT hipq.alter_job_type('par.q', 'welcome',
    parameters => '{"from": {"type": "string", "required": true}, "n": {"default": 1}}');
SELECT hipq.resume('par.q');
SELECT pg_temp.wait_until(
    format('EXISTS (SELECT FROM hipq.par_q WHERE id = %s AND state = ''final'')', :old));
SELECT error, result FROM hipq.par_q WHERE id = :old;

-- ---- validate => 'run'
SELECT hipq.alter_job_type('par.q', 'welcome', validate => 'run', max_retries => 3);
SELECT parameters, validate FROM hipq.job_types_detail WHERE job_type = 'welcome';
SELECT hipq.enqueue('welcome', '{"to": "ann"}') AS id \gset
SELECT hipq.enqueue('welcome', 'ann') AS scalar \gset
SELECT hipq.enqueue('welcome', '{"from": "ann"}') AS good \gset
SELECT pg_temp.wait_until(
    format('(SELECT count(*) FROM hipq.par_q WHERE id IN (%s, %s, %s) AND state = ''final'') = 3',
    :id, :scalar, :good));
SELECT attempt, retry_count, retry_reason, error, job_data, result
FROM hipq.par_q WHERE id IN (:id, :scalar, :good) ORDER BY id;
SELECT reason, sqlstate, error, hint
FROM hipq.attempts_detail WHERE job_id IN (:id, :scalar, :good) ORDER BY job_id;
SELECT reason, error, state
FROM hipq.dead_letters_detail WHERE job_id IN (:id, :scalar, :good) ORDER BY job_id;
-- The other jobs of the batch run.
SELECT hipq.register_job_type('par.q', 'batch', handler => 'par_many', batch_size => 10,
    parameters => '{"n": {"type": "integer"}}', validate => 'run');
SELECT hipq.enqueue_many('batch', ARRAY['{"n": 1}', '{"n": "1"}', '{}']::jsonb[]) AS ids \gset
SELECT pg_temp.wait_until(format(
    '(SELECT count(*) FROM hipq.par_q WHERE id = ANY (%L::bigint[]) AND state = ''final'') = 3',
    :'ids'));
SELECT job_data, error FROM hipq.par_q WHERE id = ANY (:'ids') ORDER BY id;
-- In the caller's session.
BEGIN;
SET LOCAL SESSION AUTHORIZATION regress_hipq_par_owner;
SELECT hipq.register_job_type('par.other', 'here', handler => 'par_echo',
    parameters => '{"n": {"type": "integer"}}', validate => 'run');
SELECT hipq.enqueue('here', '{"n": "x"}') AS here \gset
SELECT error FROM hipq.dry_run(:here);
SELECT hipq.run_until_idle('par.other');
SELECT retry_reason, error FROM hipq.par_other WHERE id = :here;
ROLLBACK;
-- hipq does not give external workers jobs whose data does not fit.
SELECT hipq.register_job_type('par.other', 'outside', handler_kind => 'notify',
    parameters => '{"n": {"type": "integer"}}', validate => 'run');
SELECT hipq.register_worker('parameters', '{par.other}', '{outside}',
    capacity => 10) AS worker \gset
SELECT hipq.enqueue_many('outside', ARRAY['{"n": "1"}', '{"n": 2}']::jsonb[]) AS ids \gset
SELECT pg_temp.wait_until(
    '(SELECT queue_depth FROM hipq.workers_detail WHERE name = ''parameters'') = 2');
SELECT job_data FROM hipq.claim(:worker, 10, '60 s');
SELECT job_data, state, retry_reason, error FROM hipq.par_other WHERE id = ANY (:'ids') ORDER BY id;
SELECT queue_depth, running_jobs, health -> 'failed_executions'
FROM hipq.workers_detail WHERE name = 'parameters';
SELECT hipq.deregister_worker(:worker);

-- ---- Secrets
SELECT hipq.alter_job_type('par.q', 'welcome', handler => 'SELECT $1->''token''',
    validate => 'enqueue', parameters => '{
        "token": {"type": "string", "secret": true, "required": true}, "pin": {"secret": true}}');
SELECT hipq.enqueue('welcome', '{"token": "s3cret", "to": "ann"}') AS id \gset
SELECT pg_temp.wait_until(
    format('EXISTS (SELECT FROM hipq.par_q WHERE id = %s AND state = ''final'')', :id));
SELECT job_data, result FROM hipq.jobs_detail WHERE id = :id;
SELECT hipq.alter_job_type('par.q', 'welcome', handler => 'SELECT 1/0');
SELECT hipq.enqueue('welcome', '{"token": "s3cret", "pin": {"a": [1]}}',
    max_retries => 0) AS id \gset
SELECT pg_temp.wait_until(format('EXISTS (SELECT FROM hipq.dead_letters WHERE job_id = %s)', :id));
SET SESSION AUTHORIZATION regress_hipq_par_reader;
SELECT job_data FROM hipq.jobs_detail WHERE id = :id;
SELECT count(*) FROM hipq.jobs_detail WHERE job_data ->> 'token' = 's3cret';
SELECT job -> 'job_data', job ->> 'job_type', reason
FROM hipq.dead_letters_detail WHERE job_id = :id;
-- This function does not show which parameters types of other queues declare.
SELECT hipq._masked(queue_id, 'welcome', '{"token": 1}'),
       hipq._masked(queue_id + 1, 'outside', '{"n": 1}') IS NULL,
       hipq._masked_job(0, 'welcome', '{}') IS NULL
FROM hipq.par_q WHERE id = :id;
-- The queue's own table shows the data unmasked.
SELECT job_data FROM hipq.par_q WHERE id = :id;
RESET SESSION AUTHORIZATION;
-- Data without members may itself be the secret.
SELECT job_data FROM hipq.jobs_detail WHERE id = :scalar;
-- Redriving a dead letter runs the job with all its data.
SELECT hipq.redrive(:id) AS again \gset
SELECT job_data FROM hipq.par_q WHERE id = :again;
-- A dead letter without job_data
UPDATE hipq.dead_letter SET job = job - 'job_data' WHERE job_id = :id;
SELECT job ? 'job_data', job ->> 'job_type' FROM hipq.dead_letters_detail WHERE job_id = :id;
INSERT INTO hipq.schedule (name, cron, role, queue_id, job_type, job_key, job_data)
    SELECT 'par', '@daily', 'regress_hipq_par_owner', queue_id, 'welcome', 'NONE',
           '{"token": "s3cret"}'
    FROM hipq.queue WHERE table_name = 'par_q';
SELECT job_data FROM hipq.schedules_detail WHERE name = 'par';
DELETE FROM hipq.schedule WHERE name = 'par';

-- ---- From another queue: jobs that do not fit in this one
SELECT hipq.pause('par.other'), hipq.register_job_type('par.other', 'welcome');
SELECT hipq.enqueue_many('welcome', ARRAY['{"token": "a"}', '{"token": 1}']::jsonb[],
    queue => 'par.other') AS ids \gset
SELECT hipq.alter_job_type('par.q', 'welcome',
    parameters => '{"token": {"type": "string", "required": true}, "n": {"default": 1}}'),
       hipq.pause('par.q');
SELECT pg_temp.try($$SELECT * FROM hipq.move_jobs('par.other', 'par.q', 'welcome')$$);
SELECT * FROM hipq.move_jobs('par.other', 'par.q', 'welcome', max_jobs => 1);
SELECT queue, job_data FROM hipq.jobs_detail WHERE id = ANY (:'ids') ORDER BY id;
SELECT hipq.fail_job(id, 'enough') FROM hipq.par_other WHERE id = ANY (:'ids');
SELECT hipq.fail_job(id, 'enough') FROM hipq.par_q WHERE id = ANY (:'ids');
SELECT pg_temp.try(
    $$SELECT hipq.redrive_jobs('par.other', reason => 'explicit_failure', to_queue => 'par.q')$$);
SELECT pg_temp.try(format('SELECT hipq.redrive(%s, ''par.q'')', id))
FROM hipq.par_other WHERE id = ANY (:'ids');
-- data that is valid in its old queue, changed as the new queue needs
SELECT count(hipq.redrive(id)) FROM hipq.par_other WHERE id = ANY (:'ids');
SELECT hipq.redrive(id, 'par.other') AS there FROM hipq.par_q WHERE id = ANY (:'ids') \gset
SELECT queue, job_data FROM hipq.jobs_detail WHERE id = :there;
SELECT hipq.fail_job(:there, 'enough');
SELECT hipq.alter_job_type('par.q', 'welcome',
    parameters => '{"token": {"type": "string", "required": true}, "m": {"default": 2}}');
SELECT hipq.redrive(:there, 'par.q') AS back \gset
SELECT queue, job_data FROM hipq.jobs_detail WHERE id = :back;
-- or validate => 'run' finds the error
SELECT hipq.alter_job_type('par.q', 'welcome', validate => 'run');
SELECT moved FROM hipq.move_jobs('par.other', 'par.q', 'welcome');

-- ---- A declaration that was written without register_job_type() has no effect, and keeps nothing
-- from working.
UPDATE hipq.job_type SET parameters = '{"to": "string"}' WHERE name = 'welcome';
SELECT hipq.enqueue('welcome', '{}', scheduled_run_time => '2100-01-01') > 0;

SELECT pg_temp.wait_until('NOT EXISTS (SELECT FROM hipq.par_q WHERE state = ''running'')');
SELECT hipq.resume('par.q'), hipq.resume('par.other');
SELECT hipq.drop_queue('par.q', force => true), hipq.drop_queue('par.other', force => true);
SELECT pg_temp.wait_until('NOT EXISTS (SELECT FROM hipq.queue WHERE table_name ~ ''^par_'')');
DROP FUNCTION par_echo(jsonb), par_many(jsonb[]);
DROP OWNED BY regress_hipq_par_owner, regress_hipq_par_reader, regress_hipq_par_app;
DROP ROLE regress_hipq_par_owner, regress_hipq_par_reader, regress_hipq_par_app;
