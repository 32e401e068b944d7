-- What the pictures show: a shop's queues, some busy, some in trouble. tools/pictures runs it.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION hipq;
CREATE ROLE shop LOGIN;

CREATE FUNCTION shop_work(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_sleep((data->>'seconds')::double precision);
    IF random() < (data->>'fails')::double precision THEN
        RAISE EXCEPTION 'the bank has not answered';
    END IF;
END
$$;

SELECT hipq.create_queue('shop.' || name, owner => 'shop') IS NOT NULL AS made
FROM unnest('{mail,images,payments,reports,search,partners}'::text[]) AS name \g /dev/null
SELECT hipq.register_job_type('shop.' || name, job_type, handler => 'shop_work', max_retries => retries,
                              retry_base => '1 s')
FROM (VALUES ('mail', 'welcome', 3), ('mail', 'receipt', 3), ('images', 'thumbnail', 2),
             ('payments', 'charge', 1), ('reports', 'daily', 0), ('search', 'reindex', 0))
    AS type (name, job_type, retries) \g /dev/null
SELECT hipq.register_job_type('shop.partners', 'call', handler_kind => 'notify',
                              max_retries => 2) \g /dev/null
SELECT hipq.alter_queue('shop.search', throttle_limit => 1) \g /dev/null

-- There before the pictures begin.
INSERT INTO hipq.shop_images (job_type, job_data)
SELECT 'thumbnail', '{"seconds": 0.15, "fails": 0}' FROM generate_series(1, 9000);
INSERT INTO hipq.shop_search (job_type, job_data)
SELECT 'reindex', '{"seconds": 20, "fails": 0}' FROM generate_series(1, 12);
INSERT INTO hipq.shop_partners (job_type, job_key, job_data)
SELECT 'call', 'partner ' || n, '{"order": 4711, "partner": {"name": "ACME"}, "items": [7, 12]}'
FROM generate_series(1, 36) AS n;
INSERT INTO hipq.shop_reports (job_type, job_data)
SELECT 'daily', '{"seconds": 1, "fails": 0}' FROM generate_series(1, 3);
SELECT hipq.pause('shop.reports', reason => 'month-end closing') \g /dev/null
