-- Functions that enqueue jobs, and jobs that wait for another job with their key.

-- A job that was enqueued while a job with its key ran. It is not yet in the queue's table, because
-- the running job still holds the key. When that job has finished, this row becomes a job. The job
-- is stored as jsonb for the same reason as in hipq.dead_letter: newer code can read old rows.
CREATE TABLE hipq.successor (
    queue_id integer          NOT NULL,
    job_type text COLLATE "C" NOT NULL,
    job_key  text COLLATE "C" NOT NULL,
    job_id   bigint           NOT NULL CONSTRAINT successor_job_id_is_unique UNIQUE,
    job      jsonb            NOT NULL,
    shard_key text COLLATE "C" NOT NULL DEFAULT 'NONE',
    CONSTRAINT successor_pkey PRIMARY KEY (queue_id, job_type, job_key, shard_key)
);
COMMENT ON TABLE hipq.successor
    IS 'jobs that start when the one with their key has finished: on_duplicate => ''after''';
COMMENT ON COLUMN hipq.successor.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.successor.job_type IS 'job type';
COMMENT ON COLUMN hipq.successor.job_key
    IS 'job key, which another job holds until it has finished';
COMMENT ON COLUMN hipq.successor.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.successor.job IS 'the whole row of the job, as it will be';
COMMENT ON COLUMN hipq.successor.shard_key
    IS 'shard key that the job key is unique within; NONE = none, or the whole queue';
SELECT pg_extension_config_dump('hipq.successor', '');

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL,
    timeout hipq.duration DEFAULT NULL, throttle_factor double precision DEFAULT NULL,
    time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error',
    throttle_key text DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL,
    job_text text DEFAULT NULL, traceparent text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue';
COMMENT ON FUNCTION hipq.enqueue(
    text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer,
    timestamptz, text, text, hipq.duration, text, text, text
) IS 'enqueues a job in the caller''s transaction and returns its id. job_type: the type; '
    'job_data: JSON, or a text that is none; job_text: a text, whatever is in it; queue: '
    'instance.queue, NULL = the one that has the type; job_key: one unfinished job for each; '
    'on_duplicate: error, return, replace, merge, debounce or after; timeout, queue_ttl: a number '
    'is seconds; worker: the one external worker of the first attempt; traceparent: its trace, '
    'NULL = that of the session; what else is NULL comes from the job type';

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL,
    timeout hipq.duration DEFAULT NULL, throttle_factor double precision DEFAULT NULL,
    time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error',
    throttle_key text DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL,
    traceparent text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_value';
COMMENT ON FUNCTION hipq.enqueue(
    text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text, text
) IS 'enqueues a job in the caller''s transaction and returns its id. job_data: a value of any '
    'type, as to_jsonb() makes it; the other arguments are those of enqueue() of text';

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL,
    timeout hipq.duration DEFAULT NULL, throttle_factor double precision DEFAULT NULL,
    time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return',
    throttle_key text DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL,
    job_text text DEFAULT NULL, traceparent text DEFAULT NULL,
    OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique';
COMMENT ON FUNCTION hipq.enqueue_unique(
    text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer,
    timestamptz, text, text, hipq.duration, text, text, text
) IS 'enqueues a job unless an unfinished one has its key; returns the id of either, and what was '
    'done: inserted, returned, replaced, merged, debounced, after or sent. job_key: the key, which '
    'must be given; the other arguments are those of enqueue()';

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL,
    timeout hipq.duration DEFAULT NULL, throttle_factor double precision DEFAULT NULL,
    time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return',
    throttle_key text DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL,
    traceparent text DEFAULT NULL,
    OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique_value';
COMMENT ON FUNCTION hipq.enqueue_unique(
    text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text, text
) IS 'enqueues a job unless an unfinished one has its key; returns the id of either, and what was '
    'done. job_data: a value of any type, as to_jsonb() makes it; the other arguments are those '
    'of enqueue_unique() of text';

CREATE FUNCTION hipq.enqueue_many(
    job_type text, job_data jsonb[], job_keys text[] DEFAULT NULL, queue text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL,
    timeout hipq.duration DEFAULT NULL, throttle_factor double precision DEFAULT NULL,
    time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error',
    throttle_key text DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL,
    traceparent text DEFAULT NULL
) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_many';
COMMENT ON FUNCTION hipq.enqueue_many(
    text, jsonb[], text[], text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text
) IS 'enqueues one job for each element of an array and returns the ids in that order. job_data: '
    'the data; job_keys: one key for each, NULL = none; the other arguments are those of '
    'enqueue(), for all jobs';
