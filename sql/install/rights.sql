-- Who may use what. USAGE on the schema is the gate: hipq.grant_queue() gives it with the first
-- right on a queue, hipq.revoke_queue() takes it with the last. Behind it functions check what
-- their caller may do, and views show what he may read; so PUBLIC may use them. An upgrade script
-- does the same for what it adds, and whoever has a right on a queue can use that at once.

-- Whatever default privileges are in force.
REVOKE ALL ON ALL TABLES IN SCHEMA hipq FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA hipq FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA hipq TO PUBLIC;

-- What makes instances and queues does not ask who calls it; what is done once after a restore is
-- for superusers; what hipq itself calls, triggers among it, checks nothing.
REVOKE ALL ON FUNCTION
    hipq.create_instance, hipq.alter_instance, hipq.drop_instance, hipq.create_queue,
    hipq.release_hold(), hipq.release_hold(text), hipq.restore_schedules,
    hipq._catalogue_changed, hipq._guard_job, hipq._fitting_data, hipq._is_held,
    hipq.rebalance, hipq.move_slots, hipq._shards_changed, hipq._receive, hipq._tell_shards,
    hipq._set_up_of, hipq._send_set_up, hipq._unfit_for_shards, hipq._join_shards,
    hipq._publish_outbox, hipq._keep_outbox, hipq._subscribe_to_outbox, hipq._leave_shards,
    hipq._position_after_all_sent, hipq._own_timeline, hipq._receive_again, hipq._begin_resync,
    hipq._unsubscribe_from_outbox, hipq._unpublish_outbox, hipq.drain_shard,
    hipq._answer, hipq._wait_until_read,
    hipq._is_one_of_support,
    hipq._is_in_reach_support,
    hipq._is_in_reach_by_scan_support,
    hipq._asked_ids_support,
    hipq._is_asked_for_support,
    hipq._is_as_asked_support
    FROM PUBLIC;
REVOKE ALL ON PROCEDURE hipq.create_shard, hipq.drop_shard, hipq.resync_shard FROM PUBLIC;

GRANT SELECT ON
    hipq.instances, hipq.instances_detail, hipq.queues, hipq.queues_detail, hipq.job_types,
    hipq.job_types_detail, hipq.pauses, hipq.pauses_detail, hipq.jobs, hipq.jobs_detail,
    hipq.running, hipq.running_detail, hipq.progress, hipq.progress_detail, hipq.attempts,
    hipq.attempts_detail, hipq.attempt_logs, hipq.attempt_logs_detail, hipq.dead_letters,
    hipq.dead_letters_detail, hipq.dead_letter_rates, hipq.dead_letter_stats,
    hipq.dead_letter_stats_detail, hipq.dead_letter_reasons, hipq.schedules, hipq.schedules_detail,
    hipq.workers, hipq.workers_detail, hipq.healthy_workers, hipq.healthy_workers_detail,
    hipq.worker_health, hipq.executors, hipq.executors_detail, hipq.lanes, hipq.lanes_detail,
    hipq.sizes, hipq.sizes_detail, hipq.throttle_keys, hipq.statistics, hipq.statistics_detail,
    hipq.retry_distribution, hipq.failure_statistics, hipq.throughput, hipq.histograms,
    hipq.backlog, hipq.activity, hipq.activity_detail, hipq.shard_rejects,
    hipq.shard_rejects_detail, hipq.cluster_queues, hipq.cluster_queues_detail
    TO PUBLIC;

-- Members of pg_monitor see all that has no data of jobs. Alerts tell of the whole server: an empty
-- view would tell others that all is well.
GRANT USAGE ON SCHEMA hipq TO pg_monitor;
GRANT SELECT ON hipq.alerts, hipq.alerts_detail, hipq.shards, hipq.shard_limits TO pg_monitor;
