-- The schema. The script makes it, not the control file: then a schema "hipq" of somebody else
-- stops the installation.

SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA hipq;
REVOKE ALL ON SCHEMA hipq FROM PUBLIC;
GRANT USAGE ON SCHEMA hipq TO pg_monitor;
COMMENT ON SCHEMA hipq IS 'hipq: a job queue inside PostgreSQL; each queue is a table here';
