-- Rights on a queue: what each privilege gives, and nothing more.
SET client_min_messages = warning;
CREATE ROLE regress_hipq_grant_owner LOGIN;
CREATE ROLE regress_hipq_producer LOGIN;
CREATE ROLE regress_hipq_worker LOGIN;
CREATE ROLE regress_hipq_reader LOGIN;
CREATE ROLE regress_hipq_operator LOGIN;
CREATE ROLE regress_hipq_helper LOGIN;
CREATE ROLE regress_hipq_stranger LOGIN;
SELECT hipq.create_queue('grants.mail', owner => 'regress_hipq_grant_owner') > 0 AS created;
SELECT hipq.create_queue('grants.other', owner => 'regress_hipq_grant_owner') > 0 AS created;

-- The queue owner grants.
SET ROLE regress_hipq_grant_owner;
SELECT hipq.register_job_type('grants.mail', 'welcome', handler_kind => 'notify', max_retries => 1);
SELECT hipq.register_job_type('grants.other', 'other', handler_kind => 'notify');
SELECT hipq.grant_queue('grants.mail', role, privilege)
FROM (VALUES ('regress_hipq_producer'::regrole, 'enqueue'), ('regress_hipq_worker', 'work'),
             ('regress_hipq_reader', 'read'),
             ('regress_hipq_operator', 'control'),
             ('regress_hipq_helper', 'operate')) AS wanted (role, privilege);
RESET ROLE;

CREATE VIEW rights AS
SELECT role,
       array(SELECT privilege
             FROM unnest('{enqueue, work, read, operate, control}'::text[]) AS privilege
             WHERE CASE privilege
                 WHEN 'enqueue' THEN has_table_privilege(role, 'hipq.grants_mail', 'INSERT')
                 WHEN 'read' THEN has_table_privilege(role, 'hipq.grants_mail', 'SELECT')
                 WHEN 'work' THEN
                     has_column_privilege(role, 'hipq.grants_mail', 'job_data', 'UPDATE')
                 WHEN 'operate' THEN has_column_privilege(role, 'hipq.grants_mail_live',
                     'scheduled_run_time', 'UPDATE')
                 ELSE has_column_privilege(role, 'hipq.grants_mail_live', 'priority', 'UPDATE')
             END) AS privileges,
       has_column_privilege(role, 'hipq.grants_mail', 'id', 'SELECT') AS sees_id,
       has_schema_privilege(role, 'hipq', 'USAGE') AS uses_schema,
       has_schema_privilege(role, 'hipq', 'CREATE') AS creates
FROM unnest('{regress_hipq_grant_owner, regress_hipq_producer, regress_hipq_worker,
              regress_hipq_reader, regress_hipq_operator, regress_hipq_helper,
              regress_hipq_stranger}'::text[]) AS role;
SELECT * FROM rights;
SELECT role, string_agg(relname, ', ' ORDER BY relname) AS tables
FROM unnest('{regress_hipq_producer, regress_hipq_worker, regress_hipq_reader,
              regress_hipq_operator}'::text[]) WITH ORDINALITY AS roles (role, place)
LEFT JOIN pg_class ON relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p', 'S')
    AND has_table_privilege(role, oid, 'SELECT')
GROUP BY role, place
ORDER BY place;
-- Roles get no other rights: the functions themselves check what their caller may do.
SELECT pg_describe_object('pg_proc'::regclass, oid, 0) AS object
FROM pg_proc CROSS JOIN aclexplode(proacl) AS acl
WHERE pronamespace = 'hipq'::regnamespace AND acl.grantee::regrole::text LIKE 'regress\_hipq\_%'
UNION ALL
SELECT pg_describe_object('pg_class'::regclass, oid, 0)
FROM pg_class CROSS JOIN aclexplode(relacl) AS acl
WHERE relnamespace = 'hipq'::regnamespace AND relname NOT LIKE 'grants%'
  AND acl.grantee::regrole::text LIKE 'regress\_hipq\_%';

-- enqueue: INSERT with RETURNING id, and nothing else.
SET ROLE regress_hipq_producer;
INSERT INTO hipq.grants_mail (job_type, scheduled_run_time)
VALUES ('welcome', now() + '1 day') RETURNING id > 0 AS has_id;
SELECT hipq.enqueue('welcome', queue => 'grants.mail', scheduled_run_time => now() + '1 day')
    > 0 AS has_id;
SELECT count(*) FROM (SELECT id FROM hipq.grants_mail) AS ids;
SELECT job_data FROM hipq.grants_mail;
UPDATE hipq.grants_mail SET priority = 1;
SELECT hipq.enqueue('other', queue => 'grants.other');
-- A queue that the caller may not know of: no error shows its name.
DO $$
BEGIN
    PERFORM hipq.enqueue('other');
EXCEPTION
    WHEN undefined_object THEN
        IF sqlerrm LIKE '%grants.other%' THEN
            RAISE;
        END IF;
END
$$;
INSERT INTO hipq.grants_other (job_type) VALUES ('other');
SELECT count(*) FROM hipq.jobs;
SELECT hipq.register_job_type('grants.mail', 'mine');

-- read: the jobs of this queue, and of no other.
SET ROLE regress_hipq_reader;
SELECT queue, job_type, outcome FROM hipq.jobs;
SELECT queue FROM hipq.queues;
SELECT job_type, count(*) FROM hipq.grants_mail GROUP BY 1;
SELECT * FROM hipq.retry_schedule('welcome');
SELECT * FROM hipq.retry_schedule('other');
SELECT hipq.why(1, 'grants.other');
SELECT hipq.why(1, 'grants.nowhere');
SELECT hipq.why(1, 'hipq.grants_other');
SELECT count(*) FROM hipq.grants_mail_live;
INSERT INTO hipq.grants_mail (job_type) VALUES ('welcome');
RESET ROLE;

-- operate: single jobs; no function that keeps jobs from running, or that removes rows.
SELECT id AS job FROM hipq.grants_mail ORDER BY id LIMIT 1 \gset
SET ROLE regress_hipq_helper;
SELECT hipq.reschedule(:job, now() + '2 days');
SELECT hipq.reschedule(:job, priority => 3);
SELECT hipq.cancel(:job, 'not wanted');
SELECT hipq.retry(:job) AS again \gset
SELECT hipq.retry(:job, job_data => '{}');
SELECT hipq.fail_job(:again, 'no');
SELECT hipq.erase(:again);
SELECT hipq.cancel_jobs('grants.mail');
SELECT hipq.retry_jobs('grants.mail');
SELECT * FROM hipq.move_jobs('grants.mail', 'grants.other', 'welcome');
SELECT hipq.pause('grants.mail');
SELECT * FROM hipq.redrive_jobs('grants.mail');
SELECT count(*) FROM hipq.jobs;
SELECT hipq.cancel(-1);
RESET ROLE;
SELECT wanted->>'role', wanted->>'privilege'
FROM jsonb_array_elements(hipq.describe()->'grants') AS wanted
WHERE wanted->>'role' ~ 'helper|operator' ORDER BY 1;
-- control includes it, whatever else was granted and revoked.
SELECT hipq.grant_queue('grants.mail', 'regress_hipq_operator', 'operate'),
       hipq.revoke_queue('grants.mail', 'regress_hipq_operator', 'operate');

-- _may gives the same answer about any role.
CREATE FUNCTION may(queue_id integer) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(privilege, ', ' ORDER BY place)
    FROM unnest('{enqueue, work, read, operate, control}'::text[])
        WITH ORDINALITY AS all_privileges (privilege, place)
    WHERE hipq._may(queue_id, privilege)
$$;
SELECT queue_id FROM hipq.queue WHERE table_name = 'grants_mail' \gset
SET ROLE regress_hipq_reader;
SELECT may(:queue_id);
SET ROLE regress_hipq_helper;
SELECT may(:queue_id);
SET ROLE regress_hipq_operator;
SELECT may(:queue_id);
SET ROLE regress_hipq_grant_owner;
SELECT may(:queue_id);
RESET ROLE;
SELECT may(:queue_id);

-- Revoked; the other rights of the role stay.
SELECT hipq.grant_queue('grants.mail', 'regress_hipq_producer', 'read');
SELECT hipq.revoke_queue('grants.mail', 'regress_hipq_producer', 'read');
SELECT hipq.revoke_queue('grants.mail', 'regress_hipq_worker', 'work');
SELECT hipq.revoke_queue('grants.mail', 'regress_hipq_reader', 'read');
SELECT hipq.revoke_queue('grants.mail', 'regress_hipq_operator', 'control');
SELECT hipq.revoke_queue('grants.mail', 'regress_hipq_helper', 'operate');
SELECT hipq.revoke_queue('grants.mail', 'regress_hipq_stranger', 'control');
SELECT * FROM rights;
SET ROLE regress_hipq_producer;
INSERT INTO hipq.grants_mail (job_type, scheduled_run_time)
VALUES ('welcome', now() + '1 day') RETURNING id > 0 AS has_id;
RESET ROLE;

-- A member of the queue owner acts as the owner; rights pass through roles as in PostgreSQL.
GRANT regress_hipq_grant_owner TO regress_hipq_stranger;
SET ROLE regress_hipq_stranger;
SELECT hipq.grant_queue('grants.mail', 'regress_hipq_reader', 'read');
SELECT queue FROM hipq.queues ORDER BY 1;
RESET ROLE;

-- Revoking the last right revokes USAGE on the schema, and then the role can be dropped.
SELECT hipq.revoke_queue('grants.mail', 'regress_hipq_producer', 'enqueue');
SELECT has_schema_privilege('regress_hipq_producer', 'hipq', 'USAGE') AS uses_schema;
DROP ROLE regress_hipq_producer;
-- DROP OWNED revokes the rights, too.
SELECT hipq.grant_queue('grants.mail', 'regress_hipq_worker', 'work'),
       hipq.grant_queue('grants.mail', 'regress_hipq_worker', 'control');
DROP OWNED BY regress_hipq_worker;
DROP ROLE regress_hipq_worker;

DROP VIEW rights;
DROP FUNCTION may;
SELECT hipq.drop_queue('grants.mail', force => true),
       hipq.drop_queue('grants.other', force => true);
SELECT hipq.drop_instance('grants');
DROP OWNED BY regress_hipq_grant_owner, regress_hipq_reader, regress_hipq_operator,
    regress_hipq_helper, regress_hipq_stranger;
DROP ROLE regress_hipq_grant_owner, regress_hipq_reader, regress_hipq_operator, regress_hipq_helper,
    regress_hipq_stranger;
