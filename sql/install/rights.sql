-- Who may use what. PUBLIC gets nothing; hipq.grant_queue() gives functions and views to the roles that need them.

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA hipq FROM PUBLIC;
-- Whoever writes a value of the domain checks it.
GRANT EXECUTE ON FUNCTION hipq._are_time_windows(text) TO PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA hipq FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA hipq FROM PUBLIC;

-- Members of pg_monitor see all that has no data of jobs.
GRANT USAGE ON SCHEMA hipq TO pg_monitor;
GRANT SELECT ON
    hipq.alerts, hipq.instances, hipq.queues, hipq.job_types, hipq.pauses, hipq.running, hipq.progress, hipq.executors,
    hipq.lanes, hipq.sizes, hipq.throttle_keys, hipq.workers, hipq.healthy_workers, hipq.worker_health,
    hipq.dead_letter_rates, hipq.dead_letter_stats, hipq.dead_letter_reasons,
    hipq.statistics, hipq.retry_distribution, hipq.failure_statistics, hipq.throughput
    TO pg_monitor;
GRANT EXECUTE ON FUNCTION
    hipq._may(integer, text), hipq._readable_queues(), hipq._visible_queues(), hipq._reachable_queues(integer[]),
    hipq._is_one_of(integer, integer[]), hipq._alerts(), hipq._jobs_set_aside(), hipq._lost_schedules(), hipq._overdue(),
    hipq._executors(), hipq._first_unmet_condition(integer, text, text, text, numeric), hipq._limiters(), hipq._lanes(),
    hipq._running_jobs(), hipq._progress(), hipq._workers(), hipq._worker_services(), hipq.worker_queue_depth(bigint), hipq.now(),
    hipq._statistics(), hipq._retry_distribution(), hipq._failure_statistics(), hipq._throughput()
    TO pg_monitor;
