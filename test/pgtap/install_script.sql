-- Checks the install script as pgspot does: a role that may create objects in a database must not
-- be able to have its code run by hipq's functions and views, with the rights of others, or while a
-- superuser installs hipq.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(28);

-- Each kind of finding is a view, so that the same views can check the bad samples below; \i would
-- need a path.

-- Every object is in the extension's schema, except the schema itself.
CREATE TEMPORARY VIEW elsewhere AS
SELECT pg_describe_object(classid, objid, 0) AS object
FROM pg_depend, LATERAL pg_identify_object(classid, objid, 0) AS identity
WHERE refclassid = 'pg_extension'::regclass
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hipq') AND deptype = 'e'
  AND identity.schema IS DISTINCT FROM 'hipq'
      AND (identity.type, identity.identity) IS DISTINCT FROM ('schema', 'hipq')
  AND NOT (identity.type = 'cast'
      AND (identity.identity LIKE ANY ('{(% AS hipq.duration),(% AS hipq.time_or_duration)}')
           OR identity.identity LIKE '%hipq.role%'));

-- A function with a text body looks its names up in each call: so it must set the search_path.
CREATE TEMPORARY VIEW unpinned AS
SELECT oid::regprocedure AS function
FROM pg_proc
WHERE pronamespace = 'hipq'::regnamespace
  AND prolang NOT IN (SELECT oid FROM pg_language WHERE lanname IN ('c', 'internal'))
  AND prosqlbody IS NULL
  AND NOT coalesce(proconfig, '{}') @> '{"search_path=pg_catalog, pg_temp"}';

-- With that search_path functions, operators and types are PostgreSQL's own, but a table may still
-- be a temporary table of the caller.
CREATE TEMPORARY VIEW unqualified AS
SELECT oid::regprocedure AS function, source[1] AS name
FROM pg_proc, LATERAL regexp_matches(prosrc,
    '\m(?:FROM|JOIN|INTO|UPDATE|TABLE|TRUNCATE)\s+(?:ONLY\s+)?([a-z_"][\w".]*)', 'gi') AS source
WHERE pronamespace = 'hipq'::regnamespace
  AND prolang NOT IN (SELECT oid FROM pg_language WHERE lanname IN ('c', 'internal'))
  AND source[1] !~* '^(hipq\.|pg_catalog\.|LATERAL$|ONLY$)';

-- No function needs to be one: what hipq does with other rights, it does in C, after checking the
-- caller.
CREATE TEMPORARY VIEW definers AS
SELECT oid::regprocedure AS function
FROM pg_proc WHERE pronamespace = 'hipq'::regnamespace AND prosecdef;

-- A function in a user's query on a view must not see rows that the view leaves out.
CREATE TEMPORARY VIEW open_views AS
SELECT oid::regclass AS view FROM pg_class
WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('v', 'm')
  AND NOT coalesce(reloptions, '{}') && '{security_barrier,security_barrier=true}';

-- Views, SQL-standard bodies, defaults, checks, generated columns and indexes have their functions,
-- operators and types fixed at installation. pg_depend has no entries for PostgreSQL's own, but for
-- all others.
CREATE TEMPORARY VIEW foreign_names AS
SELECT DISTINCT pg_describe_object(depend.classid, depend.objid, 0) AS object,
       pg_describe_object(depend.refclassid, depend.refobjid, 0) AS uses
FROM pg_depend AS depend
CROSS JOIN LATERAL pg_identify_object(depend.refclassid, depend.refobjid, 0) AS used
WHERE depend.deptype IN ('n', 'a', 'i')
  AND depend.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass,
      'pg_class'::regclass, 'pg_opclass'::regclass,
                            'pg_collation'::regclass, 'pg_cast'::regclass)
  AND used.schema NOT IN ('hipq', 'pg_catalog')
  AND EXISTS (
      SELECT FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
      WHERE depend.classid = 'pg_rewrite'::regclass AND pg_rewrite.oid = depend.objid
        AND relnamespace = 'hipq'::regnamespace
      UNION ALL
      SELECT FROM pg_proc
      WHERE depend.classid = 'pg_proc'::regclass AND pg_proc.oid = depend.objid
        AND pronamespace = 'hipq'::regnamespace
      UNION ALL
      SELECT FROM pg_class
      WHERE depend.classid = 'pg_class'::regclass AND pg_class.oid = depend.objid
        AND relnamespace = 'hipq'::regnamespace
      UNION ALL
      SELECT FROM pg_attrdef JOIN pg_class ON pg_class.oid = adrelid
      WHERE depend.classid = 'pg_attrdef'::regclass AND pg_attrdef.oid = depend.objid
        AND relnamespace = 'hipq'::regnamespace
      UNION ALL
      SELECT FROM pg_constraint
      WHERE depend.classid = 'pg_constraint'::regclass AND pg_constraint.oid = depend.objid
        AND connamespace = 'hipq'::regnamespace
      UNION ALL
      SELECT FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
      WHERE depend.classid = 'pg_trigger'::regclass AND pg_trigger.oid = depend.objid
        AND relnamespace = 'hipq'::regnamespace);

-- Objects that can change the effect of other roles' statements.
CREATE TEMPORARY VIEW hidden_code AS
SELECT pg_describe_object('pg_trigger'::regclass, pg_trigger.oid, 0) AS object
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE relnamespace = 'hipq'::regnamespace AND pronamespace <> 'hipq'::regnamespace
UNION ALL
SELECT pg_describe_object('pg_rewrite'::regclass, pg_rewrite.oid, 0)
FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
WHERE relnamespace = 'hipq'::regnamespace AND rulename <> '_RETURN'
UNION ALL
SELECT 'event trigger ' || evtname FROM pg_event_trigger JOIN pg_proc ON pg_proc.oid = evtfoid
WHERE pronamespace = 'hipq'::regnamespace
UNION ALL
SELECT pg_describe_object('pg_operator'::regclass, oid, 0)
FROM pg_operator WHERE oprnamespace = 'hipq'::regnamespace
UNION ALL
SELECT pg_describe_object('pg_cast'::regclass, pg_cast.oid, 0)
FROM pg_cast JOIN pg_type ON pg_type.oid IN (castsource, casttarget)
WHERE typnamespace = 'hipq'::regnamespace
  -- Only arguments of hipq's functions, and columns of its tables, have these types.
  AND casttarget <> ALL ('{hipq.duration,hipq.time_or_duration}'::regtype[])
      AND 'hipq.role'::regtype NOT IN (castsource, casttarget)
UNION ALL
SELECT pg_describe_object('pg_policy'::regclass, pg_policy.oid, 0)
FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid WHERE relnamespace = 'hipq'::regnamespace;

-- Privileges that PUBLIC must not have: on the schema, which gates everything else; on tables and
-- sequences; on functions that work as triggers, because any role might put them on its own table;
-- more than SELECT on a view. privileges.sql has what PUBLIC may have. Types are another case, see
-- below.
CREATE TEMPORARY VIEW given_to_public AS
SELECT pg_describe_object('pg_proc'::regclass, oid, 0) AS object
FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl
WHERE pronamespace = 'hipq'::regnamespace AND acl.grantee = 0
  AND (prorettype IN ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)
      OR 'internal'::regtype = ANY (proargtypes::oid[]))
UNION ALL
SELECT pg_describe_object('pg_class'::regclass, oid, 0)
FROM pg_class, aclexplode(coalesce(relacl,
    acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner))) AS acl
WHERE relnamespace = 'hipq'::regnamespace AND acl.grantee = 0
  AND NOT (relkind = 'v' AND acl.privilege_type = 'SELECT')
UNION ALL
SELECT pg_describe_object('pg_class'::regclass, attrelid, attnum)
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid, aclexplode(attacl) AS acl
WHERE relnamespace = 'hipq'::regnamespace AND acl.grantee = 0
UNION ALL
SELECT pg_describe_object('pg_namespace'::regclass, oid, 0)
FROM pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) AS acl
WHERE nspname = 'hipq' AND acl.grantee = 0;

-- The scripts for installation and upgrades: an object that they make must be new, or belong to the
-- extension.
CREATE TEMPORARY TABLE script AS
SELECT file, pg_read_file(folder || '/' || file) AS text
FROM (SELECT setting || '/extension' AS folder FROM pg_config WHERE name = 'SHAREDIR') AS place,
    LATERAL pg_ls_dir(folder) AS file
WHERE file ~ '^hipq--.*\.sql$';

CREATE TEMPORARY VIEW careless AS
-- An upgrade may replace existing objects: in an upgrade, PostgreSQL replaces only objects of the
-- extension.
SELECT file, statement[1] AS statement
FROM script, LATERAL regexp_matches(text,
    CASE WHEN file LIKE '%--%--%' THEN '^[^-'']*\m(IF\s+NOT\s+EXISTS\M[^\n]*)' ELSE
    '^[^-'']*\m(CREATE\s+OR\s+REPLACE\M[^\n]*|IF\s+NOT\s+EXISTS\M[^\n]*)' END, 'gni') AS statement
UNION ALL
SELECT file, statement[1]
FROM script, LATERAL regexp_matches(text,
    '^(CREATE\s+(?:TABLE|VIEW|MATERIALIZED VIEW|SEQUENCE|FUNCTION|PROCEDURE|TYPE|DOMAIN|AGGREGATE|'
    'OPERATOR|CAST|LANGUAGE|EXTENSION|EVENT TRIGGER|RULE|POLICY)'
    '\M(?!\s+hipq\.|\s+\([a-z ]+ AS hipq\.|\s+\(hipq\.[a-z]+ AS )[^\n]*)', 'gni') AS statement
UNION ALL
SELECT file, statement[1]
FROM script, LATERAL regexp_matches(text,
    '^((?:ALTER (?:TABLE|FUNCTION|TYPE|SEQUENCE|VIEW|DOMAIN)|DROP [A-Z]+|'
    'COMMENT ON (?:TABLE|VIEW|COLUMN|FUNCTION|SEQUENCE|TYPE|DOMAIN))'
    '\M(?!\s+(?:ONLY\s+|[a-z_]+\s+ON\s+)?hipq\.)[^\n]*)', 'gni') AS statement
UNION ALL
SELECT file, statement[1]
FROM script, LATERAL regexp_matches(text,
    '^\s*(SET\M[^\n]*|RESET [a-z_]+;|DO\M[^\n]*|EXECUTE ''[^\n]*)', 'gni') AS statement
WHERE statement[1] NOT IN ('SET LOCAL search_path = pg_catalog, pg_temp;', 'DO $upgrade$',
    'DO $comments$', 'DO $rights$', 'DO $triggers$');

-- The installed extension -------------------------------------------------------------------------

SELECT is_empty('TABLE elsewhere', 'all that is installed is in schema hipq');
SELECT is_empty('TABLE unpinned', 'a function with a body of text pins search_path');
SELECT is_empty('TABLE unqualified', 'and qualifies its tables');
SELECT is_empty('TABLE definers', 'no function is SECURITY DEFINER');
SELECT is_empty('TABLE open_views', 'every view is a security barrier');
SELECT is_empty('TABLE foreign_names',
    'what views, bodies, defaults and checks use is PostgreSQL''s or hipq''s');
SELECT is_empty('TABLE hidden_code',
    'triggers are hipq''s; no rules, event triggers, operators, other casts, policies');
SELECT is_empty('TABLE given_to_public',
    'PUBLIC has no schema, table, sequence or trigger function');
SELECT is_empty('TABLE careless', 'the script makes its objects anew and in schema hipq');
SELECT is_empty($$SELECT file FROM script WHERE regexp_replace(text, '^(--[^\n]*|\\echo[^\n]*|\s)*',
    '') !~ '^SET LOCAL search_path = pg_catalog, pg_temp;'$$,
    'it begins with pinning search_path');
SELECT isnt_empty('TABLE script', 'there is a script to read');
SELECT is((SELECT DISTINCT schema_name FROM (SELECT schema AS schema_name, trusted, superuser
    FROM pg_available_extension_versions WHERE name = 'hipq') AS v), 'pg_catalog',
    'the control file names a schema that nobody else can make');
SELECT is_empty($$SELECT version FROM pg_available_extension_versions WHERE name = 'hipq'
    AND (trusted OR NOT superuser OR relocatable)$$, 'only a superuser installs it');

-- The USAGE that PUBLIC has on types by default opens no data: it allows columns and functions of a
-- type, and retry handlers need it for hipq.job. A role that may not use the schema cannot name
-- these types.
CREATE ROLE install_script_stranger;
GRANT USAGE ON SCHEMA public TO install_script_stranger;
SET LOCAL ROLE install_script_stranger;
SELECT throws_ok('CREATE TEMPORARY TABLE mine (job hipq.job)', '42501', NULL,
    'a stranger makes no columns of hipq''s types');
SELECT throws_ok('SELECT NULL::hipq.job_state', '42501', NULL, 'nor names them');
RESET ROLE;

-- A caller whose search_path begins with another role's schema runs none of that role's code.
CREATE ROLE install_script_owner LOGIN;
CREATE SCHEMA install_script_trap;
SET LOCAL search_path = install_script_trap, pg_catalog, public;
CREATE FUNCTION install_script_trap.sprung()
RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'sprung'; END $$;
DO $$
DECLARE types text; operator text;
BEGIN
    FOREACH types IN ARRAY '{text\,text,name\,name,name\,text,integer\,integer,bigint\,bigint,'
        'oid\,oid,boolean\,boolean,timestamptz\,timestamptz}'::text[] LOOP
        EXECUTE format('CREATE FUNCTION install_script_trap.compare(%s) RETURNS boolean '
            'LANGUAGE sql AS ''SELECT install_script_trap.sprung()''', types);
        FOREACH operator IN ARRAY '{=,<>,<,>,<=,>=,||,~}'::text[] LOOP
            EXECUTE format('CREATE OPERATOR install_script_trap.%s ('
                'FUNCTION = install_script_trap.compare, LEFTARG = %s, RIGHTARG = %s)',
                operator, split_part(types, ',', 1), split_part(types, ',', 2));
        END LOOP;
    END LOOP;
END $$;
CREATE FUNCTION install_script_trap.count(integer)
RETURNS bigint LANGUAGE sql AS 'SELECT install_script_trap.sprung()::integer::bigint';
CREATE FUNCTION install_script_trap.quote_ident(text)
RETURNS text LANGUAGE sql AS 'SELECT install_script_trap.sprung()::text';
CREATE FUNCTION install_script_trap.coalesce(integer)
RETURNS integer LANGUAGE sql AS 'SELECT install_script_trap.sprung()::integer';
CREATE TEMPORARY TABLE trapped (statement text, answer text);
CREATE FUNCTION pg_temp.try(statement text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE answer text := 'fine';
BEGIN
    BEGIN EXECUTE statement; EXCEPTION WHEN OTHERS THEN answer := SQLERRM; END;
    INSERT INTO trapped VALUES (statement, answer);
END $$;
-- In this search_path pgTAP itself would run the trap.
SELECT count(pg_temp.try(statement)) AS tried FROM unnest(ARRAY[
    $$SELECT 'a'::pg_catalog.text = 'b'::pg_catalog.text$$,
    $$SELECT hipq.create_queue('contract.trapped', owner => 'install_script_owner')$$,
    $$SELECT hipq.register_job_type('contract.trapped', 'known', handler => 'SELECT 1')$$,
    $$SELECT hipq.enqueue('trapped', '{}', queue => 'contract.trapped', job_key => 'one',
        scheduled_run_time => '2100-01-01')$$,
    $$SELECT hipq.enqueue_unique('trapped', '{}', queue => 'contract.trapped', job_key => 'one',
        on_duplicate => 'replace')$$,
    $$SELECT hipq.why(id) FROM hipq.contract_trapped$$,
    $$SELECT hipq.retry_chain(id), hipq.is_job_retriable(id), hipq.why_retriable(id)
        FROM hipq.contract_trapped$$,
    $$SELECT hipq.reschedule(id, '2100-01-02', 3) FROM hipq.contract_trapped$$,
    $$SELECT hipq.pause('contract.trapped')$$,
    $$SELECT hipq.grant_queue('contract.trapped', 'pg_monitor', 'read')$$,
    $$SELECT hipq.cancel(id) FROM hipq.contract_trapped$$] ||
    (SELECT array_agg(pg_catalog.concat('TABLE ', oid::regclass)) FROM pg_class
     WHERE relnamespace::pg_catalog.int4
         OPERATOR(pg_catalog.=) 'hipq'::regnamespace::pg_catalog.int4
     AND relkind OPERATOR(pg_catalog.=) 'v'::"char")::text[] OPERATOR(pg_catalog.||)
    ARRAY[$$SELECT hipq.drop_queue('contract.trapped', force => true)$$]) AS statement \gset
SET LOCAL search_path = pg_catalog, public;
SELECT is((SELECT answer FROM trapped WHERE statement LIKE '%text = %'), 'sprung',
    'the trap works');
SELECT is_empty($$SELECT statement, answer FROM trapped WHERE answer <> 'fine'
    AND statement NOT LIKE '%text = %'$$, 'but not in functions and views of hipq');
SELECT cmp_ok((SELECT count(*) FROM trapped WHERE statement LIKE 'TABLE hipq.%'), '>', 20::bigint,
    'all of its views');

-- The views find what they look for ---------------------------------------------------------------

SET LOCAL check_function_bodies = off;
CREATE FUNCTION public.install_script_theirs(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION hipq.bad_path() RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION hipq.bad_table() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT count(*) FROM queue';
CREATE FUNCTION hipq.bad_body() RETURNS integer LANGUAGE sql RETURN public.install_script_theirs(1);
CREATE TABLE hipq.bad_default (x integer DEFAULT public.install_script_theirs(1),
    CHECK (public.install_script_theirs(x) > 0));
CREATE VIEW hipq.bad_view AS SELECT public.install_script_theirs(1);
CREATE FUNCTION public.install_script_trigger()
RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER bad_trigger BEFORE INSERT ON hipq.bad_default FOR EACH ROW
    EXECUTE FUNCTION public.install_script_trigger();
GRANT SELECT ON hipq.bad_default TO PUBLIC;
GRANT SELECT, DELETE ON hipq.bad_view TO PUBLIC;
CREATE SEQUENCE hipq.bad_sequence;
GRANT USAGE ON SEQUENCE hipq.bad_sequence TO PUBLIC;
CREATE FUNCTION hipq.bad_guard()
RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NEW; END';
GRANT UPDATE (job_data) ON hipq.job TO PUBLIC;
INSERT INTO script
VALUES ('hipq--bad.sql',
    E'CREATE OR REPLACE FUNCTION hipq.x() RETURNS integer\nCREATE TABLE public.x ()\n'
    'CREATE TABLE hipq.y ()\nALTER TABLE job ADD COLUMN x integer;\nSET search_path = public;\n'
    'CREATE SCHEMA IF NOT EXISTS hipq;\n');

SELECT set_eq('TABLE unpinned', $$VALUES ('hipq.bad_path()'::regprocedure)$$,
    'finds a body of text without search_path');
SELECT set_eq('SELECT name FROM unqualified', $$VALUES ('queue')$$, 'finds a table without schema');
SELECT set_eq('TABLE definers', $$VALUES ('hipq.bad_table()'::regprocedure)$$,
    'finds SECURITY DEFINER');
SELECT set_eq('TABLE open_views', $$VALUES ('hipq.bad_view'::regclass)$$,
    'finds a view that is no barrier');
SELECT cmp_ok((SELECT count(*) FROM foreign_names WHERE object ~ 'bad_(body|view|default)'
    AND uses ~ 'install_script_theirs'), '>=', 4::bigint,
    'finds others'' functions in a body, a view, a default and a check');
SELECT set_eq('SELECT object FROM hidden_code',
    $$VALUES ('trigger bad_trigger on table hipq.bad_default')$$, 'finds a trigger of others');
SELECT set_eq('TABLE given_to_public', $$VALUES ('view hipq.bad_view'), ('table hipq.bad_default'),
    ('sequence hipq.bad_sequence'), ('function hipq.bad_guard()'),
    ('column job_data of table hipq.job')$$,
        'finds what PUBLIC was given, or has by default, and should not');
SELECT is((SELECT count(*) FROM careless), 5::bigint, 'finds five careless statements in a script');
CREATE FUNCTION hipq.bad_event() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
CREATE EVENT TRIGGER bad_event_trigger ON sql_drop EXECUTE FUNCTION hipq.bad_event();
SELECT isnt_empty($$SELECT FROM hidden_code WHERE object LIKE 'event trigger%'$$,
    'finds an event trigger');
SELECT is((SELECT count(*) FROM elsewhere), 0::bigint, 'the samples are no part of the extension');

SELECT * FROM finish();
ROLLBACK;
