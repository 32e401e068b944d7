-- enqueue(), enqueue_many(), COPY and an ordinary INSERT (direct_insert.sql) write jobs without
-- SQL, with the same results as SQL. They use SQL where a user has added an object that only SQL
-- respects.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';
SET track_functions = 'all';

-- Runs a query and returns how often it called the guard: never for a job that was written without
-- SQL.
CREATE FUNCTION pg_temp.guard_calls(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before bigint := coalesce(pg_stat_get_xact_function_calls('hipq._guard_job'::regproc), 0);
BEGIN
    EXECUTE query;
    RETURN coalesce(pg_stat_get_xact_function_calls('hipq._guard_job'::regproc), 0) - before;
END $$;

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set guard_calls :srcdir '/test/regress/guard_calls.sql'
\set ECHO none
\i :try
\i :guard_calls
\set ECHO all

SELECT hipq.create_queue('direct.q') > 0;
SELECT hipq.register_job_type('direct.q', 'known', default_timeout => 7, default_priority => 3,
    default_throttle_factor => 2.5, default_time_windows => 'sat', max_retries => 1,
    queue_ttl => 9);

-- ---- Without the guard
SELECT pg_temp.guard_calls($$SELECT hipq.enqueue('t', queue => 'direct.q')$$);
SELECT pg_temp.guard_calls($$SELECT hipq.enqueue('t', queue => 'direct.q', job_key => 'a')$$);
SELECT pg_temp.guard_calls($$SELECT hipq.enqueue_many('t', '{1, 2, 3}', queue => 'direct.q')$$);
SELECT pg_temp.guard_calls(
    $$SELECT hipq.enqueue_many('t', '{1, 2, 3}', '{c, NULL, b}', queue => 'direct.q')$$);
SELECT pg_temp.guard_calls($$INSERT INTO hipq.direct_q (job_type) VALUES ('t')$$);
SELECT pg_temp.guard_calls(
    $$INSERT INTO hipq.direct_q (job_type) VALUES ('t') ON CONFLICT DO NOTHING$$);
SELECT job_key, job_data FROM hipq.direct_q ORDER BY id;
DELETE FROM hipq.direct_q;

-- ---- The rows are the same as those of the guard, which INSERT ON CONFLICT calls
CREATE FUNCTION pg_temp.differences() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*)
    FROM (SELECT to_jsonb(job) - 'id' AS row, count(*) FROM hipq.direct_q AS job GROUP BY 1) AS rows
    WHERE count <> 4 $$;
BEGIN;
INSERT INTO hipq.direct_q (job_type, job_data) VALUES ('t', '{"a": 1}'), ('known', '{"a": 1}');
INSERT INTO hipq.direct_q (job_type, job_data) VALUES ('t', '{"a": 1}'), ('known', '{"a": 1}')
ON CONFLICT DO NOTHING;
SELECT hipq.enqueue(type, '{"a": 1}', queue => 'direct.q') > 0,
       hipq.enqueue_many(type, '{"{\"a\": 1}"}', queue => 'direct.q') > '{}'
FROM unnest('{t, known}'::text[]) AS type;
SELECT pg_temp.differences();
DELETE FROM hipq.direct_q;
INSERT INTO hipq.direct_q (job_type, job_data, scheduled_run_time, priority, timeout,
    throttle_factor, time_windows, max_retries, expires_time, throttle_key, queue_ttl)
SELECT type, NULL, '2100-01-01', -4, 11, 1.23456, 'SAT,  22:00-06:00', 12, '2101-01-01',
       'throttled', 17
FROM unnest('{t, known}'::text[]) AS type;
INSERT INTO hipq.direct_q (job_type, job_data, scheduled_run_time, priority, timeout,
    throttle_factor, time_windows, max_retries, expires_time, throttle_key, queue_ttl)
SELECT type, NULL, '2100-01-01', -4, 11, 1.23456, 'SAT,  22:00-06:00', 12, '2101-01-01',
       'throttled', 17
FROM unnest('{t, known}'::text[]) AS type
ON CONFLICT DO NOTHING;
SELECT hipq.enqueue(type, NULL::text, 'direct.q', NULL, '2100-01-01', -4,
    11, 1.23456, 'SAT,  22:00-06:00', 12, '2101-01-01', 'error', 'throttled', 17) > 0,
       hipq.enqueue_many(type, '{NULL}', NULL, 'direct.q', '2100-01-01', -4, 11, 1.23456,
           'SAT,  22:00-06:00', 12, '2101-01-01', 'error', 'throttled', 17) > '{}'
FROM unnest('{t, known}'::text[]) AS type;
SELECT pg_temp.differences();
SELECT DISTINCT throttle_factor, time_windows, job_data, queue_ttl FROM hipq.direct_q;
ROLLBACK;
-- a transaction sees its own changes
BEGIN;
SELECT hipq.enqueue('t', queue => 'direct.q') AS id \gset
UPDATE hipq.direct_q SET priority = 5 WHERE id = :id;
DO $$ DECLARE new_id bigint := hipq.enqueue('t', '"second"', queue => 'direct.q');
    BEGIN UPDATE hipq.direct_q SET priority = 6 WHERE id = new_id; END $$;
SELECT job_data, priority FROM hipq.direct_q ORDER BY id;
ROLLBACK;

-- ---- Many jobs
SELECT hipq.enqueue_many('t', '{}', queue => 'direct.q');
SELECT cardinality(hipq.enqueue_many('t', '[5:7]={1, NULL, 3}'::jsonb[], queue => 'direct.q'));
SELECT job_data FROM hipq.direct_q ORDER BY id;
DELETE FROM hipq.direct_q;
SELECT hipq.enqueue_many('t', array_agg(to_jsonb(n) ORDER BY n), queue => 'direct.q') AS ids
FROM generate_series(1, 250) AS n \gset
SELECT count(*), count(*) FILTER (WHERE job.job_data = to_jsonb(given.n))
FROM unnest(:'ids'::bigint[]) WITH ORDINALITY AS given (id, n) JOIN hipq.direct_q AS job USING (id);
-- the indexes contain all of them
CREATE EXTENSION amcheck;
SELECT bt_index_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'hipq.direct_q_live'::regclass;
DELETE FROM hipq.direct_q;
-- large data
CREATE TABLE pg_temp.large AS
SELECT to_jsonb(string_agg(md5(n::text), '')) AS data FROM generate_series(1, 20000) AS n;
SELECT hipq.enqueue('t', data, queue => 'direct.q') > 0,
       cardinality(hipq.enqueue_many('t', ARRAY[data, '1', data], '{NULL, NULL, k}',
           queue => 'direct.q'))
FROM large;
SELECT count(*), count(*) FILTER (WHERE job.job_data = large.data), sum(length(job.job_data::text))
FROM hipq.direct_q AS job, large;
DELETE FROM hipq.direct_q;

-- ---- Keys
SELECT hipq.enqueue('t', '"holder"', queue => 'direct.q', job_key => 'held') AS holder \gset
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'direct.q', job_key => 'held')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue_many('t', '{1, 2, 3}', '{free, held, other}', queue => 'direct.q')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue_many('t', '{1, 2, 3}', '{twice, single, twice}', queue => 'direct.q')$$);
SELECT job_key, job_data FROM hipq.direct_q;
SELECT hipq.enqueue('t', queue => 'direct.q', job_key => 'held',
    on_duplicate => 'return') = :holder;
SELECT ids[1] = ids[4], ids[2] = :holder, ids[3] > ids[4], cardinality(ids)
FROM hipq.enqueue_many('t', '{1, 2, 3, 4}', '{twice, held, NONE, twice}', queue => 'direct.q',
    on_duplicate => 'return') AS ids;
SELECT job_key, job_data FROM hipq.direct_q ORDER BY job_key, id;
-- a rollback to a savepoint releases the keys
BEGIN;
SAVEPOINT before;
SELECT cardinality(hipq.enqueue_many('t', '{1, 2}', '{undone, NULL}', queue => 'direct.q'));
ROLLBACK TO before;
SELECT hipq.enqueue('t', '"again"', queue => 'direct.q', job_key => 'undone') > :holder;
COMMIT;
SELECT job_data FROM hipq.direct_q WHERE job_key = 'undone';
-- a key belongs to a job type, and to unfinished jobs only
SELECT hipq.enqueue('other', queue => 'direct.q', job_key => 'held') > :holder,
       hipq.cancel(:holder), hipq.enqueue('t', queue => 'direct.q', job_key => 'held') > :holder;
SELECT bt_index_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'hipq.direct_q_live'::regclass;
-- a snapshot can be older than the holder of the key: then INSERT must decide
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.guard_calls($$SELECT hipq.enqueue('t', queue => 'direct.q')$$),
       pg_temp.guard_calls($$SELECT hipq.enqueue('t', queue => 'direct.q', job_key => 'new')$$);
SELECT hipq.enqueue('t', queue => 'direct.q', job_key => 'newest', queue_ttl => 17) > 0,
       hipq.enqueue_many('t', '{1}', '{newer}', 'direct.q', queue_ttl => 17) > '{}';
SELECT job_key, queue_ttl FROM hipq.direct_q WHERE queue_ttl = 17 ORDER BY job_key;
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', queue => 'direct.q', job_key => 'bad', queue_ttl => 0)$$);
ROLLBACK;

-- ---- Ids that are in use
BEGIN;
SELECT hipq.enqueue('t', '"first"', queue => 'direct.q') AS id \gset
SELECT setval('hipq.job_id_seq', :id, false) = :id;
SELECT pg_temp.guard_calls($$SELECT hipq.enqueue('t', '"second"', queue => 'direct.q')$$);
SELECT count(*), count(DISTINCT id), string_agg(job_data::text, ' ' ORDER BY id)
FROM hipq.direct_q WHERE id >= :id;
SELECT setval('hipq.job_id_seq', :id, false) = :id;
SELECT hipq.enqueue('t', '"third"', queue => 'direct.q', job_key => 'third') > :id;
SELECT setval('hipq.job_id_seq', :id, false) = :id;
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', '{1, 2}', queue => 'direct.q')$$);
SELECT count(*) FROM hipq.direct_q WHERE id >= :id;
COMMIT;
SELECT bt_index_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'hipq.direct_q_live'::regclass;

-- ---- Invalid values, and rows that cannot be written
CREATE TABLE pg_temp.bad (n serial, arguments text);
INSERT INTO bad (arguments)
VALUES ('job_key => '''''), ('throttle_key => repeat(''x'', 1001)'), ('time_windows => ''never'''),
    ('time_windows => repeat('' '', 1001)'),
    ('timeout => 0'), ('max_retries => -1'), ('throttle_factor => 999999.9999'),
    ('priority => 40000'), ('scheduled_run_time => ''infinity'''),
    ('expires_time => ''-infinity'''), ('queue_ttl => 0');
SELECT arguments,
       pg_temp.try(format('SELECT hipq.enqueue(''t'', queue => ''direct.q'', %s)', arguments))
FROM bad ORDER BY n;
SELECT arguments,
       pg_temp.try(format('SELECT hipq.enqueue_many(''t'', ''{1, 2}'', queue => ''direct.q'', %s)',
           arguments))
FROM bad WHERE arguments !~ '^job_key' ORDER BY n;
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', '{1, 2}', ARRAY['fine', repeat('k', 1001)],
    queue => 'direct.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('', queue => 'direct.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', ARRAY['1', to_jsonb(repeat('x', 20000000))],
    queue => 'direct.q')$$);
BEGIN READ ONLY;
SELECT hipq.enqueue('t', queue => 'direct.q');
ROLLBACK;
SELECT count(*) FROM hipq.direct_q WHERE job_key = 'fine';

-- ---- COPY
DELETE FROM hipq.direct_q;
CREATE ROLE regress_hipq_direct_app;
CREATE ROLE regress_hipq_direct_column;
SELECT hipq.grant_queue('direct.q', 'regress_hipq_direct_app', 'enqueue');
GRANT USAGE ON SCHEMA hipq TO regress_hipq_direct_column;
GRANT INSERT (job_type, priority) ON hipq.direct_q TO regress_hipq_direct_column;
BEGIN;
SELECT pg_temp.guard_calls() >= 0;
SET LOCAL ROLE regress_hipq_direct_app;
COPY hipq.direct_q (job_type, job_data, priority, time_windows, throttle_factor) FROM STDIN;
t	{"a": 1}	5	SAT,  22:00-06:00	1.23456
known	\N	\N	\N	\N
\.
COPY hipq.direct_q (priority, job_key, job_type) FROM STDIN (FORMAT csv, HEADER);
a,b,c
1,one,t
2,NONE,t
,three,known
\.
RESET ROLE;
SELECT pg_temp.guard_calls();
SELECT job_type, priority, job_key, job_data, time_windows,
       throttle_factor, timeout, state, attempt, scheduled_run_time = now() AND created_time = now()
       AND expires_time = '9999-01-01 00:00:00+00' AS times
FROM hipq.direct_q ORDER BY id;
INSERT INTO hipq.direct_q (job_type, job_data, priority, time_windows, throttle_factor)
VALUES ('t', '{"a": 1}', 5, 'SAT,  22:00-06:00', 1.23456), ('known', NULL, NULL, NULL, NULL);
SELECT count(*) FROM (SELECT to_jsonb(job) - 'id' AS row FROM hipq.direct_q AS job
    WHERE job_key = 'NONE' AND priority <> 2 GROUP BY 1 HAVING count(*) = 2) AS rows;
ROLLBACK;
-- errors name the line and change nothing
COPY hipq.direct_q (job_type, job_key) FROM STDIN;
t	a
t	NONE
t	a
t	b
\.
COPY hipq.direct_q (job_type, timeout) FROM STDIN;
t	1
t	0
t	2
\.
COPY hipq.direct_q (job_type, timeout) FROM STDIN;
t	1
\N	2
\.
COPY hipq.direct_q (timeout) FROM STDIN;
1
\.
COPY hipq.direct_q (job_type, timeout) FROM STDIN;
t	x
\.
\copy hipq.direct_q (job_type, job_type) FROM /dev/null
BEGIN READ ONLY;
\copy hipq.direct_q (job_type) FROM /dev/null
ROLLBACK;
SELECT count(*) FROM hipq.direct_q;
-- more rows than are written at once
CREATE TABLE pg_temp.rows AS
SELECT 't' AS job_type, n AS timeout,
       CASE WHEN n % 100 = 50 THEN 'key ' || n ELSE 'NONE' END AS job_key,
       to_jsonb(CASE WHEN n % 300 = 0 THEN repeat(md5(n::text), 20000) ELSE n::text END) AS job_data
FROM generate_series(1, 1000) AS n;
SELECT format('%s/%s', current_setting('data_directory'), 'hipq_direct_enqueue.copy') AS file \gset
COPY (SELECT * FROM pg_temp.rows ORDER BY timeout) TO :'file';
BEGIN;
SELECT pg_temp.guard_calls() >= 0;
COPY hipq.direct_q (job_type, timeout, job_key, job_data) FROM :'file';
SELECT pg_temp.guard_calls();
SELECT count(*), count(DISTINCT job.id), count(*) FILTER (WHERE (job.job_type, job.job_key,
           job.job_data) = (rows.job_type, rows.job_key, rows.job_data))
FROM hipq.direct_q AS job JOIN pg_temp.rows USING (timeout);
SELECT count(*) FROM (SELECT timeout - lag(timeout) OVER (ORDER BY id) AS step FROM hipq.direct_q
    WHERE job_key = 'NONE') AS steps
WHERE step < 0;
SELECT bt_index_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'hipq.direct_q_live'::regclass;
ROLLBACK;
-- cases for PostgreSQL itself: hipq's own columns, column privileges, WHERE
BEGIN;
SELECT pg_temp.guard_calls() >= 0;
COPY hipq.direct_q (job_type, state) FROM STDIN;
t	initial
\.
COPY hipq.direct_q (job_type, priority) FROM STDIN WHERE priority > 1;
t	1
t	2
\.
SET LOCAL ROLE regress_hipq_direct_column;
COPY hipq.direct_q (job_type, priority) FROM STDIN;
t	3
\.
RESET ROLE;
SELECT pg_temp.guard_calls();
SELECT priority FROM hipq.direct_q ORDER BY id;
SET LOCAL ROLE regress_hipq_direct_column;
\copy hipq.direct_q (job_type, timeout) FROM /dev/null
ROLLBACK;
DROP OWNED BY regress_hipq_direct_app, regress_hipq_direct_column;
DROP ROLE regress_hipq_direct_app, regress_hipq_direct_column;

-- ---- By SQL, where a user has added an object
DELETE FROM hipq.direct_q;
CREATE FUNCTION public.touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE pg_temp.added (n serial, what text, ddl text);
INSERT INTO added (what, ddl) VALUES
    ('nothing', 'SELECT 1'),
    ('an index', 'CREATE INDEX ON hipq.direct_q_live (throttle_key)'),
    ('a unique index', 'CREATE UNIQUE INDEX ON hipq.direct_q_live (id, throttle_key)'),
    ('a trigger on the leaf', 'CREATE TRIGGER added AFTER INSERT ON hipq.direct_q_live
        FOR EACH ROW EXECUTE FUNCTION public.touch()'),
    ('a trigger of statements', 'CREATE TRIGGER added BEFORE INSERT ON hipq.direct_q
        FOR EACH STATEMENT EXECUTE FUNCTION public.touch()'),
    ('a trigger on all jobs', 'CREATE TRIGGER added AFTER INSERT ON hipq.job
        FOR EACH ROW EXECUTE FUNCTION public.touch()'),
    ('a check on the leaf', 'ALTER TABLE hipq.direct_q_live ADD CHECK (priority < 1000)'),
    ('a check on the queue', 'ALTER TABLE hipq.direct_q ADD CHECK (priority < 1000)'),
    ('a check on all jobs', 'ALTER TABLE hipq.job ADD CHECK (priority < 1000)'),
    ('a column', 'ALTER TABLE hipq.job ADD COLUMN added integer DEFAULT 1'),
    ('a policy for all', 'ALTER TABLE hipq.direct_q ENABLE ROW LEVEL SECURITY,
        FORCE ROW LEVEL SECURITY; CREATE POLICY added ON hipq.direct_q USING (true)'),
    ('a column without NULL', 'ALTER TABLE hipq.direct_q_live ALTER COLUMN queue_ttl SET NOT NULL;
        SELECT hipq.alter_job_type(''direct.q'', ''known'', queue_ttl => 3)'),
    ('no primary key', 'ALTER TABLE hipq.direct_q_live DROP CONSTRAINT direct_q_live_pkey'),
    ('a column that has come and gone', 'ALTER TABLE hipq.job ADD COLUMN added integer DEFAULT 1;
        ALTER TABLE hipq.job DROP COLUMN added');
CREATE FUNCTION pg_temp.calls_with(ddl text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    calls bigint[];
    jobs text;
BEGIN
    EXECUTE ddl;
    calls := ARRAY[
        pg_temp.guard_calls('SELECT hipq.enqueue(''known'', ''0'', queue => ''direct.q'')'),
        pg_temp.guard_calls('SELECT hipq.enqueue_many(''known'', ''{1, 2}'', ''{k, NULL}'',
            queue => ''direct.q'')'),
        pg_temp.guard_calls('INSERT INTO hipq.direct_q (job_type, job_data)
            VALUES (''known'', ''3'')')];
    SELECT string_agg(job_data::text, ' ' ORDER BY job_data) INTO jobs
    FROM hipq.direct_q WHERE timeout = 7;
    RAISE EXCEPTION '%, jobs %', calls, jobs;
EXCEPTION WHEN raise_exception THEN
    RETURN SQLERRM;
END $$;
SELECT what, pg_temp.calls_with(ddl) FROM added ORDER BY n;
SELECT pg_temp.guard_calls($$SELECT hipq.enqueue('t', queue => 'direct.q')$$);

DROP FUNCTION public.touch();
DROP EXTENSION amcheck;
SELECT hipq.drop_queue('direct.q', force => true);
