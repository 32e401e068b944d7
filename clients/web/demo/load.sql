-- The jobs of one second in the shop: mails, of which some fail, thumbnails, invoices and parcels.
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
