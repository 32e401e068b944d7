-- What external workers call, and jobs that are meant for one of them.

-- Few jobs are for one worker alone. Their rows say so by a worker_id that no worker has.
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
    name text, queues text[], job_types text[], capacity integer DEFAULT 1, prefetch integer DEFAULT 0, capabilities jsonb DEFAULT '{}',
    listen boolean DEFAULT false, take_over boolean DEFAULT false
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_register_worker';
COMMENT ON FUNCTION hipq.register_worker(
    text, text[], text[], integer, integer, jsonb, boolean, boolean
) IS 'registers a program outside the server that serves job types of queues, with right work on '
    'each; listen binds it to this session and listens on hipq_worker_<id>; returns its id';

CREATE FUNCTION hipq.heartbeat(worker bigint, health text DEFAULT NULL) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_heartbeat';
COMMENT ON FUNCTION hipq.heartbeat(bigint, text)
    IS 'says that a worker of the caller''s is alive, and how it is doing (JSON; what is '
    'malformed is kept out with a warning); returns its status, at once and whatever becomes of '
    'the transaction';

CREATE FUNCTION hipq.heartbeat(worker bigint, health jsonb) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_heartbeat_jsonb';
COMMENT ON FUNCTION hipq.heartbeat(bigint, jsonb) IS 'the same for a jsonb value';

CREATE FUNCTION hipq.drain_worker(worker bigint) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drain_worker';
COMMENT ON FUNCTION hipq.drain_worker(bigint)
    IS 'gives a worker no more jobs; those that it has it may finish';

CREATE FUNCTION hipq.deregister_worker(worker bigint) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_deregister_worker';
COMMENT ON FUNCTION hipq.deregister_worker(bigint) IS 'forgets a worker';

CREATE FUNCTION hipq.report_progress(id bigint, attempt integer, done bigint, total bigint, message text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_report_progress';
COMMENT ON FUNCTION hipq.report_progress(bigint, integer, bigint, bigint, text)
    IS 'says how far an attempt of a job has come that a worker of the caller''s has (total NULL: '
    'not known), and that the worker is alive; view hipq.progress shows it at once, whatever '
    'becomes of the transaction; raises HQ003 if the attempt is over, 42704 if there is no such '
    'job, 22023 if done is negative or more than total';

CREATE FUNCTION hipq.claim(
    worker bigint, max_jobs integer DEFAULT 1, wait hipq.duration DEFAULT '0', OUT id bigint, OUT attempt integer, OUT queue text, OUT job_type text,
    OUT job_key text, OUT job_data jsonb, OUT deadline timestamptz, OUT retry_count integer, OUT retry_reason text, OUT max_retries integer,
    OUT scheduled_run_time timestamptz, OUT created_time timestamptz, OUT original_job_id bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_claim';
COMMENT ON FUNCTION hipq.claim(bigint, integer, hipq.duration)
    IS 'accepts jobs that a worker of the caller''s was given, as many as it may run at once, in the order given; with wait, waits so long for the first one; deadline is when each times out, original_job_id the first of those that it was retried from by hand, if any. 42704, 42501, 55000: not a worker of the caller''s that is there';

CREATE FUNCTION hipq.complete(id bigint, attempt integer, result jsonb DEFAULT 'null') RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete';
COMMENT ON FUNCTION hipq.complete(bigint, integer, jsonb)
    IS 'ends an attempt of an external worker with success. HQ003: it is over, nothing was '
    'changed; 42501: another role''s; 55000: an executor runs the job; 54000: result is larger '
    'than hipq.max_job_data';

CREATE FUNCTION hipq.complete(ids bigint[], attempts integer[], results jsonb[] DEFAULT NULL) RETURNS bigint[]
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_many';
COMMENT ON FUNCTION hipq.complete(bigint[], integer[], jsonb[])
    IS 'the same for many; returns the jobs that were completed, the other attempts are over. '
    '2202E: arrays of different length';

CREATE FUNCTION hipq.complete(queue text, job_type text, job_key text, result jsonb DEFAULT 'null') RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_by_key';
COMMENT ON FUNCTION hipq.complete(text, text, text, jsonb)
    IS 'the same for the job with that key, whichever attempt runs; returns its id. 42704: no '
    'unfinished job has the key; 55000: it does not run, or in an executor';

CREATE FUNCTION hipq.fail(id bigint, attempt integer, error text, retriable boolean DEFAULT true) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail';
COMMENT ON FUNCTION hipq.fail(bigint, integer, text, boolean)
    IS 'fails an attempt of an external worker, as transient_error or, not retriable, as '
    'explicit_failure; returns the state of the job then: retry, final, or error if a retry '
    'handler is asked. Errors as of complete';

CREATE FUNCTION hipq.fail(ids bigint[], attempts integer[], errors text[], retriable boolean DEFAULT true) RETURNS bigint[]
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_many';
COMMENT ON FUNCTION hipq.fail(bigint[], integer[], text[], boolean)
    IS 'the same for many; returns the jobs that failed by it, the other attempts are over';

CREATE FUNCTION hipq.fail(queue text, job_type text, job_key text, error text, retriable boolean DEFAULT true) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_by_key';
COMMENT ON FUNCTION hipq.fail(text, text, text, text, boolean)
    IS 'the same for the job with that key, whichever attempt runs';

CREATE FUNCTION hipq.release(id bigint, attempt integer, delay hipq.duration DEFAULT '0') RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release';
COMMENT ON FUNCTION hipq.release(bigint, integer, hipq.duration)
    IS 'gives an attempt of an external worker back: the job waits to be run again after that time, uncharged. Errors as of complete';

CREATE FUNCTION hipq.release(ids bigint[], attempts integer[]) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release_many';
COMMENT ON FUNCTION hipq.release(bigint[], integer[])
    IS 'the same for many; returns the jobs that were given back, the other attempts are over';

CREATE FUNCTION hipq.extend(id bigint, attempt integer, more hipq.duration) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_attempt';
COMMENT ON FUNCTION hipq.extend(bigint, integer, hipq.duration)
    IS 'gives an accepted attempt of an external worker more time; returns when it times out now. 55000: it has not been accepted; other errors as of complete';

CREATE FUNCTION hipq.extend(ids bigint[], attempts integer[], more hipq.duration) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_many';
COMMENT ON FUNCTION hipq.extend(bigint[], integer[], hipq.duration) IS 'the same for many; returns the jobs that were given more time, the other attempts are over';
