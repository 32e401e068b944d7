-- Job types that are not registered: their number in each queue is limited, whichever way their
-- jobs come.
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
SELECT hipq.create_queue('bounded.main') > 0 AS main,
       hipq.create_queue('bounded.other') > 0 AS other;
SELECT hipq.register_job_type('bounded.main', 'known');
SHOW hipq.max_unregistered_types;
-- one statement may add as many as are allowed, and not one more
INSERT INTO hipq.bounded_main (job_type) SELECT 'type ' || n FROM generate_series(1, 101) AS n;
INSERT INTO hipq.bounded_main (job_type)
SELECT 'type ' || n % 100 FROM generate_series(1, 200) AS n;
-- existing types are accepted, others are refused at each way in
SELECT hipq.enqueue('type 7', '{}', queue => 'bounded.main') > 0 AS enqueued;
SELECT hipq.enqueue('known', '{}', queue => 'bounded.main') > 0 AS enqueued;
SELECT hipq.enqueue('one more', '{}', queue => 'bounded.main');
SELECT hipq.enqueue_many('one more', ARRAY['{}', '{}']::jsonb[], queue => 'bounded.main');
SELECT * FROM hipq.enqueue_unique('one more', '{}', queue => 'bounded.main', job_key => 'k');
INSERT INTO hipq.bounded_main (job_type) VALUES ('one more');
COPY hipq.bounded_main (job_type, job_data) FROM stdin;
known	{}
one more	{}
\.
SELECT hipq.move_jobs('bounded.main', 'bounded.other', 'type 7');
-- nor may they come with jobs made from others: retried, redriven, scheduled, successors
SELECT hipq.register_job_type('bounded.main', 'forgotten');
SELECT hipq.enqueue('forgotten', '{}', queue => 'bounded.main') AS failed \gset
SELECT hipq.fail_job(:failed, 'enough');
SELECT hipq.drop_job_type('bounded.main', 'forgotten');
SELECT hipq.retry(:failed);
SELECT hipq.retry_jobs('bounded.main');
SELECT hipq.redrive(:failed);
SELECT * FROM hipq.redrive_jobs('bounded.main');
SELECT hipq.schedule('bounded', '@daily', 'one more', queue => 'bounded.main');
SELECT hipq.enqueue('one more', '{}', queue => 'bounded.main', job_key => 'k',
    on_duplicate => 'after');
INSERT INTO hipq.bounded_main_live (job_type) VALUES ('one more');
MERGE INTO hipq.bounded_main USING (VALUES (1)) AS one (n) ON false WHEN NOT MATCHED THEN
    INSERT (job_type) VALUES ('one more');
\set VERBOSITY sqlstate
UPDATE hipq.bounded_main SET job_type = 'one more' WHERE job_type = 'type 7';
\set VERBOSITY default
-- another queue has its own limit, and a transaction may fill it
BEGIN;
SELECT count(hipq.enqueue('type ' || n, '{}', queue => 'bounded.other'))
FROM generate_series(1, 100) AS n;
SAVEPOINT full_queue;
SELECT hipq.enqueue('one more', '{}', queue => 'bounded.other');
ROLLBACK TO full_queue;
SELECT hipq.enqueue('type 100', '{}', queue => 'bounded.other') > 0 AS enqueued;
ROLLBACK;
-- nothing remains after the rollback
SELECT hipq.enqueue('one more', '{}', queue => 'bounded.other') > 0 AS enqueued;
-- a type that is registered does not count
SELECT hipq.register_job_type('bounded.main', 'one more');
SELECT hipq.enqueue('one more', '{}', queue => 'bounded.main') > 0 AS enqueued;
SELECT hipq.register_job_type('bounded.main', 'type 1');
SELECT job_type, is_registered
FROM hipq.job_types_detail WHERE queue = 'bounded.main' AND is_registered ORDER BY job_type;
SELECT hipq.enqueue('in its place', '{}', queue => 'bounded.main') > 0 AS enqueued;
SELECT hipq.enqueue('too many', '{}', queue => 'bounded.main');
SELECT hipq.drop_queue('bounded.main', force => true);
SELECT hipq.drop_queue('bounded.other', force => true);
