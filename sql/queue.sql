-- Instances and queues: how they are created, changed and dropped, and which tables they get.
SET client_min_messages = warning;
CREATE ROLE regress_hipq_queue_owner LOGIN;
CREATE ROLE regress_hipq_queue_heir LOGIN;
CREATE ROLE regress_hipq_queue_nologin;

-- An instance appears with its first queue; the table is named after both.
SELECT hipq.create_queue('shop.mail', owner => 'regress_hipq_queue_owner') > 0 AS created;
SELECT queue, owner, table_name, throttle_limit, running_jobs, retention, history, is_strict,
       queue_ttl, dead_letter_enabled, dead_letter_retention
FROM hipq.queues_detail
WHERE queue = 'shop.mail';
SELECT name, shard_key, table_naming_strategy, db_config, queues
FROM hipq.instances_detail WHERE name = 'shop';

-- Every option
SELECT hipq.create_queue('shop.slow', owner => 'regress_hipq_queue_owner', throttle_limit => 2.5,
    retention => '1 month', history => 'all', strict => true, queue_ttl => 60,
    dead_letter_enabled => false, dead_letter_retention => '2 hours') > 0 AS created;
SELECT queue, throttle_limit, retention, history, is_strict, queue_ttl, dead_letter_enabled,
       dead_letter_retention
FROM hipq.queues_detail
WHERE queue = 'shop.slow';

-- A value below 1, also a negative one, means no limit.
SELECT hipq.alter_queue('shop.slow', throttle_limit => -1);
SELECT throttle_limit,
       (SELECT throttle_limit FROM hipq.queue WHERE table_name = 'shop_slow') AS stored
FROM hipq.queues_detail WHERE queue = 'shop.slow';
SELECT hipq.alter_queue('shop.slow', throttle_limit => 2.5);

-- The table, its leaves, their indexes; only the owner of the extension and the queue owner have
-- rights. The first final job makes leaves by time.
SELECT part.relid::regclass AS table, part.level, part.isleaf,
       regexp_replace(pg_get_expr(class.relpartbound, class.oid), '\([0-9]+\)', '(<id>)') AS bound,
       class.reloptions
FROM pg_partition_tree('hipq.shop_mail') AS part
JOIN pg_class AS class ON class.oid = part.relid
ORDER BY part.level, class.relname;
SELECT indexdef AS index
FROM pg_indexes
WHERE schemaname = 'hipq' AND tablename LIKE 'shop\_mail%'
ORDER BY 1;
SELECT tgname, tgenabled, count(*)
FROM pg_trigger JOIN pg_partition_tree('hipq.shop_mail') ON tgrelid = relid GROUP BY 1, 2;
SELECT DISTINCT pg_get_expr(adbin, adrelid) = queue_id::text AS leaf_knows_its_queue
FROM pg_partition_tree('hipq.shop_mail') AS part
JOIN pg_attribute ON attrelid = part.relid AND attname = 'queue_id'
JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
JOIN hipq.queue ON table_name = 'shop_mail';
SELECT obj_description('hipq.shop_mail'::regclass),
       obj_description('hipq.shop_mail_live'::regclass),
       obj_description('hipq.shop_mail_final'::regclass),
       obj_description('hipq.shop_mail_final_default'::regclass);
SELECT part.relid::regclass AS table, acl.grantee::regrole,
       string_agg(acl.privilege_type, ', ' ORDER BY acl.privilege_type) AS privileges
FROM pg_partition_tree('hipq.shop_mail') AS part
JOIN pg_class AS class ON class.oid = part.relid
CROSS JOIN aclexplode(class.relacl) AS acl
WHERE acl.grantee <> class.relowner
GROUP BY 1, 2
ORDER BY 1, 2;
-- Tables of queues are data, not members of the extension.
SELECT count(*)
FROM pg_depend JOIN pg_partition_tree('hipq.shop_mail') ON objid = relid WHERE deptype = 'e';

-- Default privileges do not leak into new tables.
ALTER DEFAULT PRIVILEGES IN SCHEMA hipq GRANT ALL ON TABLES TO PUBLIC;
SELECT hipq.create_queue('shop.closed', owner => 'regress_hipq_queue_owner') > 0 AS created;
ALTER DEFAULT PRIVILEGES IN SCHEMA hipq REVOKE ALL ON TABLES FROM PUBLIC;
SELECT count(*) AS tables_open_to_all
FROM pg_class, aclexplode(relacl) AS acl
WHERE relname LIKE 'shop\_closed%' AND acl.grantee = 0;

-- Names: the built-in instance, key words, a strategy
SELECT hipq.create_queue('hipq.select', owner => 'regress_hipq_queue_owner') > 0 AS created;
INSERT INTO hipq."select" (job_type, scheduled_run_time)
VALUES ('later', now() + '1 day') RETURNING id > 0 AS has_id;
SELECT hipq.create_instance('farm', table_naming_strategy => $$'q_' || $2 || '_of_' || $1$$,
    shard_key => 'throttle_key', db_config => '{"shards": 4}') > 0 AS created;
SELECT hipq.create_queue('farm.cows', owner => 'regress_hipq_queue_owner') > 0 AS created;
SELECT queue, table_name FROM hipq.queues_detail
WHERE (queue LIKE 'farm.%' OR queue LIKE 'hipq.%') AND NOT is_dropped ORDER BY 1;

-- Long names: the leaves of these queues have their own names; they differ even if two names begin
-- alike.
SELECT hipq.create_queue('billing_service.invoice_emails', owner => 'regress_hipq_queue_owner')
    > 0 AS created;
SELECT hipq.create_queue('billing_service.' || repeat('x', 46) || name,
    owner => 'regress_hipq_queue_owner') > 0 AS created
FROM unnest('{a, b}'::text[]) AS name;
SELECT relid
FROM pg_partition_tree('hipq.billing_service_invoice_emails') ORDER BY level, relid::text;
SELECT class.relname, length(class.relname)
FROM pg_class AS class WHERE relname LIKE 'billing\_service\_xx%' ORDER BY 1;
SELECT conname FROM pg_constraint
WHERE conrelid = (SELECT relid FROM pg_partition_tree('hipq.billing_service_invoice_emails')
    WHERE relid::text LIKE '%live') AND contype = 'p';
INSERT INTO hipq.billing_service_invoice_emails (job_type, job_key, scheduled_run_time)
VALUES ('send', 'ann', 'tomorrow');
INSERT INTO hipq.billing_service_invoice_emails (job_type, job_key) VALUES ('send', 'ann');
SELECT hipq.enqueue('send', queue => 'billing_service.' || repeat('x', 46) || 'a',
    scheduled_run_time => 'tomorrow') > 0 AS has_id;
SELECT split_part(queue, '.', 2) AS queue, count(*)
FROM hipq.jobs WHERE queue LIKE 'billing%' GROUP BY 1 ORDER BY 1;
SELECT state, tableoid::regclass AS leaf FROM hipq.billing_service_invoice_emails;
SELECT table_name, kind FROM hipq.sizes WHERE queue = 'billing_service.invoice_emails' ORDER BY 1;
SELECT hipq.grant_queue('billing_service.invoice_emails', 'regress_hipq_queue_heir', 'control');
SELECT hipq.drop_queue('billing_service.invoice_emails', force => true);
SELECT hipq.create_queue('billing_service.invoice_emails', owner => 'regress_hipq_queue_owner')
    > 0 AS created;
SELECT count(*) FROM hipq.billing_service_invoice_emails;
SELECT hipq.create_queue('billing_service.' || repeat('x', 48),
    owner => 'regress_hipq_queue_owner');
SELECT hipq.drop_queue(queue, force => true)
FROM hipq.queues WHERE queue LIKE 'billing%' ORDER BY queue;
SELECT hipq.drop_instance('billing_service');

-- A queue owner that cannot log in: hipq reports it.
SET client_min_messages = notice;
SELECT hipq.create_queue('shop.silent', owner => 'regress_hipq_queue_nologin') > 0 AS created;
SET client_min_messages = warning;

-- Changes: NULL leaves a property unchanged.
SELECT hipq.alter_queue('shop.slow', throttle_limit => 10, history => 'failed');
SELECT queue, throttle_limit, retention, history, is_strict, queue_ttl
FROM hipq.queues_detail WHERE queue = 'shop.slow';
SELECT hipq.alter_queue('shop.slow', strict => false,
    reset => '{retention, queue_ttl, dead_letter_enabled, dead_letter_retention}');
SELECT queue, retention, is_strict, queue_ttl, dead_letter_enabled, dead_letter_retention
FROM hipq.queues_detail WHERE queue = 'shop.slow';
-- how long jobs wait for a worker: 0 means forever, which the view shows as NULL
SELECT hipq.alter_queue('shop.slow', worker_wait_ttl => '2 min');
SELECT worker_wait_ttl, described ->> 'worker_wait_ttl' AS described
FROM hipq.queues_detail, jsonb_array_elements(hipq.describe() -> 'queues') AS described
WHERE queue = 'shop.slow' AND described ->> 'queue' = queue;
SELECT hipq.alter_queue('shop.slow', worker_wait_ttl => 0);
SELECT worker_wait_ttl, described ->> 'worker_wait_ttl' AS described
FROM hipq.queues_detail, jsonb_array_elements(hipq.describe() -> 'queues') AS described
WHERE queue = 'shop.slow' AND described ->> 'queue' = queue;
SELECT hipq.alter_queue('shop.slow', reset => '{worker_wait_ttl}');
SELECT worker_wait_ttl, described ->> 'worker_wait_ttl' AS described
FROM hipq.queues_detail, jsonb_array_elements(hipq.describe() -> 'queues') AS described
WHERE queue = 'shop.slow' AND described ->> 'queue' = queue;

-- A new owner gets the rights, the old one loses them.
SELECT hipq.alter_queue('shop.slow', owner => 'regress_hipq_queue_heir');
SELECT role, has_table_privilege(role, 'hipq.shop_slow', 'INSERT') AS enqueue,
       has_column_privilege(role, 'hipq.shop_slow', 'job_data', 'UPDATE') AS work,
       has_table_privilege(role, 'hipq.shop_slow', 'SELECT') AS read,
       has_column_privilege(role, 'hipq.shop_slow_live', 'priority', 'UPDATE') AS control
FROM unnest('{regress_hipq_queue_owner, regress_hipq_queue_heir}'::text[]) AS role;

-- The queue owner changes the queue; a change that is rolled back has no effect, in this session
-- either.
SET ROLE regress_hipq_queue_owner;
SELECT hipq.alter_queue('shop.mail', retention => '3 days');
BEGIN;
SELECT hipq.alter_queue('shop.mail', strict => true);
SELECT hipq.enqueue('unknown', queue => 'shop.mail');
ROLLBACK;
SELECT hipq.enqueue('unknown', queue => 'shop.mail', scheduled_run_time => now() + '1 day')
    > 0 AS has_id;
SELECT queue, retention, is_strict FROM hipq.queues_detail ORDER BY 1;

-- A dropped queue is invisible at once, even while its tables still exist; the name is free.
SELECT hipq.drop_queue('shop.mail', force => true);
SELECT hipq.enqueue('unknown', queue => 'shop.mail');
RESET ROLE;
SELECT hipq.create_queue('shop.mail', owner => 'regress_hipq_queue_owner') > 0 AS created;
SELECT count(*) FROM hipq.shop_mail;
BEGIN;
SELECT hipq.drop_queue('shop.mail');
ROLLBACK;
SELECT count(*) FROM hipq.shop_mail;

-- An empty queue can be dropped without force; an instance without queues too.
SELECT hipq.drop_queue('farm.cows');
SELECT hipq.drop_instance('farm');
SELECT count(*) FROM hipq.instance WHERE name = 'farm';
SELECT to_regclass('hipq.q_cows_of_farm') IS NULL AS tables_are_gone;

SELECT hipq.drop_queue(queue, force => true)
FROM (VALUES ('shop.mail'), ('shop.slow'), ('shop.closed'), ('shop.silent'),
             ('hipq.select')) AS all_queues (queue);
SELECT hipq.drop_instance('shop');
SELECT hipq.drop_instance('hipq');
DROP OWNED BY regress_hipq_queue_owner, regress_hipq_queue_heir, regress_hipq_queue_nologin;
DROP ROLE regress_hipq_queue_owner, regress_hipq_queue_heir, regress_hipq_queue_nologin;
