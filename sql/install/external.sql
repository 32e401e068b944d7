-- Functions that external workers call, and jobs that are aimed at one worker.

-- Few jobs are aimed at one worker. Their rows have a worker_id that no worker has.
CREATE TABLE hipq.aimed_job (
    queue_id integer NOT NULL,
    job_id   bigint  NOT NULL,
    worker   text COLLATE "C" NOT NULL,
    CONSTRAINT aimed_job_pkey PRIMARY KEY (queue_id, job_id)
);
COMMENT ON TABLE hipq.aimed_job
    IS 'jobs that are for one external worker alone until their first attempt: enqueue(..., '
    'worker => ...)';
COMMENT ON COLUMN hipq.aimed_job.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.aimed_job.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.aimed_job.worker IS 'name of the worker';
SELECT pg_extension_config_dump('hipq.aimed_job', '');

CREATE FUNCTION hipq.register_worker(
    name text, queues text[], job_types text[], capacity integer DEFAULT 1,
    prefetch integer DEFAULT 0, capabilities jsonb DEFAULT '{}', listen boolean DEFAULT false,
    take_over boolean DEFAULT false
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_register_worker';
COMMENT ON FUNCTION hipq.register_worker(
    text, text[], text[], integer, integer, jsonb, boolean, boolean
) IS 'registers a program outside the server that runs jobs, and returns its id. name: its name; '
    'queues, job_types: what it serves; capacity: how many jobs at a time; prefetch: how many '
    'more it may be offered; capabilities: what job types may require; listen: whether it is bound '
    'to this session, which listens on hipq_worker_<id>; take_over: whether it takes the name from '
    'one that is there';

CREATE FUNCTION hipq.heartbeat(worker bigint, health text DEFAULT NULL) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_heartbeat';
COMMENT ON FUNCTION hipq.heartbeat(bigint, text)
    IS 'tells that a worker is alive, and returns its status. worker: the worker; health: how it '
    'is doing, in JSON. It counts at once, whatever becomes of the transaction';

CREATE FUNCTION hipq.heartbeat(worker bigint, health jsonb) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_heartbeat_jsonb';
COMMENT ON FUNCTION hipq.heartbeat(bigint, jsonb)
    IS 'tells that a worker is alive, and returns its status. worker: the worker; health: how it '
    'is doing. It counts at once, whatever becomes of the transaction';

CREATE FUNCTION hipq.heartbeat_attempts(ids bigint[], attempts integer[]) RETURNS bigint[]
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_heartbeat_attempts';
COMMENT ON FUNCTION hipq.heartbeat_attempts(bigint[], integer[])
    IS 'tells that the workers of attempts are alive, and returns the ids of those that are '
    'running. ids, attempts: the attempts';

CREATE FUNCTION hipq.drain_worker(worker bigint) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drain_worker';
COMMENT ON FUNCTION hipq.drain_worker(bigint)
    IS 'offers a worker no more jobs; what it has accepted it may finish. worker: the worker';

CREATE FUNCTION hipq.deregister_worker(worker bigint) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_deregister_worker';
COMMENT ON FUNCTION hipq.deregister_worker(bigint)
    IS 'forgets a worker; its jobs go to others. worker: the worker';

CREATE FUNCTION hipq.report_progress(
    id bigint, attempt integer, done bigint, total bigint, message text DEFAULT NULL
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_report_progress';
COMMENT ON FUNCTION hipq.report_progress(bigint, integer, bigint, bigint, text)
    IS 'tells how far an attempt of an external worker has come, for view hipq.progress, and that '
    'the worker is alive. id, attempt: the attempt; done: how much; total: of how much, NULL = '
    'not known; message: what it does. It shows at once, whatever becomes of the transaction';

CREATE FUNCTION hipq.claim(
    worker bigint, max_jobs integer DEFAULT 1, wait hipq.duration DEFAULT '0',
    OUT id bigint, OUT attempt integer, OUT queue text, OUT job_type text, OUT job_key text,
    OUT job_data jsonb, OUT deadline timestamptz, OUT retry_count integer, OUT retry_reason text,
    OUT max_retries integer, OUT scheduled_run_time timestamptz, OUT created_time timestamptz,
    OUT original_job_id bigint, OUT traceparent text
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_claim_traced';
COMMENT ON FUNCTION hipq.claim(bigint, integer, hipq.duration)
    IS 'accepts jobs offered to a worker, in the order of the offers: their attempts start. '
    'worker: the worker; max_jobs: 1 to 10000; wait: how long to wait for the first one';

CREATE FUNCTION hipq.complete(id bigint, attempt integer, result jsonb DEFAULT 'null') RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete';
COMMENT ON FUNCTION hipq.complete(bigint, integer, jsonb)
    IS 'ends an attempt of an external worker with success. id, attempt: the attempt; result: the '
    'job''s result. It raises HQ003 if the attempt is over, 55000 if the job was not accepted';

CREATE FUNCTION hipq.complete_attempts(
    ids bigint[], attempts integer[], results jsonb[] DEFAULT NULL
) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_many';
COMMENT ON FUNCTION hipq.complete_attempts(bigint[], integer[], jsonb[])
    IS 'ends attempts of external workers with success, and returns the ids of those that were '
    'running. ids, attempts: the attempts; results: their results, NULL = none';

CREATE FUNCTION hipq.complete_by_key(
    queue text, job_type text, job_key text, result jsonb DEFAULT 'null',
    shard_key text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_by_key';
COMMENT ON FUNCTION hipq.complete_by_key(text, text, text, jsonb, text)
    IS 'ends the attempt that runs of the job with that key with success, and returns the job''s '
    'id. queue, job_type, job_key: the job; result: its result; shard_key: that of the job, where '
    'keys are unique for each';

CREATE FUNCTION hipq.fail(
    id bigint, attempt integer, error text, retriable boolean DEFAULT true,
    retry_after hipq.duration DEFAULT NULL
) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail';
COMMENT ON FUNCTION hipq.fail(bigint, integer, text, boolean, hipq.duration)
    IS 'fails an attempt of an external worker, and returns the state of its job: retry, final, '
    'or error while a retry handler is asked. id, attempt: the attempt; error: why; retriable: '
    'whether it may be retried; retry_after: how long the retry waits, NULL = as the job type '
    'says. It raises HQ003 if the attempt is over, 55000 if the job was not accepted';

CREATE FUNCTION hipq.fail_attempts(
    ids bigint[], attempts integer[], errors text[], retriable boolean DEFAULT true,
    retry_after hipq.duration[] DEFAULT NULL
) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_many';
COMMENT ON FUNCTION hipq.fail_attempts(bigint[], integer[], text[], boolean, hipq.duration[])
    IS 'fails attempts of external workers, and returns the ids of those that were running. ids, '
    'attempts: the attempts; errors: why; retriable: whether they may be retried; retry_after: '
    'how long each retry waits, NULL = as the job type says';

CREATE FUNCTION hipq.fail_by_key(
    queue text, job_type text, job_key text, error text, retriable boolean DEFAULT true,
    shard_key text DEFAULT NULL, retry_after hipq.duration DEFAULT NULL
) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_by_key';
COMMENT ON FUNCTION hipq.fail_by_key(text, text, text, text, boolean, text, hipq.duration)
    IS 'fails the attempt that runs of the job with that key, and returns the job''s state. '
    'queue, job_type, job_key: the job; error: why; retriable: whether it may be retried; '
    'shard_key: that of the job, where keys are unique for each; retry_after: how long the retry '
    'waits, NULL = as the job type says';

CREATE FUNCTION hipq.release(
    id bigint, attempt integer, delay hipq.duration DEFAULT '0'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release';
COMMENT ON FUNCTION hipq.release(bigint, integer, hipq.duration)
    IS 'gives an attempt of an external worker back: its job waits to be run again, uncharged. '
    'id, attempt: the attempt; delay: for how long. It raises HQ003 if the attempt is over, 55000 '
    'if the job was not accepted';

CREATE FUNCTION hipq.release_attempts(ids bigint[], attempts integer[]) RETURNS bigint[]
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release_many';
COMMENT ON FUNCTION hipq.release_attempts(bigint[], integer[])
    IS 'gives attempts of external workers back, and returns the ids of those that were running. '
    'ids, attempts: the attempts';

CREATE FUNCTION hipq.extend(id bigint, attempt integer, more hipq.duration) RETURNS timestamptz
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_attempt';
COMMENT ON FUNCTION hipq.extend(bigint, integer, hipq.duration)
    IS 'gives an attempt that an external worker has accepted more time, if less is left, and '
    'returns when it times out. id, attempt: the attempt; more: how long from now. It raises HQ003 '
    'if the attempt is over, 55000 if the job was not accepted';

CREATE FUNCTION hipq.extend_attempts(
    ids bigint[], attempts integer[], more hipq.duration
) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_many';
COMMENT ON FUNCTION hipq.extend_attempts(bigint[], integer[], hipq.duration)
    IS 'gives attempts of external workers more time, if less is left, and returns the ids of '
    'those that were running. ids, attempts: the attempts; more: how long from now';
