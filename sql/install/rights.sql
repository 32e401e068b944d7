-- Privileges on hipq's objects. USAGE on the schema is the gate: hipq.grant_queue() grants it with
-- the first right on a queue, hipq.revoke_queue() revokes it with the last. Behind this gate,
-- functions check what their caller may do, and views show what the caller may read; so PUBLIC may
-- use them. An update gives the same rights on new objects. Roles with a right on a queue can use
-- these at once.

-- Covers only objects without initial privileges, whatever default privileges are in force: objects
-- that exist before an update keep the rights that users granted and revoked.
DO $rights$
DECLARE
    -- Functions that make instances and queues do not check their caller; functions that run once
    -- after a restore are for superusers; functions that hipq itself calls check nothing.
    of_superusers CONSTANT text[] := '{
        create_instance, alter_instance, drop_instance, create_queue, release_hold,
        restore_schedules, create_shard, drop_shard, drain_shard, resync_shard, rebalance,
        move_slots, _fitting_data, _is_held, _set_up_of, _send_set_up, _unfit_for_shards,
        _join_shards, _leave_shards, _publish_outbox, _unpublish_outbox, _keep_outbox,
        _subscribe_to_outbox, _unsubscribe_from_outbox, _position_after_all_sent, _own_timeline,
        _receive_again, _begin_resync, _answer, _wait_until_read
    }';
    -- Members of pg_monitor see every view without job data. Alerts are about the whole server: to
    -- other roles an empty view would mean that all is well.
    of_monitors CONSTANT text[] := '{alerts, alerts_detail, shards, shard_limits}';
    added record;
BEGIN
    FOR added IN
        SELECT CASE
                   WHEN routine.oid IS NOT NULL THEN 'ROUTINE'
                   WHEN relation.relkind = 'S' THEN 'SEQUENCE'
                   ELSE 'TABLE'
               END AS kind,
               string_agg(
                   coalesce(routine.oid::regprocedure::text, relation.oid::regclass::text), ', '
               ) AS list,
               -- PostgreSQL itself calls triggers, support functions, and functions that read types
               -- in binary.
               CASE
                   WHEN routine.proname = ANY (of_superusers)
                        OR routine.prorettype IN ('trigger'::regtype, 'internal'::regtype)
                        OR 'internal'::regtype = ANY (routine.proargtypes::oid[])
                       THEN NULL
                   WHEN routine.oid IS NOT NULL THEN 'EXECUTE ON ROUTINE %s TO PUBLIC'
                   WHEN relation.relname = ANY (of_monitors) THEN 'SELECT ON %s TO pg_monitor'
                   WHEN relation.relkind = 'v' AND relation.relname !~ '^_'
                       THEN 'SELECT ON %s TO PUBLIC'
               END AS given
        FROM pg_depend AS member
        LEFT JOIN pg_proc AS routine
            ON member.classid = 'pg_proc'::regclass AND routine.oid = member.objid
        LEFT JOIN pg_class AS relation
            ON member.classid = 'pg_class'::regclass AND relation.oid = member.objid
        WHERE member.deptype = 'e'
          AND member.refclassid = 'pg_extension'::regclass
          AND member.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hipq')
          AND (routine.oid IS NOT NULL OR relation.relkind IN ('r', 'p', 'v', 'S'))
          AND NOT EXISTS (
              SELECT FROM pg_init_privs AS initial
              WHERE initial.classoid = member.classid
                AND initial.objoid = member.objid
                AND initial.objsubid = 0
          )
        GROUP BY kind, given
    LOOP
        EXECUTE format('REVOKE ALL ON %s %s FROM PUBLIC', added.kind, added.list);
        IF added.given IS NOT NULL THEN
            EXECUTE format('GRANT ' || added.given, added.list);
        END IF;
    END LOOP;
END
$rights$;
