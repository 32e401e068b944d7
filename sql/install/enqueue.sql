-- Functions that enqueue jobs.

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL,
    timeout hipq.duration DEFAULT NULL, throttle_factor double precision DEFAULT NULL,
    time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error',
    throttle_key text DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL,
    job_text text DEFAULT NULL, traceparent text DEFAULT NULL, after bigint[] DEFAULT NULL,
    after_policy text DEFAULT NULL, on_failure text DEFAULT NULL, batch bigint DEFAULT NULL,
    after_batch bigint DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue';
COMMENT ON FUNCTION hipq.enqueue(
    text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer,
    timestamptz, text, text, hipq.duration, text, text, text, bigint[], text, text,
    bigint, bigint
) IS 'enqueues a job in the caller''s transaction and returns its id. job_type: the type; '
    'job_data: JSON, or a text that is none; job_text: a text, whatever is in it; queue: '
    'instance.queue, NULL = the one that has the type; job_key: one unfinished job for each; '
    'on_duplicate: error, return, replace, merge, debounce, after or after_first; timeout, '
    'queue_ttl: a number is seconds; worker: the one external worker of the first attempt; '
    'traceparent: its trace, NULL = that of the session; after, after_batch: ids of the jobs, and '
    'of the batch, that it comes after; after_policy: when succeeded (all have), finished (all '
    'have ended), any (one has succeeded) or failed (one has); on_failure: otherwise fail, skip or '
    'run; batch: the batch that it belongs to; what else is NULL comes from the job type';

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL,
    timeout hipq.duration DEFAULT NULL, throttle_factor double precision DEFAULT NULL,
    time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error',
    throttle_key text DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL,
    job_text text DEFAULT NULL, traceparent text DEFAULT NULL, after bigint[] DEFAULT NULL,
    after_policy text DEFAULT NULL, on_failure text DEFAULT NULL, batch bigint DEFAULT NULL,
    after_batch bigint DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_value';
COMMENT ON FUNCTION hipq.enqueue(
    text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text, text, text, bigint[], text, text,
    bigint, bigint
) IS 'enqueues a job in the caller''s transaction and returns its id. job_data: a value of any '
    'type, as to_jsonb() makes it; the other arguments are those of enqueue() of text, except that '
    'job_text cannot be given';

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL,
    timeout hipq.duration DEFAULT NULL, throttle_factor double precision DEFAULT NULL,
    time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return',
    throttle_key text DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL,
    job_text text DEFAULT NULL, traceparent text DEFAULT NULL, after bigint[] DEFAULT NULL,
    after_policy text DEFAULT NULL, on_failure text DEFAULT NULL, batch bigint DEFAULT NULL,
    after_batch bigint DEFAULT NULL,
    OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique';
COMMENT ON FUNCTION hipq.enqueue_unique(
    text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer,
    timestamptz, text, text, hipq.duration, text, text, text, bigint[], text, text,
    bigint, bigint
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
    job_text text DEFAULT NULL, traceparent text DEFAULT NULL, after bigint[] DEFAULT NULL,
    after_policy text DEFAULT NULL, on_failure text DEFAULT NULL, batch bigint DEFAULT NULL,
    after_batch bigint DEFAULT NULL,
    OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique_value';
COMMENT ON FUNCTION hipq.enqueue_unique(
    text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text, text, text, bigint[], text, text,
    bigint, bigint
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
    traceparent text DEFAULT NULL, after bigint[] DEFAULT NULL, after_policy text DEFAULT NULL,
    on_failure text DEFAULT NULL, batch bigint DEFAULT NULL, after_batch bigint DEFAULT NULL
) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_many';
COMMENT ON FUNCTION hipq.enqueue_many(
    text, jsonb[], text[], text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text, bigint[], text, text,
    bigint, bigint
) IS 'enqueues one job for each element of an array and returns the ids in that order. job_data: '
    'the data; job_keys: one key for each, NULL = none; the other arguments are those of '
    'enqueue(), for all jobs';
