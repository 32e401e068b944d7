\echo Use "ALTER EXTENSION hipq UPDATE" to load this file. \quit

SET LOCAL search_path = pg_catalog, pg_temp;

-- A server that was not restarted still runs the library of 0.1.0, which has none of the functions below.
DO $upgrade$
BEGIN
    IF hipq.version() = '0.1.0' THEN
        RAISE EXCEPTION 'the server still runs the library of hipq 0.1.0'
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Restart the server, and then update the extension.';
    END IF;
END
$upgrade$;
