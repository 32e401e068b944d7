-- Drivers that send parameters without types can call every function for users.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(4);

-- Each function with each number of arguments that it accepts.
CREATE TEMPORARY VIEW form AS
SELECT pg_proc.oid, proname AS name, number, proargnames AS names
FROM pg_proc
CROSS JOIN LATERAL generate_series(pronargs::integer - pronargdefaults, pronargs) AS number
WHERE pronamespace = 'hipq'::regnamespace AND proname !~ '^_' AND prokind = 'f'
  AND prorettype <> 'trigger'::regtype;

-- The SQLSTATE and message of preparing a call with untyped parameters; NULL = success.
CREATE FUNCTION pg_temp.refusal(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'PREPARE untyped AS SELECT ' || call;
    DEALLOCATE untyped;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ': ' || SQLERRM;
END
$$;

SELECT is(pg_temp.refusal('pg_catalog.abs($1) + pg_temp.nothing($2)'),
    '42883: function pg_temp.nothing(unknown) does not exist', 'a refusal is seen');

SELECT is_empty($$
SELECT call, pg_temp.refusal(call)
FROM (SELECT format('hipq.%I(%s)', name, (SELECT string_agg('$' || place, ', ' ORDER BY place)
    FROM generate_series(1, number) AS place)) AS call FROM form) AS one
WHERE pg_temp.refusal(call) IS NOT NULL
$$, 'arguments by position');

SELECT is_empty($$
SELECT call, pg_temp.refusal(call)
FROM (
    SELECT format('hipq.%I(%s)', name, (SELECT string_agg(format('%I => $%s', names[place], place),
        ', ' ORDER BY place) FROM generate_series(1, number) AS place)) AS call
    FROM form
) AS one
WHERE pg_temp.refusal(call) IS NOT NULL
$$, 'arguments by name');

-- Among functions of one name PostgreSQL takes an untyped parameter as text. For each of these
-- names, one function reads from text what the other takes.
SELECT set_eq($$SELECT name FROM form GROUP BY name, number HAVING count(*) > 1$$,
    ARRAY['enqueue', 'enqueue_unique', 'heartbeat', 'outcome_of', 'result_of']::name[],
    'functions of one name take different numbers of arguments, or read the same from text');

SELECT * FROM finish();
ROLLBACK;
