-- Data for the tests of the page: queues with jobs of each outcome, and roles with different
-- rights.
\set ON_ERROR_STOP on
SET client_min_messages = warning;

CREATE ROLE web_operator LOGIN PASSWORD 'operator' IN ROLE pg_monitor;
CREATE ROLE web_developer LOGIN PASSWORD 'developer';
CREATE ROLE web_monitor LOGIN PASSWORD 'monitor' IN ROLE pg_monitor;
CREATE ROLE web_worker LOGIN;

SELECT hipq.create_queue(name, owner => 'app', history => 'all') FROM unnest('{web.mail,web.letters,web.parcels}'::text[]) AS name;
SELECT hipq.grant_queue(name, 'web_operator', privilege)
FROM unnest('{web.mail,web.letters,web.parcels}'::text[]) AS name CROSS JOIN unnest('{enqueue,read,control}'::text[]) AS privilege;
SELECT hipq.grant_queue('web.mail', 'web_developer', 'read');
SELECT hipq.grant_queue('web.parcels', 'web_worker', 'work');

-- Fails as its data say, while the fault exists.
CREATE TABLE fault (name text PRIMARY KEY);
GRANT SELECT ON fault TO app;
CREATE FUNCTION web_work(job hipq.job) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'mail to % is written', job.job_data->>'to';
    IF EXISTS (SELECT FROM public.fault WHERE fault.name = job.job_data->>'fault') THEN
        RAISE EXCEPTION 'the mail server is gone' USING ERRCODE = '08006', HINT = 'Wait for it.';
    END IF;
    RETURN jsonb_build_object('sent', true);
END $$;

SELECT hipq.register_job_type('web.mail', 'welcome', handler => 'web_work', max_retries => 1, retry_base => '100 ms', attempt_log => true,
    parameters => '{"to": {"type": "string"}, "fault": {"type": "string", "required": false}, "big": {"required": false},
        "token": {"type": "string", "required": false, "secret": true}}');
SELECT hipq.register_job_type('web.mail', 'receipt', handler => 'web_work', default_priority => 50);
SELECT hipq.register_job_type('web.letters', 'letter', handler => 'web_work', max_retries => 0);
-- Holds a lock, and reports its progress, until it is released.
CREATE FUNCTION web_hold(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(42);
    PERFORM hipq.report_progress(12, 56, 'holding');
    WHILE EXISTS (SELECT FROM public.fault WHERE fault.name = 'hold') LOOP PERFORM pg_sleep(0.05); END LOOP;
END $$;
SELECT hipq.register_job_type('web.letters', 'hold', handler => 'web_hold');
SELECT hipq.register_job_type('web.parcels', 'label', handler_kind => 'notify');

-- A rate that is used up, an open breaker, and two schedules.
SELECT hipq.register_job_type('web.letters', 'rated', handler => 'web_work', rate_limit => '1/31 day');
SELECT hipq.register_job_type('web.letters', 'broken', handler => 'web_work', breaker => '50% of 20 in 1 min, open 30 s');
SELECT hipq.open_breaker('web.letters', 'broken', '9 h');
SELECT hipq.schedule('each minute', '* * * * *', 'letter', queue => 'web.letters', starts => now() + interval '2 h');
SELECT hipq.schedule('each night', '30 2 * * *', 'letter', queue => 'web.letters');
INSERT INTO hipq.web_letters (job_type, job_data) VALUES ('rated', '{}');

INSERT INTO fault VALUES ('mail'), ('letters');
INSERT INTO hipq.web_mail (job_type, job_key, job_data)
SELECT 'welcome', 'customer-' || n, jsonb_build_object('to', 'customer' || n || '@example.com') FROM generate_series(1, 70) AS n;
INSERT INTO hipq.web_mail (job_type, job_key, job_data)
VALUES ('welcome', 'ann', '{"to": "ann@example.com", "token": "s3cret", "big": 12345678901234567890}'),
       ('welcome', 'bob', '{"to": "bob@example.com", "fault": "mail"}');
INSERT INTO hipq.web_mail (job_type, job_key, job_data, scheduled_run_time)
VALUES ('receipt', 'tomorrow', '{"to": "eve@example.com"}', now() + interval '1 day');
SELECT hipq.enqueue('receipt', '{}', queue => 'web.mail', job_key => 'after tomorrow', after => ARRAY[id])
FROM hipq.web_mail WHERE job_key = 'tomorrow';
SELECT hipq.enqueue_graph('[{"name": "greet", "job_type": "receipt"},
    {"name": "thank", "job_type": "receipt", "after": ["greet"]}]', queue => 'web.mail');
INSERT INTO hipq.web_letters (job_type, job_data)
SELECT 'letter', jsonb_build_object('to', 'person' || n, 'fault', 'letters') FROM generate_series(1, 5) AS n;
INSERT INTO hipq.web_parcels (job_type, job_key, job_data) VALUES ('label', 'parcel-1', '{}');
SET ROLE web_worker;
SELECT hipq.register_worker('labels-1', '{web.parcels}', '{label}', capacity => 4);
RESET ROLE;
