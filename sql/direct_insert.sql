-- An ordinary INSERT into a queue's table writes jobs without the guard trigger, with the same
-- results. PostgreSQL itself runs every other one. direct_enqueue.sql compares the rows.
\pset format unaligned
\pset tuples_only on
\set VERBOSITY terse
SET client_min_messages = warning;
SET track_functions = 'all';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set guard_calls :srcdir '/test/regress/guard_calls.sql'
\set ECHO none
\i :try
\i :guard_calls
\set ECHO all

SELECT hipq.create_queue('direct.i') > 0;
SELECT hipq.create_queue('direct.other') > 0;

-- ---- Without the guard
EXPLAIN (COSTS OFF) INSERT INTO hipq.direct_i (job_type, job_data) VALUES ('t', '1');
BEGIN;
SELECT pg_temp.guard_calls() >= 0;
INSERT INTO hipq.direct_i (job_type, job_data) VALUES ('t', '1');
INSERT INTO hipq.direct_i (job_type, job_data, id, state, queue_id, result)
VALUES ('t', '2', NULL, DEFAULT, NULL, 'null');
INSERT INTO hipq.direct_i (job_type, job_key, job_data)
SELECT 't', CASE n % 50 WHEN 7 THEN 'key ' || n END, to_jsonb(n) FROM generate_series(3, 252) AS n
ORDER BY n DESC;
INSERT INTO hipq.direct_i (job_type, job_data) SELECT 't', '253'::jsonb
UNION ALL SELECT 'u', '254';
WITH given AS (SELECT 255 AS n) INSERT INTO hipq.direct_i (job_type, job_data)
SELECT 't', to_jsonb(n) FROM given;
SELECT pg_temp.guard_calls();
SELECT count(*), count(DISTINCT id), sum(job_data::int), count(*) FILTER (WHERE job_key <> 'NONE')
FROM hipq.direct_i;
ROLLBACK;

-- ---- RETURNING
BEGIN;
SELECT pg_temp.guard_calls() >= 0;
INSERT INTO hipq.direct_i AS job (job_type, job_data, priority)
VALUES ('t', '1', 2), ('t', '2', NULL), ('u', '{"a": 1}', 4)
RETURNING id = currval('hipq.job_id_seq'), job_type || '!', state, priority * 2, job.job_data,
          created_time = now();
INSERT INTO hipq.direct_i (job_type, job_key) VALUES ('t', 'k') RETURNING *, 1 AS one \gset
SELECT :one, :'job_key', :id = id, :queue_id = queue_id, :'timeout' FROM hipq.direct_i
WHERE job_key = 'k';
INSERT INTO hipq.direct_i AS job (job_type, job_key) VALUES ('t', 'row') RETURNING (job).job_key,
    (to_jsonb(job) ->> 'job_key');
DO $$
DECLARE
    given bigint;
    count integer;
BEGIN
    INSERT INTO hipq.direct_i (job_type) VALUES ('t') RETURNING id INTO given;
    GET DIAGNOSTICS count = ROW_COUNT;
    ASSERT given = currval('hipq.job_id_seq') AND found AND count = 1, count;
    INSERT INTO hipq.direct_i (job_type) SELECT 't' FROM generate_series(1, 7);
    GET DIAGNOSTICS count = ROW_COUNT;
    ASSERT count = 7, count;
    BEGIN
        INSERT INTO hipq.direct_i (job_type) SELECT 'two' FROM generate_series(1, 7)
        RETURNING id INTO STRICT given;
        ASSERT false, 'seven rows';
    EXCEPTION WHEN too_many_rows THEN
        NULL;
    END;
END $$;
SELECT pg_temp.guard_calls(), count(*), count(*) FILTER (WHERE job_type = 'two')
FROM hipq.direct_i;
ROLLBACK;

-- ---- Functions see the rows before theirs
BEGIN;
CREATE FUNCTION pg_temp.jobs() RETURNS bigint LANGUAGE sql VOLATILE
RETURN (SELECT count(*) FROM hipq.direct_i);
SELECT pg_temp.guard_calls() >= 0;
INSERT INTO hipq.direct_i (job_type, job_data)
SELECT 't', to_jsonb(pg_temp.jobs()) FROM generate_series(1, 3);
SELECT pg_temp.guard_calls(), array_agg(job_data ORDER BY id) FROM hipq.direct_i;
-- the statement itself does not
INSERT INTO hipq.direct_i (job_type, job_data) SELECT 'copy', job_data FROM hipq.direct_i;
SELECT count(*) FROM hipq.direct_i WHERE job_type = 'copy';
ROLLBACK;
-- one that enqueues, and one that fails
BEGIN;
INSERT INTO hipq.direct_i (job_type, job_data)
SELECT 't', to_jsonb(hipq.enqueue('inner', queue => 'direct.i') > 0) FROM generate_series(1, 3);
SELECT job_type, count(*) FROM hipq.direct_i GROUP BY 1 ORDER BY 1;
SELECT pg_temp.try($$INSERT INTO hipq.direct_i (job_type, timeout)
    SELECT 't', 10 / (3 - n) FROM generate_series(1, 3) AS n$$);
SELECT count(*) FROM hipq.direct_i;
ROLLBACK;

-- ---- Prepared statements
BEGIN;
PREPARE add (text, jsonb, text) AS
INSERT INTO hipq.direct_i (job_type, job_data, job_key) VALUES ($1, $2, $3) RETURNING job_key;
SET LOCAL plan_cache_mode = force_generic_plan;
SELECT pg_temp.guard_calls() >= 0;
EXECUTE add ('t', '1', NULL);
EXECUTE add ('t', '2', 'k');
SAVEPOINT before;
EXECUTE add ('t', '3', 'k');
ROLLBACK TO before;
SELECT pg_temp.guard_calls();
-- what is added to the leaf is respected by the same plan
CREATE FUNCTION pg_temp.double() RETURNS trigger LANGUAGE plpgsql
AS 'BEGIN NEW.priority := 2 * NEW.priority; RETURN NEW; END';
CREATE TRIGGER added BEFORE INSERT ON hipq.direct_i_live
FOR EACH ROW EXECUTE FUNCTION pg_temp.double();
PREPARE weigh (smallint) AS
INSERT INTO hipq.direct_i (job_type, priority) VALUES ('t', $1) RETURNING priority;
EXECUTE weigh (21);
SELECT pg_temp.guard_calls();
DROP TRIGGER added ON hipq.direct_i_live;
EXECUTE weigh (21);
SELECT pg_temp.guard_calls();
ROLLBACK;
DEALLOCATE ALL;

-- ---- What PostgreSQL runs
BEGIN;
SELECT pg_temp.guard_calls() >= 0;
INSERT INTO hipq.direct_i (job_type, job_key) VALUES ('t', 'k') ON CONFLICT DO NOTHING;
WITH added AS (INSERT INTO hipq.direct_i (job_type) VALUES ('t') RETURNING id)
SELECT count(*) FROM added;
INSERT INTO hipq.direct_i (job_type) VALUES ('t') RETURNING tableoid::regclass;
INSERT INTO hipq.direct_i (job_type) VALUES ('t')
RETURNING (SELECT max(job_type) <> '' FROM hipq.job);
CREATE VIEW pg_temp.urgent AS SELECT * FROM hipq.direct_i WHERE priority < 0 WITH CHECK OPTION;
INSERT INTO pg_temp.urgent (job_type, priority) VALUES ('t', -1);
SELECT pg_temp.guard_calls();
SAVEPOINT before;
INSERT INTO pg_temp.urgent (job_type, priority) VALUES ('t', 1);
ROLLBACK TO before;
-- hipq's own columns
SELECT pg_temp.try($$INSERT INTO hipq.direct_i (job_type, state) VALUES ('t', 'final')$$);
SELECT pg_temp.try($$INSERT INTO hipq.direct_i (job_type, id) SELECT 't', 7$$);
SELECT pg_temp.try($$INSERT INTO hipq.direct_i (job_type, attempt) VALUES ('t', 0), ('t', 1)$$);
SELECT queue_id AS other FROM hipq.queue WHERE name = 'other' \gset
INSERT INTO hipq.direct_i (job_type, queue_id) VALUES ('t', :other);
ROLLBACK;
BEGIN READ ONLY;
EXPLAIN (COSTS OFF) INSERT INTO hipq.direct_i (job_type) VALUES ('t');
INSERT INTO hipq.direct_i (job_type) VALUES ('t');
ROLLBACK;
SELECT count(*) FROM hipq.direct_i;

-- ---- Rights, and errors
CREATE ROLE regress_hipq_insert_app;
SELECT hipq.grant_queue('direct.i', 'regress_hipq_insert_app', 'enqueue');
BEGIN;
SET LOCAL ROLE regress_hipq_insert_app;
INSERT INTO hipq.direct_i (job_type) VALUES ('t');
SELECT pg_temp.try($$INSERT INTO hipq.direct_other (job_type) VALUES ('t')$$);
SELECT pg_temp.try($$INSERT INTO hipq.direct_i (job_type) VALUES ('t') RETURNING id$$);
ROLLBACK;
DROP OWNED BY regress_hipq_insert_app;
DROP ROLE regress_hipq_insert_app;
SELECT pg_temp.try($$INSERT INTO hipq.direct_i (job_data) VALUES ('1')$$);
SELECT pg_temp.try($$INSERT INTO hipq.direct_i (job_type, timeout) VALUES ('t', 1), ('t', 0)$$);
SELECT pg_temp.try($$INSERT INTO hipq.direct_i (job_type, time_windows) VALUES ('t', 'never')$$);
SELECT pg_temp.try($$INSERT INTO hipq.direct_i (job_type, job_key) VALUES ('t', 'a'), ('t', 'a')$$);
SELECT count(*) FROM hipq.direct_i;

-- ---- Large data
CREATE TABLE pg_temp.large AS
SELECT n, to_jsonb(repeat(md5(n::text), 20000 * (n % 2))) AS data FROM generate_series(1, 300) AS n;
INSERT INTO hipq.direct_i (job_type, priority, job_data) SELECT 't', n, data FROM large;
SELECT count(*) FROM hipq.direct_i AS job JOIN large ON n = priority AND data = job_data;

SELECT hipq.drop_queue('direct.i', force => true), hipq.drop_queue('direct.other', force => true);
