-- Views of external workers.

-- Of a worker that is not the caller's own, shows only the queues that the caller may read, and
-- their job types.
CREATE VIEW hipq.workers_detail WITH (security_barrier) AS
WITH readable_queue AS MATERIALIZED (
    SELECT queue.queue_id, queue.name FROM hipq._readable_queue AS queue
)
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
           (SELECT array_agg(queue.name ORDER BY queue.name)
            FROM readable_queue AS queue
            WHERE queue.name = ANY (worker.queues)) AS queues,
           (SELECT array_agg(DISTINCT job_type.name)
            FROM readable_queue AS queue
            JOIN hipq.job_type
                ON job_type.queue_id = queue.queue_id AND job_type.name = ANY (worker.job_types)
            WHERE queue.name = ANY (worker.queues)) AS job_types
) AS sight
WHERE sight.is_whole OR sight.queues IS NOT NULL
ORDER BY known.place, worker.worker_id
OFFSET 0;
COMMENT ON VIEW hipq.workers_detail
    IS 'external workers, the best first: healthy, unknown, degraded, unhealthy; of each the one '
    'that is offered the fewest jobs';
COMMENT ON COLUMN hipq.workers_detail.worker_id IS 'number of the worker';
COMMENT ON COLUMN hipq.workers_detail.name IS 'name the worker gave itself';
COMMENT ON COLUMN hipq.workers_detail.role IS 'role that registered it';
COMMENT ON COLUMN hipq.workers_detail.queues IS 'queues it serves';
COMMENT ON COLUMN hipq.workers_detail.job_types IS 'job types it serves';
COMMENT ON COLUMN hipq.workers_detail.status
    IS 'active: heard of within hipq.heartbeat_timeout, or its session is there and owes no '
    'answer; inactive: neither, or no room for it';
COMMENT ON COLUMN hipq.workers_detail.health
    IS 'status (healthy, degraded, unhealthy, or unknown: not heard of since it registered or the '
    'server started, or hipq.health_enabled is off), last_check, consecutive_failures, '
    'total_executions, failed_executions, average_execution_time_ms, queue_depth; what the worker '
    'says of itself merged in';
COMMENT ON COLUMN hipq.workers_detail.last_heartbeat
    IS 'when it was last heard of; NULL = not since the server started';
COMMENT ON COLUMN hipq.workers_detail.capabilities
    IS 'what it said when it registered; health as in that column';
COMMENT ON COLUMN hipq.workers_detail.capacity IS 'jobs it runs at a time';
COMMENT ON COLUMN hipq.workers_detail.prefetch IS 'jobs it may be offered beyond those it runs';
COMMENT ON COLUMN hipq.workers_detail.running_jobs IS 'jobs it has accepted and not finished';
COMMENT ON COLUMN hipq.workers_detail.queue_depth
    IS 'jobs offered to it that it has not accepted, by its own count if that is more';
COMMENT ON COLUMN hipq.workers_detail.failure_rate
    IS 'percent of its latest 64 executions that failed, or of all by its own count if that is '
    'more; NULL = fewer than ten';
COMMENT ON COLUMN hipq.workers_detail.is_draining IS 'it is offered no more jobs';
COMMENT ON COLUMN hipq.workers_detail.pid IS 'session it is bound to; NULL = none';
COMMENT ON COLUMN hipq.workers_detail.registered_time IS 'when it registered';

CREATE VIEW hipq.healthy_workers_detail WITH (security_barrier) AS
SELECT *
FROM hipq.workers_detail
WHERE workers_detail.health ->> 'status' = 'healthy' AND NOT workers_detail.is_draining;
COMMENT ON VIEW hipq.healthy_workers_detail
    IS 'external workers that are healthy and may be offered jobs, the best first';
COMMENT ON COLUMN hipq.healthy_workers_detail.worker_id IS 'number of the worker';
COMMENT ON COLUMN hipq.healthy_workers_detail.name IS 'name the worker gave itself';
COMMENT ON COLUMN hipq.healthy_workers_detail.role IS 'role that registered it';
COMMENT ON COLUMN hipq.healthy_workers_detail.queues IS 'queues it serves';
COMMENT ON COLUMN hipq.healthy_workers_detail.job_types IS 'job types it serves';
COMMENT ON COLUMN hipq.healthy_workers_detail.status
    IS 'active: heard of within hipq.heartbeat_timeout, or its session is there and owes no '
    'answer; inactive: neither, or there was no room for it';
COMMENT ON COLUMN hipq.healthy_workers_detail.health
    IS 'how it does: status (healthy, degraded, unhealthy, or unknown: not heard of since it '
    'registered or the server started, or hipq.health_enabled is off), last_check, '
    'consecutive_failures, total_executions, failed_executions, average_execution_time_ms, '
    'queue_depth; what the worker says of itself merged in';
COMMENT ON COLUMN hipq.healthy_workers_detail.last_heartbeat
    IS 'when it was last heard of; NULL = not since the server started';
COMMENT ON COLUMN hipq.healthy_workers_detail.capabilities
    IS 'what it said about itself when it registered; under health what column health has, '
    'whatever it said there';
COMMENT ON COLUMN hipq.healthy_workers_detail.capacity IS 'jobs it runs at a time';
COMMENT ON COLUMN hipq.healthy_workers_detail.prefetch
    IS 'jobs it may be offered beyond those it runs';
COMMENT ON COLUMN hipq.healthy_workers_detail.running_jobs
    IS 'jobs it has accepted and not finished';
COMMENT ON COLUMN hipq.healthy_workers_detail.queue_depth
    IS 'jobs offered to it that it has not accepted, by its own count if that is more';
COMMENT ON COLUMN hipq.healthy_workers_detail.failure_rate
    IS 'percent of its latest executions that failed, 64 at most, or of all by its own count if '
    'that is more; NULL = fewer than ten';
COMMENT ON COLUMN hipq.healthy_workers_detail.is_draining IS 'it is offered no more jobs';
COMMENT ON COLUMN hipq.healthy_workers_detail.pid
    IS 'session it is bound to; NULL = it registered without listen, or that session has ended';
COMMENT ON COLUMN hipq.healthy_workers_detail.registered_time IS 'when it registered';

-- Has a row for each status, even if no worker has it: zeros must be visible as zeros.
CREATE VIEW hipq.worker_health WITH (security_barrier) AS
SELECT health.status,
       count(worker.worker_id) AS workers,
       coalesce(sum(worker.queue_depth), 0) AS queue_depth,
       round(avg(worker.queue_depth), 2) AS average_queue_depth,
       coalesce(sum(worker.running_jobs), 0) AS running_jobs,
       round(avg(worker.failure_rate), 2) AS average_failure_rate
FROM (
    VALUES ('healthy', 1), ('unknown', 2), ('degraded', 3), ('unhealthy', 4)
) AS health (status, place)
LEFT JOIN hipq.workers_detail AS worker
    ON worker.health ->> 'status' = health.status AND worker.status = 'active'
GROUP BY health.status, health.place
ORDER BY health.place;
COMMENT ON VIEW hipq.worker_health
    IS 'how many external workers are in which health, of the active ones in hipq.workers: always '
    'four rows';
COMMENT ON COLUMN hipq.worker_health.status IS 'healthy, unknown, degraded or unhealthy';
COMMENT ON COLUMN hipq.worker_health.workers IS 'number of workers';
COMMENT ON COLUMN hipq.worker_health.queue_depth
    IS 'jobs offered to them that they have not accepted';
COMMENT ON COLUMN hipq.worker_health.average_queue_depth
    IS 'the same for each worker, on average; NULL = no such worker';
COMMENT ON COLUMN hipq.worker_health.running_jobs IS 'jobs they have accepted and not finished';
COMMENT ON COLUMN hipq.worker_health.average_failure_rate
    IS 'percent of executions that failed, on average over workers with ten executions; NULL = no '
    'such worker';

CREATE FUNCTION hipq.worker_queue_depth(worker bigint) RETURNS integer
    LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT detail.queue_depth FROM hipq.workers_detail AS detail WHERE detail.worker_id = worker
$$;
COMMENT ON FUNCTION hipq.worker_queue_depth(bigint)
    IS 'counts the jobs offered to a worker that it has not accepted; NULL if there is no such '
    'worker. worker: the worker';
