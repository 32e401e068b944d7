-- Views for users. Each reads the tables with the rights of the extension owner, and shows only the
-- queues that the caller may read. Views without job data (instances, queues, job_types, pauses,
-- running, executors, workers, lanes, sizes, throttle_keys, progress, worker_health, activity,
-- dead_letter_rates, dead_letter_stats, dead_letter_reasons) show everything to members of
-- pg_monitor too.
--
-- A condition of the caller must not be applied to rows that the caller may not see: PostgreSQL
-- pushes leakproof comparisons below the barrier of a view, and EXPLAIN counts the rows that they
-- find there. So the views read jobs with hipq._is_in_reach_by_scan(), which gives the planner
-- ranges of constants: the planner leaves out the tables of other queues, and tables that another
-- session has locked. Or they read them queue by queue, only queues that the caller may see. They
-- read attempts and dead letters with a constant array in the condition of every scan, which is
-- evaluated first, and with indexes that all begin with queue_id. They read small tables behind
-- OFFSET 0, which no condition of the caller passes.
--
-- Functions in a view run with the rights of the caller, so PUBLIC has EXECUTE on them
-- (rights.sql), and each function checks its caller.

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
WHERE queue.queue_id = ANY (hipq._visible_queues())
  AND (pg_has_role('pg_monitor', 'USAGE') OR hipq._may(queue.queue_id, 'read'))
OFFSET 0;
COMMENT ON VIEW hipq._visible_queue
    IS 'the same for views without job data: all queues for members of pg_monitor';
COMMENT ON COLUMN hipq._visible_queue.queue_id IS 'number of the queue';
COMMENT ON COLUMN hipq._visible_queue.name IS 'name: instance.queue';
COMMENT ON COLUMN hipq._visible_queue.instance_id IS 'number of its instance';
COMMENT ON COLUMN hipq._visible_queue.instance IS 'name of its instance';
COMMENT ON COLUMN hipq._visible_queue.is_dropped IS 'the queue is being dropped';

CREATE VIEW hipq.instances_detail WITH (security_barrier) AS
WITH visible_queue AS MATERIALIZED (
    SELECT queue.name,
           queue.instance_id,
           queue.is_dropped,
           hipq._may(queue.queue_id, 'read') AS is_readable
    FROM hipq._visible_queue AS queue
)
SELECT instance.name,
       nullif(instance.shard_key, 'NONE') AS shard_key,
       nullif(instance.table_naming_strategy, 'NONE') AS table_naming_strategy,
       CASE
           WHEN visible.readable > 0 OR current_setting('is_superuser') = 'on'
               THEN instance.db_config
       END AS db_config,
       visible.queues,
       instance.created_time,
       instance.is_strict,
       coalesce(
           instance.max_retries, current_setting('hipq.max_retries', true)::integer
       ) AS max_retries
FROM hipq.instance
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE queue.is_readable) AS readable,
           coalesce(
               array_agg(queue.name ORDER BY queue.name) FILTER (WHERE NOT queue.is_dropped), '{}'
           ) AS queues
    FROM visible_queue AS queue
    WHERE queue.instance_id = instance.instance_id
) AS visible
WHERE visible.readable > 0 OR pg_has_role('pg_monitor', 'USAGE')
OFFSET 0;
COMMENT ON VIEW hipq.instances_detail IS 'instances that have a queue the caller may read';
COMMENT ON COLUMN hipq.instances_detail.name IS 'name';
COMMENT ON COLUMN hipq.instances_detail.shard_key
    IS 'what its queues divide their jobs by, in a sharded instance, by default; NULL = nothing';
COMMENT ON COLUMN hipq.instances_detail.table_naming_strategy
    IS 'SQL expression for the name of a queue''s table; NULL = <instance>_<queue>';
COMMENT ON COLUMN hipq.instances_detail.db_config
    IS 'connection data of shards; NULL to callers who may read no queue of the instance';
COMMENT ON COLUMN hipq.instances_detail.queues IS 'its queues that the caller may look at';
COMMENT ON COLUMN hipq.instances_detail.created_time IS 'when it was created';
COMMENT ON COLUMN hipq.instances_detail.is_strict
    IS 'its queues refuse jobs of unregistered types by default';
COMMENT ON COLUMN hipq.instances_detail.max_retries
    IS 'max_retries of jobs that give none, unless their queue or type says otherwise';

-- Counts live leaves only: they are small, however many final jobs there are. Evaluates the
-- conditions of waiting jobs once for each kind: jobs of one type with the same time windows,
-- throttle key and weight. This needs a second, more expensive scan, which is left out if the query
-- reads none of these columns.
CREATE VIEW hipq.queues_detail WITH (security_barrier) AS
SELECT queue.full_name AS queue,
       queue.instance,
       queue.owner::regrole,
       'hipq.' || quote_ident(queue.table_name) AS table_name,
       CASE
           WHEN queue.throttle_limit >= 1 THEN queue.throttle_limit
       END::numeric(12,3) AS throttle_limit,
       coalesce(
           (SELECT round(limiter.used / 1000.0, 3)
            FROM hipq._limiters() AS limiter
            WHERE limiter.queue_id = queue.queue_id AND limiter.job_type IS NULL),
           0.000
       ) AS throttle_used,
       live.running + locked.running AS running_jobs,
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
       coalesce(
           queue.is_strict,
           (SELECT instance.is_strict
            FROM hipq.instance
            WHERE instance.instance_id = queue.instance_id)
       ) AS is_strict,
       coalesce(
           queue.queue_ttl,
           ceil(extract(epoch FROM current_setting('hipq.queue_ttl', true)::interval))::integer
       ) AS queue_ttl,
       coalesce(
           queue.dead_letter_enabled, current_setting('hipq.dead_letter_enabled', true)::boolean
       ) AS dead_letter_enabled,
       coalesce(
           queue.dead_letter_retention,
           current_setting('hipq.dead_letter_retention', true)::interval
       ) AS dead_letter_retention,
       coalesce(
           queue.dead_letter_max, current_setting('hipq.dead_letter_max', true)::integer
       ) AS dead_letter_max,
       nullif(queue.dead_letter_handler, 'NONE') AS dead_letter_handler,
       coalesce(
           queue.max_timeout,
           ceil(extract(epoch FROM current_setting('hipq.max_timeout', true)::interval))::integer
       ) AS max_timeout,
       queue.highest_priority,
       queue.allow_free_jobs,
       coalesce(
           queue.retry_enabled, current_setting('hipq.retry_enabled', true)::boolean
       ) AS retry_enabled,
       EXISTS (
           SELECT FROM hipq.pause
           WHERE pause.instance_id = queue.instance_id
              OR pause.queue_id = queue.queue_id AND pause.job_type IS NULL
       ) AS is_paused,
       queue.is_dropped,
       queue.created_time,
       nullif(
           coalesce(
               queue.worker_wait_ttl,
               ceil(extract(
                   epoch FROM current_setting('hipq.worker_wait_ttl', true)::interval
               ))::integer
           ),
           0
       ) AS worker_wait_ttl,
       coalesce(
           queue.max_retries,
           (SELECT instance.max_retries
            FROM hipq.instance
            WHERE instance.instance_id = queue.instance_id),
           current_setting('hipq.max_retries', true)::integer
       ) AS max_retries,
       ARRAY(
           SELECT job_type.name
           FROM hipq.job_type
           WHERE job_type.queue_id = queue.queue_id
           ORDER BY job_type.name
       ) AS job_types,
       live.held,
       (SELECT CASE WHEN bool_and(pause.paused_until IS NOT NULL) THEN max(pause.paused_until) END
        FROM hipq.pause
        WHERE pause.instance_id = queue.instance_id
           OR pause.queue_id = queue.queue_id AND pause.job_type IS NULL
       ) AS paused_until,
       nullif(queue.rate_limit, 'NONE') AS rate_limit,
       queue.rate_mode,
       CASE
           WHEN queue.rate_limit <> 'NONE' THEN coalesce(round(rate.used / 1000.0, 3), 0.000)
       END AS rate_used,
       rate.next_turn,
       waiting.waiting_rate
FROM (
    SELECT queue.*, seen.name AS full_name, seen.instance
    FROM hipq.queue
    JOIN hipq._visible_queue AS seen ON seen.queue_id = queue.queue_id
    WHERE queue.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()))
    OFFSET 0
) AS queue
LEFT JOIN hipq._rates() AS rate
    ON rate.queue_id = queue.queue_id AND rate.job_type IS NULL AND queue.rate_limit <> 'NONE'
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE job.state = 'initial') AS initial,
           count(*) FILTER (WHERE job.state = 'running') AS running,
           count(*) FILTER (WHERE job.state = 'error') AS error,
           count(*) FILTER (WHERE job.state = 'retry') AS retry,
           min(job.scheduled_run_time) FILTER (
               WHERE job.state IN ('initial', 'retry')
                 AND job.waits_for IS NULL
                 AND job.scheduled_run_time <= hipq.now()
           ) AS oldest_due_time,
           count(job.waits_for) AS held
    FROM hipq._unfinished_queue_by_queue() AS job
    WHERE job.queue_id = queue.queue_id
) AS live ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS running
    FROM hipq._running_jobs() AS locked
    WHERE locked.queue_id = queue.queue_id AND locked.is_locked
) AS locked ON true
LEFT JOIN LATERAL (
    SELECT coalesce(sum(kind.jobs) FILTER (WHERE NOT kind.is_due), 0)::bigint AS waiting_time,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'window'), 0)::bigint
               AS waiting_window,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'hold'), 0)::bigint
               AS waiting_hold,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'pause'), 0)::bigint
               AS waiting_pause,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'handler'), 0)::bigint
               AS waiting_handler,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'throttle'), 0)::bigint
               AS waiting_throttle,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'rate'), 0)::bigint
               AS waiting_rate,
           coalesce(sum(kind.jobs) FILTER (WHERE condition.first_unmet = 'none'), 0)::bigint
               AS ready
    FROM (
        SELECT job.scheduled_run_time <= present.time AS is_due,
               job.job_type,
               job.time_windows,
               job.throttle_key,
               job.throttle_factor,
               count(*) AS jobs
        FROM hipq._unfinished_queue_by_queue() AS job
        CROSS JOIN (SELECT hipq.now() AS time) AS present
        WHERE job.queue_id = queue.queue_id
          AND job.state IN ('initial', 'retry')
          AND job.waits_for IS NULL
          AND job.id NOT IN (
              SELECT locked.job_id FROM hipq._running_jobs() AS locked WHERE locked.is_locked
          )
        GROUP BY 1, 2, 3, 4, 5
    ) AS kind
    CROSS JOIN LATERAL (
        SELECT CASE
                   WHEN kind.is_due THEN hipq._first_unmet_condition(
                       queue.queue_id, kind.job_type, kind.time_windows::text, kind.throttle_key,
                       kind.throttle_factor
                   )
               END AS first_unmet
    ) AS condition
) AS waiting ON true
WHERE hipq._is_asked_for(queue.full_name, queue.queue_id);
COMMENT ON VIEW hipq.queues_detail
    IS 'queues with the number of their unfinished jobs. It reads them all, however many: of a '
    'million in half a second, or in some seconds with what they wait for (waiting_time to ready)';
COMMENT ON COLUMN hipq.queues_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.queues_detail.instance IS 'name of its instance';
COMMENT ON COLUMN hipq.queues_detail.owner IS 'queue owner: the role that SQL handlers run as';
COMMENT ON COLUMN hipq.queues_detail.table_name IS 'its table';
COMMENT ON COLUMN hipq.queues_detail.throttle_limit
    IS 'limit on the sum of throttle_factor over running jobs; NULL = no limit';
COMMENT ON COLUMN hipq.queues_detail.throttle_used
    IS 'sum of throttle_factor over its running and offered jobs';
COMMENT ON COLUMN hipq.queues_detail.running_jobs IS 'jobs that run now';
COMMENT ON COLUMN hipq.queues_detail.initial IS 'jobs not tried yet';
COMMENT ON COLUMN hipq.queues_detail.running
    IS 'jobs in state running, without those claimed by a lock';
COMMENT ON COLUMN hipq.queues_detail.error IS 'jobs that failed and await the retry decision';
COMMENT ON COLUMN hipq.queues_detail.retry IS 'jobs that wait for their next attempt';
COMMENT ON COLUMN hipq.queues_detail.waiting_time
    IS 'jobs whose time has not come. A waiting job counts in one of these seven columns, by the '
    'first condition that is not met, or in column held or waiting_rate';
COMMENT ON COLUMN hipq.queues_detail.waiting_window IS 'jobs outside their time windows';
COMMENT ON COLUMN hipq.queues_detail.waiting_hold
    IS 'due jobs of which none may run: hipq is off, the database is held, the queue owner may '
    'not connect';
COMMENT ON COLUMN hipq.queues_detail.waiting_pause
    IS 'due jobs that are paused, in any way, or whose breaker is open';
COMMENT ON COLUMN hipq.queues_detail.waiting_handler IS 'due jobs whose handler is missing';
COMMENT ON COLUMN hipq.queues_detail.waiting_throttle
    IS 'due jobs that a throttle limit keeps back';
COMMENT ON COLUMN hipq.queues_detail.ready
    IS 'due jobs that wait only for an executor, or for a worker to accept them';
COMMENT ON COLUMN hipq.queues_detail.held IS 'jobs that wait for other jobs, due or not';
COMMENT ON COLUMN hipq.queues_detail.oldest_due_time
    IS 'when the job that waits longest was due; NULL = none is due';
COMMENT ON COLUMN hipq.queues_detail.retention
    IS 'how long final jobs are kept; 0 = jobs that succeed leave no row';
COMMENT ON COLUMN hipq.queues_detail.history
    IS 'which attempts hipq.attempt records: failed or all';
COMMENT ON COLUMN hipq.queues_detail.weight
    IS 'share of the executors'' time beside other queues: twice the weight, twice the time';
COMMENT ON COLUMN hipq.queues_detail.durability
    IS 'when the end of a job is safe from a crash: strict = when it commits; group = at most 10 '
    'ms later';
COMMENT ON COLUMN hipq.queues_detail.is_strict IS 'refuses jobs of unregistered types';
COMMENT ON COLUMN hipq.queues_detail.queue_ttl
    IS 'seconds an external worker has to accept a job offered to it, where the type does '
    'not say';
COMMENT ON COLUMN hipq.queues_detail.dead_letter_enabled
    IS 'whether failed jobs leave a dead letter';
COMMENT ON COLUMN hipq.queues_detail.dead_letter_retention IS 'how long dead letters are kept';
COMMENT ON COLUMN hipq.queues_detail.dead_letter_max
    IS 'how many dead letters are kept, the newest';
COMMENT ON COLUMN hipq.queues_detail.dead_letter_handler
    IS 'function that is called for each dead letter; NULL = none';
COMMENT ON COLUMN hipq.queues_detail.max_timeout
    IS 'longest timeout that its jobs may have, in seconds';
COMMENT ON COLUMN hipq.queues_detail.highest_priority
    IS 'most urgent priority, the lowest number, that those who enqueue may give; NULL = any';
COMMENT ON COLUMN hipq.queues_detail.allow_free_jobs
    IS 'whether those who enqueue may give throttle_factor 0';
COMMENT ON COLUMN hipq.queues_detail.retry_enabled
    IS 'whether failed jobs are retried, unless their type says otherwise';
COMMENT ON COLUMN hipq.queues_detail.is_paused IS 'it or its instance is paused: see hipq.pauses';
COMMENT ON COLUMN hipq.queues_detail.is_dropped IS 'the queue is being dropped';
COMMENT ON COLUMN hipq.queues_detail.created_time IS 'when it was created';
COMMENT ON COLUMN hipq.queues_detail.worker_wait_ttl
    IS 'seconds a due job waits while no external worker can be offered it, where its type does '
    'not say; NULL = for ever';
COMMENT ON COLUMN hipq.queues_detail.max_retries
    IS 'max_retries of jobs that give none, unless their type says otherwise';
COMMENT ON COLUMN hipq.queues_detail.job_types IS 'its job types, registered or not';
COMMENT ON COLUMN hipq.queues_detail.paused_until
    IS 'when all that pauses it has ended; NULL = it is not paused, or only hipq.resume() ends it';
COMMENT ON COLUMN hipq.queues_detail.rate_limit
    IS 'limit on the sum of throttle_factor over jobs that start in a time; NULL = no limit';
COMMENT ON COLUMN hipq.queues_detail.rate_mode
    IS 'exact = never more in any such time; smooth = starts at even distances';
COMMENT ON COLUMN hipq.queues_detail.rate_used
    IS 'how much of rate_limit is used up now; NULL = no limit';
COMMENT ON COLUMN hipq.queues_detail.next_turn
    IS 'when a job of throttle_factor 1 may start; in the past: now; NULL = nothing has started';
COMMENT ON COLUMN hipq.queues_detail.waiting_rate IS 'due jobs that a rate limit keeps back';

CREATE VIEW hipq.job_types_detail WITH (security_barrier) AS
SELECT seen.name AS queue,
       job_type.name AS job_type,
       nullif(job_type.handler, 'NONE') AS handler,
       job_type.handler_kind,
       nullif(job_type.retry_handler, 'NONE') AS retry_handler,
       least(
           coalesce(
               job_type.default_timeout,
               ceil(extract(
                   epoch FROM current_setting('hipq.default_timeout', true)::interval
               ))::integer
           ),
           coalesce(
               queue.max_timeout,
               ceil(extract(
                   epoch FROM current_setting('hipq.max_timeout', true)::interval
               ))::integer
           )
       ) AS default_timeout,
       job_type.default_priority,
       job_type.default_throttle_factor,
       CASE
           WHEN job_type.default_time_windows <> 'NONE' THEN job_type.default_time_windows
           ELSE NULL::hipq.time_windows
       END AS default_time_windows,
       job_type.time_zone,
       coalesce(
           job_type.max_retries, queue.max_retries, instance.max_retries,
           current_setting('hipq.max_retries', true)::integer
       ) AS max_retries,
       coalesce(
           job_type.retry_base, current_setting('hipq.retry_base', true)::interval
       ) AS retry_base,
       coalesce(
           job_type.retry_multiplier,
           current_setting('hipq.retry_multiplier', true)::double precision
       ) AS retry_multiplier,
       coalesce(job_type.retry_max, current_setting('hipq.retry_max', true)::interval) AS retry_max,
       coalesce(
           job_type.retry_jitter, current_setting('hipq.retry_jitter', true)::double precision
       ) AS retry_jitter,
       job_type.retry_on,
       job_type.do_not_retry_on,
       job_type.on_missing_handler,
       coalesce(
           job_type.queue_ttl, queue.queue_ttl,
           ceil(extract(epoch FROM current_setting('hipq.queue_ttl', true)::interval))::integer
       ) AS queue_ttl,
       job_type.claim,
       job_type.batch_size,
       CASE
           WHEN job_type.throttle_limit >= 1 THEN job_type.throttle_limit
       END::numeric(12,3) AS throttle_limit,
       coalesce(
           (SELECT round(limiter.used / 1000.0, 3)
            FROM hipq._limiters() AS limiter
            WHERE limiter.queue_id = queue.queue_id AND limiter.job_type = job_type.name),
           0.000
       ) AS throttle_used,
       CASE
           WHEN job_type.throttle_limit_per_key >= 1 THEN job_type.throttle_limit_per_key
       END::numeric(12,3) AS throttle_limit_per_key,
       job_type.requires,
       nullif(
           coalesce(
               job_type.worker_wait_ttl, queue.worker_wait_ttl,
               ceil(extract(
                   epoch FROM current_setting('hipq.worker_wait_ttl', true)::interval
               ))::integer
           ),
           0
       ) AS worker_wait_ttl,
       coalesce(
           job_type.retry_enabled, queue.retry_enabled,
           current_setting('hipq.retry_enabled', true)::boolean
       ) AS retry_enabled,
       job_type.parameters,
       job_type.validate,
       coalesce(service.workers, 0) AS workers,
       EXISTS (
           SELECT FROM hipq.pause
           WHERE pause.instance_id = queue.instance_id
              OR pause.queue_id = queue.queue_id
                 AND (pause.job_type IS NULL
                      OR pause.job_type = job_type.name AND pause.throttle_key IS NULL)
       ) AS is_paused,
       job_type.is_registered,
       cardinality(job_type.crash_times) AS crashes,
       job_type.created_time,
       coalesce(
           job_type.attempt_log, current_setting('hipq.attempt_log', true)::boolean
       ) AS attempt_log,
       (SELECT CASE WHEN bool_and(pause.paused_until IS NOT NULL) THEN max(pause.paused_until) END
        FROM hipq.pause
        WHERE pause.instance_id = queue.instance_id
           OR pause.queue_id = queue.queue_id
              AND (pause.job_type IS NULL
                   OR pause.job_type = job_type.name AND pause.throttle_key IS NULL)
       ) AS paused_until,
       nullif(job_type.rate_limit, 'NONE') AS rate_limit,
       job_type.rate_mode,
       CASE
           WHEN job_type.rate_limit <> 'NONE' THEN coalesce(round(rate.used / 1000.0, 3), 0.000)
       END AS rate_used,
       rate.next_turn,
       nullif(job_type.breaker, 'NONE') AS breaker,
       coalesce(breaker.state, 'closed') AS breaker_state,
       breaker.until AS breaker_until,
       nullif(job_type.rate_limit_per_key, 'NONE') AS rate_limit_per_key
FROM hipq.job_type
JOIN hipq._visible_queue AS seen ON seen.queue_id = job_type.queue_id
JOIN hipq.queue ON queue.queue_id = seen.queue_id
JOIN hipq.instance ON instance.instance_id = queue.instance_id
LEFT JOIN hipq._worker_services() AS service
    ON service.queue_id = queue.queue_id AND service.job_type = job_type.name
LEFT JOIN hipq._rates() AS rate
    ON rate.queue_id = queue.queue_id AND rate.job_type = job_type.name
    AND job_type.rate_limit <> 'NONE'
LEFT JOIN LATERAL (
    SELECT now_is.state, now_is.until
    FROM hipq._breaker(job_type.queue_id, job_type.name) AS now_is
    WHERE job_type.breaker <> 'NONE'
       OR EXISTS (
           SELECT FROM hipq.breaker_state AS stored
           WHERE stored.queue_id = job_type.queue_id AND stored.job_type = job_type.name
       )
) AS breaker ON true
WHERE NOT queue.is_dropped
OFFSET 0;
COMMENT ON VIEW hipq.job_types_detail
    IS 'job types with the values in force: where the type says nothing, those of '
    'its queue, its instance or the settings';
COMMENT ON COLUMN hipq.job_types_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.job_types_detail.job_type IS 'job type';
COMMENT ON COLUMN hipq.job_types_detail.handler
    IS 'what runs: schema.function(argument types), or one SQL statement; NULL = nothing yet, '
    'jobs wait';
COMMENT ON COLUMN hipq.job_types_detail.handler_kind
    IS 'none, function, procedure, statement, or notify (external workers)';
COMMENT ON COLUMN hipq.job_types_detail.retry_handler
    IS 'function or SQL statement that decides about retries; NULL = the retry policy decides';
COMMENT ON COLUMN hipq.job_types_detail.default_timeout
    IS 'timeout of jobs that give none, in seconds';
COMMENT ON COLUMN hipq.job_types_detail.default_priority
    IS 'priority of jobs that give none; lower runs first';
COMMENT ON COLUMN hipq.job_types_detail.default_throttle_factor
    IS 'throttle_factor of jobs that give none';
COMMENT ON COLUMN hipq.job_types_detail.default_time_windows
    IS 'time windows of jobs that give none; NULL = always';
COMMENT ON COLUMN hipq.job_types_detail.time_zone
    IS 'zone, by name, in which time windows are read';
COMMENT ON COLUMN hipq.job_types_detail.max_retries IS 'max_retries of jobs that give none';
COMMENT ON COLUMN hipq.job_types_detail.retry_base IS 'delay before the first retry';
COMMENT ON COLUMN hipq.job_types_detail.retry_multiplier
    IS 'factor from one retry''s delay to the next';
COMMENT ON COLUMN hipq.job_types_detail.retry_max IS 'cap on the delay';
COMMENT ON COLUMN hipq.job_types_detail.retry_jitter IS 'random spread of the delay as a fraction';
COMMENT ON COLUMN hipq.job_types_detail.retry_on
    IS 'reasons, SQLSTATEs or SQLSTATE classes that are retried although they would not be';
COMMENT ON COLUMN hipq.job_types_detail.do_not_retry_on
    IS 'reasons, SQLSTATEs or SQLSTATE classes that are never retried';
COMMENT ON COLUMN hipq.job_types_detail.on_missing_handler
    IS 'what happens to a job whose handler does not exist: wait or fail';
COMMENT ON COLUMN hipq.job_types_detail.queue_ttl
    IS 'seconds an external worker has to accept a job offered to it';
COMMENT ON COLUMN hipq.job_types_detail.claim IS 'how jobs are taken: lock, record or auto';
COMMENT ON COLUMN hipq.job_types_detail.batch_size IS 'most jobs in one transaction';
COMMENT ON COLUMN hipq.job_types_detail.throttle_limit
    IS 'limit on the sum of throttle_factor over running jobs of the type; NULL = no limit';
COMMENT ON COLUMN hipq.job_types_detail.throttle_used
    IS 'sum of throttle_factor over its running and offered jobs';
COMMENT ON COLUMN hipq.job_types_detail.throttle_limit_per_key
    IS 'limit on that sum for the jobs of one throttle_key; NULL = no limit';
COMMENT ON COLUMN hipq.job_types_detail.requires
    IS 'what the capabilities of an external worker must contain to be offered its jobs';
COMMENT ON COLUMN hipq.job_types_detail.worker_wait_ttl
    IS 'seconds a due job waits while no external worker can be offered it, before it fails with '
    'worker_unavailable; NULL = for ever';
COMMENT ON COLUMN hipq.job_types_detail.workers
    IS 'external workers that serve it, whatever their health: they name it, may work on its '
    'queue and have what it requires';
COMMENT ON COLUMN hipq.job_types_detail.is_paused
    IS 'it, its queue or its instance is paused: see hipq.pauses';
COMMENT ON COLUMN hipq.job_types_detail.retry_enabled IS 'whether failed jobs are retried';
COMMENT ON COLUMN hipq.job_types_detail.parameters
    IS 'what job_data has to have: for each parameter its type, required, default, secret; {} = '
    'anything';
COMMENT ON COLUMN hipq.job_types_detail.validate
    IS 'when parameters are checked: enqueue = what does not fit is refused; run = its attempt '
    'fails with invalid_parameters';
COMMENT ON COLUMN hipq.job_types_detail.is_registered
    IS 'false: it registered itself because a job was enqueued, and goes when none is left';
COMMENT ON COLUMN hipq.job_types_detail.crashes
    IS 'how often its jobs took the server down in the 10 minutes up to the last time. With '
    'hipq.max_type_crashes it is held; a new handler begins with none';
COMMENT ON COLUMN hipq.job_types_detail.created_time IS 'when it was registered';
COMMENT ON COLUMN hipq.job_types_detail.attempt_log
    IS 'whether what its handlers say is kept, unless the handler says otherwise';
COMMENT ON COLUMN hipq.job_types_detail.paused_until
    IS 'when all that pauses it has ended; NULL = it is not paused, or only hipq.resume() ends it';
COMMENT ON COLUMN hipq.job_types_detail.rate_limit
    IS 'limit on the sum of throttle_factor over jobs that start in a time; NULL = no limit';
COMMENT ON COLUMN hipq.job_types_detail.rate_mode
    IS 'exact = never more in any such time; smooth = starts at even distances';
COMMENT ON COLUMN hipq.job_types_detail.rate_used
    IS 'how much of rate_limit is used up now; NULL = no limit';
COMMENT ON COLUMN hipq.job_types_detail.next_turn
    IS 'when a job of throttle_factor 1 may start; in the past: now; NULL = nothing has started';
COMMENT ON COLUMN hipq.job_types_detail.breaker
    IS 'how many of its attempts must fail in a time for no more to start, and for how long; NULL '
    '= no breaker';
COMMENT ON COLUMN hipq.job_types_detail.breaker_state
    IS 'closed = jobs start; open = none does; half open = one does, as a trial';
COMMENT ON COLUMN hipq.job_types_detail.breaker_until
    IS 'until when it is open, or was; NULL = it is closed, or open until close_breaker()';
COMMENT ON COLUMN hipq.job_types_detail.rate_limit_per_key
    IS 'the same as rate_limit for each throttle_key; NULL = no limit';
