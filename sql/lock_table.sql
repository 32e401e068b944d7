-- Neither a right on a queue nor its ownership allows a role to lock a table of hipq in a mode that
-- excludes others.
SET client_min_messages = warning;
CREATE ROLE regress_hipq_lock_owner LOGIN;
CREATE ROLE regress_hipq_lock_enqueue LOGIN;
CREATE ROLE regress_hipq_lock_work LOGIN;
CREATE ROLE regress_hipq_lock_read LOGIN;
CREATE ROLE regress_hipq_lock_control LOGIN;
CREATE ROLE regress_hipq_lock_all LOGIN;
CREATE ROLE regress_hipq_lock_monitor LOGIN IN ROLE pg_monitor;
CREATE ROLE regress_hipq_lock_stranger LOGIN;
SELECT hipq.create_queue('lock.mail', owner => 'regress_hipq_lock_owner') > 0 AS created;
SELECT hipq.grant_queue('lock.mail', ('regress_hipq_lock_' || privilege)::regrole, privilege),
       hipq.grant_queue('lock.mail', 'regress_hipq_lock_all', privilege)
FROM unnest('{enqueue, work, read, control}'::text[]) AS privilege;
SELECT hipq.enqueue('welcome', queue => 'lock.mail',
    scheduled_run_time => now() + '1 day') AS job_id \gset

-- The lock modes that each role gets on all tables and views of the schema, except those that
-- reading takes. Enqueuers take ROW EXCLUSIVE anyway.
CREATE FUNCTION try_locks(role text)
RETURNS TABLE (relation text, lock_mode text) LANGUAGE plpgsql AS $$
DECLARE
    name text;
    mode text;
BEGIN
    FOR name, mode IN
        SELECT 'hipq.' || quote_ident(relname), modes.mode
        FROM pg_class
        CROSS JOIN unnest('{ACCESS SHARE, ROW SHARE, ROW EXCLUSIVE, SHARE UPDATE EXCLUSIVE, SHARE,
                            SHARE ROW EXCLUSIVE, EXCLUSIVE,
                            ACCESS EXCLUSIVE}'::text[]) AS modes (mode)
        WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p', 'v')
    LOOP
        EXECUTE format('SET LOCAL ROLE %I', role);
        relation := regexp_replace(name, '_p\d{8}.*$', '_p');
        lock_mode := mode;
        BEGIN
            EXECUTE format('LOCK TABLE ONLY %s IN %s MODE NOWAIT', name, mode);
            RETURN NEXT;
        EXCEPTION
            WHEN insufficient_privilege OR wrong_object_type OR undefined_table THEN
                NULL;  -- a drop may finish meanwhile
            WHEN lock_not_available THEN  -- a missing privilege is reported before this
                RETURN NEXT;
        END;
        RESET ROLE;
    END LOOP;
END
$$;
-- From PostgreSQL 16 on, a role that may lock in a mode may also lock in weaker ones.
SELECT role, relation, string_agg(DISTINCT lock_mode, ', ') AS modes
FROM (SELECT substr(rolname, 19) AS role, rolname FROM pg_roles
    WHERE rolname ~ '^regress_hipq_lock_') AS roles
CROSS JOIN LATERAL try_locks(rolname)
WHERE lock_mode NOT IN ('ACCESS SHARE', 'ROW SHARE')
GROUP BY role, relation
ORDER BY role, relation;

-- The work that the right 'work' is for remains possible.
SET ROLE regress_hipq_lock_work;
UPDATE hipq.lock_mail SET priority = 2, job_data = '{"a": 1}', scheduled_run_time = 'tomorrow',
    expires_time = 'infinity', timeout = 60, max_retries = 1, throttle_factor = 0.5,
    throttle_key = 'k', time_windows = 'mon 09:00-10:00';
UPDATE hipq.lock_mail SET state = 'final';
-- 'control' neither changes nor reads data.
SET ROLE regress_hipq_lock_control;
UPDATE hipq.lock_mail_live SET job_data = '{}';
SELECT hipq.reschedule(:job_id, now() + interval '2 days', 5);
SELECT hipq.cancel(:job_id);
SELECT hipq.retry(:job_id, job_data => '{"mine": true}');
RESET ROLE;
SELECT job_data, priority, timeout, outcome FROM hipq.jobs_detail WHERE queue = 'lock.mail';

-- Revoking takes everything, including privileges that were granted by hand on the whole table.
GRANT UPDATE ON hipq.lock_mail, hipq.lock_mail_live TO regress_hipq_lock_all;
SELECT hipq.revoke_queue('lock.mail', 'regress_hipq_lock_all', privilege)
FROM unnest('{enqueue, work, read, control}'::text[]) AS privilege;
SELECT has_any_column_privilege('regress_hipq_lock_all', table_name, privilege) AS has
FROM unnest('{hipq.lock_mail, hipq.lock_mail_live}'::text[]) AS table_name,
    unnest('{SELECT, INSERT, UPDATE}'::text[]) AS privilege
GROUP BY 1;

SELECT hipq.drop_queue('lock.mail', force => true);
DROP FUNCTION try_locks;
SELECT hipq.drop_instance('lock');
DROP OWNED BY regress_hipq_lock_owner, regress_hipq_lock_enqueue, regress_hipq_lock_work,
    regress_hipq_lock_read, regress_hipq_lock_control, regress_hipq_lock_all;
DROP ROLE regress_hipq_lock_owner, regress_hipq_lock_enqueue, regress_hipq_lock_work,
    regress_hipq_lock_read, regress_hipq_lock_control, regress_hipq_lock_all,
    regress_hipq_lock_monitor, regress_hipq_lock_stranger;
