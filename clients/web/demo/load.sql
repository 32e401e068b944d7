-- The jobs of one second in the shop: mails, of which some fail, thumbnails, invoices, parcels and
-- orders.
INSERT INTO hipq.shop_mail (job_type, job_key, job_data)
SELECT 'welcome', gen_random_uuid()::text,
       jsonb_build_object('order', n, 'seconds', round((random() * 0.1)::numeric, 3), 'token', 'a secret')
       || CASE WHEN random() < 0.02 THEN '{"fault": "mail server says 550: no such mailbox"}'
               WHEN random() < 0.05 THEN '{"flaky": "mail server does not answer"}'
               ELSE '{}' END::jsonb
FROM generate_series(1, 5 + (random() * 20)::integer) AS n;

INSERT INTO hipq.shop_thumbnails (job_type, job_data)
SELECT 'thumbnail', jsonb_build_object('order', n, 'seconds', round((random() * 0.5)::numeric, 3))
FROM generate_series(1, 1 + (random() * 4)::integer) AS n;

INSERT INTO hipq.shop_invoices (job_type, job_data)
SELECT 'invoice', '{"order": 1, "seconds": 0.05}' WHERE random() < 0.2;

INSERT INTO hipq.shop_parcels (job_type, job_data)
SELECT 'label', '{"order": 1}' WHERE random() < 0.1;

-- An order: a graph, in which a card may have expired.
SELECT hipq.enqueue_graph(jsonb_build_array(
    jsonb_build_object('name', 'reserve', 'job_type', 'reserve', 'job_data', '{"order": 1, "seconds": 1}'::jsonb),
    jsonb_build_object('name', 'charge', 'job_type', 'charge', 'after', '["reserve"]'::jsonb,
        'job_data', jsonb_build_object('order', 1, 'seconds', 2)
            || CASE WHEN random() < 0.3 THEN '{"fault": "the card has expired"}' ELSE '{}' END::jsonb),
    jsonb_build_object('name', 'put back', 'job_type', 'put_back', 'after', '["reserve", "charge"]'::jsonb,
        'after_policy', 'finished', 'job_data', '{"order": 1, "seconds": 0.1}'::jsonb),
    jsonb_build_object('name', 'ship', 'job_type', 'ship', 'after', '["charge"]'::jsonb,
        'job_data', '{"order": 1, "seconds": 2}'::jsonb),
    jsonb_build_object('name', 'mail', 'job_type', 'receipt', 'queue', 'shop.mail', 'after', '["ship"]'::jsonb,
        'job_data', '{"order": 1, "seconds": 0.1}'::jsonb)), queue => 'shop.orders')
WHERE random() < 0.1;
