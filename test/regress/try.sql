-- For tests of messages, by \i. pg_temp.try() runs a statement and returns its SQLSTATE, message,
-- detail and hint, without what differs from run to run.
CREATE FUNCTION pg_temp.try(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
    hint text;
    said text;
BEGIN
    EXECUTE statement;
    RETURN 'passes';
EXCEPTION WHEN OTHERS OR query_canceled THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    said := format('%s %s', SQLSTATE, SQLERRM)
        || CASE WHEN detail <> '' THEN E'\n  DETAIL: ' || detail ELSE '' END
        || CASE WHEN hint <> '' THEN E'\n  HINT: ' || hint ELSE '' END;
    said := regexp_replace(said, '\m([Jj]ob|[Ww]orker|pid) [0-9]+', '\1 <id>', 'g');
    said := regexp_replace(said, 'Failing row contains \(.*\)', 'Failing row contains <row>');
    said := replace(said, 'postgresql-' || current_setting('server_version_num')::integer / 10000,
        'postgresql-<version>');
    RETURN replace(said, current_database(), '<this database>');
END
$$;
