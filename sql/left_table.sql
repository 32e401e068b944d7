-- Tables of queues without a queue, as a dump without data leaves them: which ones create_queue()
-- takes over, and which not.
SET client_min_messages = warning;
CREATE ROLE regress_hipq_left_owner LOGIN;
CREATE FUNCTION pg_temp.leave(wanted text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hipq.create_queue('left.' || wanted, owner => 'regress_hipq_left_owner');
    DELETE FROM hipq.queue WHERE table_name = 'left_' || wanted;
END $$;
CREATE FUNCTION pg_temp.create(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
    hint text;
BEGIN
    PERFORM hipq.create_queue('left.' || name, owner => 'regress_hipq_left_owner');
    RETURN 'created';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(E'\n', SQLSTATE || ' ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;

\pset tuples_only
\pset format unaligned
-- Attached to hipq.job, and detached from it
SELECT pg_temp.leave('attached'), pg_temp.leave('apart');
ALTER TABLE hipq.job DETACH PARTITION hipq.left_apart;
SELECT pg_temp.create('attached'), pg_temp.create('apart');
INSERT INTO hipq.left_apart (job_type) VALUES ('a') RETURNING id > 0 AS enqueued;
SELECT queue, state FROM hipq.jobs_detail WHERE queue = 'left.apart';

-- A table whose leaves are not named after its whole name
SELECT pg_temp.leave('with_a_name_of_many_letters'), pg_temp.create('with_a_name_of_many_letters');
SELECT hipq.enqueue('a', queue => 'left.with_a_name_of_many_letters',
    scheduled_run_time => 'tomorrow') > 0 AS enqueued;

-- A queue already has the table.
SELECT pg_temp.create('apart');

-- Tables unlike those that hipq makes
SELECT pg_temp.leave('indexless'), pg_temp.leave('finalless'), pg_temp.leave('strange'),
       pg_temp.leave('foreign'), pg_temp.leave('triggered'), pg_temp.leave('secured'),
       pg_temp.leave('extended'), pg_temp.leave('full');
DROP INDEX hipq.left_indexless_live_line;
SELECT pg_temp.create('indexless');
DROP TABLE hipq.left_finalless_final;
SELECT pg_temp.create('finalless');
DROP TABLE hipq.left_strange;
CREATE TABLE hipq.left_strange (id bigint);
SELECT pg_temp.create('strange');
ALTER TABLE hipq.left_foreign_live OWNER TO regress_hipq_left_owner;
SELECT pg_temp.create('foreign');
CREATE FUNCTION pg_temp.nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER later AFTER INSERT ON hipq.left_triggered_live FOR EACH ROW
    EXECUTE FUNCTION pg_temp.nothing();
SELECT pg_temp.create('triggered');
ALTER TABLE hipq.left_secured ENABLE ROW LEVEL SECURITY;
SELECT pg_temp.create('secured');
CREATE TABLE hipq.left_extended_final_mine PARTITION OF hipq.left_extended_final
    FOR VALUES FROM ('2000-01-01') TO ('2001-01-01');
SELECT pg_temp.create('extended');

-- A table that was repaired, or dropped, is no obstacle.
DROP TRIGGER later ON hipq.left_triggered_live;
DROP TABLE hipq.left_finalless;
SELECT pg_temp.create('triggered'), pg_temp.create('finalless');

-- Tables with jobs
SET session_replication_role = replica;
INSERT INTO hipq.left_full (id, update_time, created_time, timeout, max_retries, priority,
    throttle_factor, job_type, time_windows)
VALUES (1, now(), now(), 1, 0, 0, 1, 'a', 'NONE');
RESET session_replication_role;
SELECT pg_temp.create('full');
TRUNCATE hipq.left_full;
SELECT pg_temp.create('full');

DROP TABLE hipq.left_strange, hipq.left_indexless, hipq.left_foreign, hipq.left_secured,
    hipq.left_extended;
SELECT count(hipq.drop_queue(queue, force => true)) FROM hipq.queues WHERE queue LIKE 'left.%';
SELECT hipq.drop_instance('left');
DROP OWNED BY regress_hipq_left_owner;
DROP ROLE regress_hipq_left_owner;
