-- Views to look through. Each reads the tables with the extension owner's rights and shows only the queues that the caller may read; those without job
-- data (instances, queues, job_types, pauses, running, executors, workers, lanes, sizes, throttle_keys, progress, worker_health, dead_letter_rates, dead_letter_stats,
-- dead_letter_reasons) show everything to members of pg_monitor too.
--
-- What a caller asks for must not meet rows that he may not see: comparisons that PostgreSQL calls leakproof go below the barrier of a view, and EXPLAIN
-- counts what they find there. So jobs are read with "queue_id = ANY (hipq._reachable_queues(...))", a constant for the planner, which leaves the tables of
-- other queues out, and those that somebody has locked; attempts and dead letters with such a constant in the condition of every scan, which is asked first,
-- and with indexes that all begin with queue_id; small tables behind OFFSET 0, which no condition of the caller's passes.
--
-- Functions in a view run with the caller's rights: whoever reads a view also needs EXECUTE on them. hipq.grant_queue() gives it.

CREATE VIEW hipq._readable_queue WITH (security_barrier) AS
SELECT queue.queue_id,
       instance.name || '.' || queue.name AS name,
       queue.instance_id,
       instance.name AS instance,
       queue.is_dropped
FROM hipq.queue
JOIN hipq.instance ON instance.instance_id = queue.instance_id
WHERE queue.queue_id = ANY (hipq._readable_queues()) AND hipq._may(queue.queue_id, 'read')
OFFSET 0;
COMMENT ON VIEW hipq._readable_queue IS 'queues that the caller may read, for views with job data';
COMMENT ON COLUMN hipq._readable_queue.queue_id IS 'number of the queue';
COMMENT ON COLUMN hipq._readable_queue.name IS 'name: instance.queue';
COMMENT ON COLUMN hipq._readable_queue.instance_id IS 'number of its instance';
COMMENT ON COLUMN hipq._readable_queue.instance IS 'name of its instance';
COMMENT ON COLUMN hipq._readable_queue.is_dropped IS 'the queue is being dropped';

CREATE VIEW hipq._visible_queue WITH (security_barrier) AS
SELECT queue.queue_id,
       instance.name || '.' || queue.name AS name,
       queue.instance_id,
       instance.name AS instance,
       queue.is_dropped
FROM hipq.queue
JOIN hipq.instance ON instance.instance_id = queue.instance_id
WHERE queue.queue_id = ANY (hipq._visible_queues()) AND (pg_has_role('pg_monitor', 'USAGE') OR hipq._may(queue.queue_id, 'read'))
OFFSET 0;
COMMENT ON VIEW hipq._visible_queue IS 'the same for views without job data: all queues for members of pg_monitor';
COMMENT ON COLUMN hipq._visible_queue.queue_id IS 'number of the queue';
COMMENT ON COLUMN hipq._visible_queue.name IS 'name: instance.queue';
COMMENT ON COLUMN hipq._visible_queue.instance_id IS 'number of its instance';
COMMENT ON COLUMN hipq._visible_queue.instance IS 'name of its instance';
COMMENT ON COLUMN hipq._visible_queue.is_dropped IS 'the queue is being dropped';

CREATE VIEW hipq.instances WITH (security_barrier) AS
WITH visible_queue AS MATERIALIZED (
    SELECT queue.name, queue.instance_id, queue.is_dropped, hipq._may(queue.queue_id, 'read') AS is_readable FROM hipq._visible_queue AS queue
)
SELECT instance.name,
       instance.shard_key,
       instance.table_naming_strategy,
       CASE WHEN visible.readable > 0 OR current_setting('is_superuser') = 'on' THEN instance.db_config END AS db_config,
       visible.queues,
       instance.created_time,
       instance.is_strict
FROM hipq.instance
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE queue.is_readable) AS readable,
           coalesce(array_agg(queue.name ORDER BY queue.name) FILTER (WHERE NOT queue.is_dropped), '{}') AS queues
    FROM visible_queue AS queue
    WHERE queue.instance_id = instance.instance_id
) AS visible
WHERE visible.readable > 0 OR pg_has_role('pg_monitor', 'USAGE')
OFFSET 0;
COMMENT ON VIEW hipq.instances IS 'instances that have a queue the caller may read';
COMMENT ON COLUMN hipq.instances.name IS 'name of the instance';
COMMENT ON COLUMN hipq.instances.shard_key IS 'what jobs are spread by when the instance is sharded; NONE = not sharded';
COMMENT ON COLUMN hipq.instances.table_naming_strategy IS 'SQL expression that gives the name of a queue''s table; NONE = <instance>_<queue>';
COMMENT ON COLUMN hipq.instances.db_config IS 'shards and connection data; NULL for those who may read no queue of the instance';
COMMENT ON COLUMN hipq.instances.queues IS 'its queues that the caller may look at, by name: instance.queue';
COMMENT ON COLUMN hipq.instances.created_time IS 'when the instance was created';
COMMENT ON COLUMN hipq.instances.is_strict IS 'its queues refuse jobs of unregistered types, unless they say otherwise';

-- Counts live leaves only: they are small, whatever the number of final jobs. What waiting jobs wait for is asked once for each kind: those of
-- one type, with the same time windows, throttle key and weight. It takes a second and dearer reading, left out where none of these columns is asked for.
CREATE VIEW hipq.queues WITH (security_barrier) AS
SELECT queue.full_name AS queue,
       queue.instance,
       queue.owner,
       'hipq.' || quote_ident(queue.table_name) AS table_name,
       queue.throttle_limit,
       coalesce((SELECT round(limiter.used / 1000.0, 3) FROM hipq._limiters() AS limiter WHERE limiter.queue_id = queue.queue_id AND limiter.job_type IS NULL), 0.000) AS throttle_used,
       live.running + (SELECT count(*) FROM hipq._running_jobs() AS locked WHERE locked.queue_id = queue.queue_id AND locked.is_locked) AS running_jobs,
       live.initial,
       live.running,
       live.error,
       live.retry,
       waiting.waiting_time,
       waiting.waiting_window,
       waiting.waiting_hold,
       waiting.waiting_pause,
       waiting.waiting_handler,
       waiting.waiting_throttle,
       waiting.ready,
       live.oldest_due_time,
       coalesce(queue.retention, current_setting('hipq.retention', true)::interval) AS retention,
       queue.history,
       queue.durability,
       queue.weight,
       coalesce(queue.is_strict, (SELECT instance.is_strict FROM hipq.instance WHERE instance.instance_id = queue.instance_id)) AS is_strict,
       coalesce(queue.queue_ttl, extract(epoch FROM current_setting('hipq.queue_ttl', true)::interval)::integer) AS queue_ttl,
       coalesce(queue.dead_letter_enabled, current_setting('hipq.dead_letter_enabled', true)::boolean) AS dead_letter_enabled,
       coalesce(queue.dead_letter_retention, current_setting('hipq.dead_letter_retention', true)::interval) AS dead_letter_retention,
       coalesce(queue.dead_letter_max, current_setting('hipq.dead_letter_max', true)::integer) AS dead_letter_max,
       queue.dead_letter_handler,
       coalesce(queue.max_timeout, extract(epoch FROM current_setting('hipq.max_timeout', true)::interval)::integer) AS max_timeout,
       queue.highest_priority,
       queue.allow_free_jobs,
       coalesce(queue.retry_enabled, current_setting('hipq.retry_enabled', true)::boolean) AS retry_enabled,
       EXISTS (
           SELECT FROM hipq.pause
           WHERE pause.instance_id = queue.instance_id OR pause.queue_id = queue.queue_id AND pause.job_type IS NULL
       ) AS is_paused,
       queue.is_dropped,
       queue.created_time
FROM (
    SELECT queue.*, seen.name AS full_name, seen.instance
    FROM hipq.queue
    JOIN hipq._visible_queue AS seen ON seen.queue_id = queue.queue_id
    WHERE queue.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()))
    OFFSET 0
) AS queue
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE job.state = 'initial') AS initial,
           count(*) FILTER (WHERE job.state = 'running') AS running,
           count(*) FILTER (WHERE job.state = 'error') AS error,
           count(*) FILTER (WHERE job.state = 'retry') AS retry,
           min(job.scheduled_run_time) FILTER (WHERE job.state IN ('initial', 'retry') AND job.scheduled_run_time <= hipq.now()) AS oldest_due_time
    FROM hipq.job
    WHERE job.queue_id = queue.queue_id AND job.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues())) AND job.state <> 'final'
) AS live
LEFT JOIN LATERAL (
    SELECT coalesce(sum(kind.jobs) FILTER (WHERE NOT kind.is_due), 0)::bigint AS waiting_time,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'window'), 0)::bigint AS waiting_window,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'hold'), 0)::bigint AS waiting_hold,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'pause'), 0)::bigint AS waiting_pause,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'handler'), 0)::bigint AS waiting_handler,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'throttle'), 0)::bigint AS waiting_throttle,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'none'), 0)::bigint AS ready
    FROM (
        SELECT job.scheduled_run_time <= present.time AS is_due,
               job.job_type,
               job.time_windows,
               job.throttle_key,
               job.throttle_factor,
               count(*) AS jobs
        FROM hipq.job
        CROSS JOIN (SELECT hipq.now() AS time) AS present
        WHERE job.queue_id = queue.queue_id AND job.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()))
          AND job.state IN ('initial', 'retry')
          AND job.id NOT IN (SELECT locked.job_id FROM hipq._running_jobs() AS locked WHERE locked.is_locked)
        GROUP BY 1, 2, 3, 4, 5
    ) AS kind
    CROSS JOIN LATERAL (
        SELECT CASE WHEN kind.is_due
            THEN hipq._first_unmet_condition(queue.queue_id, kind.job_type, kind.time_windows::text, kind.throttle_key, kind.throttle_factor) END AS first_unmet
    ) AS condition
) AS waiting ON true;
COMMENT ON VIEW hipq.queues IS 'queues with the number of their unfinished jobs. It reads them all, however many: of a million in half a second, or in some seconds with what they wait for (waiting_time to ready)';
COMMENT ON COLUMN hipq.queues.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.queues.instance IS 'name of its instance';
COMMENT ON COLUMN hipq.queues.owner IS 'queue owner: the role that SQL handlers run as';
COMMENT ON COLUMN hipq.queues.table_name IS 'the queue''s table: enqueue by INSERT into it';
COMMENT ON COLUMN hipq.queues.throttle_limit IS 'limit on the sum of throttle_factor over running jobs; below 1 = no limit';
COMMENT ON COLUMN hipq.queues.throttle_used IS 'sum of throttle_factor over running jobs';
COMMENT ON COLUMN hipq.queues.running_jobs IS 'jobs that run now';
COMMENT ON COLUMN hipq.queues.initial IS 'jobs not tried yet';
COMMENT ON COLUMN hipq.queues.running IS 'jobs in state running: those claimed by a lock are not among them';
COMMENT ON COLUMN hipq.queues.error IS 'jobs that failed and await the retry decision';
COMMENT ON COLUMN hipq.queues.retry IS 'jobs that wait for their next attempt';
COMMENT ON COLUMN hipq.queues.waiting_time IS 'jobs whose time has not come. Each waiting job counts in one of these seven columns: by the first condition that is not met';
COMMENT ON COLUMN hipq.queues.waiting_window IS 'jobs whose time has come, outside their time windows';
COMMENT ON COLUMN hipq.queues.waiting_hold IS 'due jobs of which none may run: hipq is off, the database is held, the queue owner may not connect; hipq.why() says which';
COMMENT ON COLUMN hipq.queues.waiting_pause IS 'due jobs that are paused: instance, queue, job type or throttle key';
COMMENT ON COLUMN hipq.queues.waiting_handler IS 'due jobs whose handler is missing';
COMMENT ON COLUMN hipq.queues.waiting_throttle IS 'due jobs that a throttle limit keeps back: of queue, job type or throttle key';
COMMENT ON COLUMN hipq.queues.ready IS 'due jobs that wait for their turn and an executor only';
COMMENT ON COLUMN hipq.queues.oldest_due_time IS 'scheduled_run_time of the job that has been due longest; NULL = none is due';
COMMENT ON COLUMN hipq.queues.retention IS 'how long final jobs are kept; 0 = jobs that succeed leave no row';
COMMENT ON COLUMN hipq.queues.history IS 'which attempts hipq.attempt records: failed or all';
COMMENT ON COLUMN hipq.queues.weight IS 'share of the executors'' time when other queues have due jobs too: twice the weight, twice the time';
COMMENT ON COLUMN hipq.queues.durability IS 'when the end of a job is safe from a crash: strict = when it commits; group = at most 10 ms later';
COMMENT ON COLUMN hipq.queues.is_strict IS 'refuses jobs of unregistered types; of its own or as its instance says';
COMMENT ON COLUMN hipq.queues.queue_ttl IS 'seconds within which an external worker has to accept a job that it was given, where its type does not say';
COMMENT ON COLUMN hipq.queues.dead_letter_enabled IS 'whether failed jobs leave a dead letter';
COMMENT ON COLUMN hipq.queues.dead_letter_retention IS 'how long dead letters are kept';
COMMENT ON COLUMN hipq.queues.dead_letter_max IS 'how many dead letters are kept, the newest';
COMMENT ON COLUMN hipq.queues.dead_letter_handler IS 'function that is called for each dead letter; NONE = none';
COMMENT ON COLUMN hipq.queues.max_timeout IS 'longest timeout that its jobs may have, in seconds';
COMMENT ON COLUMN hipq.queues.highest_priority IS 'most urgent priority, the lowest number, that those who enqueue may give; NULL = any';
COMMENT ON COLUMN hipq.queues.allow_free_jobs IS 'whether those who enqueue may give throttle_factor 0';
COMMENT ON COLUMN hipq.queues.retry_enabled IS 'whether failed jobs are retried, unless their type says otherwise';
COMMENT ON COLUMN hipq.queues.is_paused IS 'starts no jobs, because it or its instance is paused; hipq.pauses says by whom';
COMMENT ON COLUMN hipq.queues.is_dropped IS 'the queue is being dropped';
COMMENT ON COLUMN hipq.queues.created_time IS 'when the queue was created';

CREATE VIEW hipq.job_types WITH (security_barrier) AS
SELECT seen.name AS queue,
       job_type.name AS job_type,
       job_type.handler,
       job_type.handler_kind,
       job_type.retry_handler,
       least(coalesce(job_type.default_timeout, extract(epoch FROM current_setting('hipq.default_timeout', true)::interval)::integer),
             coalesce(queue.max_timeout, extract(epoch FROM current_setting('hipq.max_timeout', true)::interval)::integer)) AS default_timeout,
       job_type.default_priority,
       job_type.default_throttle_factor,
       job_type.default_time_windows,
       job_type.time_zone,
       coalesce(job_type.max_retries, current_setting('hipq.max_retries', true)::integer) AS max_retries,
       coalesce(job_type.retry_base, current_setting('hipq.retry_base', true)::interval) AS retry_base,
       coalesce(job_type.retry_multiplier, current_setting('hipq.retry_multiplier', true)::double precision) AS retry_multiplier,
       coalesce(job_type.retry_max, current_setting('hipq.retry_max', true)::interval) AS retry_max,
       coalesce(job_type.retry_jitter, current_setting('hipq.retry_jitter', true)::double precision) AS retry_jitter,
       job_type.retry_on,
       job_type.do_not_retry_on,
       job_type.on_missing_handler,
       coalesce(job_type.queue_ttl, queue.queue_ttl, extract(epoch FROM current_setting('hipq.queue_ttl', true)::interval)::integer) AS queue_ttl,
       job_type.claim,
       job_type.batch_size,
       job_type.throttle_limit,
       coalesce((SELECT round(limiter.used / 1000.0, 3) FROM hipq._limiters() AS limiter WHERE limiter.queue_id = queue.queue_id AND limiter.job_type = job_type.name), 0.000) AS throttle_used,
       job_type.throttle_limit_per_key,
       job_type.requires,
       job_type.worker_wait_ttl,
       coalesce(job_type.retry_enabled, queue.retry_enabled, current_setting('hipq.retry_enabled', true)::boolean) AS retry_enabled,
       job_type.parameters,
       job_type.validate,
       coalesce(service.workers, 0) AS workers,
       EXISTS (
           SELECT FROM hipq.pause
           WHERE pause.instance_id = queue.instance_id
              OR pause.queue_id = queue.queue_id AND (pause.job_type IS NULL OR pause.job_type = job_type.name AND pause.throttle_key IS NULL)
       ) AS is_paused,
       job_type.is_registered,
       cardinality(job_type.crash_times) AS crashes,
       job_type.created_time
FROM hipq.job_type
JOIN hipq._visible_queue AS seen ON seen.queue_id = job_type.queue_id
JOIN hipq.queue ON queue.queue_id = seen.queue_id
LEFT JOIN hipq._worker_services() AS service ON service.queue_id = queue.queue_id AND service.job_type = job_type.name
WHERE NOT queue.is_dropped
OFFSET 0;
COMMENT ON VIEW hipq.job_types IS 'job types with the values in force: where the type says nothing, the setting''s';
COMMENT ON COLUMN hipq.job_types.queue IS 'queue of the job type';
COMMENT ON COLUMN hipq.job_types.job_type IS 'name of the job type';
COMMENT ON COLUMN hipq.job_types.handler IS 'what runs: schema.function(argument types), or one SQL statement; NONE = nothing yet, jobs wait';
COMMENT ON COLUMN hipq.job_types.handler_kind IS 'none, function, procedure, statement, or notify (external workers)';
COMMENT ON COLUMN hipq.job_types.retry_handler IS 'function or SQL statement that decides about retries; NONE = the retry policy decides';
COMMENT ON COLUMN hipq.job_types.default_timeout IS 'timeout of jobs that give none, in seconds';
COMMENT ON COLUMN hipq.job_types.default_priority IS 'priority of jobs that give none; lower runs first';
COMMENT ON COLUMN hipq.job_types.default_throttle_factor IS 'throttle_factor of jobs that give none';
COMMENT ON COLUMN hipq.job_types.default_time_windows IS 'time windows of jobs that give none';
COMMENT ON COLUMN hipq.job_types.time_zone IS 'zone, by name, in which time windows are read';
COMMENT ON COLUMN hipq.job_types.max_retries IS 'max_retries of jobs that give none';
COMMENT ON COLUMN hipq.job_types.retry_base IS 'delay before the first retry';
COMMENT ON COLUMN hipq.job_types.retry_multiplier IS 'factor from one retry''s delay to the next';
COMMENT ON COLUMN hipq.job_types.retry_max IS 'cap on the delay';
COMMENT ON COLUMN hipq.job_types.retry_jitter IS 'random spread of the delay as a fraction';
COMMENT ON COLUMN hipq.job_types.retry_on IS 'reasons, SQLSTATEs or SQLSTATE classes that are retried although they would not be';
COMMENT ON COLUMN hipq.job_types.do_not_retry_on IS 'reasons, SQLSTATEs or SQLSTATE classes that are never retried';
COMMENT ON COLUMN hipq.job_types.on_missing_handler IS 'what happens to a job whose handler does not exist: wait or fail';
COMMENT ON COLUMN hipq.job_types.queue_ttl IS 'seconds within which an external worker has to accept a job that it was given';
COMMENT ON COLUMN hipq.job_types.claim IS 'how jobs are taken: lock, record or auto';
COMMENT ON COLUMN hipq.job_types.batch_size IS 'most jobs in one call of the handler';
COMMENT ON COLUMN hipq.job_types.throttle_limit IS 'limit on the sum of throttle_factor over running jobs of the type; below 1 = no limit';
COMMENT ON COLUMN hipq.job_types.throttle_used IS 'sum of throttle_factor over its running jobs';
COMMENT ON COLUMN hipq.job_types.throttle_limit_per_key IS 'limit on that sum for the jobs of one throttle_key; below 1 = no limit';
COMMENT ON COLUMN hipq.job_types.requires IS 'what the capabilities of an external worker must contain to be given its jobs';
COMMENT ON COLUMN hipq.job_types.worker_wait_ttl IS 'seconds a due job waits while no external worker can be given it, before it fails with worker_unavailable; NULL = for ever';
COMMENT ON COLUMN hipq.job_types.workers IS 'external workers that serve it: they name it, may work on its queue and have what it requires; however they do';
COMMENT ON COLUMN hipq.job_types.is_paused IS 'starts no jobs, because it, its queue or its instance is paused; hipq.pauses says by whom';
COMMENT ON COLUMN hipq.job_types.retry_enabled IS 'whether failed jobs are retried';
COMMENT ON COLUMN hipq.job_types.parameters IS 'what job_data has to have: for each parameter its type, required, default, secret; {} = anything';
COMMENT ON COLUMN hipq.job_types.validate IS 'when that is checked: enqueue = what does not fit is refused; run = its attempt fails with invalid_parameters';
COMMENT ON COLUMN hipq.job_types.is_registered IS 'somebody has registered or altered it; false: a job was enqueued with it, and it goes when none is left';
COMMENT ON COLUMN hipq.job_types.crashes IS 'how often its jobs took the server down, lately: in the 10 minutes up to the last time. With hipq.max_type_crashes of them it is held, as hipq.pauses says; a new handler begins with none';
COMMENT ON COLUMN hipq.job_types.created_time IS 'when the job type was registered';

CREATE VIEW hipq.pauses WITH (security_barrier) AS
WITH readable_queue AS MATERIALIZED (SELECT queue.queue_id, queue.instance_id FROM hipq._readable_queue AS queue)
SELECT instance.name AS instance,
       instance.name || '.' || queue.name AS queue,
       pause.job_type,
       pause.throttle_key,
       pause.paused_by,
       pause.paused_time,
       pause.reason,
       pause.crashes
FROM hipq.pause
LEFT JOIN hipq.queue ON queue.queue_id = pause.queue_id
JOIN hipq.instance ON instance.instance_id = coalesce(pause.instance_id, queue.instance_id)
WHERE pg_has_role('pg_monitor', 'USAGE')
   OR EXISTS (
       SELECT FROM readable_queue AS concerned
       WHERE concerned.queue_id = pause.queue_id OR concerned.instance_id = pause.instance_id
   )
OFFSET 0;
COMMENT ON VIEW hipq.pauses IS 'what is paused, by whom and since when; hipq.resume() with the same names ends it';
COMMENT ON COLUMN hipq.pauses.instance IS 'instance that is paused, or in which the queue is';
COMMENT ON COLUMN hipq.pauses.queue IS 'queue that is paused, or in which the job type is; NULL = the whole instance is paused';
COMMENT ON COLUMN hipq.pauses.job_type IS 'job type that is paused, or of which the throttle key is; NULL = all of the queue or instance is paused';
COMMENT ON COLUMN hipq.pauses.throttle_key IS 'throttle key that is paused; NULL = not a throttle key alone';
COMMENT ON COLUMN hipq.pauses.paused_by IS 'role that paused it';
COMMENT ON COLUMN hipq.pauses.paused_time IS 'since when it is paused';
COMMENT ON COLUMN hipq.pauses.reason IS 'why, as given; NONE = nothing was given';
COMMENT ON COLUMN hipq.pauses.crashes IS 'crashes of the server within 10 minutes for which hipq itself holds the job type; NULL = somebody paused it';

CREATE VIEW hipq.jobs WITH (security_barrier) AS
SELECT job.id,
       queue.name AS queue,
       job.job_type,
       job.job_key,
       job.state,
       CASE
           WHEN job.state = 'running' THEN 'running'
           WHEN job.state IN ('initial', 'retry') AND hipq._is_running(job.queue_id, job.id) THEN 'running'
           WHEN job.state <> 'final' THEN 'waiting'
           WHEN job.error = 'NONE' THEN 'succeeded'
           WHEN job.retry_reason = 'cancelled' THEN 'cancelled'
           WHEN job.retry_reason = 'expired' THEN 'expired'
           ELSE 'failed'
       END AS outcome,
       job.error,
       job.attempt,
       job.retry_count,
       job.max_retries,
       job.retry_reason,
       job.manual_reason,
       job.scheduled_run_time,
       job.priority,
       job.timeout,
       job.created_time,
       job.accepted_time,
       job.update_time,
       job.deadline,
       job.expires_time,
       hipq._masked(job.queue_id, job.job_type, job.job_data) AS job_data,
       job.result,
       job.original_job_id,
       job.retry_of,
       job.throttle_factor,
       job.throttle_key,
       job.time_windows,
       job.shard_key,
       nullif(job.worker_id, -1) AS worker_id,
       job.queue_ttl
FROM hipq.job
JOIN hipq._readable_queue AS queue ON queue.queue_id = job.queue_id
WHERE job.queue_id = ANY (hipq._reachable_queues(hipq._readable_queues()));
COMMENT ON VIEW hipq.jobs IS 'jobs of every queue the caller may read, with their outcome';
COMMENT ON COLUMN hipq.jobs.id IS 'id of the job';
COMMENT ON COLUMN hipq.jobs.queue IS 'queue of the job';
COMMENT ON COLUMN hipq.jobs.job_type IS 'job type: decides the handler';
COMMENT ON COLUMN hipq.jobs.job_key IS 'job key; NONE = none';
COMMENT ON COLUMN hipq.jobs.state IS 'initial, running, error, retry or final; a job that was claimed by a lock still has the state it waited in';
COMMENT ON COLUMN hipq.jobs.outcome IS 'waiting, running, succeeded, failed, cancelled or expired';
COMMENT ON COLUMN hipq.jobs.error IS 'error of the last failed attempt; NONE = none';
COMMENT ON COLUMN hipq.jobs.attempt IS 'attempts started so far';
COMMENT ON COLUMN hipq.jobs.retry_count IS 'retries charged so far';
COMMENT ON COLUMN hipq.jobs.max_retries IS 'retries after a retriable failure';
COMMENT ON COLUMN hipq.jobs.retry_reason IS 'why the last attempt did not succeed; before the first of a job that was enqueued again: manual_retry or redriven; NONE = neither';
COMMENT ON COLUMN hipq.jobs.manual_reason IS 'why somebody enqueued the job again, in the words given to hipq.retry(), or manual_retry; redriven: a dead letter was; NULL = nobody did';
COMMENT ON COLUMN hipq.jobs.scheduled_run_time IS 'not started before';
COMMENT ON COLUMN hipq.jobs.priority IS 'lower runs first';
COMMENT ON COLUMN hipq.jobs.timeout IS 'seconds an attempt may run';
COMMENT ON COLUMN hipq.jobs.created_time IS 'when the job was enqueued';
COMMENT ON COLUMN hipq.jobs.accepted_time IS 'when the present or last attempt started; infinity = none yet';
COMMENT ON COLUMN hipq.jobs.update_time IS 'when the row last changed, but for one that has not been tried yet; for a final job, when it ended';
COMMENT ON COLUMN hipq.jobs.deadline IS 'when the running attempt times out; infinity when not running';
COMMENT ON COLUMN hipq.jobs.expires_time IS 'not started by then: final with reason expired';
COMMENT ON COLUMN hipq.jobs.job_data IS 'data for the handler; secret parameters are ***';
COMMENT ON COLUMN hipq.jobs.result IS 'what the handler returned';
COMMENT ON COLUMN hipq.jobs.original_job_id IS 'first job of the chain of retries this one belongs to';
COMMENT ON COLUMN hipq.jobs.retry_of IS 'the final job that this one was made from by hipq.retry()';
COMMENT ON COLUMN hipq.jobs.throttle_factor IS 'weight under the queue''s throttle_limit';
COMMENT ON COLUMN hipq.jobs.throttle_key IS 'jobs with the same key share a limit; NONE = no key';
COMMENT ON COLUMN hipq.jobs.time_windows IS 'when the job may start; NONE = always';
COMMENT ON COLUMN hipq.jobs.shard_key IS 'what a sharded instance places the job by';
COMMENT ON COLUMN hipq.jobs.worker_id IS 'external worker that has the job';
COMMENT ON COLUMN hipq.jobs.queue_ttl IS 'seconds a dispatched job may wait for its worker';

-- Both what the tables call running and what the executors say they run: a job is in the one and not in the other while it is being started or finished.
-- Of what external workers have the tables tell everything.
CREATE VIEW hipq.running WITH (security_barrier) AS
SELECT queue.name AS queue,
       busy.id,
       busy.job_type,
       CASE WHEN hipq._may(busy.queue_id, 'read') THEN busy.job_key END AS job_key,
       busy.attempt,
       busy.pid,
       busy.worker_id,
       worker.name AS worker,
       busy.is_accepted,
       busy.since,
       busy.timeout,
       busy.deadline,
       activity.wait_event_type,
       activity.wait_event,
       pg_blocking_pids(busy.pid) AS blocked_by
FROM (
    SELECT coalesce(job.queue_id, executor.queue_id) AS queue_id,
           coalesce(job.id, executor.job_id) AS id,
           coalesce(job.job_type, executor.job_type) AS job_type,
           coalesce(job.job_key, waiting.job_key) AS job_key,
           coalesce(executor.attempt, job.attempt) AS attempt,
           executor.pid,
           CASE WHEN executor.pid IS NULL THEN job.worker_id END AS worker_id,
           CASE WHEN executor.pid IS NULL AND job.worker_id > 0 THEN coalesce(executor.is_accepted, job.accepted_time < 'infinity') END AS is_accepted,
           coalesce(executor.started_time, nullif(job.accepted_time, 'infinity'), job.update_time) AS since,
           coalesce(job.timeout, waiting.timeout) AS timeout,
           coalesce(executor.deadline, job.deadline) AS deadline
    FROM (SELECT * FROM hipq.job WHERE job.state = 'running' AND job.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()))) AS job
    FULL JOIN hipq._running_jobs() AS executor ON executor.job_id = job.id
    LEFT JOIN LATERAL (
        SELECT other.job_key, other.timeout
        FROM hipq.job AS other
        WHERE job.id IS NULL AND other.queue_id = executor.queue_id AND other.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()))
          AND other.id = executor.job_id AND other.state <> 'final'
    ) AS waiting ON true
    WHERE job.id IS NOT NULL OR executor.pid IS NOT NULL
) AS busy
JOIN hipq._visible_queue AS queue ON queue.queue_id = busy.queue_id
LEFT JOIN (SELECT worker.worker_id, worker.name FROM hipq.worker OFFSET 0) AS worker ON worker.worker_id = busy.worker_id
LEFT JOIN pg_stat_activity AS activity ON activity.pid = busy.pid;
COMMENT ON VIEW hipq.running IS 'jobs that run at this moment, and what they wait for';
COMMENT ON COLUMN hipq.running.queue IS 'queue of the job';
COMMENT ON COLUMN hipq.running.id IS 'id of the job';
COMMENT ON COLUMN hipq.running.job_type IS 'job type';
COMMENT ON COLUMN hipq.running.job_key IS 'job key; NONE = none; NULL = the job ended while the view was read, or the caller may not read the queue';
COMMENT ON COLUMN hipq.running.attempt IS 'number of the attempt';
COMMENT ON COLUMN hipq.running.pid IS 'executor that runs it; NULL = an external worker has it, or nobody yet';
COMMENT ON COLUMN hipq.running.worker_id IS 'external worker that has it; 0 = its handler has returned and left it to be completed later';
COMMENT ON COLUMN hipq.running.worker IS 'name of that worker';
COMMENT ON COLUMN hipq.running.is_accepted IS 'whether that worker has accepted it; NULL = no worker has it';
COMMENT ON COLUMN hipq.running.since IS 'when the attempt started; while its worker has not accepted it, when it was given to that';
COMMENT ON COLUMN hipq.running.timeout IS 'seconds the attempt may run';
COMMENT ON COLUMN hipq.running.deadline IS 'when it times out, with what hipq.extend() gave it; while its worker has not accepted it, until when it may';
COMMENT ON COLUMN hipq.running.wait_event_type IS 'kind of event the executor waits for; NULL = none, or not shown to the caller';
COMMENT ON COLUMN hipq.running.wait_event IS 'event the executor waits for';
COMMENT ON COLUMN hipq.running.blocked_by IS 'processes that hold the lock the executor waits for';

CREATE VIEW hipq.progress WITH (security_barrier) AS
SELECT queue.name AS queue,
       reported.job_id AS id,
       job.job_type,
       reported.attempt,
       reported.done,
       reported.total,
       CASE WHEN reported.total = 0 THEN 100.0 ELSE round(100.0 * reported.done / reported.total, 1) END AS percent,
       reported.message,
       reported.reported_time,
       reported.pid,
       reported.worker_id
FROM hipq._progress() AS reported
JOIN hipq.job ON job.queue_id = reported.queue_id AND job.id = reported.job_id AND job.state <> 'final'
JOIN hipq._visible_queue AS queue ON queue.queue_id = job.queue_id
WHERE job.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()));
COMMENT ON VIEW hipq.progress IS 'how far jobs that run have come, as they have said by hipq.report_progress(), committed or not';
COMMENT ON COLUMN hipq.progress.queue IS 'queue of the job';
COMMENT ON COLUMN hipq.progress.id IS 'id of the job';
COMMENT ON COLUMN hipq.progress.job_type IS 'job type';
COMMENT ON COLUMN hipq.progress.attempt IS 'number of the attempt';
COMMENT ON COLUMN hipq.progress.done IS 'what is done, in units of the job''s own';
COMMENT ON COLUMN hipq.progress.total IS 'what is to be done; NULL = not known';
COMMENT ON COLUMN hipq.progress.percent IS 'what part of it is done; NULL = not known';
COMMENT ON COLUMN hipq.progress.message IS 'what it does just now, in its own words; NULL to who may not read the queue';
COMMENT ON COLUMN hipq.progress.reported_time IS 'when it said so';
COMMENT ON COLUMN hipq.progress.pid IS 'executor that runs it';
COMMENT ON COLUMN hipq.progress.worker_id IS 'external worker that has it; 0 = its handler has returned and left it to be completed later';

CREATE VIEW hipq.attempts WITH (security_barrier) AS
SELECT queue.name AS queue,
       attempt.job_id,
       attempt.attempt,
       attempt.job_type,
       attempt.job_key,
       attempt.reason,
       attempt.sqlstate,
       attempt.error,
       attempt.detail,
       attempt.hint,
       attempt.context,
       attempt.executor_pid,
       attempt.worker_id,
       attempt.started_time,
       attempt.ended_time,
       attempt.ended_time - attempt.started_time AS duration
FROM hipq.attempt
JOIN hipq._readable_queue AS queue ON queue.queue_id = attempt.queue_id
WHERE hipq._is_one_of(attempt.queue_id, hipq._readable_queues()) AND attempt.queue_id = ANY (hipq._readable_queues());
COMMENT ON VIEW hipq.attempts IS 'how attempts ended: those that failed, or all if the queue says history => ''all''';
COMMENT ON COLUMN hipq.attempts.queue IS 'queue of the job';
COMMENT ON COLUMN hipq.attempts.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.attempts.attempt IS 'number of the attempt, from 1; of a job that ended, or failed, before a start that of the last one; 0: it was never tried';
COMMENT ON COLUMN hipq.attempts.job_type IS 'job type';
COMMENT ON COLUMN hipq.attempts.job_key IS 'job key; NONE = none';
COMMENT ON COLUMN hipq.attempts.reason IS 'reason: timeout, transient_error, validation_error, ...; succeeded';
COMMENT ON COLUMN hipq.attempts.sqlstate IS 'SQLSTATE of the error, if the server raised it';
COMMENT ON COLUMN hipq.attempts.error IS 'message; NONE for a success';
COMMENT ON COLUMN hipq.attempts.detail IS 'detail of the error';
COMMENT ON COLUMN hipq.attempts.hint IS 'hint of the error';
COMMENT ON COLUMN hipq.attempts.context IS 'context of the error';
COMMENT ON COLUMN hipq.attempts.executor_pid IS 'process that ran it in the server';
COMMENT ON COLUMN hipq.attempts.worker_id IS 'external worker that ran it';
COMMENT ON COLUMN hipq.attempts.started_time IS 'when the attempt started';
COMMENT ON COLUMN hipq.attempts.ended_time IS 'when it ended';
COMMENT ON COLUMN hipq.attempts.duration IS 'how long it took';

CREATE VIEW hipq.dead_letters WITH (security_barrier) AS
SELECT queue.name AS queue,
       dead_letter.job_id,
       dead_letter.state,
       dead_letter.job_type,
       dead_letter.job_key,
       dead_letter.reason,
       dead_letter.sqlstate,
       dead_letter.error,
       dead_letter.died_time,
       dead_letter.handled_time,
       dead_letter.redriven_time,
       dead_letter.dismissed_time,
       (dead_letter.job ->> 'attempt')::integer AS attempts,
       dead_letter.redriven_as,
       dead_letter.handler_error,
       hipq._masked_job(dead_letter.queue_id, dead_letter.job_type, dead_letter.job) AS job,
       dead_letter.history,
       dead_letter.attempts_left_out,
       dead_letter.reduced_because
FROM hipq.dead_letter
JOIN hipq._readable_queue AS queue ON queue.queue_id = dead_letter.queue_id
WHERE hipq._is_one_of(dead_letter.queue_id, hipq._readable_queues()) AND dead_letter.queue_id = ANY (hipq._readable_queues());
COMMENT ON VIEW hipq.dead_letters IS 'jobs that failed for good, whole, with their attempts';
COMMENT ON COLUMN hipq.dead_letters.queue IS 'queue of the job';
COMMENT ON COLUMN hipq.dead_letters.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.dead_letters.state IS 'waiting, handled, redriven or dismissed';
COMMENT ON COLUMN hipq.dead_letters.job_type IS 'job type';
COMMENT ON COLUMN hipq.dead_letters.job_key IS 'job key; NONE = none';
COMMENT ON COLUMN hipq.dead_letters.reason IS 'reason of the last failure';
COMMENT ON COLUMN hipq.dead_letters.sqlstate IS 'SQLSTATE of the last failure';
COMMENT ON COLUMN hipq.dead_letters.error IS 'error of the last failure';
COMMENT ON COLUMN hipq.dead_letters.died_time IS 'when it failed for good';
COMMENT ON COLUMN hipq.dead_letters.handled_time IS 'when the handler of dead letters was done with it';
COMMENT ON COLUMN hipq.dead_letters.redriven_time IS 'when it was enqueued again';
COMMENT ON COLUMN hipq.dead_letters.dismissed_time IS 'when it was dismissed';
COMMENT ON COLUMN hipq.dead_letters.attempts IS 'how often the job was tried';
COMMENT ON COLUMN hipq.dead_letters.redriven_as IS 'id of the job that it was enqueued again as';
COMMENT ON COLUMN hipq.dead_letters.handler_error IS 'how the handler of dead letters failed; NULL = it did not';
COMMENT ON COLUMN hipq.dead_letters.job IS 'the whole row of the job; secret parameters are ***';
COMMENT ON COLUMN hipq.dead_letters.history IS 'its attempts, the first and the last ones of many: number, reason, sqlstate, error, external worker, times';
COMMENT ON COLUMN hipq.dead_letters.attempts_left_out IS 'how many attempts between the first and the last ones are not in history';
COMMENT ON COLUMN hipq.dead_letters.reduced_because IS 'why job has neither job_data nor result, and history is empty; NULL = the dead letter is whole';

-- What there is of dead letters, counted over those that are kept: dead_letter_retention and dead_letter_max bound it. The last hour is found by
-- an index; the other two read every dead letter of the queues that they show.
CREATE VIEW hipq.dead_letter_rates WITH (security_barrier) AS
SELECT queue.name AS queue,
       date_trunc('minute', dead_letter.died_time) AS minute,
       count(*) AS dead_letters
FROM hipq.dead_letter
JOIN hipq._visible_queue AS queue ON queue.queue_id = dead_letter.queue_id
WHERE hipq._is_one_of(dead_letter.queue_id, hipq._visible_queues()) AND dead_letter.queue_id = ANY (hipq._visible_queues())
  AND dead_letter.died_time > hipq.now() - interval '1 hour'
GROUP BY 1, 2;
COMMENT ON VIEW hipq.dead_letter_rates IS 'how many jobs failed for good in each minute of the last hour that had any';
COMMENT ON COLUMN hipq.dead_letter_rates.queue IS 'queue of the jobs';
COMMENT ON COLUMN hipq.dead_letter_rates.minute IS 'start of the minute';
COMMENT ON COLUMN hipq.dead_letter_rates.dead_letters IS 'jobs that failed for good in it';

CREATE VIEW hipq.dead_letter_stats WITH (security_barrier) AS
SELECT queue.name AS queue,
       count(letter.job_id) AS kept,
       count(*) FILTER (WHERE letter.state = 'waiting') AS depth,
       min(letter.died_time) FILTER (WHERE letter.state = 'waiting') AS oldest_waiting_time,
       round(count(*) FILTER (WHERE letter.died_time > hipq.now() - interval '1 hour') / 60.0, 2) AS per_minute,
       count(*) FILTER (WHERE letter.reason = 'queue_timeout') AS failed_by_ttl,
       count(letter.handler_error) AS handler_failures,
       avg(letter.done_time - letter.died_time) AS avg_latency,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY letter.done_time - letter.died_time) AS p95_latency
FROM hipq._visible_queue AS queue
LEFT JOIN LATERAL (
    SELECT dead_letter.job_id, dead_letter.state, dead_letter.reason, dead_letter.died_time, dead_letter.handler_error,
           least(dead_letter.handled_time, dead_letter.redriven_time, dead_letter.dismissed_time) AS done_time
    FROM hipq.dead_letter
    WHERE dead_letter.queue_id = queue.queue_id
) AS letter ON true
WHERE NOT queue.is_dropped
GROUP BY queue.queue_id, queue.name;
COMMENT ON VIEW hipq.dead_letter_stats IS 'dead letters of each queue: how many, how fast they come, how fast something is done about them';
COMMENT ON COLUMN hipq.dead_letter_stats.queue IS 'name of the queue';
COMMENT ON COLUMN hipq.dead_letter_stats.kept IS 'dead letters in all';
COMMENT ON COLUMN hipq.dead_letter_stats.depth IS 'those that were neither handled, redriven nor dismissed';
COMMENT ON COLUMN hipq.dead_letter_stats.oldest_waiting_time IS 'when the oldest of these failed; NULL = there are none';
COMMENT ON COLUMN hipq.dead_letter_stats.per_minute IS 'dead letters a minute over the last hour';
COMMENT ON COLUMN hipq.dead_letter_stats.failed_by_ttl IS 'jobs whose worker did not take them in time';
COMMENT ON COLUMN hipq.dead_letter_stats.handler_failures IS 'dead letters whose handler failed';
COMMENT ON COLUMN hipq.dead_letter_stats.avg_latency IS 'mean time until one was handled, redriven or dismissed; NULL = none was';
COMMENT ON COLUMN hipq.dead_letter_stats.p95_latency IS 'the time that 95 % of these did not exceed';

CREATE VIEW hipq.dead_letter_reasons WITH (security_barrier) AS
SELECT queue.name AS queue,
       dead_letter.job_type,
       dead_letter.reason,
       count(*) AS dead_letters,
       count(*) FILTER (WHERE dead_letter.state = 'waiting') AS depth,
       max(dead_letter.died_time) AS last_died_time
FROM hipq.dead_letter
JOIN hipq._visible_queue AS queue ON queue.queue_id = dead_letter.queue_id
WHERE hipq._is_one_of(dead_letter.queue_id, hipq._visible_queues()) AND dead_letter.queue_id = ANY (hipq._visible_queues())
GROUP BY 1, 2, 3;
COMMENT ON VIEW hipq.dead_letter_reasons IS 'dead letters by job type and reason';
COMMENT ON COLUMN hipq.dead_letter_reasons.queue IS 'queue of the jobs';
COMMENT ON COLUMN hipq.dead_letter_reasons.job_type IS 'job type';
COMMENT ON COLUMN hipq.dead_letter_reasons.reason IS 'reason of the last failure';
COMMENT ON COLUMN hipq.dead_letter_reasons.dead_letters IS 'dead letters in all';
COMMENT ON COLUMN hipq.dead_letter_reasons.depth IS 'those that were neither handled, redriven nor dismissed';
COMMENT ON COLUMN hipq.dead_letter_reasons.last_died_time IS 'when the last of them failed';

-- Numbers of queues mean something in their own database only: another database's rows carry no queue and go to pg_monitor alone.
CREATE VIEW hipq.executors WITH (security_barrier) AS
SELECT executor.pid,
       executor.database_name AS database,
       pg_get_userbyid(executor.role) AS role,
       executor.status,
       executor.started_time,
       queue.name AS queue,
       executor.job_id,
       executor.attempt,
       executor.job_type,
       executor.job_started_time,
       executor.jobs_done
FROM (
    SELECT every_executor.*, pg_database.datname AS database_name, pg_database.datname = current_database() AS is_here
    FROM hipq._executors() AS every_executor
    LEFT JOIN pg_database ON pg_database.oid = every_executor.database
) AS executor
LEFT JOIN hipq._visible_queue AS queue ON executor.is_here AND queue.queue_id = executor.queue_id;
COMMENT ON VIEW hipq.executors IS 'executors: the processes of the server that run SQL handlers';
COMMENT ON COLUMN hipq.executors.pid IS 'process, as in pg_stat_activity';
COMMENT ON COLUMN hipq.executors.database IS 'database it is connected to; those of other databases are shown to pg_monitor only';
COMMENT ON COLUMN hipq.executors.role IS 'queue owner it is connected as';
COMMENT ON COLUMN hipq.executors.status IS 'requested, starting, idle, running, unresponsive (its job had to stop, and it does not even react to SIGTERM), or ended (its job is being rescued)';
COMMENT ON COLUMN hipq.executors.started_time IS 'when it was started';
COMMENT ON COLUMN hipq.executors.queue IS 'queue of the job it runs; NULL = none, or in another database';
COMMENT ON COLUMN hipq.executors.job_id IS 'job it runs';
COMMENT ON COLUMN hipq.executors.attempt IS 'attempt of the job it runs';
COMMENT ON COLUMN hipq.executors.job_type IS 'type of the job it runs';
COMMENT ON COLUMN hipq.executors.job_started_time IS 'when the job it runs started';
COMMENT ON COLUMN hipq.executors.jobs_done IS 'jobs it has run so far';

CREATE VIEW hipq.throttle_keys WITH (security_barrier) AS
SELECT queue.name AS queue,
       job.job_type,
       job.throttle_key,
       max(job_type.throttle_limit_per_key) AS throttle_limit_per_key,
       sum(job.throttle_factor) AS throttle_used,
       count(*) AS running_jobs
FROM hipq._running_jobs() AS executor
JOIN hipq.job ON job.queue_id = executor.queue_id AND job.id = executor.job_id AND job.state <> 'final'
JOIN hipq._visible_queue AS queue ON queue.queue_id = job.queue_id
LEFT JOIN (
    SELECT job_type.queue_id, job_type.name, job_type.throttle_limit_per_key FROM hipq.job_type WHERE job_type.queue_id = ANY (hipq._visible_queues()) OFFSET 0
) AS job_type ON job_type.queue_id = job.queue_id AND job_type.name = job.job_type
WHERE job.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues())) AND job.throttle_key <> 'NONE'
GROUP BY queue.name, job.job_type, job.throttle_key;
COMMENT ON VIEW hipq.throttle_keys IS 'throttle keys of jobs that run';
COMMENT ON COLUMN hipq.throttle_keys.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.throttle_keys.job_type IS 'job type: keys of different types are different keys';
COMMENT ON COLUMN hipq.throttle_keys.throttle_key IS 'throttle key of the jobs';
COMMENT ON COLUMN hipq.throttle_keys.throttle_limit_per_key IS 'limit on the sum of throttle_factor over running jobs of the key; below 1 = no limit';
COMMENT ON COLUMN hipq.throttle_keys.throttle_used IS 'sum of throttle_factor over its running jobs';
COMMENT ON COLUMN hipq.throttle_keys.running_jobs IS 'jobs of the key that run now';

CREATE VIEW hipq.schedules WITH (security_barrier) AS
SELECT schedule.name,
       schedule.cron,
       queue.name AS queue,
       schedule.job_type,
       schedule.job_key,
       hipq._masked(schedule.queue_id, schedule.job_type, schedule.job_data) AS job_data,
       schedule.role,
       entry.is_active,
       CASE WHEN entry.is_active THEN hipq._next_run(schedule.cron, schedule.last_run_time) END AS next_run_time,
       schedule.last_run_time,
       schedule.last_action,
       schedule.last_job_id,
       (SELECT jobs.outcome FROM hipq.jobs WHERE jobs.id = schedule.last_job_id) AS last_outcome,
       schedule.created_time
FROM hipq.schedule
JOIN hipq._readable_queue AS queue ON queue.queue_id = schedule.queue_id
CROSS JOIN LATERAL (SELECT hipq._has_cron_entry(schedule.schedule_id) AS is_active) AS entry
OFFSET 0;
COMMENT ON VIEW hipq.schedules IS 'jobs that pg_cron has enqueued again and again, with their last and next run';
COMMENT ON COLUMN hipq.schedules.name IS 'name of the schedule';
COMMENT ON COLUMN hipq.schedules.cron IS 'cron expression, as given';
COMMENT ON COLUMN hipq.schedules.queue IS 'queue of its jobs';
COMMENT ON COLUMN hipq.schedules.job_type IS 'job type of its jobs';
COMMENT ON COLUMN hipq.schedules.job_key IS 'job key of its jobs; NONE = none';
COMMENT ON COLUMN hipq.schedules.job_data IS 'job data of its jobs; secret parameters are ***';
COMMENT ON COLUMN hipq.schedules.role IS 'role that made it, and that enqueues';
COMMENT ON COLUMN hipq.schedules.is_active IS 'pg_cron has an active job for it; if not, as after a restore into another server, hipq.restore_schedules() mends it, unless somebody has made that job inactive';
COMMENT ON COLUMN hipq.schedules.next_run_time IS 'when it runs next, by pg_cron''s clocks (cron.timezone, GMT by default); NULL = it does not';
COMMENT ON COLUMN hipq.schedules.last_run_time IS 'when it ran last; NULL = not yet';
COMMENT ON COLUMN hipq.schedules.last_action IS 'what that run did: enqueued, or skipped because a job with the key had not finished';
COMMENT ON COLUMN hipq.schedules.last_job_id IS 'the job that it enqueued, or that had not finished';
COMMENT ON COLUMN hipq.schedules.last_outcome IS 'outcome of that job so far; NULL = the job has been removed';
COMMENT ON COLUMN hipq.schedules.created_time IS 'when the schedule was made';

CREATE VIEW hipq.lanes WITH (security_barrier) AS
SELECT queue.name AS queue,
       lane.job_type,
       lane.priority,
       lane.due_time,
       lane.frontier_time,
       lane.frontier_id,
       lane.pockets,
       lane.notes,
       lane.is_read
FROM hipq._lanes() AS lane
JOIN hipq._visible_queue AS queue ON queue.queue_id = lane.queue_id;
COMMENT ON VIEW hipq.lanes IS 'lanes: where executors look next for waiting jobs of a queue, job type and priority';
COMMENT ON COLUMN hipq.lanes.queue IS 'queue of the lane';
COMMENT ON COLUMN hipq.lanes.job_type IS 'job type of the lane';
COMMENT ON COLUMN hipq.lanes.priority IS 'priority of the lane; lower runs first';
COMMENT ON COLUMN hipq.lanes.due_time IS 'no job in it is due before; infinity = it is empty, -infinity = nothing is known yet';
COMMENT ON COLUMN hipq.lanes.frontier_time IS 'from this scheduled_run_time on it has not been read yet';
COMMENT ON COLUMN hipq.lanes.frontier_id IS 'and, of jobs with that scheduled_run_time, from this id on';
COMMENT ON COLUMN hipq.lanes.pockets IS 'places before the frontier where there may be jobs to run';
COMMENT ON COLUMN hipq.lanes.notes IS 'places that the next look takes in: jobs that came, or came back, since the last one';
COMMENT ON COLUMN hipq.lanes.is_read IS 'an executor is taking jobs from it at this moment';

-- A row per leaf. Rows are the statistics collector's estimate: nothing is scanned.
CREATE VIEW hipq.sizes WITH (security_barrier) AS
SELECT measured.queue,
       measured.table_name,
       measured.kind,
       measured.from_time,
       measured.to_time,
       measured.row_estimate,
       measured.bytes,
       CASE WHEN measured.kind = 'final' THEN round(measured.row_estimate / measured.days, 1) END AS rows_per_day,
       CASE WHEN measured.kind = 'final' THEN round(measured.bytes / measured.days) END AS bytes_per_day
FROM (
    SELECT leaf.queue,
           leaf.name AS table_name,
           leaf.kind,
           bound.from_time,
           bound.to_time,
           pg_stat_get_live_tuples(leaf.oid) AS row_estimate,
           pg_total_relation_size(leaf.oid) AS bytes,
           CASE WHEN bound.from_time < hipq.now()
               THEN (extract(epoch FROM least(bound.to_time, hipq.now()) - bound.from_time) / 86400)::numeric END AS days
    FROM (
        SELECT seen.name AS queue,
               'hipq.' || quote_ident(class.relname) AS name,
               CASE WHEN class.relname = queue.table_name || '_live' THEN 'live' ELSE 'final' END AS kind,
               class.oid,
               class.relpartbound
        FROM (
            SELECT queue.queue_id, queue.table_name
            FROM hipq.queue
            WHERE queue.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()))
            OFFSET 0
        ) AS queue
        JOIN hipq._visible_queue AS seen ON seen.queue_id = queue.queue_id
        JOIN pg_class AS top ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
        CROSS JOIN LATERAL pg_partition_tree(top.oid) AS tree
        JOIN pg_class AS class ON class.oid = tree.relid
        WHERE tree.isleaf
        UNION ALL
        SELECT NULL, 'hipq.' || quote_ident(class.relname), 'attempt', class.oid, class.relpartbound
        FROM pg_partition_tree('hipq.attempt') AS tree
        JOIN pg_class AS class ON class.oid = tree.relid
        WHERE tree.isleaf AND class.relkind = 'r' AND pg_has_role('pg_monitor', 'USAGE')
        UNION ALL
        SELECT NULL, 'hipq.dead_letter', 'dead_letter', 'hipq.dead_letter'::regclass, NULL
        WHERE pg_has_role('pg_monitor', 'USAGE')
    ) AS leaf
    CROSS JOIN LATERAL (SELECT pg_get_expr(leaf.relpartbound, leaf.oid) AS definition) AS partition
    CROSS JOIN LATERAL (
        SELECT substring(partition.definition FROM 'FROM \(''([^'']*)''\)')::timestamptz AS from_time,
               substring(partition.definition FROM 'TO \(''([^'']*)''\)')::timestamptz AS to_time
    ) AS bound
) AS measured
OFFSET 0;
COMMENT ON VIEW hipq.sizes IS 'rows and bytes of every leaf of the queues'' tables, and per day of final jobs';
COMMENT ON COLUMN hipq.sizes.queue IS 'queue; NULL = all queues share the table (attempts, dead letters), shown to pg_monitor only';
COMMENT ON COLUMN hipq.sizes.table_name IS 'table: a leaf of the queue''s table';
COMMENT ON COLUMN hipq.sizes.kind IS 'live (unfinished jobs), final, attempt or dead_letter';
COMMENT ON COLUMN hipq.sizes.from_time IS 'rows of the leaf are not older; NULL = no bound';
COMMENT ON COLUMN hipq.sizes.to_time IS 'rows of the leaf are older; NULL = no bound';
COMMENT ON COLUMN hipq.sizes.row_estimate IS 'rows, as the statistics of the server estimate them';
COMMENT ON COLUMN hipq.sizes.bytes IS 'bytes on disk with indexes and TOAST';
COMMENT ON COLUMN hipq.sizes.rows_per_day IS 'final jobs a day in the time of the leaf that has passed';
COMMENT ON COLUMN hipq.sizes.bytes_per_day IS 'bytes a day in the time of the leaf that has passed';

-- Of a worker that is not the caller's own only the queues that the caller may read, and job types of these.
CREATE VIEW hipq.workers WITH (security_barrier) AS
WITH readable_queue AS MATERIALIZED (SELECT queue.queue_id, queue.name FROM hipq._readable_queue AS queue)
SELECT worker.worker_id,
       worker.name,
       worker.role,
       CASE WHEN sight.is_whole THEN worker.queues ELSE sight.queues END AS queues,
       CASE WHEN sight.is_whole THEN worker.job_types ELSE sight.job_types END AS job_types,
       CASE WHEN known.is_active THEN 'active' ELSE 'inactive' END AS status,
       merged.health,
       known.last_heartbeat,
       worker.capabilities || jsonb_build_object('health', merged.health) AS capabilities,
       worker.capacity,
       worker.prefetch,
       coalesce(known.running_jobs, 0) AS running_jobs,
       coalesce(known.queue_depth, 0) AS queue_depth,
       round(known.failure_rate::numeric, 2) AS failure_rate,
       worker.is_draining,
       known.pid,
       worker.registered_time
FROM hipq.worker
LEFT JOIN hipq._workers() AS known ON known.worker_id = worker.worker_id
CROSS JOIN LATERAL (
    SELECT jsonb_build_object(
               'status', coalesce(known.health, 'unknown'),
               'last_check', known.last_check,
               'consecutive_failures', coalesce(known.consecutive_failures, 0),
               'total_executions', coalesce(known.total_executions, 0),
               'failed_executions', coalesce(known.failed_executions, 0),
               'average_execution_time_ms', coalesce(known.average_execution_time_ms, 0),
               'queue_depth', coalesce(known.queue_depth, 0)
           ) AS health
) AS merged
CROSS JOIN LATERAL (
    SELECT pg_has_role('pg_monitor', 'USAGE') OR pg_has_role(worker.role::oid, 'USAGE') AS is_whole,
           (SELECT array_agg(queue.name ORDER BY queue.name) FROM readable_queue AS queue WHERE queue.name = ANY (worker.queues)) AS queues,
           (SELECT array_agg(DISTINCT job_type.name)
            FROM readable_queue AS queue
            JOIN hipq.job_type ON job_type.queue_id = queue.queue_id AND job_type.name = ANY (worker.job_types)
            WHERE queue.name = ANY (worker.queues)) AS job_types
) AS sight
WHERE sight.is_whole OR sight.queues IS NOT NULL
ORDER BY known.place, worker.worker_id
OFFSET 0;
COMMENT ON VIEW hipq.workers IS 'external workers, the best first: healthy, unknown, degraded, unhealthy; of each the one with the fewest jobs that it has not accepted';
COMMENT ON COLUMN hipq.workers.worker_id IS 'number of the worker';
COMMENT ON COLUMN hipq.workers.name IS 'name the worker gave itself';
COMMENT ON COLUMN hipq.workers.role IS 'role that registered it';
COMMENT ON COLUMN hipq.workers.queues IS 'queues it serves';
COMMENT ON COLUMN hipq.workers.job_types IS 'job types it serves';
COMMENT ON COLUMN hipq.workers.status IS 'active: heard of within hipq.heartbeat_timeout, or its session is there; inactive: neither, or there was no room for it';
COMMENT ON COLUMN hipq.workers.health IS 'how it does: status (healthy, degraded, unhealthy, or unknown: not heard of since it registered or the server started, or hipq.health_enabled is off), last_check, consecutive_failures, total_executions, failed_executions, average_execution_time_ms, queue_depth; what the worker says of itself merged in';
COMMENT ON COLUMN hipq.workers.last_heartbeat IS 'when it was last heard of; NULL = not since the server started';
COMMENT ON COLUMN hipq.workers.capabilities IS 'what it said about itself when it registered; under health what column health has, whatever it said there';
COMMENT ON COLUMN hipq.workers.capacity IS 'jobs it runs at a time';
COMMENT ON COLUMN hipq.workers.prefetch IS 'jobs it may hold beyond those it runs';
COMMENT ON COLUMN hipq.workers.running_jobs IS 'jobs it has accepted and not finished';
COMMENT ON COLUMN hipq.workers.queue_depth IS 'jobs given to it that it has not accepted, by its own count if that is more';
COMMENT ON COLUMN hipq.workers.failure_rate IS 'percent of its latest executions that failed, 64 at most, or of all by its own count if that is more; NULL = fewer than ten';
COMMENT ON COLUMN hipq.workers.is_draining IS 'it is given no more jobs';
COMMENT ON COLUMN hipq.workers.pid IS 'session it is bound to; NULL = it registered without listen, or that session has ended';
COMMENT ON COLUMN hipq.workers.registered_time IS 'when it registered';

CREATE VIEW hipq.healthy_workers WITH (security_barrier) AS
SELECT * FROM hipq.workers WHERE workers.health ->> 'status' = 'healthy' AND NOT workers.is_draining;
COMMENT ON VIEW hipq.healthy_workers IS 'external workers that are healthy and may be given jobs, the best first';
COMMENT ON COLUMN hipq.healthy_workers.worker_id IS 'number of the worker';
COMMENT ON COLUMN hipq.healthy_workers.name IS 'name the worker gave itself';
COMMENT ON COLUMN hipq.healthy_workers.role IS 'role that registered it';
COMMENT ON COLUMN hipq.healthy_workers.queues IS 'queues it serves';
COMMENT ON COLUMN hipq.healthy_workers.job_types IS 'job types it serves';
COMMENT ON COLUMN hipq.healthy_workers.status IS 'active: heard of within hipq.heartbeat_timeout, or its session is there; inactive: neither, or there was no room for it';
COMMENT ON COLUMN hipq.healthy_workers.health IS 'how it does: status (healthy, degraded, unhealthy, or unknown: not heard of since it registered or the server started, or hipq.health_enabled is off), last_check, consecutive_failures, total_executions, failed_executions, average_execution_time_ms, queue_depth; what the worker says of itself merged in';
COMMENT ON COLUMN hipq.healthy_workers.last_heartbeat IS 'when it was last heard of; NULL = not since the server started';
COMMENT ON COLUMN hipq.healthy_workers.capabilities IS 'what it said about itself when it registered; under health what column health has, whatever it said there';
COMMENT ON COLUMN hipq.healthy_workers.capacity IS 'jobs it runs at a time';
COMMENT ON COLUMN hipq.healthy_workers.prefetch IS 'jobs it may hold beyond those it runs';
COMMENT ON COLUMN hipq.healthy_workers.running_jobs IS 'jobs it has accepted and not finished';
COMMENT ON COLUMN hipq.healthy_workers.queue_depth IS 'jobs given to it that it has not accepted, by its own count if that is more';
COMMENT ON COLUMN hipq.healthy_workers.failure_rate IS 'percent of its latest executions that failed, 64 at most, or of all by its own count if that is more; NULL = fewer than ten';
COMMENT ON COLUMN hipq.healthy_workers.is_draining IS 'it is given no more jobs';
COMMENT ON COLUMN hipq.healthy_workers.pid IS 'session it is bound to; NULL = it registered without listen, or that session has ended';
COMMENT ON COLUMN hipq.healthy_workers.registered_time IS 'when it registered';

-- A row for each, whether there are such workers or not: what is zero shall be seen to be zero.
CREATE VIEW hipq.worker_health WITH (security_barrier) AS
SELECT health.status,
       count(worker.worker_id) AS workers,
       coalesce(sum(worker.queue_depth), 0) AS queue_depth,
       round(avg(worker.queue_depth), 2) AS average_queue_depth,
       coalesce(sum(worker.running_jobs), 0) AS running_jobs,
       round(avg(worker.failure_rate), 2) AS average_failure_rate
FROM (VALUES ('healthy', 1), ('unknown', 2), ('degraded', 3), ('unhealthy', 4)) AS health (status, place)
LEFT JOIN hipq.workers AS worker ON worker.health ->> 'status' = health.status
GROUP BY health.status, health.place
ORDER BY health.place;
COMMENT ON VIEW hipq.worker_health IS 'how many external workers are in which health, of those in hipq.workers: always four rows';
COMMENT ON COLUMN hipq.worker_health.status IS 'healthy, unknown, degraded or unhealthy';
COMMENT ON COLUMN hipq.worker_health.workers IS 'number of workers';
COMMENT ON COLUMN hipq.worker_health.queue_depth IS 'jobs given to them that they have not accepted';
COMMENT ON COLUMN hipq.worker_health.average_queue_depth IS 'the same per worker; NULL = no such worker';
COMMENT ON COLUMN hipq.worker_health.running_jobs IS 'jobs they have accepted and not finished';
COMMENT ON COLUMN hipq.worker_health.average_failure_rate IS 'percent of executions that failed, on average over those of them that have had ten; NULL = no such worker';

CREATE FUNCTION hipq.worker_queue_depth(worker bigint) RETURNS integer LANGUAGE sql SET search_path = pg_catalog, pg_temp
    AS $$ SELECT workers.queue_depth FROM hipq.workers WHERE workers.worker_id = worker $$;
COMMENT ON FUNCTION hipq.worker_queue_depth(bigint) IS 'jobs given to a worker that it has not accepted; NULL: there is no such worker that you may look at';
REVOKE ALL ON FUNCTION hipq.worker_queue_depth(bigint) FROM PUBLIC;

-- Those that shared memory tells, of the whole server; then those that take a look at this database.
CREATE VIEW hipq.alerts WITH (security_barrier) AS
SELECT alert.alert,
       alert.severity,
       alert.times,
       alert.first_time,
       alert.last_time,
       alert.detail,
       alert.hint
FROM (
    SELECT raised.alert, 'alarm' AS severity, raised.times, raised.first_time, raised.last_time, raised.detail, raised.hint
    FROM hipq._alerts() AS raised
    UNION ALL
    SELECT overdue.alert, overdue.severity, overdue.jobs, overdue.first_time, overdue.last_time, overdue.detail, overdue.hint
    FROM hipq._overdue() AS overdue
    UNION ALL
    SELECT 'crashing job type',
           'alarm',
           pause.crashes,
           job_type.crash_times[1],
           pause.paused_time,
           format('Job type %s of queue %s.%s is held: its jobs took the server down %s times, at %s.', quote_ident(job_type.name), instance.name, queue.name,
                  pause.crashes, array_to_string(job_type.crash_times, ', ')),
           'Mend the handler, then SELECT hipq.resume(queue, job_type), or give it another one with hipq.alter_job_type().'
    FROM hipq.pause
    JOIN hipq.job_type ON job_type.queue_id = pause.queue_id AND job_type.name = pause.job_type
    JOIN hipq.queue ON queue.queue_id = pause.queue_id
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    WHERE pause.crashes IS NOT NULL
    UNION ALL
    SELECT 'crashing dead letter handler',
           'alarm',
           cardinality(queue.dead_letter_crash_times),
           queue.dead_letter_crash_times[1],
           queue.dead_letter_crash_times[cardinality(queue.dead_letter_crash_times)],
           format('The handler of dead letters of queue %s.%s is not called: it took the server down, at %s.', instance.name, queue.name,
                  array_to_string(queue.dead_letter_crash_times, ', ')),
           'Mend the handler, then SELECT hipq.resume(queue), or give the queue another one with hipq.alter_queue().'
    FROM hipq.queue
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    WHERE NOT queue.is_dropped AND current_setting('hipq.max_type_crashes', true)::integer BETWEEN 1 AND cardinality(queue.dead_letter_crash_times)
    UNION ALL
    SELECT 'dead letters waiting',
           'alarm',
           waiting.letters,
           waiting.first_time,
           waiting.last_time,
           'More than ' || waiting.most || ' dead letters are neither handled, redriven nor dismissed.',
           'View hipq.dead_letters has the jobs with their errors.'
    FROM (
        SELECT count(*) AS letters,
               min(letter.died_time) AS first_time,
               max(letter.died_time) AS last_time,
               current_setting('hipq.alert_dead_letter_depth', true)::integer AS most
        FROM (
            SELECT dead_letter.died_time
            FROM hipq.dead_letter
            WHERE dead_letter.handled_time IS NULL AND dead_letter.redriven_time IS NULL AND dead_letter.dismissed_time IS NULL
            LIMIT greatest(current_setting('hipq.alert_dead_letter_depth', true)::integer, 0) + 1
        ) AS letter
    ) AS waiting
    WHERE waiting.most >= 0 AND waiting.letters > waiting.most
    UNION ALL
    SELECT 'job set aside',
           'alarm',
           count(*),
           min(aside.set_aside_time),
           max(aside.set_aside_time),
           'What became of ' || count(*) || ' job(s) cannot be written down; they are left alone. The latest is job '
               || (array_agg(aside.job_id ORDER BY aside.set_aside_time DESC, aside.job_id DESC))[1] || ': '
               || (array_agg(aside.error ORDER BY aside.set_aside_time DESC, aside.job_id DESC))[1],
           'When the cause is gone hipq.fail_job() or hipq.cancel() ends each, and hipq.retry() runs it again; table hipq.set_aside names them.'
    FROM hipq._jobs_set_aside() AS aside
    HAVING count(*) > 0
    UNION ALL
    SELECT 'schedules',
           'alarm',
           count(*),
           NULL,
           hipq.now(),
           count(*) || ' schedule(s) do not come, as pg_cron has no job for them in this database: '
               || array_to_string((array_agg(quote_ident(lost.name) ORDER BY lost.schedule_id))[1:10], ', ') || CASE WHEN count(*) > 10 THEN ', ...' ELSE '.' END,
           'SELECT hipq.restore_schedules(), which says what is in the way; or end them with hipq.unschedule().'
    FROM hipq._lost_schedules() AS lost
    HAVING count(*) > 0
    UNION ALL
    SELECT 'held snapshot',
           'alarm',
           1,
           held.since,
           clock_timestamp(),
           held.who || ' keeps dead rows of this database from being removed.',
           'End it: tables of jobs grow meanwhile, and claims slow down.'
    FROM (
        SELECT 'Process ' || activity.pid || ' (' || coalesce(activity.usename, activity.backend_type) || coalesce(', ' || activity.state, '') || ')' AS who,
               activity.xact_start AS since
        FROM pg_stat_activity AS activity
        WHERE activity.datname = current_database() AND activity.backend_type <> 'autovacuum worker'
          AND (activity.backend_xmin IS NOT NULL OR activity.backend_xid IS NOT NULL)
        UNION ALL
        SELECT 'Prepared transaction "' || prepared.gid || '"', prepared.prepared
        FROM pg_prepared_xacts AS prepared
        WHERE prepared.database = current_database()
    ) AS held
    WHERE extract(epoch FROM current_setting('hipq.alert_held_snapshot', true)::interval) >= 0
      AND clock_timestamp() - held.since > current_setting('hipq.alert_held_snapshot', true)::interval
    UNION ALL
    -- A leaf goes when all of it is past the retention; it is a quarter of that long.
    SELECT 'retention',
           'alarm',
           count(*),
           min(leaf.to_time + late.retention),
           hipq.now(),
           'Final jobs of queue "' || leaf.queue || '" are kept beyond its retention.',
           'A reader of its tables may be in the way; or hipq.databases, or hipq.enabled, keeps hipq out.'
    FROM hipq.queue
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    JOIN hipq.sizes AS leaf ON leaf.queue = instance.name || '.' || queue.name AND NOT queue.is_dropped
    CROSS JOIN LATERAL (
        SELECT coalesce(nullif(queue.retention, interval '0'), current_setting('hipq.retention', true)::interval) AS retention
    ) AS late
    WHERE leaf.kind = 'final' AND leaf.to_time + late.retention + late.retention / 4 + interval '1 hour' < hipq.now()
    GROUP BY leaf.queue
    UNION ALL
    SELECT finding.alert, 'alarm', finding.times, NULL, hipq.now(), finding.detail, finding.hint
    FROM (
        SELECT counted.*,
               100 * counted.unhealthy / nullif(counted.workers, 0) AS unhealthy_share,
               counted.queue_depth / nullif(counted.workers, 0) AS average_depth,
               current_setting('hipq.alert_unhealthy_workers', true)::numeric AS most_unhealthy,
               current_setting('hipq.alert_worker_depth', true)::numeric AS most_depth
        FROM (
            SELECT sum(health.workers) AS workers,
                   sum(health.workers) FILTER (WHERE health.status = 'unhealthy') AS unhealthy,
                   sum(health.queue_depth) AS queue_depth
            FROM hipq.worker_health AS health
        ) AS counted
    ) AS all_workers
    CROSS JOIN LATERAL (VALUES
        ('unhealthy workers',
         all_workers.unhealthy_share > all_workers.most_unhealthy,
         all_workers.unhealthy::bigint,
         all_workers.unhealthy || ' of ' || all_workers.workers || ' external workers of this database are unhealthy: ' || trim_scale(round(all_workers.unhealthy_share, 2)) || ' %, limit ' || all_workers.most_unhealthy || ' %.',
         'View hipq.workers says which, and what that follows from.'),
        ('worker depth',
         all_workers.most_depth >= 0 AND all_workers.average_depth > all_workers.most_depth,
         all_workers.queue_depth::bigint,
         'External workers of this database have ' || round(all_workers.average_depth, 1) || ' jobs each that they have not accepted, limit ' || all_workers.most_depth || '.',
         'Start more workers; view hipq.workers says which are behind.')
    ) AS finding (alert, is_the_case, times, detail, hint)
    WHERE finding.is_the_case
) AS alert
WHERE pg_has_role('pg_monitor', 'USAGE');
COMMENT ON VIEW hipq.alerts IS 'what an operator should know: of the whole server, and not older than five minutes; and what is the case now, in rates, dead letters, snapshots, retention and external workers';
COMMENT ON COLUMN hipq.alerts.alert IS 'short name of the alert; ''jobs wait: ...'' names a condition of hipq.why()';
COMMENT ON COLUMN hipq.alerts.severity IS 'alarm: somebody has to do something; information: jobs wait because somebody wants it so (a pause, time windows, a limit), or for their turn';
COMMENT ON COLUMN hipq.alerts.times IS 'how often it has happened since first_time; of jobs that wait: how many';
COMMENT ON COLUMN hipq.alerts.first_time IS 'since when it has happened again and again; NULL = nobody knows';
COMMENT ON COLUMN hipq.alerts.last_time IS 'when it happened last';
COMMENT ON COLUMN hipq.alerts.detail IS 'what is slower or waits because of it';
COMMENT ON COLUMN hipq.alerts.hint IS 'what to do';

REVOKE ALL ON hipq._readable_queue, hipq._visible_queue, hipq.alerts, hipq.instances, hipq.queues, hipq.job_types, hipq.pauses, hipq.jobs, hipq.running, hipq.progress, hipq.attempts, hipq.dead_letters, hipq.dead_letter_rates, hipq.dead_letter_stats, hipq.dead_letter_reasons, hipq.executors, hipq.lanes, hipq.schedules, hipq.sizes, hipq.workers, hipq.healthy_workers, hipq.worker_health FROM PUBLIC;
GRANT USAGE ON SCHEMA hipq TO pg_monitor;
GRANT SELECT ON hipq.alerts, hipq.instances, hipq.queues, hipq.job_types, hipq.pauses, hipq.running, hipq.progress, hipq.executors, hipq.lanes, hipq.sizes, hipq.throttle_keys, hipq.workers, hipq.healthy_workers, hipq.worker_health, hipq.dead_letter_rates, hipq.dead_letter_stats, hipq.dead_letter_reasons TO pg_monitor;
GRANT EXECUTE ON FUNCTION hipq._may(integer, text), hipq._readable_queues(), hipq._visible_queues(), hipq._reachable_queues(integer[]), hipq._is_one_of(integer, integer[]), hipq._alerts(), hipq._jobs_set_aside(), hipq._lost_schedules(), hipq._overdue(), hipq._executors(), hipq._first_unmet_condition(integer, text, text, text, numeric), hipq._limiters(), hipq._lanes(), hipq._running_jobs(), hipq._progress(), hipq._workers(), hipq._worker_services(), hipq.worker_queue_depth(bigint), hipq.now() TO pg_monitor;
