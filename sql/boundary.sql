-- The boundary between C++ and PostgreSQL: errors cross it complete, destructors run, nothing is
-- left behind. The functions are in test/guard.
\pset format unaligned
\pset tuples_only on

CREATE FUNCTION pg_temp.live() RETURNS integer LANGUAGE c AS 'hipq_guard_test', 'guard_test_live';
CREATE FUNCTION pg_temp.descend(depth integer)
RETURNS bigint LANGUAGE c STRICT AS 'hipq_guard_test', 'guard_test_descend';
CREATE FUNCTION pg_temp.nest(depth integer)
RETURNS integer LANGUAGE c STRICT AS 'hipq_guard_test', 'guard_test_nest';
CREATE FUNCTION pg_temp.throw(kind text)
RETURNS void LANGUAGE c STRICT AS 'hipq_guard_test', 'guard_test_throw';
CREATE FUNCTION pg_temp.fields() RETURNS void LANGUAGE c AS 'hipq_guard_test', 'guard_test_fields';
CREATE FUNCTION pg_temp.surroundings_after_error()
RETURNS void LANGUAGE c AS 'hipq_guard_test', 'guard_test_surroundings_after_error';
CREATE FUNCTION pg_temp.surroundings_after_exception()
RETURNS void LANGUAGE c AS 'hipq_guard_test', 'guard_test_surroundings_after_exception';
CREATE FUNCTION pg_temp.surroundings_after_success()
RETURNS boolean LANGUAGE c AS 'hipq_guard_test', 'guard_test_surroundings_after_success';
CREATE FUNCTION pg_temp.sleep() RETURNS void LANGUAGE c AS 'hipq_guard_test', 'guard_test_sleep';
CREATE FUNCTION pg_temp.memory()
RETURNS bigint LANGUAGE c AS 'hipq_guard_test', 'guard_test_memory';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

-- An ERROR below C++ objects: their destructors run
SELECT pg_temp.descend(0);
SELECT pg_temp.descend(20);
SELECT pg_temp.live();
SELECT pg_temp.try('SELECT pg_temp.descend(20)');
SELECT pg_temp.live();

-- Nested guarded blocks
SELECT pg_temp.try('SELECT pg_temp.nest(0)');
SELECT pg_temp.try('SELECT pg_temp.nest(1)');
SELECT pg_temp.try('SELECT pg_temp.nest(10)');
SELECT pg_temp.live();

-- C++ exceptions become ERRORs
SELECT kind, left(pg_temp.try(format('SELECT pg_temp.throw(%L)', kind)), 60)
FROM unnest('{runtime_error, empty, int, bad_alloc, nothing}'::text[]) WITH ORDINALITY AS k(kind, n)
ORDER BY n;
SELECT length(pg_temp.try('SELECT pg_temp.throw(''long'')')) > 200;
SELECT pg_temp.try('SELECT pg_temp.throw(''no row'')') ~ 'no row for .*guard_test.cpp:[0-9]+';
SELECT pg_temp.throw('runtime_error');
SELECT pg_temp.live();

-- Every field of an error crosses
DO $$ DECLARE
    code text; message text; detail text; hint text; context text; schema_ text; table_ text;
    column_ text; type_ text; constraint_ text;
BEGIN
    PERFORM pg_temp.fields();
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT,
        context = PG_EXCEPTION_CONTEXT, schema_ = SCHEMA_NAME, table_ = TABLE_NAME,
        column_ = COLUMN_NAME, type_ = PG_DATATYPE_NAME,
        constraint_ = CONSTRAINT_NAME;
    RAISE INFO E'%\n', concat_ws(E'\n', '', code, message, detail, hint, context, schema_, table_,
        column_, type_, constraint_);
END $$;
SELECT pg_temp.fields();

-- However a block is left, its surroundings are as before
SELECT pg_temp.surroundings_after_success();
SELECT pg_temp.try('SELECT pg_temp.surroundings_after_error()');
SELECT pg_temp.try('SELECT pg_temp.surroundings_after_exception()');

-- An error caught in a subtransaction leaves nothing: 10,000 such errors take no memory
CREATE PROCEDURE pg_temp.fail_often(times integer) LANGUAGE plpgsql AS $$
DECLARE
    statements text[] := ARRAY['SELECT pg_temp.descend(3)', 'SELECT pg_temp.nest(3)',
        'SELECT pg_temp.throw(''runtime_error'')', 'SELECT pg_temp.fields()'];
BEGIN
    FOR i IN 1 .. times LOOP
        BEGIN
            BEGIN
                EXECUTE statements[i % 4 + 1];
            EXCEPTION WHEN OTHERS THEN
                RAISE;
            END;
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
END $$;
CREATE TABLE pg_temp.measured (n serial, bytes bigint);
CALL pg_temp.fail_often(2000);
INSERT INTO measured (bytes) SELECT pg_temp.memory();
CALL pg_temp.fail_often(10000);
INSERT INTO measured (bytes) SELECT pg_temp.memory();
SELECT CASE WHEN max(bytes) FILTER (WHERE n = 2) - max(bytes) FILTER (WHERE n = 1) < 1000000 THEN
    'flat' ELSE format('grew: %s', array_agg(bytes)) END
FROM measured;
SELECT pg_temp.live();

-- A cancellation arrives as a cancellation
SET statement_timeout = '100ms';
SELECT pg_temp.sleep();
RESET statement_timeout;
SELECT pg_temp.live();
