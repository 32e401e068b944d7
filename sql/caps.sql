-- Caps: how the queue owner limits timeout, priority and throttle_factor 0 of enqueued jobs. Tests
-- every way in.
\set ON_ERROR_STOP 0
\set VERBOSITY default
\set SHOW_CONTEXT never
CREATE ROLE regress_hipq_caps_owner LOGIN;
CREATE ROLE regress_hipq_caps_client LOGIN;
CREATE ROLE regress_hipq_caps_worker LOGIN;
SELECT hipq.create_queue('caps.main', owner => 'regress_hipq_caps_owner', max_timeout => 60,
    highest_priority => -5, allow_free_jobs => false) > 0 AS created;
SELECT hipq.create_queue('caps.open', owner => 'regress_hipq_caps_owner') > 0 AS created;
SELECT queue, max_timeout, highest_priority, allow_free_jobs
FROM hipq.queues_detail WHERE queue LIKE 'caps.%' ORDER BY queue;
SELECT hipq.register_job_type('caps.main', 'plain');
SELECT hipq.register_job_type('caps.main', 'urgent', default_priority => -100,
    default_throttle_factor => 0);
SELECT hipq.register_job_type('caps.open', 'plain');
SELECT hipq.grant_queue('caps.main', 'regress_hipq_caps_client', 'enqueue');
SELECT hipq.grant_queue('caps.main', 'regress_hipq_caps_worker', 'work');
SELECT hipq.grant_queue('caps.main', 'regress_hipq_caps_worker', 'read');

-- the setting's default is reduced to the cap, and the views of types show it so
SELECT default_timeout FROM hipq.job_types WHERE queue = 'caps.main' AND job_type = 'plain';
SELECT hipq.enqueue('plain', queue => 'caps.main') > 0 AS enqueued,
       hipq.enqueue('unknown', queue => 'caps.main') > 0 AS enqueued;
SELECT job_type, timeout, priority, throttle_factor
FROM hipq.jobs_detail WHERE queue = 'caps.main' ORDER BY id;

-- enqueue, enqueue_many: values equal to the caps are allowed
SET ROLE regress_hipq_caps_client;
SELECT hipq.enqueue('plain', queue => 'caps.main', timeout => 60, priority => -5,
    throttle_factor => 0.001) > 0 AS enqueued;
SELECT hipq.enqueue('plain', queue => 'caps.main', timeout => 61);
SELECT hipq.enqueue('plain', queue => 'caps.main', timeout => 2000000000);
SELECT hipq.enqueue('plain', queue => 'caps.main', priority => -6);
SELECT hipq.enqueue('plain', queue => 'caps.main', throttle_factor => 0);
SELECT hipq.enqueue_many('plain', ARRAY['{}', '{}']::jsonb[], queue => 'caps.main', timeout => 61);

-- INSERT, COPY
INSERT INTO hipq.caps_main (job_type, timeout) VALUES ('plain', 60), ('plain', 61);
INSERT INTO hipq.caps_main (job_type, priority) VALUES ('plain', -6);
INSERT INTO hipq.caps_main (job_type, throttle_factor) VALUES ('plain', 0);
COPY hipq.caps_main (job_type, timeout) FROM stdin;
plain	60
plain	61
\.
COPY hipq.caps_main (job_type, throttle_factor) FROM stdin;
plain	0
\.

-- on_duplicate
SELECT hipq.enqueue('plain', queue => 'caps.main', job_key => 'one') > 0 AS enqueued;
SELECT hipq.enqueue('plain', queue => 'caps.main', job_key => 'one', on_duplicate => 'replace',
    timeout => 61);
SELECT hipq.enqueue('plain', queue => 'caps.main', job_key => 'one', on_duplicate => 'replace',
    priority => -6);
SELECT hipq.enqueue('plain', queue => 'caps.main', job_key => 'one', on_duplicate => 'replace',
    throttle_factor => 0);
SELECT hipq.enqueue('plain', queue => 'caps.main', job_key => 'one', on_duplicate => 'merge',
    timeout => 61) > 0 AS merged;

-- values of the job type are the owner's choice, and may exceed the caps
SELECT hipq.enqueue('urgent', queue => 'caps.main') > 0 AS enqueued;
SELECT hipq.enqueue('urgent', queue => 'caps.main', job_key => 'u') > 0 AS enqueued;
SELECT hipq.enqueue('urgent', queue => 'caps.main', job_key => 'u', on_duplicate => 'replace')
    > 0 AS enqueued;
SELECT hipq.enqueue('urgent', queue => 'caps.main', priority => -101);
RESET ROLE;
SELECT DISTINCT priority, throttle_factor FROM hipq.jobs_detail WHERE job_type = 'urgent';

-- UPDATE by a worker
SET ROLE regress_hipq_caps_worker;
UPDATE hipq.caps_main SET timeout = 61 WHERE job_key = 'one';
UPDATE hipq.caps_main SET priority = -6 WHERE job_key = 'one';
UPDATE hipq.caps_main SET throttle_factor = 0 WHERE job_key = 'one';
UPDATE hipq.caps_main SET job_data = '{"urgent": true}' WHERE job_type = 'urgent';
UPDATE hipq.caps_main SET timeout = 59 WHERE job_key = 'one';
RESET ROLE;

-- the owner's own values
SELECT hipq.register_job_type('caps.main', 'long', default_timeout => 61);
SELECT hipq.alter_job_type('caps.main', 'plain', default_timeout => 61);
SELECT hipq.alter_job_type('caps.main', 'plain', default_timeout => 60);

-- moved, retried
SELECT hipq.enqueue('plain', queue => 'caps.open', timeout => 61) AS long \gset
SELECT * FROM hipq.move_jobs('caps.open', 'caps.main', 'plain');
SELECT hipq.cancel(:long);
SELECT hipq.enqueue('plain', queue => 'caps.open', timeout => 50,
    throttle_factor => 0) AS free \gset
SELECT * FROM hipq.move_jobs('caps.open', 'caps.main', 'plain');
SELECT hipq.cancel(:free);
SELECT hipq.enqueue('plain', queue => 'caps.open', timeout => 50, priority => -6) AS urgent \gset
SELECT * FROM hipq.move_jobs('caps.open', 'caps.main', 'plain');
SELECT hipq.reschedule(:urgent, priority => -5);
SELECT * FROM hipq.move_jobs('caps.open', 'caps.main', 'plain');
SELECT hipq.alter_queue('caps.open', max_timeout => 60);
SELECT hipq.retry(:long);

-- jobs made from failed ones: retry_jobs, redrive, with and without another queue
SELECT hipq.enqueue('plain', queue => 'caps.open', timeout => 60, priority => -6) AS failed \gset
SELECT hipq.fail_job(:failed, 'enough');
SELECT hipq.redrive(:failed, to_queue => 'caps.main');
SELECT * FROM hipq.redrive_jobs('caps.open', to_queue => 'caps.main');
SELECT hipq.alter_queue('caps.open', highest_priority => -5);
SELECT hipq.retry(:failed);
SELECT hipq.retry_jobs('caps.open', 'plain');
SELECT hipq.redrive(:failed);
SELECT * FROM hipq.redrive_jobs('caps.open');
SELECT count(*) FROM hipq.jobs_detail WHERE retry_of = :failed;
SELECT hipq.alter_queue('caps.open', reset => '{highest_priority}');
SELECT redriven FROM hipq.redrive_jobs('caps.open');

-- schedules, the successor of 'after', the leaf itself, MERGE
SET ROLE regress_hipq_caps_client;
SELECT hipq.schedule('capped', '@daily', 'plain', queue => 'caps.main', timeout => 61);
SELECT hipq.schedule('capped', '@daily', 'plain', queue => 'caps.main', priority => -6);
SELECT hipq.schedule('capped', '@daily', 'plain', queue => 'caps.main', throttle_factor => 0);
SELECT hipq.enqueue('plain', queue => 'caps.main', job_key => 'two', on_duplicate => 'after',
    timeout => 61);
SELECT hipq.enqueue_many('plain', '{"{}"}', queue => 'caps.main', job_keys => '{one}',
    on_duplicate => 'replace', priority => -6);
MERGE INTO hipq.caps_main USING (VALUES (1)) AS one (n) ON false WHEN NOT MATCHED THEN
    INSERT (job_type, timeout) VALUES ('plain', 61);
RESET ROLE;
INSERT INTO hipq.caps_main_live (job_type, timeout) VALUES ('plain', 61);
INSERT INTO hipq.job (queue_id, job_type, timeout)
SELECT queue_id, 'plain', 61 FROM hipq.queue WHERE table_name = 'caps_main';

-- after a change of the caps, waiting jobs keep their values
SELECT hipq.alter_queue('caps.main', max_timeout => 10);
SELECT max(timeout) FROM hipq.jobs_detail WHERE queue = 'caps.main';
SELECT default_timeout FROM hipq.job_types WHERE queue = 'caps.main' AND job_type = 'plain';
SELECT hipq.alter_queue('caps.main', allow_free_jobs => true,
    reset => '{max_timeout, highest_priority}');
SELECT max_timeout, highest_priority, allow_free_jobs
FROM hipq.queues_detail WHERE queue = 'caps.main';
SELECT hipq.enqueue('plain', queue => 'caps.main', timeout => 86400, priority => -32768,
    throttle_factor => 0) > 0 AS enqueued;
SELECT hipq.enqueue('plain', queue => 'caps.main', timeout => 86401);

-- invalid caps
SELECT hipq.alter_queue('caps.main', max_timeout => 0);
SELECT hipq.alter_queue('caps.main', highest_priority => 40000);
SELECT hipq.alter_queue('caps.main', max_timeout => 5, reset => '{max_timeout}');

SELECT hipq.drop_queue('caps.main', force => true);
SELECT hipq.drop_queue('caps.open', force => true);
DROP OWNED BY regress_hipq_caps_client, regress_hipq_caps_worker, regress_hipq_caps_owner;
DROP ROLE regress_hipq_caps_client, regress_hipq_caps_worker, regress_hipq_caps_owner;
