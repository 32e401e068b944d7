-- The demo of hipq-web: queues of a shop with data for every page, and roles for signing in.
\set ON_ERROR_STOP on
SET client_min_messages = warning;

CREATE EXTENSION hipq;
CREATE ROLE shop LOGIN;
CREATE ROLE operator LOGIN PASSWORD 'operator' IN ROLE pg_monitor;
CREATE ROLE developer LOGIN PASSWORD 'developer';
CREATE ROLE monitor LOGIN PASSWORD 'monitor' IN ROLE pg_monitor;
CREATE ROLE delivery LOGIN;

SELECT hipq.create_queue(name, owner => 'shop')
FROM unnest('{shop.mail,shop.invoices,shop.thumbnails,shop.imports,shop.parcels,shop.orders}'::text[]) AS name;
SELECT hipq.alter_queue('shop.thumbnails', throttle_limit => 2);

-- Takes as long as its data say, and fails if they say so: "fault" in each attempt, "flaky" only in
-- the first one.
CREATE FUNCTION shop_work(job hipq.job) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'order % is looked at', job.job_data->>'order';
    PERFORM pg_sleep((job.job_data->>'seconds')::float8);
    IF job.job_data ? 'fault' OR job.job_data ? 'flaky' AND job.attempt = 1 THEN
        RAISE EXCEPTION '%', coalesce(job.job_data->>'fault', job.job_data->>'flaky') USING ERRCODE = '08006';
    END IF;
    RETURN jsonb_build_object('order', job.job_data->'order', 'attempts', job.attempt);
END $$;

-- Reports its progress.
CREATE FUNCTION shop_import(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR step IN 1..(job.job_data->>'rows')::integer LOOP
        PERFORM hipq.report_progress(step, (job.job_data->>'rows')::bigint, 'row ' || step);
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$;

SELECT hipq.register_job_type('shop.mail', 'welcome', handler => 'shop_work', max_retries => 2, retry_base => '2 s', attempt_log => true,
    parameters => '{"order": {"type": "integer"}, "seconds": {"type": "number"}, "fault": {"type": "string", "required": false},
        "flaky": {"type": "string", "required": false}, "token": {"type": "string", "required": false, "secret": true}}');
SELECT hipq.register_job_type('shop.mail', 'receipt', handler => 'shop_work', max_retries => 2, retry_base => '2 s');
SELECT hipq.register_job_type('shop.invoices', 'invoice', handler => 'shop_work', max_retries => 1, retry_base => '1 s');
SELECT hipq.register_job_type('shop.thumbnails', 'thumbnail', handler => 'shop_work');
SELECT hipq.register_job_type('shop.imports', 'import', handler => 'shop_import', default_timeout => '20 min');
SELECT hipq.register_job_type('shop.orders', step, handler => 'shop_work', max_retries => 0)
FROM unnest('{reserve,charge,ship,put_back}'::text[]) AS step;
SELECT hipq.register_job_type('shop.parcels', 'label', handler_kind => 'notify', max_retries => 3);

-- The operator does everything; the developer sees only mail; the monitor sees queues, but no job.
SELECT hipq.grant_queue(queue.name, 'operator', privilege)
FROM (SELECT unnest(queues) AS name FROM hipq.instances) AS queue
CROSS JOIN unnest('{enqueue,read,control}'::text[]) AS privilege;
SELECT hipq.grant_queue('shop.mail', 'developer', 'read');
SELECT hipq.grant_queue('shop.parcels', 'delivery', 'work');

-- Limits: a rate that mails use up now and then, a breaker that an operator opened, and schedules.
SELECT hipq.alter_job_type('shop.mail', 'welcome', rate_limit => '160/10 s');
SELECT hipq.alter_queue('shop.orders', rate_limit => '1000/day');
SELECT hipq.register_job_type('shop.imports', 'prices', handler => 'shop_import', breaker => '50% of 20 in 1 min, open 30 s');
SELECT hipq.open_breaker('shop.imports', 'prices', '6 h', 'the supplier moves');
SELECT hipq.schedule('stock', '*/30 * * * *', 'import', '{"rows": 30}', queue => 'shop.imports');
SELECT hipq.schedule('prices', '15 6,12,18 * * *', 'prices', '{"rows": 30}', queue => 'shop.imports', time_zone => 'Europe/Berlin');
SELECT hipq.schedule('birthdays', '0 9 * * *', 'welcome', '{"order": 1, "seconds": 0.1}', queue => 'shop.mail');
SELECT hipq.schedule('reminders', '* 8-17 * * *', 'receipt', '{"order": 1, "seconds": 0.1}', queue => 'shop.mail');

-- Data that does not change: a pause, jobs for tomorrow, a job without a worker for its labels, a
-- worker that has gone.
SELECT hipq.pause('shop.invoices', 'invoice', reason => 'the tax rate changes at noon');
INSERT INTO hipq.shop_mail (job_type, job_key, job_data, scheduled_run_time)
SELECT 'receipt', 'order-' || n, jsonb_build_object('order', n, 'seconds', 0.01), now() + interval '1 day' * random()
FROM generate_series(1, 200) AS n;
INSERT INTO hipq.shop_imports (job_type, job_key, job_data) VALUES ('import', 'catalogue-2026', '{"rows": 6000}');
SET ROLE delivery;
SELECT hipq.register_worker('labels-1', '{shop.parcels}', '{label}', capacity => 4);
RESET ROLE;
