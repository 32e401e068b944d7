-- Ways to enqueue a job from SQL, and jobs that wait for another one with their key.

-- A job that was asked for while one with its key ran. It is in no queue's table yet: that one
-- still holds the key. When that one has finished the row becomes a job. The job is jsonb for the
-- same reason as in hipq.dead_letter: old rows are understood by new code.
CREATE TABLE hipq.successor (
    queue_id integer          NOT NULL,
    job_type text COLLATE "C" NOT NULL,
    job_key  text COLLATE "C" NOT NULL,
    job_id   bigint           NOT NULL CONSTRAINT successor_job_id_is_unique UNIQUE,
    job      jsonb            NOT NULL,
    CONSTRAINT successor_pkey PRIMARY KEY (queue_id, job_type, job_key)
);
COMMENT ON TABLE hipq.successor
    IS 'jobs that start when the one with their key has finished: on_duplicate => ''after''';
COMMENT ON COLUMN hipq.successor.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.successor.job_type IS 'job type';
COMMENT ON COLUMN hipq.successor.job_key
    IS 'job key, which another job holds until it has finished';
COMMENT ON COLUMN hipq.successor.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.successor.job IS 'the whole row of the job, as it will be';
SELECT pg_extension_config_dump('hipq.successor', '');

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL, job_text text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue';
COMMENT ON FUNCTION hipq.enqueue(text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text)
    IS 'enqueues a job in the caller''s transaction and returns its id; text that is no JSON becomes a JSON string, job_text always does; worker: the one external worker that its first attempt is for, within queue_ttl; 22023: the job type is not for those';

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue';
COMMENT ON FUNCTION hipq.enqueue(text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text)
    IS 'enqueues a job in the caller''s transaction and returns its id; data of any type, as to_jsonb() makes it; worker as above';

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL, job_text text DEFAULT NULL,
    OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique';
COMMENT ON FUNCTION hipq.enqueue_unique(text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text, text)
    IS 'enqueues a job unless an unfinished one has its key; returns the id of either and what was done: inserted, returned, replaced, merged, debounced, after';

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL,
    OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique';
COMMENT ON FUNCTION hipq.enqueue_unique(text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration, text)
    IS 'the same with data of any type, as to_jsonb() makes it; worker as above';

CREATE FUNCTION hipq.enqueue_many(
    job_type text, job_data jsonb[], job_keys text[] DEFAULT NULL, queue text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL
) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_many';
COMMENT ON FUNCTION hipq.enqueue_many(text, jsonb[], text[], text, timestamptz, integer, hipq.duration, double precision, text, integer, timestamptz, text, text, hipq.duration)
    IS 'enqueues one job per element of job_data in one statement; returns their ids in the same order';
