-- For tests of writing without SQL, by \i. Needs track_functions = 'all'.
-- Returns how often the guard has been called since the last call.
CREATE FUNCTION pg_temp.guard_calls() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    calls bigint := coalesce(pg_stat_get_xact_function_calls('hipq._guard_job'::regproc), 0);
    before bigint := coalesce(nullif(current_setting('direct.calls', true), ''), '0');
BEGIN
    PERFORM set_config('direct.calls', calls::text, false);
    RETURN calls - before;
END $$;
