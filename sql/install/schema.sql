-- The schema. The script makes it, not the control file: so the installation fails if there is a
-- schema "hipq" that is not hipq's own.

SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA hipq;
REVOKE ALL ON SCHEMA hipq FROM PUBLIC;
GRANT USAGE ON SCHEMA hipq TO pg_monitor;
COMMENT ON SCHEMA hipq IS 'hipq: a job queue inside PostgreSQL; each queue is a table here';
