-- Ways to enqueue: hipq.enqueue, enqueue_many, INSERT, COPY, a user's trigger. Defaults of the job
-- type, duplicates, rollback.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

CREATE ROLE regress_hipq_enqueue_owner LOGIN;
CREATE ROLE regress_hipq_enqueue_app;
SELECT hipq.create_queue('enq.one', owner => 'regress_hipq_enqueue_owner', queue_ttl => 77) > 0;
SELECT hipq.create_queue('enq.two', owner => 'regress_hipq_enqueue_owner') > 0;
SELECT hipq.grant_queue('enq.one', 'regress_hipq_enqueue_app', 'enqueue');
SELECT hipq.register_job_type('enq.one', 'simple');
SELECT hipq.register_job_type('enq.one', 'tuned', default_timeout => 11, default_priority => -3,
    default_throttle_factor => 2.5, default_time_windows => 'Mon-Fri 09:00-17:00',
    max_retries => 4);
SELECT hipq.register_job_type('enq.one', 'both');
SELECT hipq.register_job_type('enq.two', 'both');

-- ---- The initial values of a job
SELECT hipq.enqueue('simple') AS id \gset
\pset tuples_only off
\x on
SELECT id = :id AS id, original_job_id, retry_of, worker_id,
       scheduled_run_time = created_time AS is_due, update_time = created_time AS is_fresh,
       accepted_time, deadline, expires_time, state, timeout, attempt, retry_count, max_retries,
       queue_ttl, priority, throttle_factor, job_type, job_key, error, throttle_key, time_windows,
       retry_reason, shard_key, job_data, result
FROM hipq.enq_one WHERE id = :id;

-- The values of the job type
SELECT hipq.enqueue('tuned') AS id \gset
SELECT timeout, priority, throttle_factor, time_windows, max_retries, queue_ttl
FROM hipq.enq_one WHERE id = :id;

-- Every parameter
SELECT hipq.enqueue('tuned', '{"a": 1}', queue => 'enq.one', job_key => 'key',
    scheduled_run_time => '2100-01-01', priority => 7, timeout => 8, throttle_factor => 0.25,
    time_windows => ' sat 22:00-06:00,  SUN', max_retries => 9, expires_time => '2100-01-02',
    on_duplicate => 'return', throttle_key => 'tenant') AS id \gset
SELECT job_type, job_data, job_key, scheduled_run_time, priority, timeout, throttle_factor,
       time_windows, max_retries, expires_time, throttle_key, state
FROM hipq.enq_one WHERE id = :id;
\x off
\pset tuples_only on

-- A type that is not registered gets the values of the settings
SELECT hipq.enqueue('never_registered', queue => 'enq.one') AS id \gset
SELECT timeout, priority, throttle_factor, time_windows, max_retries, queue_ttl
FROM hipq.enq_one WHERE id = :id;

-- ---- job_data: any JSON; text that is not JSON becomes a string
CREATE FUNCTION pg_temp.data_of(wanted bigint)
RETURNS jsonb LANGUAGE sql AS 'SELECT job_data FROM hipq.enq_one WHERE id = wanted';
SELECT given, pg_temp.data_of(hipq.enqueue('simple', given))
FROM (VALUES (1, '{"a": [1, null]}'), (2, '[1, 2]'), (3, '"text"'), (4, '12'), (5, '-1.5e3'),
             (6, 'true'), (7, 'false'), (8, 'null'), (9, 'hello'),
             (10, 'true story'), (11, '12 apples'), (12, ''), (13, ' '), (14, 'NULL'),
             (15, '  {"b": 2}'), (16, '01'), (17, 'a "quoted" \ word'),
             (18, '"quoted" text')) AS v(n, given)
ORDER BY n;
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', '{"a": ')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', '[1, 2')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', '"open')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', '{"a": 1} and more')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', '[x] done')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', '"a": 1, "b": 2')$$);
SELECT pg_temp.data_of(hipq.enqueue('simple', NULL));
SELECT pg_temp.data_of(hipq.enqueue('simple', NULL::text));

-- job_text is a string, whatever it contains
SELECT given, pg_temp.data_of(hipq.enqueue('simple', job_text => given))
FROM (VALUES (1, '[x] done'), (2, '{"a": 1}'), (3, '"a'), (4, '12'), (5, 'null'), (6, ''), (7, 'two
lines')) AS v(n, given) ORDER BY n;
SELECT pg_temp.data_of(id), action
FROM hipq.enqueue_unique('simple', job_text => '[x] once', queue => 'enq.one', job_key => 'text');
SELECT pg_temp.data_of(hipq.enqueue('simple', job_text => NULL));
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', '{"a": 1}', job_text => 'x')$$);
SELECT hipq.cancel_jobs('enq.one', 'simple', job_key => 'text');

-- a value of any other type is converted by to_jsonb()
CREATE TYPE pg_temp.pair AS (a integer, b text);
SELECT pg_temp.data_of(hipq.enqueue('simple', 42));
SELECT pg_temp.data_of(hipq.enqueue('simple', 4.20));
SELECT pg_temp.data_of(hipq.enqueue('simple', true));
SELECT pg_temp.data_of(hipq.enqueue('simple', '{"b":1,"a":2}'::json));
SELECT pg_temp.data_of(hipq.enqueue('simple', '{"b":1,"a":2}'::jsonb));
SELECT pg_temp.data_of(hipq.enqueue('simple', 'null'::jsonb));
SELECT pg_temp.data_of(hipq.enqueue('simple', ROW(1, 'x')::pg_temp.pair));
SELECT pg_temp.data_of(hipq.enqueue('simple', ARRAY[1, 2, NULL]));
SELECT pg_temp.data_of(hipq.enqueue('simple', '2026-01-02'::date));
SELECT pg_temp.data_of(hipq.enqueue('simple', 'plain words'::varchar));
SELECT pg_temp.data_of(hipq.enqueue('simple', NULL::integer));
SELECT pg_temp.data_of(hipq.enqueue('simple', NULL::jsonb));
SELECT pg_temp.data_of(hipq.enqueue('simple', job_data => to_jsonb(pg_class.relname)))
FROM pg_class WHERE oid = 'pg_class'::regclass;

-- ---- Without queue
SELECT hipq.enqueue('simple') AS id \gset
SELECT tableoid::regclass FROM hipq.job WHERE id = :id;
-- A queue that has only seen an unregistered type does not make the type ambiguous.
SELECT hipq.register_job_type('enq.one', 'stray', handler => 'SELECT 1');
SELECT hipq.register_job_type('enq.two', 'stray');
SELECT hipq.enqueue('stray', scheduled_run_time => '2100-01-01') AS id \gset
SELECT tableoid::regclass FROM hipq.job WHERE id = :id;
SELECT pg_temp.try($$SELECT hipq.enqueue('both')$$);
SELECT count(*) FROM hipq.enq_two;
SELECT hipq.enqueue('both', queue => 'enq.two') > 0;
-- a queue by the name of its table
SELECT hipq.enqueue('both', queue => 'hipq.enq_two') > 0;
SELECT pg_temp.try($$SELECT hipq.enqueue('both', queue => 'hipq.enq_two_live')$$);
-- a role sees only the queues into which it may enqueue
SET ROLE regress_hipq_enqueue_app;
SELECT hipq.enqueue('both') > 0;
SELECT pg_temp.try($$SELECT hipq.enqueue('both', queue => 'enq.two')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('found_nowhere')$$);
RESET ROLE;
SELECT count(*) FILTER (WHERE tableoid = 'hipq.enq_one_live'::regclass),
       count(*) FILTER (WHERE tableoid = 'hipq.enq_two_live'::regclass)
FROM hipq.job WHERE job_type = 'both';
-- a role that may create queues makes hipq.main; a rollback undoes this
SELECT to_regclass('hipq.main');
BEGIN;
SELECT hipq.enqueue('found_nowhere') > 0;
SELECT count(*) FROM hipq.main;
ROLLBACK;
SELECT to_regclass('hipq.main');
SELECT hipq.enqueue('found_nowhere') > 0;
SELECT hipq.enqueue('found_nowhere') > 0;
SELECT count(*) FROM hipq.main;
SET ROLE regress_hipq_enqueue_app;
SELECT pg_temp.try($$SELECT hipq.enqueue('found_nowhere')$$);
RESET ROLE;
SELECT hipq.drop_queue('hipq.main', force => true);

-- ---- Duplicates
SELECT hipq.enqueue('simple', '1', job_key => 'same') AS id \gset
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', '2', job_key => 'same')$$);
SELECT hipq.enqueue('simple', '3', job_key => 'same', on_duplicate => 'return') = :id;
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('simple', '3', job_key => 'same', on_duplicate => 'ignore')$$);
SELECT job_data FROM hipq.enq_one WHERE job_key = 'same';
-- only a role that may read the holder sees its id
\set VERBOSITY sqlstate
SELECT hipq.enqueue('simple', job_key => 'same');
\set VERBOSITY default
SELECT strpos(:'LAST_ERROR_MESSAGE', :'id') = 0;
SET ROLE regress_hipq_enqueue_app;
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', '2', job_key => 'same')$$);
SELECT hipq.enqueue('simple', '2', job_key => 'same', on_duplicate => 'return') = :id;
RESET ROLE;
DO $$
DECLARE
    holder text := (SELECT id FROM hipq.enq_one WHERE job_key = 'same');
    detail text;
BEGIN
    PERFORM hipq.enqueue('simple', job_key => 'same');
EXCEPTION WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    IF detail = format('Job %s holds the key.', holder) THEN
        RAISE WARNING 'names the holder'; END IF;
END $$;
-- NONE is not a key; another type or queue is another key
SELECT hipq.enqueue('simple', job_key => 'NONE') <> hipq.enqueue('simple', job_key => 'NONE');
SELECT hipq.enqueue('tuned', job_key => 'same') > 0;
SELECT hipq.enqueue('both', job_key => 'same', queue => 'enq.one')
    <> hipq.enqueue('both', job_key => 'same', queue => 'enq.two');
-- by INSERT: the error of the unique index
SELECT regexp_replace(pg_temp.try(
    $$INSERT INTO hipq.enq_one (job_type, job_key) VALUES ('simple', 'same')$$), 'DETAIL:.*', '');
INSERT INTO hipq.enq_one (job_type, job_key) VALUES ('simple', 'same') ON CONFLICT DO NOTHING;
INSERT INTO hipq.enq_one (job_type, job_key)
VALUES ('simple', 'same'), ('simple', 'new'), ('simple', 'new')
ON CONFLICT DO NOTHING
RETURNING job_key;
-- a cancelled job releases its key
SELECT hipq.cancel(:id);
SELECT hipq.enqueue('simple', job_key => 'same', on_duplicate => 'return') <> :id;

-- ---- enqueue_many
CREATE TEMP TABLE many (n bigint, id bigint);
INSERT INTO many
SELECT n, id FROM unnest(hipq.enqueue_many('simple', '{1, 2, 3}')) WITH ORDINALITY AS u(id, n);
SELECT many.n, job.job_data, job.job_key FROM many JOIN hipq.enq_one AS job USING (id) ORDER BY n;
TRUNCATE many;
INSERT INTO many SELECT n, id
FROM unnest(hipq.enqueue_many('simple', '{10, 11, 12, 13, 14, null}', '{z, NULL, a, NONE, m, NULL}',
    queue => 'enq.one', scheduled_run_time => '2100-01-01', priority => 3, timeout => 4,
    throttle_factor => 5, time_windows => 'mon', max_retries => 6, expires_time => '2100-02-01',
    throttle_key => 't', queue_ttl => 8)) WITH ORDINALITY AS u(id, n);
SELECT many.n, job.job_data, job.job_key, job.scheduled_run_time, job.priority,
       job.timeout, job.throttle_factor, job.time_windows, job.max_retries, job.expires_time,
       job.throttle_key, job.queue_ttl
FROM many JOIN hipq.enq_one AS job USING (id) ORDER BY n;
SELECT hipq.enqueue_many('simple', '{}');
SELECT hipq.enqueue_many('simple', '{}', '{}');
SELECT pg_temp.try($$SELECT hipq.enqueue_many('simple', NULL)$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('simple', '{1, 2}', '{a}')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('simple', '{1}', '{}')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('simple', '{{1, 2}, {3, 4}}')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('simple', '{1, 2, 3}', '{d, e, d}')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('simple', '{1, 2}', '{f, a}')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('both', '{1}')$$);
SELECT count(*) FROM hipq.enq_one WHERE job_key IN ('d', 'e', 'f');
SELECT ids[1] = ids[3] AS same, ids[2] <> ids[1] AS other
FROM hipq.enqueue_many('simple', '{1, 2, 3}', '{d, e, d}', on_duplicate => 'return') AS ids;
SELECT job_key, job_data FROM hipq.enq_one WHERE job_key IN ('d', 'e') ORDER BY job_key;
SELECT hipq.enqueue_many('simple', '{7, 8}', '{e, d}', on_duplicate => 'return')
     = (SELECT array_agg(id ORDER BY job_key DESC) FROM hipq.enq_one WHERE job_key IN ('d', 'e'));

-- ---- INSERT
DELETE FROM hipq.enq_one;
INSERT INTO hipq.enq_one (job_type) VALUES ('simple');
INSERT INTO hipq.enq_one (job_type, job_data, priority)
VALUES ('tuned', '"a"', 1), ('simple', '"b"', NULL), ('tuned', '"c"', NULL);
INSERT INTO hipq.enq_one (job_type, job_data)
SELECT 'simple', to_jsonb(n) FROM generate_series(1, 3) AS n;
INSERT INTO hipq.enq_one (job_type) VALUES ('simple') RETURNING id > 0, state, timeout, job_key;
-- as an ORM does it: every column, NULL where it has no value, RETURNING id; with only the right to
-- enqueue
PREPARE orm AS INSERT INTO hipq.enq_one (id, original_job_id, retry_of, worker_id,
    scheduled_run_time, update_time, created_time, accepted_time, deadline, expires_time, queue_id,
    state, timeout, attempt, retry_count, max_retries, queue_ttl, priority, throttle_factor,
    job_type, job_key, error, throttle_key, time_windows, retry_reason, shard_key, job_data, result,
    manual_reason)
VALUES ($1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, $2, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, $3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
RETURNING id > 0;
SET ROLE regress_hipq_enqueue_app;
EXECUTE orm(NULL, NULL, 'tuned');
EXECUTE orm(NULL, NULL, 'tuned');
SET plan_cache_mode = force_generic_plan;
EXECUTE orm(NULL, NULL, 'tuned');
RESET plan_cache_mode;
WITH fresh AS (INSERT INTO hipq.enq_one (queue_id, job_type) VALUES (NULL, 'tuned') RETURNING id)
SELECT count(*) FROM fresh;
INSERT INTO hipq.enq_one (queue_id, job_type) VALUES (NULL, 'tuned'), (DEFAULT, 'tuned');
SELECT pg_temp.try($$SELECT job_data FROM hipq.enq_one$$);
SELECT pg_temp.try($$INSERT INTO hipq.enq_one (job_type) VALUES ('simple') RETURNING job_data$$);
SELECT pg_temp.try($$INSERT INTO hipq.enq_two (job_type) VALUES ('simple')$$);
SELECT pg_temp.try($$INSERT INTO hipq.job (queue_id, job_type) VALUES (1, 'simple')$$);
RESET ROLE;
SELECT job_type, job_data, priority, timeout, time_windows, queue_ttl, state, count(*)
FROM hipq.enq_one GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3;
SELECT pg_temp.try($$INSERT INTO hipq.enq_one (job_data) VALUES ('1')$$);
SELECT pg_temp.try($$INSERT INTO hipq.enq_one (job_type) VALUES (NULL)$$);
-- into the root of the tree, with the number of the queue
INSERT INTO hipq.job (queue_id, job_type, job_data)
SELECT queue_id, 'tuned', '"root"' FROM hipq.queue WHERE table_name = 'enq_one';
SELECT tableoid::regclass, timeout FROM hipq.job WHERE job_data = '"root"';
SELECT regexp_replace(pg_temp.try($$INSERT INTO hipq.job (job_type) VALUES ('simple')$$),
    'DETAIL:.*', '');
SELECT regexp_replace(pg_temp.try(
    $$INSERT INTO hipq.job (queue_id, job_type) VALUES (-1, 'simple')$$), 'DETAIL:.*', '');

-- ---- COPY
DELETE FROM hipq.enq_one;
COPY hipq.enq_one (job_type, job_data) FROM STDIN;
simple	{"to": "ann@example.com"}
tuned	"text"
tuned	\N
\.
COPY hipq.enq_one (job_type, priority, timeout, job_key) FROM STDIN (FORMAT csv);
tuned,,,
simple,5,6,copied
\.
SET ROLE regress_hipq_enqueue_app;
COPY hipq.enq_one (job_type, job_data) FROM STDIN;
simple	"by the application"
\.
RESET ROLE;
SELECT job_type, job_data, job_key, priority, timeout, time_windows FROM hipq.enq_one ORDER BY id;

-- ---- From a user's trigger, as the user that runs the statement
CREATE TABLE pg_temp.customer (name text);
CREATE FUNCTION pg_temp.welcome() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO hipq.enq_one (job_type, job_data) VALUES ('simple', to_jsonb(NEW));
    PERFORM hipq.enqueue('simple', NEW.name, queue => 'enq.one');
    RETURN NEW;
END $$;
CREATE TRIGGER welcome BEFORE INSERT ON pg_temp.customer FOR EACH ROW
    EXECUTE FUNCTION pg_temp.welcome();
GRANT INSERT ON pg_temp.customer TO regress_hipq_enqueue_app;
DELETE FROM hipq.enq_one;
SET ROLE regress_hipq_enqueue_app;
INSERT INTO pg_temp.customer VALUES ('ann'), ('bob');
RESET ROLE;
COPY pg_temp.customer FROM STDIN;
cid
\.
SELECT job_data FROM hipq.enq_one ORDER BY id;

-- ---- Rollback leaves nothing
DELETE FROM hipq.enq_one;
BEGIN;
SELECT hipq.enqueue('simple') > 0;
INSERT INTO hipq.enq_one (job_type) VALUES ('simple');
ROLLBACK;
SELECT count(*) FROM hipq.enq_one;
BEGIN;
SELECT hipq.enqueue('simple', '"kept"', job_key => 'k') > 0;
SAVEPOINT a;
SELECT hipq.enqueue('simple', '"undone"', job_key => 'l') > 0;
SELECT array_length(hipq.enqueue_many('simple', '{1, 2}'), 1);
ROLLBACK TO a;
SELECT hipq.enqueue('simple', '"again"', job_key => 'l') > 0;
SAVEPOINT b;
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', job_key => 'k')$$);
ROLLBACK TO b;
COMMIT;
SELECT job_key, job_data FROM hipq.enq_one ORDER BY job_key;
-- a queue whose creation was rolled back does not exist
BEGIN;
SELECT hipq.create_queue('enq.undone') > 0;
SELECT hipq.enqueue('simple', queue => 'enq.undone') > 0;
ROLLBACK;
SELECT pg_temp.try($$SELECT hipq.enqueue('simple', queue => 'enq.undone')$$);
BEGIN;
SAVEPOINT a;
SELECT hipq.register_job_type('enq.one', 'simple', default_timeout => 5);
ROLLBACK TO a;
SELECT hipq.enqueue('simple') AS id \gset
SELECT timeout FROM hipq.enq_one WHERE id = :id;
COMMIT;

-- A sequence that was set back gives ids that are in use: these are skipped
DELETE FROM hipq.enq_one;
BEGIN;
SELECT hipq.enqueue('simple', '"first"') AS id \gset
SELECT setval('hipq.job_id_seq', :id, false) = :id;
SELECT hipq.enqueue('simple', '"second"') > :id;
SELECT setval('hipq.job_id_seq', :id, false) = :id;
SELECT pg_temp.try($$SELECT hipq.enqueue_many('simple', '{1, 2}')$$) <> '';
COMMIT;

SELECT hipq.drop_queue('enq.one', force => true), hipq.drop_queue('enq.two', force => true);
DROP OWNED BY regress_hipq_enqueue_owner, regress_hipq_enqueue_app;
DROP ROLE regress_hipq_enqueue_owner, regress_hipq_enqueue_app;
