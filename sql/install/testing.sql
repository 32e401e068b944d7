-- Functions for the tests of applications.

CREATE FUNCTION hipq.enqueued(
    job_type text DEFAULT NULL, queue text DEFAULT NULL
) RETURNS SETOF hipq.job LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueued';
COMMENT ON FUNCTION hipq.enqueued(text, text)
    IS 'lists jobs that wait, those of the caller''s open transaction too, in the order of their '
    'ids. job_type, queue: only such jobs, NULL = any';

CREATE FUNCTION hipq.run_until_idle(queue text, max_jobs integer DEFAULT 1000) RETURNS integer
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_run_until_idle';
COMMENT ON FUNCTION hipq.run_until_idle(text, integer)
    IS 'runs due jobs of a queue in the caller''s transaction until there are none, and returns '
    'how many. queue: the queue; max_jobs: how many at most. For the queue owner, in a session of '
    'its own, unless hipq.allow_foreign_handlers is on';

CREATE FUNCTION hipq.dry_run(
    id bigint, queue text DEFAULT NULL,
    OUT result jsonb, OUT error text, OUT sqlstate text, OUT duration interval
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_dry_run';
COMMENT ON FUNCTION hipq.dry_run(bigint, text)
    IS 'calls the handler of a waiting or final job in the caller''s session and takes back what '
    'it did. id: the job; queue: where to look for it. Returns the result, or the error (NONE = '
    'none), and how long it took. For the queue owner, in a session of its own, unless '
    'hipq.allow_foreign_handlers is on';

CREATE FUNCTION hipq.dry_fail(
    id bigint, error text DEFAULT 'failed', retriable boolean DEFAULT true,
    retry_after hipq.duration DEFAULT NULL, queue text DEFAULT NULL
) RETURNS interval LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_dry_fail';
COMMENT ON FUNCTION hipq.dry_fail(bigint, text, boolean, hipq.duration, text)
    IS 'says how long a waiting or final job would wait for its retry if an attempt failed, NULL = '
    'it would not be retried, and changes nothing. It asks the retry handler in the caller''s '
    'session. id: the job; error, retriable, retry_after: as for fail; queue: where to look for it';
