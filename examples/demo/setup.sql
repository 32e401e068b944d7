-- The demo's database: a queue, the tables that its handler fills, and the handler.
\set ON_ERROR_STOP on
SET client_min_messages = warning;

CREATE EXTENSION hipq;
CREATE ROLE demo LOGIN;
CREATE SCHEMA demo;
GRANT USAGE ON SCHEMA demo TO demo;

-- A queue is a table: this one is hipq.demo_packages. Its handlers run as the role demo.
SELECT hipq.create_queue('demo.packages', owner => 'demo') IS NOT NULL AS queue_created \gset
SELECT hipq.create_queue('demo.latency', owner => 'demo') IS NOT NULL AS queue_created \gset

-- Without a primary key on purpose: if a job ever took effect twice, the package would be here twice.
CREATE TABLE demo.package_words (
    package      text NOT NULL,
    version      text NOT NULL,
    words        tsvector NOT NULL,
    size_kb      integer,
    indexed_time timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE demo.word_count (
    word        text NOT NULL,
    package     text NOT NULL,
    occurrences integer NOT NULL
);
GRANT SELECT, INSERT ON demo.package_words, demo.word_count TO demo;

-- The handler: one package. It is called in a transaction of its own, which the job's end is part of.
--
-- A few packages carry a "fault", so that there is something to see. It strikes when the handler has written rows: those
-- of a failed attempt must be gone, and those of a repeated one be there once.
CREATE FUNCTION demo.index_package(job hipq.job) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    data  jsonb := job.job_data;
    fault text := data->>'fault';
    found tsvector := to_tsvector('english', data->>'description');
BEGIN
    INSERT INTO demo.word_count (word, package, occurrences)
    SELECT entry.lexeme, data->>'package', cardinality(entry.positions)
    FROM unnest(found) AS entry
    WHERE entry.lexeme ~ '^[a-z]{3,}$';

    IF fault = 'slow' THEN
        PERFORM pg_sleep(30);
    ELSIF fault = 'always' OR (fault = 'once' AND job.attempt <= 1) OR (fault = 'twice' AND job.attempt <= 2) THEN
        RAISE EXCEPTION 'the mirror for "%" is down', data->>'package';
    END IF;

    -- The fault "bad data" is a size that is no number: an error that no retry can mend.
    INSERT INTO demo.package_words (package, version, size_kb, words)
    VALUES (data->>'package', data->>'version', (data->>'size_kb')::integer, found);

    RETURN jsonb_build_object('words', length(found));
END
$$;

SELECT hipq.register_job_type('demo.packages', 'index', handler => 'demo.index_package', max_retries => 2, default_timeout => 5,
                              retry_base => '200 ms') IS NOT NULL AS type_registered \gset

-- For measuring: the result is the time at which the handler started.
CREATE FUNCTION demo.started_time(data jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    RETURN to_jsonb(clock_timestamp());
END
$$;
SELECT hipq.register_job_type('demo.latency', 'ping', handler => 'demo.started_time') IS NOT NULL AS type_registered \gset

CREATE TABLE demo.ping (
    job_id         bigint NOT NULL,
    committed_time timestamptz NOT NULL
);

-- Waits until a job has ended, at most 10 s. (Each turn of the loop sees what has been committed by then.)
CREATE PROCEDURE demo.wait_for(job_id bigint) LANGUAGE plpgsql AS $$
DECLARE
    give_up_time constant timestamptz := clock_timestamp() + interval '10 s';
BEGIN
    LOOP
        EXIT WHEN EXISTS (SELECT FROM hipq.demo_latency AS job WHERE job.id = job_id AND job.state = 'final');
        IF clock_timestamp() > give_up_time THEN
            RAISE EXCEPTION 'job % has not ended after 10 s', job_id;
        END IF;
        PERFORM pg_sleep(0.001);
    END LOOP;
END
$$;
