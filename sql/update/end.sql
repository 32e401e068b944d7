-- The end of each update script. sql/update/begin.sql has recorded the objects before the update.

-- The catalogue row of a function or view that this release lacks is unchanged.
DO $upgrade$
DECLARE
    gone record;
BEGIN
    FOR gone IN
        SELECT CASE member.kind WHEN 'v' THEN 'VIEW' ELSE 'ROUTINE' END AS kind,
               string_agg(member.identity, ', ') AS list
        FROM hipq._former AS former
        JOIN hipq._members AS member USING (classid, objid, row_version)
        GROUP BY 1
        ORDER BY 1 DESC
    LOOP
        EXECUTE format('DROP %s %s', gone.kind, gone.list);
    END LOOP;
END
$upgrade$;

-- The update drops and creates a function or view whose arguments or columns changed. The new
-- object gets the privileges that users granted and revoked on the old object of the same name.
-- They are not initial privileges, so pg_dump dumps them.
DO $upgrade$
DECLARE
    change record;
    initial aclitem[];
BEGIN
    FOR change IN
        SELECT DISTINCT former.is_given, member.classid, member.objid,
               format(
                   CASE
                       WHEN former.is_given THEN 'GRANT %s%s ON %s %s TO %s%s'
                       ELSE 'REVOKE %s%s ON %s %s FROM %s'
                   END,
                   former.privilege_type,
                   '(' || quote_ident(former.column_name) || ')',
                   CASE member.kind WHEN 'v' THEN 'TABLE' ELSE 'ROUTINE' END,
                   member.identity,
                   CASE former.grantee WHEN 0 THEN 'PUBLIC' ELSE former.grantee::regrole::text END,
                   CASE WHEN former.is_grantable THEN ' WITH GRANT OPTION' END
               ) AS statement
        FROM hipq._former_rights AS former
        JOIN hipq._members AS member
            ON member.classid = former.classid
           AND member.name = former.name
           AND member.kind IN ('f', 'v')
        WHERE NOT EXISTS (
            SELECT FROM hipq._members AS kept
            WHERE kept.classid = former.classid AND kept.objid = former.objid
        )
          AND NOT EXISTS (
              SELECT FROM hipq._former AS known
              WHERE known.classid = member.classid AND known.objid = member.objid
          )
          AND (
              former.column_name IS NULL
              OR EXISTS (
                  SELECT FROM pg_attribute
                  WHERE attrelid = member.objid AND attname = former.column_name
              )
          )
        ORDER BY former.is_given
    LOOP
        SELECT initprivs INTO initial
        FROM pg_init_privs
        WHERE classoid = change.classid AND objoid = change.objid AND objsubid = 0;
        EXECUTE change.statement;
        UPDATE pg_init_privs SET initprivs = initial
        WHERE classoid = change.classid AND objoid = change.objid AND objsubid = 0;
        DELETE FROM pg_init_privs
        WHERE classoid = change.classid AND objoid = change.objid AND objsubid <> 0;
        -- PostgreSQL 17 and later record the dependencies of initial privileges on roles. These
        -- privileges are not initial, so no such dependencies remain.
        DELETE FROM pg_shdepend
        WHERE deptype = 'i'
          AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND classid = change.classid
          AND objid = change.objid;
    END LOOP;
END
$upgrade$;

DROP TABLE hipq._former_rights, hipq._former;
DROP VIEW hipq._members;
