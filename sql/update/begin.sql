-- The beginning of each update script: checks the library, takes locks, and records the existing
-- objects. tools/update-script appends the changes of tables.

SET LOCAL search_path = pg_catalog, pg_temp;

-- Without a restart the server still runs the previous library, which lacks functions of this
-- release.
DO $upgrade$
BEGIN
    IF hipq.version() <> (SELECT extversion FROM pg_extension WHERE extname = 'hipq') THEN
        RAISE EXCEPTION 'the server still runs the library of hipq %', hipq.version()
            USING ERRCODE = 'object_not_in_prerequisite_state',
                HINT = 'Restart the server, and then update the extension.';
    END IF;
END
$upgrade$;

-- Functions, views, tables and sequences of the extension.
CREATE VIEW hipq._members WITH (security_barrier) AS
SELECT member.classid,
       member.objid,
       coalesce(routine.proname, relation.relname) AS name,
       CASE WHEN routine.oid IS NOT NULL THEN 'f' ELSE relation.relkind END AS kind,
       coalesce(routine.oid::regprocedure::text, relation.oid::regclass::text) AS identity,
       coalesce(routine.ctid, relation.ctid) AS row_version
FROM pg_depend AS member
LEFT JOIN pg_proc AS routine ON member.classid = 'pg_proc'::regclass AND routine.oid = member.objid
LEFT JOIN pg_class AS relation
    ON member.classid = 'pg_class'::regclass AND relation.oid = member.objid
WHERE member.deptype = 'e'
  AND member.refclassid = 'pg_extension'::regclass
  AND member.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hipq')
  AND (routine.pronamespace = 'hipq'::regnamespace OR relation.relnamespace = 'hipq'::regnamespace)
  AND relation.relname IS DISTINCT FROM '_members';

-- Other sessions lock these relations in another order. So this block takes all locks in less time
-- than deadlock_timeout; otherwise it releases all of them and tries again. COMMENT locks a table
-- in the mode of LOCK TABLE below. ALTER VIEW locks only the view; LOCK would also lock the tables
-- that the view reads.
DO $upgrade$
DECLARE
    lock_timeout_before text := current_setting('lock_timeout');
    latest timestamptz := clock_timestamp() + interval '5 minutes';
    relation record;
BEGIN
    LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '100ms', true);
            -- LOCK TABLE of the changes of tables
            FOR relation IN
                SELECT CASE member.kind
                           WHEN 'v' THEN 'ALTER VIEW %s SET (security_barrier)'
                           ELSE 'LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE'
                       END AS lock,
                       member.identity
                FROM hipq._members AS member
                WHERE member.kind IN ('r', 'p', 'v')
                ORDER BY member.kind, member.identity
            LOOP
                EXECUTE format(relation.lock, relation.identity);
            END LOOP;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            IF clock_timestamp() > latest THEN
                RAISE EXCEPTION 'another session holds a lock on the tables or views of hipq'
                    USING ERRCODE = 'lock_not_available', DETAIL = SQLERRM,
                        HINT = 'Look for long transactions in pg_locks and pg_stat_activity, '
                            'and update the extension again.';
            END IF;
        END;
        PERFORM pg_sleep(0.1);
    END LOOP;
    PERFORM set_config('lock_timeout', lock_timeout_before, true);
END
$upgrade$;

-- Functions and views of the previous release.
CREATE TABLE hipq._former AS
SELECT member.classid, member.objid, member.name, member.row_version
FROM hipq._members AS member
WHERE member.kind IN ('f', 'v');

-- The privileges on them that users granted (is_given), and those of the extension's grants that
-- users revoked.
CREATE TABLE hipq._former_rights AS
WITH object AS (
    SELECT former.classid, former.objid, former.name, NULL::name AS column_name, owner.oid AS owner,
           coalesce(routine.proacl, relation.relacl, acldefault(kind.acl, owner.oid)) AS present,
           coalesce(first.initprivs, acldefault(kind.acl, owner.oid)) AS initial
    FROM hipq._former AS former
    LEFT JOIN pg_proc AS routine
        ON former.classid = 'pg_proc'::regclass AND routine.oid = former.objid
    LEFT JOIN pg_class AS relation
        ON former.classid = 'pg_class'::regclass AND relation.oid = former.objid
    LEFT JOIN pg_init_privs AS first
        ON first.classoid = former.classid
       AND first.objoid = former.objid
       AND first.objsubid = 0
    JOIN pg_roles AS owner ON owner.oid = coalesce(routine.proowner, relation.relowner)
    CROSS JOIN LATERAL (
        SELECT CASE WHEN routine.oid IS NOT NULL THEN 'f'::"char" ELSE 'r' END
    ) AS kind (acl)
    UNION ALL
    SELECT former.classid, former.objid, former.name, attribute.attname, relation.relowner,
           attribute.attacl, NULL
    FROM hipq._former AS former
    JOIN pg_class AS relation
        ON former.classid = 'pg_class'::regclass AND relation.oid = former.objid
    JOIN pg_attribute AS attribute
        ON attribute.attrelid = relation.oid AND attribute.attacl IS NOT NULL
), present AS (
    SELECT object.classid, object.objid, object.name, object.column_name,
           given.grantee, given.privilege_type, given.is_grantable
    FROM object, aclexplode(object.present) AS given
    WHERE given.grantee <> object.owner
), initial AS (
    SELECT object.classid, object.objid, object.name, object.column_name,
           given.grantee, given.privilege_type, given.is_grantable
    FROM object, aclexplode(object.initial) AS given
    WHERE given.grantee <> object.owner
)
SELECT given.*, true AS is_given FROM (TABLE present EXCEPT TABLE initial) AS given
UNION ALL
SELECT taken.*, false FROM (TABLE initial EXCEPT TABLE present) AS taken;
