-- The objects that create_queue makes: the queue's table and its leaves with their bounds, indexes,
-- constraints, comments and rights.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SET LOCAL timezone = 'UTC';
SET LOCAL datestyle = 'ISO';
SELECT plan(22);

CREATE ROLE contract_owner LOGIN;
SELECT hipq.create_queue('contract.mail', owner => 'contract_owner',
    retention => '8 days') AS queue_id \gset

SELECT set_eq($$
SELECT instance.name || '.' || queue.name, queue.owner::text, queue.table_name,
       queue.throttle_limit, queue.retention, queue.history, queue.is_strict, queue.queue_ttl,
       queue.dead_letter_enabled, queue.dead_letter_retention, queue.is_dropped
FROM hipq.queue JOIN hipq.instance USING (instance_id)
WHERE queue.name = 'mail' AND instance.name = 'contract'
$$, $$VALUES ('contract.mail', 'contract_owner', 'contract_mail', 0::numeric, interval '8 days',
    'failed', NULL::boolean,
        NULL::integer, NULL::boolean, NULL::interval, false)$$,
        'the row of the queue, and of the instance that appeared by itself');

SELECT set_eq($$
SELECT relid::regclass::text, parentrelid::regclass::text, pg_get_expr(relpartbound, relid)
FROM pg_partition_tree('hipq.contract_mail') JOIN pg_class ON pg_class.oid = relid
$$, format($want$
    SELECT * FROM (VALUES
        ('hipq.contract_mail', 'hipq.job', 'FOR VALUES IN (%s)'),
        ('hipq.contract_mail_live', 'hipq.contract_mail',
            $x$FOR VALUES IN (NULL, 'initial', 'running', 'error', 'retry')$x$),
        ('hipq.contract_mail_final', 'hipq.contract_mail', $x$FOR VALUES IN ('final')$x$),
        ('hipq.contract_mail_final_default', 'hipq.contract_mail_final', 'DEFAULT')) AS part
$want$, :queue_id), 'tables and bounds: leaves by time come with the first final job');

SELECT set_eq($$
SELECT partrelid::regclass::text, pg_get_partkeydef(partrelid) FROM pg_partitioned_table
WHERE partrelid IN (SELECT relid FROM pg_partition_tree('hipq.contract_mail'))
$$, $$VALUES ('hipq.contract_mail', 'LIST (state)'),
('hipq.contract_mail_final', 'RANGE (update_time)')$$, 'partition keys');

SELECT set_eq($$
SELECT pg_get_indexdef(indexrelid)
FROM pg_index WHERE indrelid IN (SELECT relid FROM pg_partition_tree('hipq.contract_mail'))
$$, $want$
    VALUES
        ('CREATE UNIQUE INDEX contract_mail_live_pkey ON hipq.contract_mail_live USING btree (id)'),
        ('CREATE UNIQUE INDEX contract_mail_one_unfinished_job_per_type_and_key '
            'ON hipq.contract_mail_live USING btree (job_type, job_key, '
            '((NOT (waits_for IS DISTINCT FROM ''key''::text)))) '
            'WHERE (job_key <> ''NONE''::text)'),
        ('CREATE INDEX contract_mail_live_line ON hipq.contract_mail_live '
            'USING btree (job_type, priority, scheduled_run_time, id) WHERE (waits_for IS NULL)'),
        ('CREATE INDEX contract_mail_live_held ON hipq.contract_mail_live '
            'USING btree (job_type, id) WHERE (waits_for IS NOT NULL)'),
        ('CREATE INDEX contract_mail_live_batch ON hipq.contract_mail_live '
            'USING btree (batch_id, id) WHERE (batch_id IS NOT NULL)'),
        (format('CREATE INDEX contract_mail_live_expiry ON hipq.contract_mail_live '
            'USING btree (expires_time) WHERE (expires_time < %L::timestamp with time zone)',
            '9999-01-01 00:00:00+00'::timestamptz)),
        ('CREATE UNIQUE INDEX contract_mail_final_default_id '
            'ON hipq.contract_mail_final_default USING btree (id)'),
        ('CREATE INDEX contract_mail_final_default_key ON hipq.contract_mail_final_default '
            'USING btree (job_type, job_key) WHERE (job_key <> ''NONE''::text)')
$want$, 'indexes, by name and definition');

SELECT is_empty($$
SELECT indexrelid::regclass, attname
FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
WHERE indrelid = 'hipq.contract_mail_live'::regclass
  AND attname IN ('state', 'attempt', 'error', 'update_time', 'accepted_time', 'deadline',
      'worker_id', 'retry_reason', 'result')
$$, 'no index of the live leaf holds a column that a claim or a success changes');

SELECT set_eq(
    $$SELECT unnest(reloptions) FROM pg_class WHERE oid = 'hipq.contract_mail_live'::regclass$$,
    $$VALUES ('fillfactor=90'), ('vacuum_truncate=off')$$, 'storage of the live leaf');

SELECT is_empty($$
SELECT relid::regclass, conname FROM pg_partition_tree('hipq.contract_mail'), pg_constraint
WHERE conrelid = 'hipq.job'::regclass AND contype = 'c'
  AND NOT EXISTS (SELECT FROM pg_constraint AS own WHERE own.conrelid = relid
      AND own.conname = pg_constraint.conname)
$$, 'every CHECK constraint of hipq.job holds in every leaf');

SELECT is_empty($$
SELECT relid::regclass, attname
FROM pg_partition_tree('hipq.contract_mail') JOIN pg_attribute ON attrelid = relid AND attnum > 0
WHERE level = 0 AND col_description(attrelid, attnum)
    IS DISTINCT FROM col_description('hipq.job'::regclass, attnum)
$$, 'columns have the comments of hipq.job');

SELECT is_empty($$SELECT relid::regclass FROM pg_partition_tree('hipq.contract_mail')
    WHERE obj_description(relid, 'pg_class') IS NULL$$, 'tables have comments');

SELECT set_eq($$
SELECT DISTINCT pg_get_expr(adbin, adrelid)
FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
WHERE attname = 'queue_id'
  AND adrelid IN (SELECT relid FROM pg_partition_tree('hipq.contract_mail'))
$$, format('VALUES (%L)', :'queue_id'), 'queue_id is the default of the queue''s tables');

SELECT is_empty($$
SELECT relid::regclass FROM pg_partition_tree('hipq.contract_mail')
WHERE NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = relid
    AND tgfoid = 'hipq._guard_job'::regproc AND tgenabled = 'A')
$$, 'the guard stands at every table, ENABLE ALWAYS');

SELECT is_empty($$
SELECT relid::regclass
FROM pg_partition_tree('hipq.contract_mail') JOIN pg_class ON pg_class.oid = relid
WHERE relowner <> (SELECT extowner FROM pg_extension WHERE extname = 'hipq')
$$, 'all tables belong to the extension owner');

SELECT is_empty($$
SELECT relid::regclass FROM pg_partition_tree('hipq.contract_mail')
JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = relid AND deptype = 'e'
$$, 'none is a member of the extension: pg_dump carries them');

-- Rights ------------------------------------------------------------------------------------------

CREATE ROLE contract_role;
CREATE TEMPORARY VIEW given AS
SELECT relid::regclass::text AS name, grantee, privilege_type, is_grantable
FROM pg_partition_tree('hipq.contract_mail') JOIN pg_class ON pg_class.oid = relid,
    aclexplode(relacl)
WHERE grantee <> relowner
UNION ALL
SELECT relid::regclass || '.' || attname, acl.grantee, acl.privilege_type, acl.is_grantable
FROM pg_partition_tree('hipq.contract_mail') JOIN pg_attribute ON attrelid = relid,
    aclexplode(attacl) AS acl;

SELECT is_empty($$SELECT * FROM given WHERE grantee NOT IN (SELECT oid FROM pg_roles
    WHERE rolname = 'contract_owner') OR is_grantable$$,
    'a new queue is open to its owner alone');

SELECT hipq.grant_queue('contract.mail', 'contract_role', 'enqueue');
SELECT set_eq($$SELECT name, privilege_type FROM given WHERE grantee = 'contract_role'::regrole$$,
    $$VALUES ('hipq.contract_mail', 'INSERT'), ('hipq.contract_mail.id', 'SELECT')$$,
    'enqueue is INSERT and SELECT (id)');
SELECT hipq.revoke_queue('contract.mail', 'contract_role', 'enqueue');

SELECT hipq.grant_queue('contract.mail', 'contract_role', 'read');
SELECT set_eq($$SELECT name, privilege_type FROM given WHERE grantee = 'contract_role'::regrole$$,
    $$VALUES ('hipq.contract_mail', 'SELECT')$$, 'read is SELECT');
SELECT hipq.revoke_queue('contract.mail', 'contract_role', 'read');

SELECT hipq.grant_queue('contract.mail', 'contract_role', 'work');
SELECT set_eq($$SELECT name, privilege_type FROM given WHERE grantee = 'contract_role'::regrole$$,
    $$SELECT 'hipq.contract_mail.' || granted.name AS name, 'UPDATE' AS privilege_type
        FROM unnest('{job_data, scheduled_run_time, expires_time, timeout,
        max_retries, priority, throttle_factor, throttle_key, time_windows}'::text[])
        AS granted (name)$$,
    'work is UPDATE of what may be changed in waiting jobs');
SELECT hipq.revoke_queue('contract.mail', 'contract_role', 'work');

SELECT hipq.grant_queue('contract.mail', 'contract_role', 'control');
SELECT set_eq($$SELECT name, privilege_type FROM given WHERE grantee = 'contract_role'::regrole$$,
    $$VALUES ('hipq.contract_mail_live.scheduled_run_time', 'UPDATE'),
        ('hipq.contract_mail_live.priority', 'UPDATE')$$,
    'control is UPDATE of two columns of the live leaf, which nobody uses directly');
SELECT hipq.revoke_queue('contract.mail', 'contract_role', 'control');

SELECT is_empty($$SELECT * FROM given WHERE grantee = 'contract_role'::regrole$$,
    'revoke_queue leaves nothing');
SELECT throws_ok($$SELECT hipq.grant_queue('contract.mail', 'contract_role', 'own')$$, '22023',
    NULL, 'there is no other privilege');

-- Types of jobs -----------------------------------------------------------------------------------

SELECT hipq.register_job_type('contract.mail', 'inside', handler => 'SELECT 1',
    handler_kind => 'statement');
SELECT set_eq(
    $$SELECT unnest(reloptions) FROM pg_class WHERE oid = 'hipq.contract_mail_live'::regclass$$,
    $$VALUES ('fillfactor=90'), ('vacuum_truncate=off')$$,
    'a job type with a handler leaves the storage of the live leaf as it is');
SELECT hipq.register_job_type('contract.mail', 'outside', handler_kind => 'notify');
SELECT set_eq(
    $$SELECT unnest(reloptions) FROM pg_class WHERE oid = 'hipq.contract_mail_live'::regclass$$,
    $$VALUES ('fillfactor=50'), ('vacuum_truncate=off')$$,
    'a job type for external workers leaves room on the pages of the live leaf');

SELECT * FROM finish();
ROLLBACK;
