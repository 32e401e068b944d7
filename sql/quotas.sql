-- Registered job types and paused throttle keys: their number in each queue is limited, except for
-- superusers.
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
CREATE ROLE regress_hipq_quota_owner LOGIN;
SELECT hipq.create_queue('counted.main', owner => 'regress_hipq_quota_owner') AS main \gset
SELECT hipq.create_queue('counted.other', owner => 'regress_hipq_quota_owner') > 0 AS other;
SHOW hipq.max_job_types;
SHOW hipq.max_paused_keys;
INSERT INTO hipq.job_type (queue_id, name)
SELECT :main, 'type ' || n FROM generate_series(1, 9998) AS n;
INSERT INTO hipq.pause (queue_id, job_type, throttle_key, paused_by, paused_time)
SELECT :main, 'type ' || 1 + n % 2, 'key ' || n, 'somebody', now()
FROM generate_series(1, 998) AS n;

SET SESSION AUTHORIZATION regress_hipq_quota_owner;
-- ---- job types
-- a registration that is rolled back does not count
BEGIN;
SELECT hipq.register_job_type('counted.main', 'one');
SAVEPOINT one_is_left;
SELECT hipq.register_job_type('counted.main', 'two');
ROLLBACK TO one_is_left;
SELECT hipq.register_job_type('counted.main', 'other two');
SAVEPOINT full_queue;
SELECT hipq.register_job_type('counted.main', 'three');
ROLLBACK TO full_queue;
SELECT hipq.drop_job_type('counted.main', 'one');
SELECT hipq.register_job_type('counted.main', 'three');
COMMIT;
SELECT hipq.register_job_type('counted.main', 'four');
SELECT hipq.register_job_type('counted.main', 'four', or_replace => true);
SELECT * FROM hipq.apply('{"job_types": [{"queue": "counted.main", "job_type": "four"}]}');
SELECT hipq.enqueue('four', '{}', queue => 'counted.main') > 0 AS enqueued;
RESET SESSION AUTHORIZATION;
-- as the scheduler does it
INSERT INTO hipq.job_type (queue_id, name, is_registered)
VALUES (:main, 'four', false) ON CONFLICT DO NOTHING;
SET SESSION AUTHORIZATION regress_hipq_quota_owner;
SELECT hipq.alter_job_type('counted.main', 'four', max_retries => 1);
SELECT job_type, is_registered FROM hipq.job_types_detail
WHERE queue = 'counted.main' AND job_type NOT LIKE 'type %' ORDER BY job_type;
-- existing types can be changed, and another queue has its own limit
SELECT hipq.alter_job_type('counted.main', 'type 1', max_retries => 1);
SELECT hipq.register_job_type('counted.main', 'type 2', or_replace => true, max_retries => 1);
SELECT hipq.register_job_type('counted.other', 'one');
-- ---- throttle keys
SELECT hipq.pause('counted.main', 'type 1', 'one'), hipq.pause('counted.main', 'type 2', 'two');
SELECT hipq.pause('counted.main', 'type 1', 'three');
SELECT hipq.pause('counted.main', 'type 1', 'one'), hipq.pause('counted.main', 'type 1'),
       hipq.pause('counted.main');
SELECT hipq.pause('counted.other', 'one', 'three');
SELECT hipq.resume('counted.main', 'type 2', 'two'), hipq.pause('counted.main', 'type 1', 'three');
RESET SESSION AUTHORIZATION;
-- ---- a superuser may exceed both
SELECT hipq.register_job_type('counted.main', 'four', or_replace => true);
SELECT hipq.pause('counted.main', 'four', 'four');
SELECT hipq.drop_queue('counted.main', force => true);
SELECT hipq.drop_queue('counted.other', force => true);
DROP ROLE regress_hipq_quota_owner;
