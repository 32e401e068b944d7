-- The trace of a job: an argument, a column or a setting, else the trace of the job whose handler
-- enqueues.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

SET hipq.allow_foreign_handlers = on;
CREATE ROLE regress_hipq_traced LOGIN;
SELECT hipq.create_queue('traced.q', owner => 'regress_hipq_traced') > 0;
CREATE TABLE seen (job text, traceparent text);
GRANT INSERT ON seen TO regress_hipq_traced;
CREATE FUNCTION look(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO seen VALUES (job.job_data->>'name', current_setting('hipq.traceparent'));
    IF job.job_data->>'child' IS NOT NULL THEN
        PERFORM hipq.enqueue('look', jsonb_build_object('name', job.job_data->>'child'),
            queue => 'traced.q');
    END IF;
    IF job.job_data->>'fails' IS NOT NULL THEN
        RAISE EXCEPTION 'it fails';
    END IF;
END $$;
SELECT hipq.register_job_type('traced.q', 'look', handler => 'look');
CREATE VIEW traces AS
SELECT job_data->>'name' AS name, state, traceparent
FROM hipq.jobs_detail WHERE queue = 'traced.q' ORDER BY id;

-- Ways to give it. (In one transaction, so that no executor runs the jobs.)
BEGIN;
SELECT hipq.enqueue('look', '{"name": "argument"}', queue => 'traced.q',
    traceparent => '00-11111111111111111111111111111111-1111111111111111-01') > 0;
SELECT hipq.enqueue('look', jsonb_build_object('name', 'argument beside a value'),
    queue => 'traced.q', traceparent => '00-22222222222222222222222222222222-2222222222222222-01')
    > 0;
SELECT action FROM hipq.enqueue_unique('look', '{"name": "with a key"}', queue => 'traced.q',
    job_key => 'one', traceparent => '00-33333333333333333333333333333333-3333333333333333-00');
SELECT action FROM hipq.enqueue_unique('look',
    jsonb_build_object('name', 'it holds the key'), queue => 'traced.q', job_key => 'one',
    traceparent => '00-44444444444444444444444444444444-4444444444444444-00');
SELECT cardinality(hipq.enqueue_many('look',
    ARRAY['{"name": "one of many"}', '{"name": "another of many"}']::jsonb[], queue => 'traced.q',
    traceparent => '00-55555555555555555555555555555555-5555555555555555-01'));
INSERT INTO hipq.traced_q (job_type, job_data, traceparent)
VALUES ('look', '{"name": "column"}', '00-66666666666666666666666666666666-6666666666666666-01');
-- A trigger that also enqueues, without a trace: its jobs get the same trace, and the other jobs
-- keep theirs.
CREATE FUNCTION enqueue_beside() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.job_data->>'name' LIKE 'two of%' THEN
        PERFORM hipq.enqueue('look',
            jsonb_build_object('name', 'beside ' || (NEW.job_data->>'name')), queue => 'traced.q');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER enqueue_beside BEFORE INSERT ON hipq.traced_q_live FOR EACH ROW
    EXECUTE FUNCTION enqueue_beside();
SELECT cardinality(hipq.enqueue_many('look',
    ARRAY['{"name": "two of these"}', '{"name": "two of those"}']::jsonb[], queue => 'traced.q',
    traceparent => '00-eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee-eeeeeeeeeeeeeeee-01'));
DROP TRIGGER enqueue_beside ON hipq.traced_q_live;
COPY hipq.traced_q (job_type, job_data, traceparent) FROM STDIN (DELIMITER '|');
look|{"name": "copied"}|00-77777777777777777777777777777777-7777777777777777-01
\.
SELECT hipq.enqueue('look', '{"name": "none"}', queue => 'traced.q') > 0;
SET hipq.traceparent = '00-88888888888888888888888888888888-8888888888888888-01';
SELECT hipq.enqueue('look', '{"name": "setting"}', queue => 'traced.q') > 0;
SELECT hipq.enqueue('look', '{"name": "argument before setting"}', queue => 'traced.q',
    traceparent => '00-99999999999999999999999999999999-9999999999999999-01') > 0;
INSERT INTO hipq.traced_q (job_type, job_data) VALUES ('look', '{"name": "inserted"}');
COPY hipq.traced_q (job_type, job_data) FROM STDIN (DELIMITER '|');
look|{"name": "copied by setting"}
\.
-- Cancelling a job in a session with a trace does not change the job's trace.
SELECT hipq.cancel(id) FROM hipq.jobs_detail WHERE job_data->>'name' = 'none';
RESET hipq.traceparent;
SELECT * FROM traces;

-- A handler has the trace of its job, and so have the jobs that it enqueues.
SELECT hipq.enqueue('look', '{"name": "parent", "child": "child"}', queue => 'traced.q',
    traceparent => '00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-aaaaaaaaaaaaaaaa-01') > 0;
SELECT hipq.enqueue('look', '{"name": "fails", "fails": true}', queue => 'traced.q',
    traceparent => '00-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb-bbbbbbbbbbbbbbbb-01') > 0;
SELECT hipq.run_until_idle(queue => 'traced.q');
SELECT * FROM seen ORDER BY job;
SELECT * FROM traces WHERE name IN ('parent', 'child', 'fails', 'column');
SHOW hipq.traceparent;

-- A job made from another job has the same trace.
SELECT hipq.retry(id) > 0 FROM hipq.jobs_detail WHERE job_data->>'name' = 'fails';
SELECT hipq.enqueue('look', '{"name": "keyed"}', queue => 'traced.q', job_key => 'two',
    traceparent => '00-cccccccccccccccccccccccccccccccc-cccccccccccccccc-01') > 0;
SELECT hipq.enqueue('look',
    '{"name": "replaced"}', queue => 'traced.q', job_key => 'two', on_duplicate => 'replace',
    traceparent => '00-dddddddddddddddddddddddddddddddd-dddddddddddddddd-01') > 0;
SELECT * FROM traces WHERE state = 'initial';

-- A trace cannot change, and must be valid.
SELECT pg_temp.try(
    $$UPDATE hipq.traced_q SET traceparent = NULL WHERE job_data->>'name' = 'replaced'$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('look', queue => 'traced.q', traceparent => 'mine')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('look', '{1}', queue => 'traced.q',
    traceparent => '00-00000000000000000000000000000000-dddddddddddddddd-01')$$);
SELECT pg_temp.try($$INSERT INTO hipq.traced_q (job_type, traceparent)
    VALUES ('look', '00-DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD-dddddddddddddddd-01')$$);
SELECT pg_temp.try(
    $$SET hipq.traceparent = 'ff-dddddddddddddddddddddddddddddddd-dddddddddddddddd-01'$$);
-- A failed call leaves no trace to the next one.
SELECT hipq.enqueue('look', '{"name": "after an error"}', queue => 'traced.q') > 0;
SELECT * FROM traces WHERE name = 'after an error';

COMMIT;

SELECT hipq.drop_queue('traced.q', force => true);
DROP VIEW traces;
DROP FUNCTION look;
DROP FUNCTION enqueue_beside;
DROP TABLE seen;
DROP OWNED BY regress_hipq_traced;
DROP ROLE regress_hipq_traced;
