-- \d+ and \df+ are self-explanatory: each object of the extension and each column has a comment.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(6);

CREATE TEMPORARY VIEW member AS
SELECT pg_depend.classid, pg_depend.objid
FROM pg_depend
JOIN pg_extension ON pg_extension.oid = pg_depend.refobjid
WHERE pg_depend.refclassid = 'pg_extension'::regclass AND pg_depend.deptype = 'e'
  AND pg_extension.extname = 'hipq';

SELECT is((SELECT obj_description(oid, 'pg_extension') FROM pg_extension WHERE extname = 'hipq'),
    'job queue inside PostgreSQL', 'the extension');

-- Without members the next tests would always pass.
SELECT set_has($$SELECT DISTINCT classid::regclass::text FROM member$$,
    $$VALUES ('pg_namespace'), ('pg_class'), ('pg_type'), ('pg_proc')$$,
    'schema, tables, types and functions are members of the extension');

SELECT is_empty($$
SELECT pg_describe_object(member.classid, member.objid, 0)
FROM member
LEFT JOIN pg_type ON member.classid = 'pg_type'::regclass AND pg_type.oid = member.objid
WHERE coalesce(obj_description(member.objid, member.classid::regclass::name), '') = ''
  -- In newer versions of PostgreSQL, types of rows and arrays are members of the extension.
  AND coalesce(typrelid = 0 AND typelem = 0, true)
$$, 'every schema, table, view, sequence, type and function');

SELECT is_empty($$
SELECT pg_describe_object(member.classid, member.objid, attnum)
FROM member
JOIN pg_class ON member.classid = 'pg_class'::regclass AND pg_class.oid = member.objid
JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
WHERE relkind IN ('r', 'p', 'v') AND NOT relispartition
  AND coalesce(col_description(attrelid, attnum), '') = ''
$$, 'every column of tables and views');

SELECT cmp_ok((SELECT count(*) FROM member JOIN pg_attribute ON attrelid = member.objid
    AND attnum > 0 WHERE member.classid = 'pg_class'::regclass),
    '>', 200::bigint, 'there are columns to look at');

-- The style of PostgreSQL's own comments: not a sentence, so without a period.
SELECT is_empty($$
SELECT pg_describe_object(pg_description.classoid, pg_description.objoid, pg_description.objsubid),
       description
FROM pg_description
JOIN member ON (member.classid, member.objid) = (pg_description.classoid, pg_description.objoid)
WHERE description ~ '\.$' AND description !~ '\.\.\.$'
$$, 'no comment ends in a period');

SELECT * FROM finish();
ROLLBACK;
