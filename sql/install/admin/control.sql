-- Functions for operators to cancel, retry, reschedule, move and pause jobs.

-- A pause stores the name of the role that made it: the pause must outlive that role, and must
-- reach servers without this role.
CREATE TABLE hipq.pause (
    instance_id  integer,
    queue_id     integer,
    job_type     text COLLATE "C",
    throttle_key text COLLATE "C",
    paused_by    text        NOT NULL,
    paused_time  timestamptz NOT NULL,
    reason       text        NOT NULL DEFAULT 'NONE',
    crashes      integer     CONSTRAINT pause_crashes_are_positive CHECK (crashes > 0),
    paused_until timestamptz,
    CONSTRAINT pause_is_unique
        UNIQUE NULLS NOT DISTINCT (queue_id, job_type, throttle_key, instance_id),
    CONSTRAINT pause_is_of_an_instance_or_a_queue
        CHECK ((instance_id IS NULL) <> (queue_id IS NULL)),
    CONSTRAINT pause_of_a_job_type_is_in_a_queue CHECK (job_type IS NULL OR queue_id IS NOT NULL),
    CONSTRAINT pause_of_a_throttle_key_is_in_a_job_type
        CHECK (throttle_key IS NULL OR job_type IS NOT NULL),
    CONSTRAINT pause_for_crashes_is_of_a_job_type
        CHECK (crashes IS NULL OR job_type IS NOT NULL AND throttle_key IS NULL)
);
CREATE INDEX pause_until ON hipq.pause (paused_until) WHERE paused_until IS NOT NULL;
ALTER TABLE hipq.pause REPLICA IDENTITY FULL;
COMMENT ON TABLE hipq.pause
    IS 'what is paused: an instance, a queue, a job type of a queue, or a throttle key of a job '
    'type';
COMMENT ON COLUMN hipq.pause.instance_id IS 'instance that is paused; NULL = not a whole instance';
COMMENT ON COLUMN hipq.pause.queue_id
    IS 'queue that is paused, or in which the job type is; NULL = an instance is paused';
COMMENT ON COLUMN hipq.pause.job_type
    IS 'job type that is paused, or of which the throttle key is; NULL = all of the queue or '
    'instance is paused';
COMMENT ON COLUMN hipq.pause.throttle_key
    IS 'throttle key that is paused; NULL = not a throttle key alone';
COMMENT ON COLUMN hipq.pause.paused_by IS 'role that paused it';
COMMENT ON COLUMN hipq.pause.paused_time IS 'since when it is paused';
COMMENT ON COLUMN hipq.pause.reason IS 'why, as given; NONE = nothing was given';
COMMENT ON COLUMN hipq.pause.crashes
    IS 'crashes of the server within 10 minutes for which hipq itself holds the job type; NULL = '
    'somebody paused it';
COMMENT ON COLUMN hipq.pause.paused_until
    IS 'when the scheduler ends the pause; NULL = only resume() ends it';

CREATE TRIGGER catalogue_changed AFTER TRUNCATE ON hipq.pause
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.pause ENABLE ALWAYS TRIGGER catalogue_changed;
CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON hipq.pause
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('pauses');
ALTER TABLE hipq.pause ENABLE ALWAYS TRIGGER row_changed;

-- What a breaker does by itself is in shared memory at once, and here a moment later.
CREATE TABLE hipq.breaker_state (
    queue_id    integer     NOT NULL,
    job_type    text COLLATE "C" NOT NULL,
    opened_time timestamptz NOT NULL,
    open_until  timestamptz,
    opened_by   text,
    reason      text        NOT NULL DEFAULT 'NONE',
    change      bigint      NOT NULL,
    CONSTRAINT breaker_state_pkey PRIMARY KEY (queue_id, job_type)
);
COMMENT ON TABLE hipq.breaker_state IS 'breakers of job types that are not closed';
COMMENT ON COLUMN hipq.breaker_state.queue_id IS 'queue';
COMMENT ON COLUMN hipq.breaker_state.job_type IS 'job type';
COMMENT ON COLUMN hipq.breaker_state.opened_time IS 'since when it is not closed';
COMMENT ON COLUMN hipq.breaker_state.open_until
    IS 'until when no job of the type starts; NULL = until close_breaker()';
COMMENT ON COLUMN hipq.breaker_state.opened_by IS 'role that opened it; NULL = it opened by itself';
COMMENT ON COLUMN hipq.breaker_state.reason
    IS 'why, as given or as hipq found; NONE = nothing was given';
COMMENT ON COLUMN hipq.breaker_state.change
    IS 'number of the change; changes of the breaker with lower numbers came before';

CREATE TRIGGER catalogue_changed AFTER TRUNCATE ON hipq.breaker_state
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.breaker_state ENABLE ALWAYS TRIGGER catalogue_changed;
CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON hipq.breaker_state
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('pauses');
ALTER TABLE hipq.breaker_state ENABLE ALWAYS TRIGGER row_changed;

CREATE FUNCTION hipq.cancel(
    id bigint, reason text DEFAULT NULL, queue text DEFAULT NULL
) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_cancel';
COMMENT ON FUNCTION hipq.cancel(bigint, text, text)
    IS 'cancels a waiting or running job for good; false if it ends otherwise. id: the job; '
    'reason: why, 244 bytes are kept; queue: where to look for the job. A running job is stopped '
    'at once, in a transaction block when that commits';

CREATE FUNCTION hipq.cancel_graph(id bigint, reason text DEFAULT NULL) RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_cancel_graph';
COMMENT ON FUNCTION hipq.cancel_graph(bigint, text)
    IS 'cancels the unfinished jobs of a graph, and returns how many. id: the graph, or any of its '
    'jobs';

CREATE FUNCTION hipq.cancel_batch(batch bigint, reason text DEFAULT NULL) RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_cancel_batch';
COMMENT ON FUNCTION hipq.cancel_batch(bigint, text)
    IS 'closes a batch, cancels its unfinished jobs, and returns how many; jobs after it, as its '
    'callback, are not cancelled';

CREATE FUNCTION hipq.cancel_jobs(
    queue text, job_type text DEFAULT NULL, job_key text DEFAULT NULL, state text DEFAULT NULL,
    created_before timestamptz DEFAULT NULL, reason text DEFAULT NULL,
    max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_cancel_jobs';
COMMENT ON FUNCTION hipq.cancel_jobs(text, text, text, text, timestamptz, text, integer)
    IS 'cancels unfinished jobs of a queue, the oldest first, and returns how many. queue: the '
    'queue; job_type, job_key, state, created_before: only such jobs, NULL = any; reason: as for '
    'cancel(); max_jobs: 1 to 10000';

CREATE FUNCTION hipq.retry(
    id bigint, reason text DEFAULT 'manual_retry', job_data jsonb DEFAULT NULL,
    queue text DEFAULT NULL, max_retries integer DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry';
COMMENT ON FUNCTION hipq.retry(bigint, text, jsonb, text, integer)
    IS 'runs a final job again as a new job and returns its id. id: the final job; reason: why, '
    'in your words; job_data: other data, NULL = the old ones (needs the right enqueue); queue: '
    'where to look for the job; max_retries: as many retries, NULL = as the final job';

CREATE FUNCTION hipq.retry_jobs(
    queue text, job_type text DEFAULT NULL, failed_after timestamptz DEFAULT NULL,
    failed_before timestamptz DEFAULT NULL, reason text DEFAULT 'manual_retry',
    max_jobs integer DEFAULT 10000, max_retries integer DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_jobs';
COMMENT ON FUNCTION hipq.retry_jobs(text, text, timestamptz, timestamptz, text, integer, integer)
    IS 'runs jobs of a queue that failed for good again as new jobs, the oldest first and each '
    'once, and returns how many. queue: the queue; job_type, failed_after, failed_before: only '
    'such jobs, NULL = any; reason: why; max_jobs: 1 to 10000; max_retries: as for retry(). Jobs '
    'whose key an unfinished job has are passed over';

CREATE FUNCTION hipq.reschedule(
    id bigint, scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL,
    queue text DEFAULT NULL
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_reschedule';
COMMENT ON FUNCTION hipq.reschedule(bigint, timestamptz, integer, text)
    IS 'moves a waiting job to another time or priority. id: the job; scheduled_run_time, '
    'priority: the new ones, NULL = as it is; queue: where to look for the job';

CREATE FUNCTION hipq.move_jobs(
    from_queue text, to_queue text, job_type text, max_jobs integer DEFAULT 10000,
    OUT moved bigint, OUT key_taken bigint
) RETURNS SETOF record LANGUAGE c ROWS 1 AS 'MODULE_PATHNAME', 'hipq_move_jobs';
COMMENT ON FUNCTION hipq.move_jobs(text, text, text, integer)
    IS 'moves waiting jobs of a type to another queue, the oldest first. from_queue, to_queue: '
    'the queues, which both have the type; job_type: the type; max_jobs: 1 to 10000. Returns how '
    'many moved, and how many stay because their key is taken there';

CREATE FUNCTION hipq.extend_job(
    id bigint, more hipq.duration, queue text DEFAULT NULL
) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend';
COMMENT ON FUNCTION hipq.extend_job(bigint, hipq.duration, text)
    IS 'gives a running job more time, if less is left, and returns when it times out, at once and '
    'whatever becomes of the transaction. id: the job; more: how long from now; queue: where to '
    'look for the job';

CREATE FUNCTION hipq.erase(id bigint, queue text DEFAULT NULL) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_erase';
COMMENT ON FUNCTION hipq.erase(bigint, text)
    IS 'removes a final job with its attempts and its dead letter; false if there is no such job. '
    'id: the job; queue: where to look for it';

CREATE FUNCTION hipq.fail_job(id bigint, error text, queue text DEFAULT NULL) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_job';
COMMENT ON FUNCTION hipq.fail_job(bigint, text, text)
    IS 'fails a job by hand and returns the state that follows. id: the job; error: why; queue: '
    'where to look for the job. What an external worker has fails as a transient_error, which may '
    'be retried; what waits is final with a dead letter; what an executor runs is refused with '
    '55000: use cancel()';

CREATE FUNCTION hipq.pause(
    queue text DEFAULT NULL, job_type text DEFAULT NULL, throttle_key text DEFAULT NULL,
    reason text DEFAULT 'NONE', instance text DEFAULT NULL,
    until hipq.time_or_duration DEFAULT NULL
) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_pause';
COMMENT ON FUNCTION hipq.pause(text, text, text, text, text, hipq.time_or_duration)
    IS 'starts no more jobs of a queue, a job type, a throttle key or an instance; false if it '
    'was paused already: then its end becomes this one. queue: the queue; job_type: only this '
    'type; throttle_key: only this key of the type; reason: why; instance: all queues of this '
    'instance, instead of queue; until: when the pause ends, or after how long, NULL = with '
    'resume(). What runs goes on';

CREATE FUNCTION hipq.resume(
    queue text DEFAULT NULL, job_type text DEFAULT NULL, throttle_key text DEFAULT NULL,
    instance text DEFAULT NULL
) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_resume';
COMMENT ON FUNCTION hipq.resume(text, text, text, text)
    IS 'ends what pause() began with the same arguments; false if that was not paused. queue, '
    'job_type, throttle_key, instance: as for pause()';

CREATE FUNCTION hipq.open_breaker(
    queue text, job_type text, duration hipq.duration DEFAULT NULL, reason text DEFAULT NULL
) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_open_breaker';
COMMENT ON FUNCTION hipq.open_breaker(text, text, hipq.duration, text)
    IS 'starts no more jobs of a job type for a while; false if its breaker was open already. '
    'queue: the queue; job_type: the type; duration: how long, then one job tries, or all start if '
    'the type has no breaker; NULL = until close_breaker(); reason: why. What runs goes on';

CREATE FUNCTION hipq.close_breaker(queue text, job_type text) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_close_breaker';
COMMENT ON FUNCTION hipq.close_breaker(text, text)
    IS 'lets jobs of a job type start again; false if its breaker was closed already. queue: the '
    'queue; job_type: the type';
