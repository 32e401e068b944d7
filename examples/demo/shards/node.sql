-- What every server of the instance has: hipq, the role that handlers run as, and the handler.
\set ON_ERROR_STOP on
SET client_min_messages = warning;

CREATE EXTENSION hipq;
CREATE ROLE demo LOGIN;
CREATE SCHEMA demo;
GRANT USAGE ON SCHEMA demo TO demo;

-- Without a primary key on purpose: if a job ever took effect twice, it would be here twice.
CREATE TABLE demo.done (job_id bigint NOT NULL, package text NOT NULL);
GRANT SELECT, INSERT ON demo.done TO demo;

-- The handler: a package. It takes a while, so that there is something to see.
CREATE FUNCTION demo.look_at(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO demo.done (job_id, package) VALUES (job.id, job.job_data ->> 'package');
    PERFORM pg_sleep(0.02);
END
$$;
