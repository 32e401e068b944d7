-- The contract: every object of the extension, by name, type and definition. A change here is a
-- change for users, and belongs in the changelog.
BEGIN;
-- Definitions contain the names of schemas that are not in the search_path.
SET LOCAL search_path = pg_catalog, public;
SELECT plan(15);

SELECT set_eq($got$
SELECT relname::text, relkind::text FROM pg_class
WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p', 'v', 'S') AND NOT relispartition
$got$, $want$VALUES
    ('instance_id_seq', 'S'),
    ('job_id_seq', 'S'),
    ('queue_id_seq', 'S'),
    ('worker_id_seq', 'S'),
    ('schedule_id_seq', 'S'),
    ('aimed_job', 'r'),
    ('attempt', 'p'),
    ('attempt_log', 'p'),
    ('job', 'p'),
    ('dead_letter', 'r'),
    ('identity', 'r'),
    ('instance', 'r'),
    ('job_type', 'r'),
    ('queue', 'r'),
    ('schedule', 'r'),
    ('batch', 'r'),
    ('batch_failure', 'r'),
    ('batch_join', 'r'),
    ('dependency', 'r'),
    ('graph_job', 'r'),
    ('made_by_handler', 'r'),
    ('rate_lease', 'r'),
    ('set_aside', 'r'),
    ('worker', 'r'),
    ('_readable_queue', 'v'),
    ('_visible_queue', 'v'),
    ('alerts', 'v'),
    ('alerts_detail', 'v'),
    ('statistics', 'v'),
    ('statistics_detail', 'v'),
    ('retry_distribution', 'v'),
    ('failure_statistics', 'v'),
    ('throughput', 'v'),
    ('histograms', 'v'),
    ('backlog', 'v'),
    ('activity', 'v'),
    ('activity_detail', 'v'),
    ('attempts', 'v'),
    ('attempts_detail', 'v'),
    ('attempt_logs', 'v'),
    ('attempt_logs_detail', 'v'),
    ('batches', 'v'),
    ('batches_detail', 'v'),
    ('dead_letters', 'v'),
    ('dead_letters_detail', 'v'),
    ('dead_letter_rates', 'v'),
    ('dead_letter_reasons', 'v'),
    ('dead_letter_stats', 'v'),
    ('dead_letter_stats_detail', 'v'),
    ('executors', 'v'),
    ('executors_detail', 'v'),
    ('graph_jobs', 'v'),
    ('graph_jobs_detail', 'v'),
    ('graphs', 'v'),
    ('graphs_detail', 'v'),
    ('lanes', 'v'),
    ('lanes_detail', 'v'),
    ('throttle_keys', 'v'),
    ('instances', 'v'),
    ('instances_detail', 'v'),
    ('job_types', 'v'),
    ('job_types_detail', 'v'),
    ('pauses', 'v'),
    ('pauses_detail', 'v'),
    ('pause', 'r'),
    ('breaker_state', 'r'),
    ('queue_hold', 'r'),
    ('jobs', 'v'),
    ('jobs_detail', 'v'),
    ('queues', 'v'),
    ('queues_detail', 'v'),
    ('schedules', 'v'),
    ('schedules_detail', 'v'),
    ('running', 'v'),
    ('running_detail', 'v'),
    ('progress', 'v'),
    ('progress_detail', 'v'),
    ('sizes', 'v'),
    ('sizes_detail', 'v'),
    ('workers', 'v'),
    ('workers_detail', 'v'),
    ('healthy_workers', 'v'),
    ('healthy_workers_detail', 'v'),
    ('worker_health', 'v'),
    ('shard', 'r'),
    ('shard_coming', 'r'),
    ('shard_held_job', 'r'),
    ('shard_held_job_seq', 'S'),
    ('shard_leaving', 'r'),
    ('shard_map', 'r'),
    ('shard_move', 'r'),
    ('shard_outbox', 'p'),
    ('shard_outbox_id_seq', 'S'),
    ('shard_neighbour', 'r'),
    ('shard_sign', 'r'),
    ('shard_received', 'p'),
    ('shard_reject', 'r'),
    ('cluster_queues', 'v'),
    ('cluster_queues_detail', 'v'),
    ('shard_stats', 'r'),
    ('shard_limits', 'v'),
    ('shard_rejects', 'v'),
    ('shard_rejects_detail', 'v'),
    ('shards', 'v'),
    ('shard_outbox_mark', 'r'),
    ('permit_share', 'r'),
    ('permit_authority', 'r'),
    ('permit_record', 'r')
$want$, 'tables (r, p), views (v), sequences (S)');

SELECT set_eq($got$
SELECT relname::text, attname::text, format_type(atttypid, atttypmod), attnotnull::text,
       coalesce(pg_get_expr(adbin, adrelid), '')
FROM pg_class
JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
$got$, $want$VALUES
    ('aimed_job', 'queue_id', 'integer', 'true', ''),
    ('aimed_job', 'job_id', 'bigint', 'true', ''),
    ('aimed_job', 'worker', 'text', 'true', ''),
    ('attempt_log', 'job_id', 'bigint', 'true', ''),
    ('attempt_log', 'logged_time', 'timestamp with time zone', 'true', ''),
    ('attempt_log', 'queue_id', 'integer', 'true', ''),
    ('attempt_log', 'attempt', 'integer', 'true', ''),
    ('attempt_log', 'level', 'text', 'true', ''),
    ('attempt_log', 'sqlstate', 'text', 'true', ''),
    ('attempt_log', 'message', 'text', 'true', ''),
    ('attempt_log', 'detail', 'text', 'false', ''),
    ('attempt_log', 'hint', 'text', 'false', ''),
    ('attempt_log', 'context', 'text', 'false', ''),
    ('attempt', 'job_id', 'bigint', 'true', ''),
    ('attempt', 'started_time', 'timestamp with time zone', 'true', ''),
    ('attempt', 'ended_time', 'timestamp with time zone', 'true', ''),
    ('attempt', 'queue_id', 'integer', 'true', ''),
    ('attempt', 'attempt', 'integer', 'true', ''),
    ('attempt', 'executor_pid', 'integer', 'false', ''),
    ('attempt', 'worker_id', 'bigint', 'false', ''),
    ('attempt', 'job_type', 'text', 'true', ''),
    ('attempt', 'job_key', 'text', 'true', ''),
    ('attempt', 'reason', 'text', 'true', ''),
    ('attempt', 'sqlstate', 'text', 'false', ''),
    ('attempt', 'error', 'text', 'true', ''),
    ('attempt', 'detail', 'text', 'false', ''),
    ('attempt', 'hint', 'text', 'false', ''),
    ('attempt', 'context', 'text', 'false', ''),
    ('attempt', 'traceparent', 'text', 'false', ''),
    ('dead_letter', 'job_id', 'bigint', 'true', ''),
    ('dead_letter', 'died_time', 'timestamp with time zone', 'true', ''),
    ('dead_letter', 'handled_time', 'timestamp with time zone', 'false', ''),
    ('dead_letter', 'redriven_time', 'timestamp with time zone', 'false', ''),
    ('dead_letter', 'dismissed_time', 'timestamp with time zone', 'false', ''),
    ('dead_letter', 'redriven_as', 'bigint', 'false', ''),
    ('dead_letter', 'queue_id', 'integer', 'true', ''),
    ('dead_letter', 'job_type', 'text', 'true', ''),
    ('dead_letter', 'job_key', 'text', 'true', ''),
    ('dead_letter', 'reason', 'text', 'true', ''),
    ('dead_letter', 'sqlstate', 'text', 'false', ''),
    ('dead_letter', 'error', 'text', 'true', ''),
    ('dead_letter', 'job', 'jsonb', 'true', ''),
    ('dead_letter', 'history', 'jsonb', 'true', '''[]''::jsonb'),
    ('dead_letter', 'attempts_left_out', 'bigint', 'true', '0'),
    ('dead_letter', 'reduced_because', 'text', 'false', ''),
    ('dead_letter', 'awaits_handler', 'boolean', 'true', 'false'),
    ('dead_letter', 'handler_starts', 'integer', 'true', '0'),
    ('dead_letter', 'handler_error', 'text', 'false', ''),
    ('dead_letter', 'handler_retries', 'integer', 'true', '0'),
    ('dead_letter', 'handler_retry_time', 'timestamp with time zone', 'false', ''),
    ('dead_letter', 'state', 'text', 'true',
        E'\nCASE\n    WHEN (redriven_time IS NOT NULL) THEN ''redriven''::text\n'
        '    WHEN (dismissed_time IS NOT NULL) THEN ''dismissed''::text\n'
        '    WHEN (handled_time IS NOT NULL) THEN ''handled''::text\n    ELSE ''waiting''::text\n'
        'END'),
    ('identity', 'system_identifier', 'bigint', 'true', ''),
    ('identity', 'database_oid', 'oid', 'true', ''),
    ('identity', 'token', 'uuid', 'false', ''),
    ('identity', 'created_time', 'timestamp with time zone', 'true', 'now()'),
    ('identity', 'only_row', 'boolean', 'true', 'true'),
    ('instance', 'instance_id', 'integer', 'true', 'nextval(''hipq.instance_id_seq''::regclass)'),
    ('instance', 'name', 'text', 'true', ''),
    ('instance', 'shard_key', 'text', 'true', '''NONE''::text'),
    ('instance', 'table_naming_strategy', 'text', 'true', '''NONE''::text'),
    ('instance', 'is_strict', 'boolean', 'true', 'false'),
    ('instance', 'db_config', 'jsonb', 'true', '''{}''::jsonb'),
    ('instance', 'created_time', 'timestamp with time zone', 'true', 'now()'),
    ('instance', 'created_by', 'hipq.role', 'true', '(CURRENT_USER)::regrole'),
    ('instance', 'max_retries', 'integer', 'false', ''),
    ('job', 'id', 'bigint', 'true', ''),
    ('job', 'original_job_id', 'bigint', 'false', ''),
    ('job', 'retry_of', 'bigint', 'false', ''),
    ('job', 'worker_id', 'bigint', 'false', ''),
    ('job', 'scheduled_run_time', 'timestamp with time zone', 'true', 'now()'),
    ('job', 'update_time', 'timestamp with time zone', 'true', ''),
    ('job', 'created_time', 'timestamp with time zone', 'true', ''),
    ('job', 'accepted_time', 'timestamp with time zone', 'true',
        format('%L::timestamp with time zone', '9999-01-01 00:00:00+00'::timestamptz)),
    ('job', 'deadline', 'timestamp with time zone', 'true',
        format('%L::timestamp with time zone', '9999-01-01 00:00:00+00'::timestamptz)),
    ('job', 'expires_time', 'timestamp with time zone', 'true',
        format('%L::timestamp with time zone', '9999-01-01 00:00:00+00'::timestamptz)),
    ('job', 'queue_id', 'integer', 'true', ''),
    ('job', 'state', 'hipq.job_state', 'true', '''initial''::hipq.job_state'),
    ('job', 'timeout', 'integer', 'true', ''),
    ('job', 'attempt', 'integer', 'true', '0'),
    ('job', 'retry_count', 'integer', 'true', '0'),
    ('job', 'max_retries', 'integer', 'true', ''),
    ('job', 'queue_ttl', 'integer', 'false', ''),
    ('job', 'priority', 'smallint', 'true', ''),
    ('job', 'throttle_factor', 'numeric', 'true', ''),
    ('job', 'job_type', 'text', 'true', ''),
    ('job', 'job_key', 'text', 'true', '''NONE''::text'),
    ('job', 'error', 'text', 'true', '''NONE''::text'),
    ('job', 'throttle_key', 'text', 'true', '''NONE''::text'),
    ('job', 'time_windows', 'hipq.time_windows', 'true', ''),
    ('job', 'retry_reason', 'text', 'true', '''NONE''::text'),
    ('job', 'manual_reason', 'text', 'false', ''),
    ('job', 'traceparent', 'text', 'false', ''),
    ('job', 'waits_for', 'text', 'false', ''),
    ('job', 'batch_id', 'bigint', 'false', ''),
    ('job', 'schedule_time', 'timestamp with time zone', 'false', ''),
    ('job', 'shard_key', 'text', 'true', '''NONE''::text'),
    ('job', 'job_data', 'jsonb', 'true', '''{}''::jsonb'),
    ('job', 'result', 'jsonb', 'true', '''null''::jsonb'),
    ('job_type', 'queue_id', 'integer', 'true', ''),
    ('job_type', 'name', 'text', 'true', ''),
    ('job_type', 'handler', 'text', 'true', '''NONE''::text'),
    ('job_type', 'handler_kind', 'text', 'true', '''none''::text'),
    ('job_type', 'retry_handler', 'text', 'true', '''NONE''::text'),
    ('job_type', 'default_timeout', 'integer', 'false', ''),
    ('job_type', 'default_priority', 'smallint', 'true', '0'),
    ('job_type', 'default_throttle_factor', 'numeric(9,3)', 'true', '1'),
    ('job_type', 'default_time_windows', 'hipq.time_windows', 'true', '''NONE''::text'),
    ('job_type', 'time_zone', 'text', 'true', 'current_setting(''TimeZone''::text)'),
    ('job_type', 'max_retries', 'integer', 'false', ''),
    ('job_type', 'retry_base', 'interval', 'false', ''),
    ('job_type', 'retry_multiplier', 'double precision', 'false', ''),
    ('job_type', 'retry_max', 'interval', 'false', ''),
    ('job_type', 'retry_jitter', 'double precision', 'false', ''),
    ('job_type', 'retry_on', 'text[]', 'true', '''{}''::text[]'),
    ('job_type', 'do_not_retry_on', 'text[]', 'true', '''{}''::text[]'),
    ('job_type', 'on_missing_handler', 'text', 'true', '''wait''::text'),
    ('job_type', 'queue_ttl', 'integer', 'false', ''),
    ('job_type', 'claim', 'text', 'true', '''auto''::text'),
    ('job_type', 'batch_size', 'integer', 'true', '1'),
    ('job_type', 'throttle_limit', 'numeric(12,3)', 'true', '0'),
    ('job_type', 'throttle_limit_per_key', 'numeric(12,3)', 'true', '0'),
    ('job_type', 'worker_wait_ttl', 'integer', 'false', ''),
    ('job_type', 'requires', 'jsonb', 'true', '''{}''::jsonb'),
    ('job_type', 'created_time', 'timestamp with time zone', 'true', 'now()'),
    ('job_type', 'is_registered', 'boolean', 'true', 'true'),
    ('job_type', 'crash_times', 'timestamp with time zone[]', 'true',
        '''{}''::timestamp with time zone[]'),
    ('queue_hold', 'queue_id', 'integer', 'true', ''),
    ('queue_hold', 'subscription', 'text', 'true', ''),
    ('queue_hold', 'held_time', 'timestamp with time zone', 'true', 'now()'),
    ('breaker_state', 'queue_id', 'integer', 'true', ''),
    ('breaker_state', 'job_type', 'text', 'true', ''),
    ('breaker_state', 'opened_time', 'timestamp with time zone', 'true', ''),
    ('breaker_state', 'open_until', 'timestamp with time zone', 'false', ''),
    ('breaker_state', 'opened_by', 'text', 'false', ''),
    ('breaker_state', 'reason', 'text', 'true', '''NONE''::text'),
    ('breaker_state', 'change', 'bigint', 'true', ''),
    ('pause', 'instance_id', 'integer', 'false', ''),
    ('pause', 'queue_id', 'integer', 'false', ''),
    ('pause', 'job_type', 'text', 'false', ''),
    ('pause', 'throttle_key', 'text', 'false', ''),
    ('pause', 'paused_by', 'text', 'true', ''),
    ('pause', 'paused_time', 'timestamp with time zone', 'true', ''),
    ('pause', 'reason', 'text', 'true', '''NONE''::text'),
    ('pause', 'crashes', 'integer', 'false', ''),
    ('pause', 'paused_until', 'timestamp with time zone', 'false', ''),
    ('queue', 'queue_id', 'integer', 'true', 'nextval(''hipq.queue_id_seq''::regclass)'),
    ('queue', 'instance_id', 'integer', 'true', ''),
    ('queue', 'name', 'text', 'true', ''),
    ('queue', 'owner', 'hipq.role', 'true', ''),
    ('queue', 'table_name', 'text', 'true', ''),
    ('queue', 'throttle_limit', 'numeric(12,3)', 'true', '0'),
    ('queue', 'retention', 'interval', 'false', ''),
    ('queue', 'history', 'text', 'true', '''failed''::text'),
    ('queue', 'durability', 'text', 'true', '''strict''::text'),
    ('queue', 'weight', 'integer', 'true', '100'),
    ('queue', 'is_strict', 'boolean', 'false', ''),
    ('queue', 'queue_ttl', 'integer', 'false', ''),
    ('queue', 'dead_letter_enabled', 'boolean', 'false', ''),
    ('queue', 'retry_enabled', 'boolean', 'false', ''),
    ('job_type', 'retry_enabled', 'boolean', 'false', ''),
    ('job_type', 'attempt_log', 'boolean', 'false', ''),
    ('job_type', 'rate_limit', 'hipq.rate', 'true', '''NONE''::text'),
    ('job_type', 'rate_mode', 'text', 'true', '''exact''::text'),
    ('job_type', 'breaker', 'hipq.breaker_rule', 'true', '''NONE''::text'),
    ('job_type', 'rate_limit_per_key', 'hipq.rate', 'true', '''NONE''::text'),
    ('job_type', 'parameters', 'jsonb', 'true', '''{}''::jsonb'),
    ('job_type', 'validate', 'text', 'true', '''enqueue''::text'),
    ('queue', 'dead_letter_retention', 'interval', 'false', ''),
    ('queue', 'dead_letter_max', 'integer', 'false', ''),
    ('queue', 'dead_letter_handler', 'text', 'true', '''NONE''::text'),
    ('queue', 'dead_letter_crash_times', 'timestamp with time zone[]', 'true',
        '''{}''::timestamp with time zone[]'),
    ('queue', 'max_timeout', 'integer', 'false', ''),
    ('queue', 'highest_priority', 'smallint', 'false', ''),
    ('queue', 'allow_free_jobs', 'boolean', 'true', 'true'),
    ('queue', 'is_dropped', 'boolean', 'true', 'false'),
    ('queue', 'created_time', 'timestamp with time zone', 'true', 'now()'),
    ('schedule', 'schedule_id', 'integer', 'true', 'nextval(''hipq.schedule_id_seq''::regclass)'),
    ('schedule', 'name', 'text', 'true', ''),
    ('schedule', 'cron', 'text', 'true', ''),
    ('schedule', 'role', 'hipq.role', 'true', ''),
    ('schedule', 'queue_id', 'integer', 'true', ''),
    ('schedule', 'job_type', 'text', 'true', ''),
    ('schedule', 'job_key', 'text', 'true', ''),
    ('schedule', 'job_data', 'jsonb', 'true', '''{}''::jsonb'),
    ('schedule', 'priority', 'smallint', 'false', ''),
    ('schedule', 'timeout', 'integer', 'false', ''),
    ('schedule', 'throttle_factor', 'numeric(9,3)', 'false', ''),
    ('schedule', 'throttle_key', 'text', 'false', ''),
    ('schedule', 'time_windows', 'text', 'false', ''),
    ('schedule', 'max_retries', 'integer', 'false', ''),
    ('schedule', 'expires_after', 'interval', 'false', ''),
    ('schedule', 'created_time', 'timestamp with time zone', 'true', 'now()'),
    ('schedule', 'last_run_time', 'timestamp with time zone', 'false', ''),
    ('schedule', 'last_action', 'text', 'false', ''),
    ('schedule', 'last_job_id', 'bigint', 'false', ''),
    ('schedule', 'told_by', 'text', 'true', '''pg_cron''::text'),
    ('schedule', 'time_zone', 'text', 'false', ''),
    ('schedule', 'missed', 'text', 'true', '''once''::text'),
    ('schedule', 'missed_within', 'interval', 'true', '''1 day''::interval'),
    ('schedule', 'jitter', 'interval', 'true', '''00:00:00''::interval'),
    ('schedule', 'overlap', 'text', 'true', '''skip''::text'),
    ('schedule', 'starts', 'timestamp with time zone', 'false', ''),
    ('schedule', 'ends', 'timestamp with time zone', 'false', ''),
    ('schedule', 'next_time', 'timestamp with time zone', 'false', ''),
    ('schedule', 'due_time', 'timestamp with time zone', 'false', ''),
    ('schedule', 'last_time', 'timestamp with time zone', 'false', ''),
    ('schedule', 'last_error', 'text', 'false', ''),
    ('schedule', 'tries', 'integer', 'true', '0'),
    ('made_by_handler', 'queue_id', 'integer', 'true', ''),
    ('made_by_handler', 'job_id', 'bigint', 'true', ''),
    ('set_aside', 'job_id', 'bigint', 'true', ''),
    ('set_aside', 'queue_id', 'integer', 'true', ''),
    ('set_aside', 'attempt', 'integer', 'true', ''),
    ('set_aside', 'state', 'hipq.job_state', 'true', ''),
    ('set_aside', 'set_aside_time', 'timestamp with time zone', 'true', ''),
    ('set_aside', 'sqlstate', 'text', 'true', ''),
    ('set_aside', 'error', 'text', 'true', ''),
    ('batch', 'batch_id', 'bigint', 'true', ''),
    ('batch', 'queue_id', 'integer', 'true', ''),
    ('batch', 'name', 'text', 'false', ''),
    ('batch', 'created_time', 'timestamp with time zone', 'true', ''),
    ('batch', 'closed_time', 'timestamp with time zone', 'false', ''),
    ('batch', 'expires_time', 'timestamp with time zone', 'true', ''),
    ('batch_failure', 'batch_id', 'bigint', 'true', ''),
    ('batch_failure', 'outcome', 'text', 'true', ''),
    ('batch_failure', 'job_id', 'bigint', 'true', ''),
    ('batch_join', 'batch_id', 'bigint', 'true', ''),
    ('batch_join', 'queue_id', 'integer', 'true', ''),
    ('batch_join', 'jobs', 'bigint', 'true', ''),
    ('dependency', 'queue_id', 'integer', 'true', ''),
    ('dependency', 'job_id', 'bigint', 'true', ''),
    ('dependency', 'before_id', 'bigint', 'true', ''),
    ('dependency', 'before_queue_id', 'integer', 'true', ''),
    ('dependency', 'after_policy', 'text', 'true', ''),
    ('dependency', 'on_failure', 'text', 'true', ''),
    ('dependency', 'outcome', 'text', 'false', ''),
    ('dependency', 'result', 'jsonb', 'false', ''),
    ('graph_job', 'graph_id', 'bigint', 'true', ''),
    ('graph_job', 'name', 'text', 'true', ''),
    ('graph_job', 'job_id', 'bigint', 'true', ''),
    ('graph_job', 'queue_id', 'integer', 'true', ''),
    ('worker', 'worker_id', 'bigint', 'true', 'nextval(''hipq.worker_id_seq''::regclass)'),
    ('worker', 'name', 'text', 'true', ''),
    ('worker', 'role', 'regrole', 'true', ''),
    ('worker', 'queues', 'text[]', 'true', '''{}''::text[]'),
    ('worker', 'job_types', 'text[]', 'true', '''{}''::text[]'),
    ('worker', 'capacity', 'integer', 'true', '1'),
    ('worker', 'prefetch', 'integer', 'true', '0'),
    ('worker', 'capabilities', 'jsonb', 'true', '''{}''::jsonb'),
    ('worker', 'is_bound', 'boolean', 'true', 'false'),
    ('worker', 'is_draining', 'boolean', 'true', 'false'),
    ('worker', 'registered_time', 'timestamp with time zone', 'true', 'now()'),
    ('queue', 'shard_key', 'text', 'true', '''NONE''::text'),
    ('queue', 'throttle_mode', 'text', 'true', '''shared''::text'),
    ('queue', 'move_order', 'text', 'true', '''key''::text'),
    ('queue', 'unique_scope', 'text', 'true', '''global''::text'),
    ('queue', 'worker_wait_ttl', 'integer', 'false', ''),
    ('queue', 'max_retries', 'integer', 'false', ''),
    ('queue', 'rate_limit', 'hipq.rate', 'true', '''NONE''::text'),
    ('queue', 'rate_mode', 'text', 'true', '''exact''::text'),
    ('rate_lease', 'queue_id', 'integer', 'true', ''),
    ('rate_lease', 'job_type', 'text', 'true', ''),
    ('rate_lease', 'throttle_key', 'bigint', 'true', '0'),
    ('rate_lease', 'granted_time', 'timestamp with time zone', 'true', ''),
    ('rate_lease', 'weight', 'bigint', 'true', ''),
    ('permit_share', 'queue_id', 'integer', 'true', ''),
    ('permit_share', 'job_type', 'text', 'true', ''),
    ('permit_share', 'throttle_key', 'bigint', 'true', ''),
    ('permit_share', 'epoch', 'bigint', 'true', '0'),
    ('permit_share', 'serial', 'bigint', 'true', '0'),
    ('permit_share', 'is_waiting', 'boolean', 'true', 'false'),
    ('permit_share', 'must_ask', 'boolean', 'true', 'false'),
    ('permit_share', 'share', 'bigint', 'true', '0'),
    ('permit_share', 'has_all', 'boolean', 'true', 'false'),
    ('permit_share', 'target', 'bigint', 'true', '0'),
    ('permit_share', 'weight_limit', 'bigint', 'true', '0'),
    ('permit_share', 'asked_want', 'bigint', 'true', '0'),
    ('permit_share', 'asked_unit', 'bigint', 'true', '0'),
    ('permit_share', 'timeline', 'integer', 'true', '0'),
    ('permit_authority', 'queue_id', 'integer', 'true', ''),
    ('permit_authority', 'job_type', 'text', 'true', ''),
    ('permit_authority', 'throttle_key', 'bigint', 'true', ''),
    ('permit_authority', 'epoch', 'bigint', 'true', ''),
    ('permit_authority', 'weight_limit', 'bigint', 'true', ''),
    ('permit_authority', 'turn', 'integer', 'true', '0'),
    ('permit_authority', 'timeline', 'integer', 'true', '0'),
    ('permit_record', 'queue_id', 'integer', 'true', ''),
    ('permit_record', 'job_type', 'text', 'true', ''),
    ('permit_record', 'throttle_key', 'bigint', 'true', ''),
    ('permit_record', 'node', 'smallint', 'true', ''),
    ('permit_record', 'is_heard', 'boolean', 'true', 'false'),
    ('permit_record', 'heard_time', 'timestamp with time zone', 'true', 'clock_timestamp()'),
    ('permit_record', 'serial', 'bigint', 'true', '0'),
    ('permit_record', 'share', 'bigint', 'true', '0'),
    ('permit_record', 'has_all', 'boolean', 'true', 'false'),
    ('permit_record', 'want', 'bigint', 'true', '0'),
    ('permit_record', 'unit', 'bigint', 'true', '0'),
    ('permit_record', 'told_target', 'bigint', 'true', '0'),
    ('shard', 'channel', 'text', 'true', ''),
    ('shard', 'conninfo', 'text', 'true', ''),
    ('shard', 'created_time', 'timestamp with time zone', 'true', 'now()'),
    ('shard', 'instance_id', 'integer', 'true', ''),
    ('shard', 'node', 'smallint', 'true', ''),
    ('shard', 'publisher', 'text', 'true', ''),
    ('shard', 'state', 'text', 'true', '''joining''::text'),
    ('shard', 'timeline', 'integer', 'false', ''),
    ('shard', 'weight', 'integer', 'true', '100'),
    ('shard_coming', 'busy_keys', 'jsonb', 'false', ''),
    ('shard_coming', 'in_order', 'text[]', 'true', '''{}''::text[]'),
    ('shard_coming', 'instance_id', 'integer', 'true', ''),
    ('shard_coming', 'quiet_time', 'timestamp with time zone', 'false', ''),
    ('shard_coming', 'slot', 'smallint', 'true', ''),
    ('shard_held_job', 'instance_id', 'integer', 'true', ''),
    ('shard_held_job', 'job', 'jsonb', 'true', ''),
    ('shard_held_job', 'job_key', 'text', 'true', ''),
    ('shard_held_job', 'job_type', 'text', 'true', ''),
    ('shard_held_job', 'outbox_id', 'bigint', 'true', ''),
    ('shard_held_job', 'place', 'bigint', 'true', 'nextval(''hipq.shard_held_job_seq''::regclass)'),
    ('shard_held_job', 'queue', 'text', 'true', ''),
    ('shard_held_job', 'sender', 'smallint', 'true', ''),
    ('shard_held_job', 'shard_key', 'text', 'true', '''NONE''::text'),
    ('shard_held_job', 'slot', 'smallint', 'true', ''),
    ('shard_held_job', 'was_accepted', 'boolean', 'true', 'false'),
    ('shard_leaving', 'busy_keys', 'jsonb', 'false', ''),
    ('shard_leaving', 'in_order', 'text[]', 'true', '''{}''::text[]'),
    ('shard_leaving', 'instance_id', 'integer', 'true', ''),
    ('shard_leaving', 'last_came', 'boolean', 'true', 'false'),
    ('shard_leaving', 'seen_time', 'timestamp with time zone', 'false', ''),
    ('shard_leaving', 'slot', 'smallint', 'true', ''),
    ('shard_map', 'cluster', 'uuid', 'true', ''),
    ('shard_map', 'generation', 'bigint', 'true', '1'),
    ('shard_map', 'instance_id', 'integer', 'true', ''),
    ('shard_map', 'nodes', 'smallint[]', 'true', ''),
    ('shard_map', 'own_node', 'smallint', 'true', ''),
    ('shard_map', 'router_has', 'jsonb', 'false', ''),
    ('shard_map', 'timeline', 'text', 'true', 'hipq._own_timeline()'),
    ('shard_move', 'busy_keys', 'jsonb', 'false', ''),
    ('shard_move', 'from_node', 'smallint', 'true', ''),
    ('shard_move', 'in_order', 'text[]', 'true', '''{}''::text[]'),
    ('shard_move', 'instance_id', 'integer', 'true', ''),
    ('shard_move', 'last_sent', 'boolean', 'true', 'false'),
    ('shard_move', 'seen_time', 'timestamp with time zone', 'false', ''),
    ('shard_move', 'slot', 'smallint', 'true', ''),
    ('shard_move', 'started_time', 'timestamp with time zone', 'true', 'clock_timestamp()'),
    ('shard_move', 'to_node', 'smallint', 'true', ''),
    ('shard_stats', 'as_of', 'timestamp with time zone', 'true', ''),
    ('shard_stats', 'instance_id', 'integer', 'true', ''),
    ('shard_stats', 'node', 'smallint', 'true', ''),
    ('shard_stats', 'queues', 'jsonb', 'true', ''),
    ('shard_stats', 'trouble', 'text', 'false', ''),
    ('shard_outbox', 'body', 'jsonb', 'false', ''),
    ('shard_outbox', 'id', 'bigint', 'true', 'nextval(''hipq.shard_outbox_id_seq''::regclass)'),
    ('shard_outbox', 'instance', 'text', 'true', ''),
    ('shard_outbox', 'jobs', 'jsonb[]', 'false', ''),
    ('shard_outbox', 'kind', 'text', 'true', ''),
    ('shard_outbox', 'node', 'smallint', 'true', ''),
    ('shard_outbox', 'queue', 'text', 'false', ''),
    ('shard_outbox', 'sender', 'smallint', 'true', ''),
    ('shard_outbox', 'sent_time', 'timestamp with time zone', 'true', 'clock_timestamp()'),
    ('shard_neighbour', 'heard_id', 'bigint', 'true', '0'),
    ('shard_neighbour', 'heard_time', 'timestamp with time zone', 'false', ''),
    ('shard_neighbour', 'instance_id', 'integer', 'true', ''),
    ('shard_neighbour', 'node', 'smallint', 'true', ''),
    ('shard_neighbour', 'signs_from', 'bigint', 'true', '0'),
    ('shard_neighbour', 'whole_id', 'bigint', 'true', '0'),
    ('shard_sign', 'id', 'bigint', 'true', ''),
    ('shard_sign', 'instance_id', 'integer', 'true', ''),
    ('shard_sign', 'node', 'smallint', 'true', ''),
    ('shard_sign', 'sent_time', 'timestamp with time zone', 'true', ''),
    ('shard_received', 'id', 'bigint', 'true', ''),
    ('shard_received', 'instance', 'text', 'true', ''),
    ('shard_received', 'sender', 'smallint', 'true', ''),
    ('shard_received', 'sent_time', 'timestamp with time zone', 'true', ''),
    ('shard_reject', 'error', 'text', 'true', ''),
    ('shard_reject', 'instance', 'text', 'true', ''),
    ('shard_reject', 'job', 'jsonb', 'true', ''),
    ('shard_reject', 'job_id', 'bigint', 'false', ''),
    ('shard_reject', 'node', 'smallint', 'true', ''),
    ('shard_reject', 'outbox_id', 'bigint', 'true', ''),
    ('shard_reject', 'queue', 'text', 'false', ''),
    ('shard_reject', 'rejected_time', 'timestamp with time zone', 'true', 'clock_timestamp()'),
    ('shard_reject', 'sender', 'smallint', 'true', ''),
    ('shard_reject', 'sqlstate', 'text', 'true', ''),
    ('shard_outbox_mark', 'is_only', 'boolean', 'true', 'true'),
    ('shard_outbox_mark', 'marked_time', 'timestamp with time zone', 'true', ''),
    ('shard_outbox_mark', 'position', 'pg_lsn', 'true', ''),
    ('shard_outbox_mark', 'read_time', 'timestamp with time zone', 'false', '')
$want$, 'columns of tables: type, NOT NULL, default');

SELECT is((SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = 'hipq.job'::regclass AND attnum > 0),
    'id, original_job_id, retry_of, worker_id, scheduled_run_time, update_time, created_time, '
    'accepted_time, deadline, expires_time, queue_id, state, timeout, attempt, retry_count, '
    'max_retries, queue_ttl, priority, throttle_factor, job_type, job_key, error, throttle_key, '
    'time_windows, retry_reason, shard_key, job_data, result, manual_reason, traceparent, '
    'waits_for, batch_id, schedule_time',
    'order of the columns of hipq.job, the row type of handlers: new ones come last');

-- It has the queue by name.
SELECT is_empty($$
SELECT attname FROM pg_attribute
WHERE attrelid = 'hipq.job'::regclass AND attnum > 0 AND attname <> 'queue_id'
EXCEPT
SELECT attname FROM pg_attribute WHERE attrelid = 'hipq.jobs_detail'::regclass
$$, 'view jobs_detail shows each column of hipq.job');

SELECT set_eq($got$
SELECT relname::text, attname::text
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  AND attcollation = 'pg_catalog."C"'::regcollation
$got$, $want$VALUES
    ('attempt', 'job_key'),
    ('attempt', 'job_type'),
    ('dead_letter', 'job_key'),
    ('dead_letter', 'job_type'),
    ('dead_letter', 'state'),
    ('instance', 'name'),
    ('job', 'job_key'),
    ('job', 'job_type'),
    ('job', 'throttle_key'),
    ('job', 'time_windows'),
    ('job', 'waits_for'),
    ('job_type', 'default_time_windows'),
    ('job_type', 'name'),
    ('job_type', 'rate_limit'),
    ('job_type', 'rate_limit_per_key'),
    ('queue_hold', 'subscription'),
    ('breaker_state', 'job_type'),
    ('job_type', 'breaker'),
    ('pause', 'job_type'),
    ('pause', 'throttle_key'),
    ('queue', 'name'),
    ('queue', 'rate_limit'),
    ('queue', 'table_name'),
    ('rate_lease', 'job_type'),
    ('schedule', 'job_key'),
    ('schedule', 'job_type'),
    ('schedule', 'name'),
    ('schedule', 'throttle_key'),
    ('worker', 'name'),
    ('aimed_job', 'worker'),
    ('shard_coming', 'in_order'),
    ('shard_held_job', 'job_key'),
    ('shard_held_job', 'job_type'),
    ('shard_held_job', 'queue'),
    ('shard_held_job', 'shard_key'),
    ('shard_leaving', 'in_order'),
    ('shard_move', 'in_order'),
    ('shard_outbox', 'instance'),
    ('shard_outbox', 'queue'),
    ('shard_received', 'instance'),
    ('shard_reject', 'instance'),
    ('shard_reject', 'queue'),
    ('permit_share', 'job_type'),
    ('permit_authority', 'job_type'),
    ('permit_record', 'job_type')
$want$, 'columns that compare bytes');

SELECT set_eq($got$
SELECT relname::text, attname::text, format_type(atttypid, atttypmod)
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v'
$got$, $want$VALUES
    ('attempt_logs', 'job_id', 'bigint'),
    ('attempt_logs', 'attempt', 'integer'),
    ('attempt_logs', 'logged_time', 'timestamp with time zone'),
    ('attempt_logs', 'level', 'text'),
    ('attempt_logs', 'message', 'text'),
    ('attempt_logs_detail', 'queue', 'text'),
    ('attempt_logs_detail', 'job_id', 'bigint'),
    ('attempt_logs_detail', 'attempt', 'integer'),
    ('attempt_logs_detail', 'logged_time', 'timestamp with time zone'),
    ('attempt_logs_detail', 'level', 'text'),
    ('attempt_logs_detail', 'sqlstate', 'text'),
    ('attempt_logs_detail', 'message', 'text'),
    ('attempt_logs_detail', 'detail', 'text'),
    ('attempt_logs_detail', 'hint', 'text'),
    ('attempt_logs_detail', 'context', 'text'),
    ('attempts', 'queue', 'text'),
    ('attempts', 'job_id', 'bigint'),
    ('attempts', 'attempt', 'integer'),
    ('attempts', 'job_type', 'text'),
    ('attempts', 'reason', 'text'),
    ('attempts', 'sqlstate', 'text'),
    ('attempts', 'ended_time', 'timestamp with time zone'),
    ('attempts_detail', 'queue', 'text'),
    ('attempts_detail', 'job_id', 'bigint'),
    ('attempts_detail', 'attempt', 'integer'),
    ('attempts_detail', 'job_type', 'text'),
    ('attempts_detail', 'job_key', 'text'),
    ('attempts_detail', 'reason', 'text'),
    ('attempts_detail', 'sqlstate', 'text'),
    ('attempts_detail', 'error', 'text'),
    ('attempts_detail', 'detail', 'text'),
    ('attempts_detail', 'hint', 'text'),
    ('attempts_detail', 'context', 'text'),
    ('attempts_detail', 'executor_pid', 'integer'),
    ('attempts_detail', 'worker_id', 'bigint'),
    ('attempts_detail', 'started_time', 'timestamp with time zone'),
    ('attempts_detail', 'ended_time', 'timestamp with time zone'),
    ('attempts_detail', 'duration', 'interval'),
    ('attempts_detail', 'traceparent', 'text'),
    ('dead_letters', 'queue', 'text'),
    ('dead_letters', 'job_id', 'bigint'),
    ('dead_letters', 'job_type', 'text'),
    ('dead_letters', 'job_key', 'text'),
    ('dead_letters', 'state', 'text'),
    ('dead_letters', 'reason', 'text'),
    ('dead_letters', 'died_time', 'timestamp with time zone'),
    ('dead_letters_detail', 'queue', 'text'),
    ('dead_letters_detail', 'job_id', 'bigint'),
    ('dead_letters_detail', 'state', 'text'),
    ('dead_letters_detail', 'job_type', 'text'),
    ('dead_letters_detail', 'job_key', 'text'),
    ('dead_letters_detail', 'reason', 'text'),
    ('dead_letters_detail', 'sqlstate', 'text'),
    ('dead_letters_detail', 'error', 'text'),
    ('dead_letters_detail', 'died_time', 'timestamp with time zone'),
    ('dead_letters_detail', 'handled_time', 'timestamp with time zone'),
    ('dead_letters_detail', 'redriven_time', 'timestamp with time zone'),
    ('dead_letters_detail', 'dismissed_time', 'timestamp with time zone'),
    ('dead_letters_detail', 'attempts', 'integer'),
    ('dead_letters_detail', 'redriven_as', 'bigint'),
    ('dead_letters_detail', 'handler_error', 'text'),
    ('dead_letters_detail', 'job', 'jsonb'),
    ('dead_letters_detail', 'history', 'jsonb'),
    ('dead_letters_detail', 'attempts_left_out', 'bigint'),
    ('dead_letters_detail', 'reduced_because', 'text'),
    ('dead_letters_detail', 'handler_retry_time', 'timestamp with time zone'),
    ('dead_letter_rates', 'queue', 'text'),
    ('dead_letter_rates', 'minute', 'timestamp with time zone'),
    ('dead_letter_rates', 'dead_letters', 'bigint'),
    ('dead_letter_reasons', 'queue', 'text'),
    ('dead_letter_reasons', 'job_type', 'text'),
    ('dead_letter_reasons', 'reason', 'text'),
    ('dead_letter_reasons', 'dead_letters', 'bigint'),
    ('dead_letter_reasons', 'depth', 'bigint'),
    ('dead_letter_reasons', 'last_died_time', 'timestamp with time zone'),
    ('dead_letter_stats', 'queue', 'text'),
    ('dead_letter_stats', 'kept', 'bigint'),
    ('dead_letter_stats', 'depth', 'bigint'),
    ('dead_letter_stats', 'oldest_waiting_time', 'timestamp with time zone'),
    ('dead_letter_stats', 'per_minute', 'numeric'),
    ('dead_letter_stats', 'handler_failures', 'bigint'),
    ('dead_letter_stats_detail', 'queue', 'text'),
    ('dead_letter_stats_detail', 'kept', 'bigint'),
    ('dead_letter_stats_detail', 'depth', 'bigint'),
    ('dead_letter_stats_detail', 'oldest_waiting_time', 'timestamp with time zone'),
    ('dead_letter_stats_detail', 'per_minute', 'numeric'),
    ('dead_letter_stats_detail', 'failed_by_ttl', 'bigint'),
    ('dead_letter_stats_detail', 'handler_failures', 'bigint'),
    ('dead_letter_stats_detail', 'avg_latency', 'interval'),
    ('dead_letter_stats_detail', 'p95_latency', 'interval'),
    ('statistics', 'queue', 'text'),
    ('statistics', 'job_type', 'text'),
    ('statistics', 'period', 'text'),
    ('statistics', 'succeeded', 'bigint'),
    ('statistics', 'failed', 'bigint'),
    ('statistics', 'retried', 'bigint'),
    ('statistics', 'failure_rate', 'numeric'),
    ('statistics', 'wait_p50', 'double precision'),
    ('statistics', 'wait_p99', 'double precision'),
    ('statistics', 'run_p50', 'double precision'),
    ('statistics_detail', 'queue', 'text'),
    ('statistics_detail', 'job_type', 'text'),
    ('statistics_detail', 'period', 'text'),
    ('statistics_detail', 'since', 'timestamp with time zone'),
    ('statistics_detail', 'succeeded', 'bigint'),
    ('statistics_detail', 'failed', 'bigint'),
    ('statistics_detail', 'cancelled', 'bigint'),
    ('statistics_detail', 'expired', 'bigint'),
    ('statistics_detail', 'retried', 'bigint'),
    ('statistics_detail', 'put_back', 'bigint'),
    ('statistics_detail', 'dead_letters', 'bigint'),
    ('statistics_detail', 'finished_per_minute', 'numeric'),
    ('statistics_detail', 'retry_rate', 'numeric'),
    ('statistics_detail', 'retry_success_rate', 'numeric'),
    ('statistics_detail', 'failure_rate', 'numeric'),
    ('statistics_detail', 'retries_per_job', 'numeric'),
    ('statistics_detail', 'wait_p50', 'double precision'),
    ('statistics_detail', 'wait_p90', 'double precision'),
    ('statistics_detail', 'wait_p99', 'double precision'),
    ('statistics_detail', 'run_p50', 'double precision'),
    ('statistics_detail', 'run_p90', 'double precision'),
    ('statistics_detail', 'run_p99', 'double precision'),
    ('failure_statistics', 'queue', 'text'),
    ('failure_statistics', 'job_type', 'text'),
    ('failure_statistics', 'period', 'text'),
    ('failure_statistics', 'reason', 'text'),
    ('failure_statistics', 'failures', 'bigint'),
    ('failure_statistics', 'retries', 'bigint'),
    ('failure_statistics', 'recoveries', 'bigint'),
    ('failure_statistics', 'retry_success_rate', 'numeric'),
    ('retry_distribution', 'queue', 'text'),
    ('retry_distribution', 'job_type', 'text'),
    ('retry_distribution', 'period', 'text'),
    ('retry_distribution', 'retries', 'text'),
    ('retry_distribution', 'least_retries', 'integer'),
    ('retry_distribution', 'jobs', 'bigint'),
    ('worker_health', 'status', 'text'),
    ('worker_health', 'workers', 'bigint'),
    ('worker_health', 'queue_depth', 'bigint'),
    ('worker_health', 'average_queue_depth', 'numeric'),
    ('worker_health', 'running_jobs', 'bigint'),
    ('worker_health', 'average_failure_rate', 'numeric'),
    ('histograms', 'queue', 'text'),
    ('histograms', 'job_type', 'text'),
    ('histograms', 'measure', 'text'),
    ('histograms', 'upper_bound', 'double precision'),
    ('histograms', 'jobs', 'bigint'),
    ('histograms', 'sum', 'double precision'),
    ('histograms', 'since', 'timestamp with time zone'),
    ('backlog', 'queue', 'text'),
    ('backlog', 'jobs', 'bigint'),
    ('backlog', 'is_exact', 'boolean'),
    ('throughput', 'queue', 'text'),
    ('throughput', 'minute', 'timestamp with time zone'),
    ('throughput', 'succeeded', 'bigint'),
    ('throughput', 'failed', 'bigint'),
    ('throughput', 'cancelled', 'bigint'),
    ('throughput', 'expired', 'bigint'),
    ('throughput', 'retried', 'bigint'),
    ('throughput', 'dead_letters', 'bigint'),
    ('activity', 'queue', 'text'),
    ('activity', 'backlog_estimate', 'bigint'),
    ('activity', 'running_jobs', 'bigint'),
    ('activity', 'failed', 'bigint'),
    ('activity', 'oldest_due_time', 'timestamp with time zone'),
    ('activity', 'empty_in', 'interval'),
    ('activity', 'state', 'text'),
    ('activity', 'is_exact', 'boolean'),
    ('cluster_queues_detail', 'queue', 'text'),
    ('cluster_queues_detail', 'node', 'integer'),
    ('cluster_queues_detail', 'backlog_estimate', 'bigint'),
    ('cluster_queues_detail', 'running_jobs', 'bigint'),
    ('cluster_queues_detail', 'finished_per_minute', 'numeric'),
    ('cluster_queues_detail', 'failed', 'bigint'),
    ('cluster_queues_detail', 'oldest_due_time', 'timestamp with time zone'),
    ('cluster_queues_detail', 'state', 'text'),
    ('cluster_queues_detail', 'as_of', 'timestamp with time zone'),
    ('cluster_queues_detail', 'is_reachable', 'boolean'),
    ('cluster_queues', 'queue', 'text'),
    ('cluster_queues', 'node', 'integer'),
    ('cluster_queues', 'backlog_estimate', 'bigint'),
    ('cluster_queues', 'running_jobs', 'bigint'),
    ('cluster_queues', 'failed', 'bigint'),
    ('cluster_queues', 'state', 'text'),
    ('cluster_queues', 'as_of', 'timestamp with time zone'),
    ('cluster_queues', 'is_reachable', 'boolean'),
    ('activity_detail', 'queue', 'text'),
    ('activity_detail', 'backlog_estimate', 'bigint'),
    ('activity_detail', 'running_jobs', 'bigint'),
    ('activity_detail', 'finished_per_minute', 'numeric'),
    ('activity_detail', 'failed', 'bigint'),
    ('activity_detail', 'retried', 'bigint'),
    ('activity_detail', 'wait_p50', 'double precision'),
    ('activity_detail', 'wait_p99', 'double precision'),
    ('activity_detail', 'oldest_due_time', 'timestamp with time zone'),
    ('activity_detail', 'state', 'text'),
    ('activity_detail', 'throttle_limit', 'numeric(12,3)'),
    ('activity_detail', 'throttle_used', 'numeric'),
    ('activity_detail', 'table_name', 'text'),
    ('activity_detail', 'empty_in', 'interval'),
    ('activity_detail', 'is_exact', 'boolean'),
    ('alerts', 'severity', 'text'),
    ('alerts', 'alert', 'text'),
    ('alerts', 'times', 'bigint'),
    ('alerts', 'message', 'text'),
    ('alerts_detail', 'alert', 'text'),
    ('alerts_detail', 'severity', 'text'),
    ('alerts_detail', 'times', 'bigint'),
    ('alerts_detail', 'first_time', 'timestamp with time zone'),
    ('alerts_detail', 'last_time', 'timestamp with time zone'),
    ('alerts_detail', 'detail', 'text'),
    ('alerts_detail', 'hint', 'text'),
    ('lanes', 'queue', 'text'),
    ('lanes', 'job_type', 'text'),
    ('lanes', 'priority', 'integer'),
    ('lanes', 'due_time', 'timestamp with time zone'),
    ('lanes', 'frontier_time', 'timestamp with time zone'),
    ('lanes', 'is_read', 'boolean'),
    ('lanes_detail', 'queue', 'text'),
    ('lanes_detail', 'job_type', 'text'),
    ('lanes_detail', 'priority', 'integer'),
    ('lanes_detail', 'due_time', 'timestamp with time zone'),
    ('lanes_detail', 'frontier_time', 'timestamp with time zone'),
    ('lanes_detail', 'frontier_id', 'bigint'),
    ('lanes_detail', 'pockets', 'integer'),
    ('lanes_detail', 'notes', 'integer'),
    ('lanes_detail', 'is_read', 'boolean'),
    ('executors', 'pid', 'integer'),
    ('executors', 'role', 'name'),
    ('executors', 'status', 'text'),
    ('executors', 'queue', 'text'),
    ('executors', 'job_id', 'bigint'),
    ('executors', 'job_type', 'text'),
    ('executors', 'job_started_time', 'timestamp with time zone'),
    ('executors_detail', 'pid', 'integer'),
    ('executors_detail', 'database', 'name'),
    ('executors_detail', 'role', 'name'),
    ('executors_detail', 'status', 'text'),
    ('executors_detail', 'started_time', 'timestamp with time zone'),
    ('executors_detail', 'queue', 'text'),
    ('executors_detail', 'job_id', 'bigint'),
    ('executors_detail', 'attempt', 'integer'),
    ('executors_detail', 'job_type', 'text'),
    ('executors_detail', 'job_started_time', 'timestamp with time zone'),
    ('executors_detail', 'jobs_done', 'bigint'),
    ('instances', 'name', 'text'),
    ('instances', 'queues', 'text[]'),
    ('instances', 'is_strict', 'boolean'),
    ('instances', 'created_time', 'timestamp with time zone'),
    ('instances_detail', 'name', 'text'),
    ('instances_detail', 'shard_key', 'text'),
    ('instances_detail', 'table_naming_strategy', 'text'),
    ('instances_detail', 'db_config', 'jsonb'),
    ('instances_detail', 'queues', 'text[]'),
    ('instances_detail', 'created_time', 'timestamp with time zone'),
    ('instances_detail', 'is_strict', 'boolean'),
    ('instances_detail', 'max_retries', 'integer'),
    ('job_types', 'queue', 'text'),
    ('job_types', 'job_type', 'text'),
    ('job_types', 'handler', 'text'),
    ('job_types', 'handler_kind', 'text'),
    ('job_types', 'max_retries', 'integer'),
    ('job_types', 'default_timeout', 'integer'),
    ('job_types', 'is_paused', 'boolean'),
    ('job_types_detail', 'queue', 'text'),
    ('job_types_detail', 'job_type', 'text'),
    ('job_types_detail', 'handler', 'text'),
    ('job_types_detail', 'handler_kind', 'text'),
    ('job_types_detail', 'retry_handler', 'text'),
    ('job_types_detail', 'default_timeout', 'integer'),
    ('job_types_detail', 'default_priority', 'smallint'),
    ('job_types_detail', 'default_throttle_factor', 'numeric(9,3)'),
    ('job_types_detail', 'default_time_windows', 'hipq.time_windows'),
    ('job_types_detail', 'time_zone', 'text'),
    ('job_types_detail', 'max_retries', 'integer'),
    ('job_types_detail', 'retry_base', 'interval'),
    ('job_types_detail', 'retry_multiplier', 'double precision'),
    ('job_types_detail', 'retry_max', 'interval'),
    ('job_types_detail', 'retry_jitter', 'double precision'),
    ('job_types_detail', 'retry_on', 'text[]'),
    ('job_types_detail', 'do_not_retry_on', 'text[]'),
    ('job_types_detail', 'on_missing_handler', 'text'),
    ('job_types_detail', 'queue_ttl', 'integer'),
    ('job_types_detail', 'claim', 'text'),
    ('job_types_detail', 'batch_size', 'integer'),
    ('job_types_detail', 'throttle_limit', 'numeric(12,3)'),
    ('job_types_detail', 'throttle_used', 'numeric'),
    ('job_types_detail', 'throttle_limit_per_key', 'numeric(12,3)'),
    ('job_types_detail', 'requires', 'jsonb'),
    ('job_types_detail', 'worker_wait_ttl', 'integer'),
    ('job_types_detail', 'workers', 'integer'),
    ('job_types_detail', 'is_paused', 'boolean'),
    ('job_types_detail', 'crashes', 'integer'),
    ('job_types_detail', 'is_registered', 'boolean'),
    ('job_types_detail', 'created_time', 'timestamp with time zone'),
    ('jobs', 'id', 'bigint'),
    ('jobs', 'queue', 'text'),
    ('jobs', 'job_type', 'text'),
    ('jobs', 'job_key', 'text'),
    ('jobs', 'outcome', 'text'),
    ('jobs', 'attempt', 'integer'),
    ('jobs', 'scheduled_run_time', 'timestamp with time zone'),
    ('jobs_detail', 'id', 'bigint'),
    ('jobs_detail', 'queue', 'text'),
    ('jobs_detail', 'job_type', 'text'),
    ('jobs_detail', 'job_key', 'text'),
    ('jobs_detail', 'state', 'hipq.job_state'),
    ('jobs_detail', 'outcome', 'text'),
    ('jobs_detail', 'error', 'text'),
    ('jobs_detail', 'attempt', 'integer'),
    ('jobs_detail', 'retry_count', 'integer'),
    ('jobs_detail', 'max_retries', 'integer'),
    ('jobs_detail', 'retry_reason', 'text'),
    ('jobs_detail', 'manual_reason', 'text'),
    ('jobs_detail', 'scheduled_run_time', 'timestamp with time zone'),
    ('jobs_detail', 'priority', 'smallint'),
    ('jobs_detail', 'timeout', 'integer'),
    ('jobs_detail', 'created_time', 'timestamp with time zone'),
    ('jobs_detail', 'accepted_time', 'timestamp with time zone'),
    ('jobs_detail', 'update_time', 'timestamp with time zone'),
    ('jobs_detail', 'deadline', 'timestamp with time zone'),
    ('jobs_detail', 'expires_time', 'timestamp with time zone'),
    ('jobs_detail', 'job_data', 'jsonb'),
    ('jobs_detail', 'result', 'jsonb'),
    ('jobs_detail', 'original_job_id', 'bigint'),
    ('jobs_detail', 'retry_of', 'bigint'),
    ('jobs_detail', 'throttle_factor', 'numeric'),
    ('jobs_detail', 'throttle_key', 'text'),
    ('jobs_detail', 'time_windows', 'hipq.time_windows'),
    ('jobs_detail', 'shard_key', 'text'),
    ('jobs_detail', 'worker_id', 'bigint'),
    ('jobs_detail', 'queue_ttl', 'integer'),
    ('jobs_detail', 'traceparent', 'text'),
    ('jobs_detail', 'waits_for', 'text'),
    ('jobs_detail', 'batch_id', 'bigint'),
    ('jobs_detail', 'schedule_time', 'timestamp with time zone'),
    ('pauses', 'instance', 'text'),
    ('pauses', 'queue', 'text'),
    ('pauses', 'job_type', 'text'),
    ('pauses', 'throttle_key', 'text'),
    ('pauses', 'paused_time', 'timestamp with time zone'),
    ('pauses', 'reason', 'text'),
    ('pauses', 'paused_until', 'timestamp with time zone'),
    ('pauses_detail', 'instance', 'text'),
    ('pauses_detail', 'queue', 'text'),
    ('pauses_detail', 'job_type', 'text'),
    ('pauses_detail', 'throttle_key', 'text'),
    ('pauses_detail', 'paused_by', 'text'),
    ('pauses_detail', 'paused_time', 'timestamp with time zone'),
    ('pauses_detail', 'reason', 'text'),
    ('pauses_detail', 'crashes', 'integer'),
    ('pauses_detail', 'paused_until', 'timestamp with time zone'),
    ('workers', 'worker_id', 'bigint'),
    ('workers', 'name', 'text'),
    ('workers', 'status', 'text'),
    ('workers', 'running_jobs', 'integer'),
    ('workers', 'queue_depth', 'integer'),
    ('workers', 'failure_rate', 'numeric'),
    ('workers', 'last_heartbeat', 'timestamp with time zone'),
    ('workers_detail', 'worker_id', 'bigint'),
    ('workers_detail', 'name', 'text'),
    ('workers_detail', 'role', 'regrole'),
    ('workers_detail', 'queues', 'text[]'),
    ('workers_detail', 'job_types', 'text[]'),
    ('workers_detail', 'status', 'text'),
    ('workers_detail', 'health', 'jsonb'),
    ('workers_detail', 'last_heartbeat', 'timestamp with time zone'),
    ('workers_detail', 'capabilities', 'jsonb'),
    ('workers_detail', 'capacity', 'integer'),
    ('workers_detail', 'prefetch', 'integer'),
    ('workers_detail', 'running_jobs', 'integer'),
    ('workers_detail', 'queue_depth', 'integer'),
    ('workers_detail', 'failure_rate', 'numeric'),
    ('workers_detail', 'is_draining', 'boolean'),
    ('workers_detail', 'pid', 'integer'),
    ('workers_detail', 'registered_time', 'timestamp with time zone'),
    ('_readable_queue', 'queue_id', 'integer'),
    ('_readable_queue', 'name', 'text'),
    ('_readable_queue', 'instance_id', 'integer'),
    ('_readable_queue', 'instance', 'text'),
    ('_readable_queue', 'is_dropped', 'boolean'),
    ('_visible_queue', 'queue_id', 'integer'),
    ('_visible_queue', 'name', 'text'),
    ('_visible_queue', 'instance_id', 'integer'),
    ('_visible_queue', 'instance', 'text'),
    ('_visible_queue', 'is_dropped', 'boolean'),
    ('healthy_workers', 'worker_id', 'bigint'),
    ('healthy_workers', 'name', 'text'),
    ('healthy_workers', 'status', 'text'),
    ('healthy_workers', 'running_jobs', 'integer'),
    ('healthy_workers', 'queue_depth', 'integer'),
    ('healthy_workers', 'failure_rate', 'numeric'),
    ('healthy_workers', 'last_heartbeat', 'timestamp with time zone'),
    ('healthy_workers_detail', 'worker_id', 'bigint'),
    ('healthy_workers_detail', 'name', 'text'),
    ('healthy_workers_detail', 'role', 'regrole'),
    ('healthy_workers_detail', 'queues', 'text[]'),
    ('healthy_workers_detail', 'job_types', 'text[]'),
    ('healthy_workers_detail', 'status', 'text'),
    ('healthy_workers_detail', 'health', 'jsonb'),
    ('healthy_workers_detail', 'last_heartbeat', 'timestamp with time zone'),
    ('healthy_workers_detail', 'capabilities', 'jsonb'),
    ('healthy_workers_detail', 'capacity', 'integer'),
    ('healthy_workers_detail', 'prefetch', 'integer'),
    ('healthy_workers_detail', 'running_jobs', 'integer'),
    ('healthy_workers_detail', 'queue_depth', 'integer'),
    ('healthy_workers_detail', 'failure_rate', 'numeric'),
    ('healthy_workers_detail', 'is_draining', 'boolean'),
    ('healthy_workers_detail', 'pid', 'integer'),
    ('healthy_workers_detail', 'registered_time', 'timestamp with time zone'),
    ('throttle_keys', 'queue', 'text'),
    ('throttle_keys', 'job_type', 'text'),
    ('throttle_keys', 'throttle_key', 'text'),
    ('throttle_keys', 'throttle_limit_per_key', 'numeric'),
    ('throttle_keys', 'throttle_used', 'numeric'),
    ('throttle_keys', 'running_jobs', 'bigint'),
    ('batches', 'batch_id', 'bigint'),
    ('batches', 'name', 'text'),
    ('batches', 'state', 'text'),
    ('batches', 'jobs', 'bigint'),
    ('batches', 'unfinished', 'bigint'),
    ('batches', 'succeeded', 'bigint'),
    ('batches', 'failed', 'bigint'),
    ('batches', 'skipped', 'bigint'),
    ('batches_detail', 'batch_id', 'bigint'),
    ('batches_detail', 'name', 'text'),
    ('batches_detail', 'queue', 'text'),
    ('batches_detail', 'state', 'text'),
    ('batches_detail', 'jobs', 'bigint'),
    ('batches_detail', 'unfinished', 'bigint'),
    ('batches_detail', 'succeeded', 'bigint'),
    ('batches_detail', 'failed', 'bigint'),
    ('batches_detail', 'skipped', 'bigint'),
    ('batches_detail', 'created_time', 'timestamp with time zone'),
    ('batches_detail', 'closed_time', 'timestamp with time zone'),
    ('batches_detail', 'expires_time', 'timestamp with time zone'),
    ('batches_detail', 'callback_id', 'bigint'),
    ('graph_jobs', 'graph_id', 'bigint'),
    ('graph_jobs', 'name', 'text'),
    ('graph_jobs', 'outcome', 'text'),
    ('graph_jobs', 'after', 'text[]'),
    ('graph_jobs', 'job_id', 'bigint'),
    ('graph_jobs', 'queue', 'text'),
    ('graph_jobs_detail', 'graph_id', 'bigint'),
    ('graph_jobs_detail', 'name', 'text'),
    ('graph_jobs_detail', 'outcome', 'text'),
    ('graph_jobs_detail', 'after', 'text[]'),
    ('graph_jobs_detail', 'job_id', 'bigint'),
    ('graph_jobs_detail', 'queue', 'text'),
    ('graph_jobs_detail', 'job_type', 'text'),
    ('graph_jobs_detail', 'created_time', 'timestamp with time zone'),
    ('graph_jobs_detail', 'started_time', 'timestamp with time zone'),
    ('graph_jobs_detail', 'ended_time', 'timestamp with time zone'),
    ('graph_jobs_detail', 'error', 'text'),
    ('graphs', 'graph_id', 'bigint'),
    ('graphs', 'jobs', 'bigint'),
    ('graphs', 'waiting', 'bigint'),
    ('graphs', 'running', 'bigint'),
    ('graphs', 'succeeded', 'bigint'),
    ('graphs', 'failed', 'bigint'),
    ('graphs', 'skipped', 'bigint'),
    ('graphs', 'created_time', 'timestamp with time zone'),
    ('graphs_detail', 'graph_id', 'bigint'),
    ('graphs_detail', 'jobs', 'bigint'),
    ('graphs_detail', 'waiting', 'bigint'),
    ('graphs_detail', 'running', 'bigint'),
    ('graphs_detail', 'succeeded', 'bigint'),
    ('graphs_detail', 'failed', 'bigint'),
    ('graphs_detail', 'skipped', 'bigint'),
    ('graphs_detail', 'created_time', 'timestamp with time zone'),
    ('graphs_detail', 'ended_time', 'timestamp with time zone'),
    ('queues', 'queue', 'text'),
    ('queues', 'owner', 'regrole'),
    ('queues', 'initial', 'bigint'),
    ('queues', 'retry', 'bigint'),
    ('queues', 'running_jobs', 'bigint'),
    ('queues', 'oldest_due_time', 'timestamp with time zone'),
    ('queues', 'is_paused', 'boolean'),
    ('queues', 'held', 'bigint'),
    ('queues_detail', 'queue', 'text'),
    ('queues_detail', 'instance', 'text'),
    ('queues_detail', 'owner', 'regrole'),
    ('queues_detail', 'table_name', 'text'),
    ('queues_detail', 'throttle_limit', 'numeric(12,3)'),
    ('queues_detail', 'throttle_used', 'numeric'),
    ('queues_detail', 'running_jobs', 'bigint'),
    ('queues_detail', 'initial', 'bigint'),
    ('queues_detail', 'running', 'bigint'),
    ('queues_detail', 'error', 'bigint'),
    ('queues_detail', 'retry', 'bigint'),
    ('queues_detail', 'waiting_time', 'bigint'),
    ('queues_detail', 'waiting_window', 'bigint'),
    ('queues_detail', 'waiting_hold', 'bigint'),
    ('queues_detail', 'waiting_pause', 'bigint'),
    ('queues_detail', 'waiting_handler', 'bigint'),
    ('queues_detail', 'waiting_throttle', 'bigint'),
    ('queues_detail', 'ready', 'bigint'),
    ('queues_detail', 'oldest_due_time', 'timestamp with time zone'),
    ('queues_detail', 'retention', 'interval'),
    ('queues_detail', 'history', 'text'),
    ('queues_detail', 'durability', 'text'),
    ('queues_detail', 'weight', 'integer'),
    ('queues_detail', 'is_strict', 'boolean'),
    ('queues_detail', 'queue_ttl', 'integer'),
    ('queues_detail', 'dead_letter_enabled', 'boolean'),
    ('queues_detail', 'retry_enabled', 'boolean'),
    ('job_types_detail', 'retry_enabled', 'boolean'),
    ('job_types_detail', 'attempt_log', 'boolean'),
    ('job_types_detail', 'paused_until', 'timestamp with time zone'),
    ('job_types_detail', 'rate_limit', 'text'),
    ('job_types_detail', 'rate_mode', 'text'),
    ('job_types_detail', 'rate_used', 'numeric'),
    ('job_types_detail', 'next_turn', 'timestamp with time zone'),
    ('job_types_detail', 'breaker', 'text'),
    ('job_types_detail', 'breaker_state', 'text'),
    ('job_types_detail', 'breaker_until', 'timestamp with time zone'),
    ('job_types_detail', 'rate_limit_per_key', 'text'),
    ('job_types_detail', 'parameters', 'jsonb'),
    ('job_types_detail', 'validate', 'text'),
    ('queues_detail', 'dead_letter_retention', 'interval'),
    ('queues_detail', 'dead_letter_max', 'integer'),
    ('queues_detail', 'dead_letter_handler', 'text'),
    ('queues_detail', 'max_timeout', 'integer'),
    ('queues_detail', 'highest_priority', 'smallint'),
    ('queues_detail', 'allow_free_jobs', 'boolean'),
    ('queues_detail', 'is_paused', 'boolean'),
    ('queues_detail', 'is_dropped', 'boolean'),
    ('queues_detail', 'created_time', 'timestamp with time zone'),
    ('queues_detail', 'worker_wait_ttl', 'integer'),
    ('queues_detail', 'max_retries', 'integer'),
    ('queues_detail', 'job_types', 'text[]'),
    ('queues_detail', 'held', 'bigint'),
    ('queues_detail', 'paused_until', 'timestamp with time zone'),
    ('queues_detail', 'rate_limit', 'text'),
    ('queues_detail', 'rate_mode', 'text'),
    ('queues_detail', 'rate_used', 'numeric'),
    ('queues_detail', 'next_turn', 'timestamp with time zone'),
    ('queues_detail', 'waiting_rate', 'bigint'),
    ('schedules', 'name', 'text'),
    ('schedules', 'cron', 'text'),
    ('schedules', 'queue', 'text'),
    ('schedules', 'job_type', 'text'),
    ('schedules', 'is_active', 'boolean'),
    ('schedules', 'next_run_time', 'timestamp with time zone'),
    ('schedules', 'last_outcome', 'text'),
    ('schedules_detail', 'name', 'text'),
    ('schedules_detail', 'cron', 'text'),
    ('schedules_detail', 'queue', 'text'),
    ('schedules_detail', 'job_type', 'text'),
    ('schedules_detail', 'job_key', 'text'),
    ('schedules_detail', 'job_data', 'jsonb'),
    ('schedules_detail', 'role', 'regrole'),
    ('schedules_detail', 'is_active', 'boolean'),
    ('schedules_detail', 'next_run_time', 'timestamp with time zone'),
    ('schedules_detail', 'last_run_time', 'timestamp with time zone'),
    ('schedules_detail', 'last_action', 'text'),
    ('schedules_detail', 'last_job_id', 'bigint'),
    ('schedules_detail', 'last_outcome', 'text'),
    ('schedules_detail', 'created_time', 'timestamp with time zone'),
    ('schedules_detail', 'told_by', 'text'),
    ('schedules_detail', 'time_zone', 'text'),
    ('schedules_detail', 'missed', 'text'),
    ('schedules_detail', 'missed_within', 'interval'),
    ('schedules_detail', 'jitter', 'interval'),
    ('schedules_detail', 'overlap', 'text'),
    ('schedules_detail', 'starts', 'timestamp with time zone'),
    ('schedules_detail', 'ends', 'timestamp with time zone'),
    ('schedules_detail', 'last_schedule_time', 'timestamp with time zone'),
    ('schedules_detail', 'last_error', 'text'),
    ('running', 'queue', 'text'),
    ('running', 'id', 'bigint'),
    ('running', 'job_type', 'text'),
    ('running', 'job_key', 'text'),
    ('running', 'attempt', 'integer'),
    ('running', 'pid', 'integer'),
    ('running', 'worker', 'text'),
    ('running', 'since', 'timestamp with time zone'),
    ('running_detail', 'queue', 'text'),
    ('running_detail', 'id', 'bigint'),
    ('running_detail', 'job_type', 'text'),
    ('running_detail', 'job_key', 'text'),
    ('running_detail', 'attempt', 'integer'),
    ('running_detail', 'pid', 'integer'),
    ('running_detail', 'worker_id', 'bigint'),
    ('running_detail', 'worker', 'text'),
    ('running_detail', 'is_accepted', 'boolean'),
    ('running_detail', 'since', 'timestamp with time zone'),
    ('running_detail', 'timeout', 'integer'),
    ('running_detail', 'deadline', 'timestamp with time zone'),
    ('running_detail', 'wait_event_type', 'text'),
    ('running_detail', 'wait_event', 'text'),
    ('running_detail', 'blocked_by', 'integer[]'),
    ('progress', 'queue', 'text'),
    ('progress', 'id', 'bigint'),
    ('progress', 'job_type', 'text'),
    ('progress', 'percent', 'numeric'),
    ('progress', 'message', 'text'),
    ('progress', 'expected_end_time', 'timestamp with time zone'),
    ('progress', 'done', 'bigint'),
    ('progress', 'total', 'bigint'),
    ('progress_detail', 'queue', 'text'),
    ('progress_detail', 'id', 'bigint'),
    ('progress_detail', 'job_type', 'text'),
    ('progress_detail', 'attempt', 'integer'),
    ('progress_detail', 'done', 'bigint'),
    ('progress_detail', 'total', 'bigint'),
    ('progress_detail', 'percent', 'numeric'),
    ('progress_detail', 'message', 'text'),
    ('progress_detail', 'reported_time', 'timestamp with time zone'),
    ('progress_detail', 'pid', 'integer'),
    ('progress_detail', 'worker_id', 'bigint'),
    ('progress_detail', 'expected_end_time', 'timestamp with time zone'),
    ('sizes', 'queue', 'text'),
    ('sizes', 'table_name', 'text'),
    ('sizes', 'kind', 'text'),
    ('sizes', 'from_time', 'timestamp with time zone'),
    ('sizes', 'row_estimate', 'bigint'),
    ('sizes', 'bytes', 'bigint'),
    ('sizes_detail', 'queue', 'text'),
    ('sizes_detail', 'table_name', 'text'),
    ('sizes_detail', 'kind', 'text'),
    ('sizes_detail', 'from_time', 'timestamp with time zone'),
    ('sizes_detail', 'to_time', 'timestamp with time zone'),
    ('sizes_detail', 'row_estimate', 'bigint'),
    ('sizes_detail', 'bytes', 'bigint'),
    ('sizes_detail', 'rows_per_day', 'numeric'),
    ('sizes_detail', 'bytes_per_day', 'numeric'),
    ('shard_rejects', 'error', 'text'),
    ('shard_rejects', 'job_id', 'bigint'),
    ('shard_rejects', 'node', 'smallint'),
    ('shard_rejects', 'queue', 'text'),
    ('shard_rejects', 'rejected_time', 'timestamp with time zone'),
    ('shard_rejects', 'sqlstate', 'text'),
    ('shard_rejects_detail', 'error', 'text'),
    ('shard_rejects_detail', 'job', 'jsonb'),
    ('shard_rejects_detail', 'job_id', 'bigint'),
    ('shard_rejects_detail', 'node', 'smallint'),
    ('shard_rejects_detail', 'queue', 'text'),
    ('shard_rejects_detail', 'rejected_time', 'timestamp with time zone'),
    ('shard_rejects_detail', 'sender', 'smallint'),
    ('shard_rejects_detail', 'sqlstate', 'text'),
    ('shard_limits', 'heard_ago', 'interval'),
    ('shard_limits', 'job_type', 'text'),
    ('shard_limits', 'node', 'smallint'),
    ('shard_limits', 'queue', 'text'),
    ('shard_limits', 'share', 'numeric'),
    ('shard_limits', 'throttle_limit', 'numeric'),
    ('shard_limits', 'wanted', 'numeric'),
    ('shards', 'behind', 'text'),
    ('shards', 'coming', 'bigint'),
    ('shards', 'instance', 'text'),
    ('shards', 'lag', 'interval'),
    ('shards', 'leaving', 'bigint'),
    ('shards', 'problem', 'text'),
    ('shards', 'rejects', 'bigint'),
    ('shards', 'shard', 'smallint'),
    ('shards', 'slots', 'bigint'),
    ('shards', 'state', 'text'),
    ('shards', 'wait_for', 'text')
$want$, 'columns of views');

SELECT set_eq($got$
SELECT relname::text, conname::text, pg_get_constraintdef(pg_constraint.oid)
FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
WHERE relnamespace = 'hipq'::regnamespace AND NOT relispartition
  AND contype
      <> 'n'  -- PostgreSQL 18 has a constraint for each NOT NULL, which is one of the columns above
$got$, $want$VALUES
    ('dead_letter', 'dead_letter_handler_starts_are_not_negative', 'CHECK ((handler_starts >= 0))'),
    ('dead_letter', 'dead_letter_pkey', 'PRIMARY KEY (queue_id, job_id)'),
    ('identity', 'identity_is_one_row', 'CHECK (only_row)'),
    ('identity', 'identity_pkey', 'PRIMARY KEY (only_row)'),
    ('instance', 'instance_db_config_is_an_object',
        'CHECK ((jsonb_typeof(db_config) = ''object''::text))'),
    ('instance', 'instance_max_retries_is_not_negative', 'CHECK ((max_retries >= 0))'),
    ('instance', 'instance_name_is_unique', 'UNIQUE (name)'),
    ('instance', 'instance_name_is_valid',
        'CHECK (((name ~ ''^[a-z][a-z0-9_]*$''::text) AND (octet_length(name) <= 63)))'),
    ('instance', 'instance_pkey', 'PRIMARY KEY (instance_id)'),
    ('job', 'job_state_is_consistent',
        'CHECK ((((state <> ''initial''::hipq.job_state) OR ((attempt = 0) AND (retry_count = 0) '
        'AND (error = ''NONE''::text))) AND ((state = ''initial''::hipq.job_state) '
        'OR (attempt >= 1) OR (error <> ''NONE''::text)) '
        'AND ((state <> ''running''::hipq.job_state) OR (error = ''NONE''::text)) '
        'AND ((state <> ALL (ARRAY[''error''::hipq.job_state, ''retry''::hipq.job_state])) '
        'OR (error <> ''NONE''::text))))'),
    ('job', 'job_values_are_in_range',
        'CHECK ((isfinite(scheduled_run_time) '
        'AND (expires_time <> ''-infinity''::timestamp with time zone) AND (timeout > 0) '
        'AND (queue_ttl > 0) AND (max_retries >= 0) AND (retry_count >= 0) '
        'AND (throttle_factor >= (0)::numeric) AND (throttle_factor <> ''NaN''::numeric) '
        'AND ((octet_length(job_type) >= 1) AND (octet_length(job_type) <= 63)) '
        'AND ((octet_length(job_key) >= 1) AND (octet_length(job_key) <= 1000)) '
        'AND ((octet_length(throttle_key) >= 1) AND (octet_length(throttle_key) <= 1000))))'),
    ('job_type', 'job_type_throttle_limit_is_a_number',
        'CHECK ((throttle_limit <> ''NaN''::numeric))'),
    ('job_type', 'job_type_requires_is_an_object',
        'CHECK ((jsonb_typeof(requires) = ''object''::text))'),
    ('job_type', 'job_type_parameters_are_an_object',
        'CHECK ((jsonb_typeof(parameters) = ''object''::text))'),
    ('job_type', 'job_type_validate_is_known',
        'CHECK ((validate = ANY (ARRAY[''enqueue''::text, ''run''::text])))'),
    ('job_type', 'job_type_throttle_limit_per_key_is_a_number',
        'CHECK ((throttle_limit_per_key <> ''NaN''::numeric))'),
    ('job_type', 'job_type_batch_size_is_in_range',
        'CHECK (((batch_size >= 1) AND (batch_size <= 1000)))'),
    ('job_type', 'job_type_claim_is_known',
        'CHECK ((claim = ANY (ARRAY[''auto''::text, ''lock''::text, ''record''::text])))'),
    ('job_type', 'job_type_default_timeout_is_positive', 'CHECK ((default_timeout > 0))'),
    ('job_type', 'job_type_handler_kind_is_known',
        'CHECK ((handler_kind = ANY (ARRAY[''none''::text, ''function''::text, '
        '''procedure''::text, ''statement''::text, ''notify''::text])))'),
    ('job_type', 'job_type_handler_none_iff_kind_none',
        'CHECK (((handler = ''NONE''::text) = (handler_kind = ANY (ARRAY[''none''::text, '
        '''notify''::text]))))'),
    ('job_type', 'job_type_max_retries_is_not_negative', 'CHECK ((max_retries >= 0))'),
    ('job_type', 'job_type_name_is_short',
        'CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 63)))'),
    ('job_type', 'job_type_on_missing_handler_is_known',
        'CHECK ((on_missing_handler = ANY (ARRAY[''wait''::text, ''fail''::text])))'),
    ('job_type', 'job_type_pkey', 'PRIMARY KEY (queue_id, name)'),
    ('job_type', 'job_type_queue_ttl_is_positive', 'CHECK ((queue_ttl > 0))'),
    ('job_type', 'job_type_worker_wait_ttl_is_not_negative', 'CHECK ((worker_wait_ttl >= 0))'),
    ('job_type', 'job_type_retry_base_is_not_negative',
        'CHECK ((retry_base >= ''00:00:00''::interval))'),
    ('job_type', 'job_type_retry_jitter_is_a_fraction',
        'CHECK (((retry_jitter >= (0)::double precision) '
        'AND (retry_jitter <= (1)::double precision)))'),
    ('job_type', 'job_type_retry_max_is_not_negative',
        'CHECK ((retry_max >= ''00:00:00''::interval))'),
    ('job_type', 'job_type_retry_multiplier_is_at_least_one',
        'CHECK (((retry_multiplier >= (1)::double precision) '
        'AND (retry_multiplier <= (1000)::double precision)))'),
    ('job_type', 'job_type_throttle_factor_is_not_negative',
        'CHECK (((default_throttle_factor >= (0)::numeric) '
        'AND (default_throttle_factor <> ''NaN''::numeric)))'),
    ('queue_hold', 'queue_hold_pkey', 'PRIMARY KEY (queue_id)'),
    ('breaker_state', 'breaker_state_pkey', 'PRIMARY KEY (queue_id, job_type)'),
    ('pause', 'pause_is_of_an_instance_or_a_queue',
        'CHECK (((instance_id IS NULL) <> (queue_id IS NULL)))'),
    ('pause', 'pause_crashes_are_positive', 'CHECK ((crashes > 0))'),
    ('pause', 'pause_for_crashes_is_of_a_job_type',
        'CHECK (((crashes IS NULL) OR ((job_type IS NOT NULL) AND (throttle_key IS NULL))))'),
    ('pause', 'pause_is_unique',
        'UNIQUE NULLS NOT DISTINCT (queue_id, job_type, throttle_key, instance_id)'),
    ('made_by_handler', 'made_by_handler_pkey', 'PRIMARY KEY (queue_id, job_id)'),
    ('aimed_job', 'aimed_job_pkey', 'PRIMARY KEY (queue_id, job_id)'),
    ('set_aside', 'set_aside_pkey', 'PRIMARY KEY (job_id)'),
    ('pause', 'pause_of_a_job_type_is_in_a_queue',
        'CHECK (((job_type IS NULL) OR (queue_id IS NOT NULL)))'),
    ('pause', 'pause_of_a_throttle_key_is_in_a_job_type',
        'CHECK (((throttle_key IS NULL) OR (job_type IS NOT NULL)))'),
    ('queue', 'queue_dead_letter_max_is_positive', 'CHECK ((dead_letter_max > 0))'),
    ('queue', 'queue_dead_letter_retention_is_positive',
        'CHECK ((dead_letter_retention > ''00:00:00''::interval))'),
    ('queue', 'queue_throttle_mode_is_known',
        'CHECK ((throttle_mode = ANY (ARRAY[''home''::text, ''shared''::text])))'),
    ('queue', 'queue_move_order_is_known',
        'CHECK ((move_order = ANY (ARRAY[''key''::text, ''strict''::text])))'),
    ('queue', 'queue_unique_scope_is_known',
        'CHECK ((unique_scope = ANY (ARRAY[''global''::text, ''shard_key''::text])))'),
    ('queue', 'queue_durability_is_known',
        'CHECK ((durability = ANY (ARRAY[''strict''::text, ''group''::text])))'),
    ('queue', 'queue_history_is_known',
        'CHECK ((history = ANY (ARRAY[''failed''::text, ''all''::text])))'),
    ('queue', 'queue_max_timeout_is_positive', 'CHECK ((max_timeout > 0))'),
    ('queue', 'queue_name_is_unique', 'UNIQUE (instance_id, name)'),
    ('queue', 'queue_name_is_valid',
        'CHECK (((name ~ ''^[a-z][a-z0-9_]*$''::text) AND (octet_length(name) <= 63)))'),
    ('queue', 'queue_pkey', 'PRIMARY KEY (queue_id)'),
    ('queue', 'queue_queue_ttl_is_positive', 'CHECK ((queue_ttl > 0))'),
    ('queue', 'queue_retention_is_not_negative', 'CHECK ((retention >= ''00:00:00''::interval))'),
    ('queue', 'queue_table_name_is_unique', 'UNIQUE (table_name)'),
    ('queue', 'queue_throttle_limit_is_a_number', 'CHECK ((throttle_limit <> ''NaN''::numeric))'),
    ('queue', 'queue_weight_is_in_range', 'CHECK (((weight >= 1) AND (weight <= 1000)))'),
    ('queue', 'queue_worker_wait_ttl_is_not_negative', 'CHECK ((worker_wait_ttl >= 0))'),
    ('queue', 'queue_max_retries_is_not_negative', 'CHECK ((max_retries >= 0))'),
    ('queue', 'queue_rate_mode_is_known',
        'CHECK ((rate_mode = ANY (ARRAY[''exact''::text, ''smooth''::text])))'),
    ('job_type', 'job_type_rate_mode_is_known',
        'CHECK ((rate_mode = ANY (ARRAY[''exact''::text, ''smooth''::text])))'),
    ('rate_lease', 'rate_lease_pkey',
        'PRIMARY KEY (queue_id, job_type, throttle_key, granted_time)'),
    ('schedule', 'schedule_last_action_is_known',
        'CHECK ((last_action = ANY (ARRAY[''enqueued''::text, ''skipped''::text, '
            '''missed''::text, ''failed''::text])))'),
    ('schedule', 'schedule_missed_is_known',
        'CHECK ((missed = ANY (ARRAY[''once''::text, ''skip''::text, ''all''::text])))'),
    ('schedule', 'schedule_overlap_is_known',
        'CHECK ((overlap = ANY (ARRAY[''skip''::text, ''after''::text, ''allow''::text])))'),
    ('schedule', 'schedule_told_by_is_known',
        'CHECK ((told_by = ANY (ARRAY[''hipq''::text, ''pg_cron''::text])))'),
    ('schedule', 'schedule_name_is_short',
        'CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 63)))'),
    ('schedule', 'schedule_name_is_unique_in_queue', 'UNIQUE (queue_id, name)'),
    ('schedule', 'schedule_pkey', 'PRIMARY KEY (schedule_id)'),
    ('batch', 'batch_pkey', 'PRIMARY KEY (batch_id)'),
    ('batch_failure', 'batch_failure_pkey', 'PRIMARY KEY (batch_id, outcome, job_id)'),
    ('dependency', 'dependency_after_policy_is_known',
        'CHECK ((after_policy = ANY (ARRAY[''succeeded''::text, ''finished''::text, '
        '''any''::text, ''failed''::text])))'),
    ('dependency', 'dependency_on_failure_is_known',
        'CHECK ((on_failure = ANY (ARRAY[''fail''::text, ''skip''::text, ''run''::text])))'),
    ('dependency', 'dependency_pkey', 'PRIMARY KEY (queue_id, job_id, before_id)'),
    ('graph_job', 'graph_job_id_is_unique', 'UNIQUE (job_id)'),
    ('graph_job', 'graph_job_pkey', 'PRIMARY KEY (graph_id, name)'),
    ('worker', 'worker_capabilities_are_an_object',
        'CHECK ((jsonb_typeof(capabilities) = ''object''::text))'),
    ('worker', 'worker_capacity_is_positive', 'CHECK ((capacity > 0))'),
    ('worker', 'worker_name_is_unique_in_its_role', 'UNIQUE (role, name)'),
    ('worker', 'worker_pkey', 'PRIMARY KEY (worker_id)'),
    ('worker', 'worker_prefetch_is_not_negative', 'CHECK ((prefetch >= 0))'),
    ('permit_share', 'permit_share_pkey', 'PRIMARY KEY (queue_id, job_type, throttle_key)'),
    ('permit_authority', 'permit_authority_pkey', 'PRIMARY KEY (queue_id, job_type, throttle_key)'),
    ('permit_record', 'permit_record_pkey', 'PRIMARY KEY (queue_id, job_type, throttle_key, node)'),
    ('permit_share', 'permit_share_is_not_negative', 'CHECK ((share >= 0))'),
    ('shard', 'shard_node_is_in_range', 'CHECK (((node >= 1) AND (node <= 1023)))'),
    ('shard', 'shard_pkey', 'PRIMARY KEY (instance_id, node)'),
    ('shard', 'shard_state_is_known',
        'CHECK ((state = ANY (ARRAY[''joining''::text, ''active''::text, ''draining''::text, '
        '''leaving''::text])))'),
    ('shard', 'shard_weight_is_in_range', 'CHECK (((weight >= 1) AND (weight <= 1000)))'),
    ('shard_coming', 'shard_coming_pkey', 'PRIMARY KEY (instance_id, slot)'),
    ('shard_held_job', 'shard_held_job_pkey', 'PRIMARY KEY (place)'),
    ('shard_leaving', 'shard_leaving_pkey', 'PRIMARY KEY (instance_id, slot)'),
    ('shard_map', 'shard_map_has_4096_slots', 'CHECK ((cardinality(nodes) = 4096))'),
    ('shard_map', 'shard_map_own_node_is_in_range',
        'CHECK (((own_node >= 0) AND (own_node <= 1023)))'),
    ('shard_map', 'shard_map_pkey', 'PRIMARY KEY (instance_id)'),
    ('shard_move', 'shard_move_pkey', 'PRIMARY KEY (instance_id, slot)'),
    ('shard_stats', 'shard_stats_pkey', 'PRIMARY KEY (instance_id, node)'),
    ('shard_move', 'shard_move_slot_is_in_range', 'CHECK (((slot >= 1) AND (slot <= 4095)))'),
    ('shard_neighbour', 'shard_neighbour_pkey', 'PRIMARY KEY (instance_id, node)'),
    ('shard_sign', 'shard_sign_pkey', 'PRIMARY KEY (instance_id, node, id, sent_time)'),
    ('shard_received', 'shard_received_pkey', 'PRIMARY KEY (instance, sender, id, sent_time)'),
    ('shard_outbox_mark', 'shard_outbox_mark_check', 'CHECK (is_only)'),
    ('shard_outbox_mark', 'shard_outbox_mark_pkey', 'PRIMARY KEY (is_only)')
$want$, 'constraints of tables');

SELECT set_eq($got$
SELECT replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ')
FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
WHERE relnamespace = 'hipq'::regnamespace AND NOT relispartition
$got$, $want$VALUES
    ('CREATE INDEX dead_letter_awaits_handler ON hipq.dead_letter '
        'USING btree (queue_id, (((job ->> ''priority''::text))::integer), died_time, job_id) '
        'WHERE awaits_handler'),
    ('CREATE INDEX dead_letter_handler_retry ON hipq.dead_letter '
        'USING btree (queue_id, handler_retry_time) WHERE (handler_retry_time IS NOT NULL)'),
    ('CREATE INDEX dead_letter_of_queue ON hipq.dead_letter '
        'USING btree (queue_id, died_time, job_id)'),
    ('CREATE UNIQUE INDEX dead_letter_pkey ON hipq.dead_letter USING btree (queue_id, job_id)'),
    ('CREATE UNIQUE INDEX identity_pkey ON hipq.identity USING btree (only_row)'),
    ('CREATE UNIQUE INDEX instance_name_is_unique ON hipq.instance USING btree (name)'),
    ('CREATE UNIQUE INDEX instance_pkey ON hipq.instance USING btree (instance_id)'),
    ('CREATE UNIQUE INDEX job_type_pkey ON hipq.job_type USING btree (queue_id, name)'),
    ('CREATE UNIQUE INDEX aimed_job_pkey ON hipq.aimed_job USING btree (queue_id, job_id)'),
    ('CREATE UNIQUE INDEX made_by_handler_pkey ON hipq.made_by_handler '
        'USING btree (queue_id, job_id)'),
    ('CREATE UNIQUE INDEX set_aside_pkey ON hipq.set_aside USING btree (job_id)'),
    ('CREATE UNIQUE INDEX rate_lease_pkey ON hipq.rate_lease '
        'USING btree (queue_id, job_type, throttle_key, granted_time)'),
    ('CREATE UNIQUE INDEX queue_hold_pkey ON hipq.queue_hold USING btree (queue_id)'),
    ('CREATE INDEX pause_until ON hipq.pause USING btree (paused_until) '
        'WHERE (paused_until IS NOT NULL)'),
    ('CREATE UNIQUE INDEX breaker_state_pkey ON hipq.breaker_state '
        'USING btree (queue_id, job_type)'),
    ('CREATE UNIQUE INDEX pause_is_unique ON hipq.pause '
        'USING btree (queue_id, job_type, throttle_key, instance_id) NULLS NOT DISTINCT'),
    ('CREATE UNIQUE INDEX queue_name_is_unique ON hipq.queue USING btree (instance_id, name)'),
    ('CREATE UNIQUE INDEX queue_pkey ON hipq.queue USING btree (queue_id)'),
    ('CREATE UNIQUE INDEX queue_table_name_is_unique ON hipq.queue USING btree (table_name)'),
    ('CREATE UNIQUE INDEX schedule_name_is_unique_in_queue ON hipq.schedule '
        'USING btree (queue_id, name)'),
    ('CREATE INDEX schedule_due ON hipq.schedule '
        'USING btree (due_time) WHERE (due_time IS NOT NULL)'),
    ('CREATE UNIQUE INDEX schedule_pkey ON hipq.schedule USING btree (schedule_id)'),
    ('CREATE INDEX batch_closed ON hipq.batch '
        'USING btree (queue_id, LEAST(closed_time, expires_time))'),
    ('CREATE UNIQUE INDEX batch_failure_pkey ON hipq.batch_failure '
        'USING btree (batch_id, outcome, job_id)'),
    ('CREATE INDEX batch_join_batch ON hipq.batch_join USING btree (batch_id, queue_id)'),
    ('CREATE UNIQUE INDEX batch_pkey ON hipq.batch USING btree (batch_id)'),
    ('CREATE INDEX dependency_before ON hipq.dependency '
        'USING btree (before_id, queue_id, job_id)'),
    ('CREATE UNIQUE INDEX dependency_pkey ON hipq.dependency '
        'USING btree (queue_id, job_id, before_id)'),
    ('CREATE UNIQUE INDEX graph_job_id_is_unique ON hipq.graph_job USING btree (job_id)'),
    ('CREATE UNIQUE INDEX graph_job_pkey ON hipq.graph_job USING btree (graph_id, name)'),
    ('CREATE UNIQUE INDEX worker_name_is_unique_in_its_role ON hipq.worker '
        'USING btree (role, name)'),
    ('CREATE UNIQUE INDEX worker_pkey ON hipq.worker USING btree (worker_id)'),
    ('CREATE UNIQUE INDEX permit_authority_pkey ON hipq.permit_authority '
        'USING btree (queue_id, job_type, throttle_key)'),
    ('CREATE UNIQUE INDEX permit_record_pkey ON hipq.permit_record '
        'USING btree (queue_id, job_type, throttle_key, node)'),
    ('CREATE UNIQUE INDEX permit_share_pkey ON hipq.permit_share '
        'USING btree (queue_id, job_type, throttle_key)'),
    ('CREATE INDEX shard_held_job_slot ON hipq.shard_held_job USING btree (instance_id, slot)'),
    ('CREATE INDEX shard_reject_job ON hipq.shard_reject USING btree (job_id)'),
    ('CREATE INDEX shard_reject_time ON hipq.shard_reject USING btree (rejected_time)'),
    ('CREATE UNIQUE INDEX shard_coming_pkey ON hipq.shard_coming USING btree (instance_id, slot)'),
    ('CREATE UNIQUE INDEX shard_held_job_pkey ON hipq.shard_held_job USING btree (place)'),
    ('CREATE UNIQUE INDEX shard_leaving_pkey ON hipq.shard_leaving '
        'USING btree (instance_id, slot)'),
    ('CREATE UNIQUE INDEX shard_map_pkey ON hipq.shard_map USING btree (instance_id)'),
    ('CREATE UNIQUE INDEX shard_move_pkey ON hipq.shard_move USING btree (instance_id, slot)'),
    ('CREATE UNIQUE INDEX shard_stats_pkey ON hipq.shard_stats USING btree (instance_id, node)'),
    ('CREATE UNIQUE INDEX shard_pkey ON hipq.shard USING btree (instance_id, node)'),
    ('CREATE UNIQUE INDEX shard_neighbour_pkey ON hipq.shard_neighbour '
        'USING btree (instance_id, node)'),
    ('CREATE UNIQUE INDEX shard_sign_pkey ON hipq.shard_sign '
        'USING btree (instance_id, node, id, sent_time)'),
    ('CREATE UNIQUE INDEX shard_received_pkey ON hipq.shard_received '
        'USING btree (instance, sender, id, sent_time)'),
    ('CREATE UNIQUE INDEX shard_outbox_mark_pkey ON hipq.shard_outbox_mark USING btree (is_only)')
$want$, 'indexes');

SELECT set_eq($got$
SELECT proname || '(' || pg_get_function_arguments(oid) || ')', pg_get_function_result(oid),
       provolatile::text
FROM pg_proc
WHERE pronamespace = 'hipq'::regnamespace
$got$, $want$VALUES
    ('_alerts(OUT alert text, OUT times bigint, OUT first_time timestamp with time zone, '
        'OUT last_time timestamp with time zone, OUT detail text, OUT hint text)',
        'SETOF record', 'v'),
    ('_duration_in(cstring)', 'hipq.duration', 's'),
    ('_role_in(cstring)', 'hipq.role', 's'),
    ('_role_out(hipq.role)', 'cstring', 's'),
    ('_role_recv(internal)', 'hipq.role', 's'),
    ('_role_send(hipq.role)', 'bytea', 's'),
    ('_duration_out(hipq.duration)', 'cstring', 's'),
    ('_duration(value text)', 'hipq.duration', 's'),
    ('_duration(value interval)', 'hipq.duration', 'i'),
    ('_duration(value smallint)', 'hipq.duration', 'i'),
    ('_duration(value integer)', 'hipq.duration', 'i'),
    ('_duration(value bigint)', 'hipq.duration', 'i'),
    ('_duration(value real)', 'hipq.duration', 'i'),
    ('_duration(value double precision)', 'hipq.duration', 'i'),
    ('_duration(value numeric)', 'hipq.duration', 'i'),
    ('_time_or_duration_in(cstring)', 'hipq.time_or_duration', 's'),
    ('_time_or_duration_out(hipq.time_or_duration)', 'cstring', 's'),
    ('_time_or_duration(value text)', 'hipq.time_or_duration', 's'),
    ('_time_or_duration(value interval)', 'hipq.time_or_duration', 'i'),
    ('_time_or_duration(value timestamp with time zone)', 'hipq.time_or_duration', 'i'),
    ('_time_or_duration(value timestamp without time zone)', 'hipq.time_or_duration', 's'),
    ('_time_or_duration(value date)', 'hipq.time_or_duration', 's'),
    ('_jobs_set_aside(OUT queue_id integer, OUT job_id bigint, '
        'OUT set_aside_time timestamp with time zone, OUT error text)', 'SETOF record', 'v'),
    ('_overdue(OUT alert text, OUT severity text, OUT jobs bigint, '
        'OUT first_time timestamp with time zone, OUT last_time timestamp with time zone, '
        'OUT detail text, OUT hint text)', 'SETOF record', 'v'),
    ('_statistics(OUT queue_id integer, OUT job_type text, OUT period text, '
        'OUT since timestamp with time zone, OUT succeeded bigint, OUT failed bigint, '
        'OUT cancelled bigint, OUT expired bigint, OUT retried bigint, OUT put_back bigint, '
        'OUT recovered bigint, OUT lost bigint, OUT retries_used bigint, OUT dead_letters bigint, '
        'OUT retry_rate double precision, OUT retry_success_rate double precision, '
        'OUT failure_rate double precision, OUT wait_p50 double precision, '
        'OUT wait_p90 double precision, OUT wait_p99 double precision, '
        'OUT run_p50 double precision, OUT run_p90 double precision, OUT run_p99 double precision)',
        'SETOF record', 'v'),
    ('_failure_statistics(OUT queue_id integer, OUT job_type text, OUT period text, '
        'OUT reason text, OUT failures bigint, OUT retries bigint, OUT recoveries bigint)',
        'SETOF record', 'v'),
    ('_retry_distribution(OUT queue_id integer, OUT job_type text, OUT period text, '
        'OUT retries text, OUT least_retries integer, OUT jobs bigint)', 'SETOF record', 'v'),
    ('_histograms(OUT queue_id integer, OUT job_type text, OUT measure text, '
        'OUT since timestamp with time zone, OUT upper_bound double precision, OUT jobs bigint, '
        'OUT sum double precision)', 'SETOF record', 'v'),
    ('_backlog(queue_id integer, OUT jobs bigint, OUT is_exact boolean)', 'SETOF record', 'v'),
    ('_depth(queue_id integer, OUT jobs bigint, OUT is_exact boolean, '
        'OUT oldest_due_time timestamp with time zone)', 'record', 'v'),
    ('_held(queue text)', 'bigint', 'v'),
    ('_throughput(OUT queue_id integer, OUT minute timestamp with time zone, '
        'OUT succeeded bigint, OUT failed bigint, OUT cancelled bigint, OUT expired bigint, '
        'OUT retried bigint, OUT dead_letters bigint)', 'SETOF record', 'v'),
    ('claim(worker bigint, max_jobs integer DEFAULT 1, '
        'wait hipq.duration DEFAULT ''00:00:00''::hipq.duration, OUT id bigint, '
        'OUT attempt integer, OUT queue text, OUT job_type text, OUT job_key text, '
        'OUT job_data jsonb, OUT deadline timestamp with time zone, OUT retry_count integer, '
        'OUT retry_reason text, OUT max_retries integer, '
        'OUT scheduled_run_time timestamp with time zone, '
        'OUT created_time timestamp with time zone, OUT original_job_id bigint, '
        'OUT traceparent text)', 'SETOF record', 'v'),
    ('complete(id bigint, attempt integer, result jsonb DEFAULT ''null''::jsonb)', 'void', 'v'),
    ('complete_attempts(ids bigint[], attempts integer[], results jsonb[] DEFAULT NULL::jsonb[])',
        'bigint[]', 'v'),
    ('complete_by_key(queue text, job_type text, job_key text, '
        'result jsonb DEFAULT ''null''::jsonb, shard_key text DEFAULT NULL::text)', 'bigint', 'v'),
    ('extend(id bigint, attempt integer, more hipq.duration)', 'timestamp with time zone', 'v'),
    ('extend_attempts(ids bigint[], attempts integer[], more hipq.duration)', 'bigint[]', 'v'),
    ('fail(id bigint, attempt integer, error text, retriable boolean DEFAULT true, '
        'retry_after hipq.duration DEFAULT NULL::hipq.duration)', 'text', 'v'),
    ('fail_attempts(ids bigint[], attempts integer[], errors text[], '
        'retriable boolean DEFAULT true, '
        'retry_after hipq.duration[] DEFAULT NULL::hipq.duration[])', 'bigint[]', 'v'),
    ('fail_by_key(queue text, job_type text, job_key text, error text, '
        'retriable boolean DEFAULT true, shard_key text DEFAULT NULL::text, '
        'retry_after hipq.duration DEFAULT NULL::hipq.duration)', 'text', 'v'),
    ('release(id bigint, attempt integer, delay hipq.duration DEFAULT ''00:00:00''::hipq.duration)',
        'void', 'v'),
    ('release_attempts(ids bigint[], attempts integer[])', 'bigint[]', 'v'),
    ('stat_reset(queue text DEFAULT NULL::text)', 'void', 'v'),
    ('_finished_lately(OUT queue_id integer, OUT since timestamp with time zone, '
        'OUT finished bigint)', 'SETOF record', 'v'),
    ('_sort_of_top(sort text)', 'text', 'v'),
    ('top(sort text DEFAULT ''busy''::text, lines integer DEFAULT 20, OUT queue text, '
        'OUT backlog bigint, OUT exact boolean, OUT running bigint, OUT per_min numeric, '
        'OUT failed bigint, OUT p50 numeric, OUT p99 numeric, OUT oldest interval, OUT state text)',
        'SETOF record', 'v'),
    ('fail_job(id bigint, error text, queue text DEFAULT NULL::text)', 'text', 'v'),
    ('is_job_retriable(id bigint, queue text DEFAULT NULL::text)', 'boolean', 'v'),
    ('why_retriable(id bigint, queue text DEFAULT NULL::text, OUT retriable boolean, '
        'OUT reason text)', 'record', 'v'),
    ('retry_chain(id bigint, queue text DEFAULT NULL::text, OUT job_id bigint, '
        'OUT retry_of bigint, OUT attempt integer, OUT state text, OUT reason text, '
        'OUT sqlstate text, OUT error text, OUT executor_pid integer, OUT worker_id bigint, '
        'OUT started_time timestamp with time zone, OUT ended_time timestamp with time zone, '
        'OUT manual_reason text)', 'SETOF record', 'v'),
    ('_catalogue_changed()', 'trigger', 'v'),
    ('_executors(OUT pid integer, OUT database oid, OUT role oid, OUT status text, '
        'OUT started_time timestamp with time zone, OUT queue_id integer, OUT job_id bigint, '
        'OUT attempt integer, OUT job_type text, OUT job_started_time timestamp with time zone, '
        'OUT jobs_done bigint)', 'SETOF record', 'v'),
    ('_first_unmet_condition(queue_id integer, job_type text, time_windows text, '
        'throttle_key text, throttle_factor numeric)', 'text', 'v'),
    ('_guard_job()', 'trigger', 'v'),
    ('_has_cron_entry(schedule_id integer)', 'boolean', 'v'),
    ('_is_cron_stopped()', 'boolean', 'v'),
    ('_next_run(cron text, last_run_time timestamp with time zone)', 'timestamp with time zone',
        'v'),
    ('_run_schedule(schedule_id integer)', 'text', 'v'),
    ('schedule(name text, cron text, job_type text, job_data jsonb DEFAULT ''{}''::jsonb, '
        'queue text DEFAULT NULL::text, job_key text DEFAULT NULL::text, '
        'priority integer DEFAULT NULL::integer, '
        'timeout hipq.duration DEFAULT NULL::hipq.duration, '
        'throttle_factor double precision DEFAULT NULL::double precision, '
        'time_windows text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, '
        'expires_after hipq.duration DEFAULT NULL::hipq.duration, '
        'throttle_key text DEFAULT NULL::text, time_zone text DEFAULT NULL::text, '
        'missed text DEFAULT NULL::text, '
        'missed_within hipq.duration DEFAULT NULL::hipq.duration, '
        'jitter hipq.duration DEFAULT NULL::hipq.duration, overlap text DEFAULT NULL::text, '
        'starts timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'ends timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'by text DEFAULT ''hipq''::text)', 'timestamp with time zone', 'v'),
    ('next_runs(schedule text, n integer DEFAULT 10, time_zone text DEFAULT NULL::text, '
        'from_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'queue text DEFAULT NULL::text, OUT run_time timestamp with time zone, '
        'OUT local_time timestamp without time zone)', 'SETOF record', 'v'),
    ('schedule_time()', 'timestamp with time zone', 'v'),
    ('unschedule(name text, queue text DEFAULT NULL::text)', 'void', 'v'),
    ('_limiters(OUT queue_id integer, OUT job_type text, OUT used bigint, OUT jobs integer)',
        'SETOF record', 'v'),
    ('_rates(OUT queue_id integer, OUT job_type text, OUT used bigint, '
        'OUT next_turn timestamp with time zone)', 'SETOF record', 'v'),
    ('_lanes(OUT queue_id integer, OUT job_type text, OUT priority integer, '
        'OUT due_time timestamp with time zone, OUT frontier_time timestamp with time zone, '
        'OUT frontier_id bigint, OUT pockets integer, OUT notes integer, OUT is_read boolean)',
        'SETOF record', 'v'),
    ('_is_held()', 'boolean', 'v'),
    ('_is_running(queue_id integer, id bigint)', 'boolean', 'v'),
    ('_are_time_windows(windows text)', 'boolean', 'i'),
    ('_is_rate(rate text)', 'boolean', 'i'),
    ('_is_breaker_rule(rule text)', 'boolean', 'i'),
    ('_breaker(queue_id integer, job_type text, OUT state text, '
        'OUT since timestamp with time zone, OUT until timestamp with time zone, OUT cause text)',
        'record', 'v'),
    ('_key_hash(throttle_key text)', 'bigint', 'i'),
    ('_fitting_data(queue_id integer, job_type text, job_id bigint, job_data jsonb)', 'jsonb', 'v'),
    ('_masked(queue_id integer, job_type text, job_data jsonb)', 'jsonb', 's'),
    ('_in_lines(text text, width integer)', 'text', 'i'),
    ('_masked_job(queue_id integer, job_type text, job jsonb)', 'jsonb', 's'),
    ('_readable_queues()', 'integer[]', 'i'),
    ('_visible_queues()', 'integer[]', 'i'),
    ('_reachable_queues(queues integer[])', 'integer[]', 'i'),
    ('_is_one_of(queue_id integer, queues integer[])', 'boolean', 'i'),
    ('_is_one_of_support(internal)', 'internal', 'v'),
    ('_is_in_reach_by_scan(queue_id integer, queues integer[], one_by_one boolean)', 'boolean',
        'i'),
    ('_is_in_reach_by_scan_support(internal)', 'internal', 'v'),
    ('_asked_ids()', 'bigint[]', 's'),
    ('_asked_ids_support(internal)', 'internal', 'v'),
    ('_is_asked_for(queue text, queue_id integer)', 'boolean', 'i'),
    ('_is_asked_for_support(internal)', 'internal', 'v'),
    ('_jobs_by_id(ids bigint[])', 'SETOF hipq.job', 's'),
    ('_jobs_queue_by_queue()', 'SETOF hipq.job', 's'),
    ('_unfinished_queue_by_queue(OUT queue_id integer, OUT id bigint, OUT state hipq.job_state, '
        'OUT job_type text, OUT job_key text, OUT throttle_key text, OUT throttle_factor numeric, '
        'OUT time_windows text, OUT attempt integer, OUT worker_id bigint, OUT timeout integer, '
        'OUT scheduled_run_time timestamp with time zone, '
        'OUT update_time timestamp with time zone, '
        'OUT accepted_time timestamp with time zone, OUT deadline timestamp with time zone, '
        'OUT waits_for text)', 'SETOF record', 's'),
    ('_unfinished_job(queue_id integer, id bigint, OUT state text, OUT job_type text, '
        'OUT job_key text, OUT throttle_key text, OUT throttle_factor numeric, '
        'OUT timeout integer, OUT accepted_time timestamp with time zone)', 'SETOF record', 's'),
    ('_is_as_asked(value text)', 'boolean', 'i'),
    ('_is_as_asked_support(internal)', 'internal', 'v'),
    ('_running_jobs(OUT pid integer, OUT queue_id integer, OUT job_id bigint, '
        'OUT attempt integer, OUT job_type text, OUT started_time timestamp with time zone, '
        'OUT is_locked boolean, OUT deadline timestamp with time zone, OUT worker_id bigint, '
        'OUT is_accepted boolean)', 'SETOF record', 'v'),
    ('_progress(OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT done bigint, '
        'OUT total bigint, OUT message text, OUT reported_time timestamp with time zone, '
        'OUT pid integer, OUT worker_id bigint)', 'SETOF record', 'v'),
    ('_may(queue_id integer, privilege text)', 'boolean', 'v'),
    ('_worker_services(OUT queue_id integer, OUT job_type text, OUT workers integer, '
        'OUT best_worker bigint)', 'SETOF record', 'v'),
    ('_workers(OUT worker_id bigint, OUT place integer, OUT is_active boolean, OUT health text, '
        'OUT last_check timestamp with time zone, OUT consecutive_failures integer, '
        'OUT total_executions bigint, OUT failed_executions bigint, '
        'OUT average_execution_time_ms double precision, OUT queue_depth integer, '
        'OUT failure_rate double precision, OUT running_jobs integer, '
        'OUT last_heartbeat timestamp with time zone, OUT pid integer)', 'SETOF record', 'v'),
    ('alter_job_type(queue text, job_type text, handler text DEFAULT NULL::text, '
        'handler_kind text DEFAULT ''auto''::text, retry_handler text DEFAULT NULL::text, '
        'default_timeout hipq.duration DEFAULT NULL::hipq.duration, '
        'default_priority integer DEFAULT NULL::integer, '
        'default_throttle_factor double precision DEFAULT NULL::double precision, '
        'default_time_windows text DEFAULT NULL::text, time_zone text DEFAULT NULL::text, '
        'max_retries integer DEFAULT NULL::integer, '
        'retry_base hipq.duration DEFAULT NULL::hipq.duration, '
        'retry_multiplier double precision DEFAULT NULL::double precision, '
        'retry_max hipq.duration DEFAULT NULL::hipq.duration, '
        'retry_jitter double precision DEFAULT NULL::double precision, '
        'retry_on text[] DEFAULT NULL::text[], do_not_retry_on text[] DEFAULT NULL::text[], '
        'on_missing_handler text DEFAULT NULL::text, '
        'queue_ttl hipq.duration DEFAULT NULL::hipq.duration, claim text DEFAULT NULL::text, '
        'batch_size integer DEFAULT NULL::integer, '
        'throttle_limit double precision DEFAULT NULL::double precision, '
        'throttle_limit_per_key double precision DEFAULT NULL::double precision, '
        'requires jsonb DEFAULT NULL::jsonb, '
        'worker_wait_ttl hipq.duration DEFAULT NULL::hipq.duration, '
        'retry_enabled boolean DEFAULT NULL::boolean, parameters jsonb DEFAULT NULL::jsonb, '
        'validate text DEFAULT NULL::text, attempt_log boolean DEFAULT NULL::boolean, '
        'reset text[] DEFAULT ''{}''::text[], rate_limit text DEFAULT NULL::text, '
        'rate_mode text DEFAULT NULL::text, breaker text DEFAULT NULL::text, '
        'rate_limit_per_key text DEFAULT NULL::text)', 'void', 'v'),
    ('alter_queue(queue text, owner regrole DEFAULT NULL::regrole, '
        'throttle_limit double precision DEFAULT NULL::double precision, '
        'retention hipq.duration DEFAULT NULL::hipq.duration, history text DEFAULT NULL::text, '
        'strict boolean DEFAULT NULL::boolean, '
        'queue_ttl hipq.duration DEFAULT NULL::hipq.duration, '
        'dead_letter_enabled boolean DEFAULT NULL::boolean, '
        'dead_letter_retention hipq.duration DEFAULT NULL::hipq.duration, '
        'durability text DEFAULT NULL::text, weight integer DEFAULT NULL::integer, '
        'dead_letter_max integer DEFAULT NULL::integer, '
        'dead_letter_handler text DEFAULT NULL::text, '
        'max_timeout hipq.duration DEFAULT NULL::hipq.duration, '
        'highest_priority integer DEFAULT NULL::integer, '
        'allow_free_jobs boolean DEFAULT NULL::boolean, '
        'retry_enabled boolean DEFAULT NULL::boolean, reset text[] DEFAULT ''{}''::text[], '
        'shard_key text DEFAULT NULL::text, throttle_mode text DEFAULT NULL::text, '
        'move_order text DEFAULT NULL::text, unique_scope text DEFAULT NULL::text, '
        'worker_wait_ttl hipq.duration DEFAULT NULL::hipq.duration, '
        'max_retries integer DEFAULT NULL::integer, rate_limit text DEFAULT NULL::text, '
        'rate_mode text DEFAULT NULL::text)', 'void', 'v'),
    ('apply(state jsonb, dry_run boolean DEFAULT false, drop_others boolean DEFAULT false, '
        'OUT object text, OUT action text, OUT property text, OUT before jsonb, OUT after jsonb)',
        'SETOF record', 'v'),
    ('describe()', 'jsonb', 'v'),
    ('doctor(OUT severity text, OUT subject text, OUT finding text, OUT detail text, '
        'OUT hint text, OUT statement text)', 'SETOF record', 'v'),
    ('cancel(id bigint, reason text DEFAULT NULL::text, queue text DEFAULT NULL::text)', 'boolean',
        'v'),
    ('cancel_batch(batch bigint, reason text DEFAULT NULL::text)', 'bigint', 'v'),
    ('create_batch(name text DEFAULT NULL::text, callback_type text DEFAULT NULL::text, '
        'callback_data jsonb DEFAULT ''{}''::jsonb, call_when text DEFAULT ''finished''::text, '
        'queue text DEFAULT NULL::text, '
        'expires_after hipq.duration DEFAULT ''1 day''::hipq.duration, '
        'closed boolean DEFAULT false)', 'bigint', 'v'),
    ('close_batch(batch bigint)', 'boolean', 'v'),
    ('close_breaker(queue text, job_type text)', 'boolean', 'v'),
    ('open_breaker(queue text, job_type text, '
        'duration hipq.duration DEFAULT NULL::hipq.duration, reason text DEFAULT NULL::text)',
        'boolean', 'v'),
    ('current_batch(job bigint DEFAULT NULL::bigint)', 'bigint', 'v'),
    ('batch_progress(batch bigint, OUT state text, OUT jobs bigint, OUT unfinished bigint, '
        'OUT succeeded bigint, OUT failed bigint, OUT skipped bigint)', 'SETOF record', 's'),
    ('_batch_counts(batch bigint, OUT state text, OUT jobs bigint, OUT unfinished bigint, '
        'OUT failed bigint, OUT skipped bigint)', 'SETOF record', 's'),
    ('cancel_graph(id bigint, reason text DEFAULT NULL::text)', 'bigint', 'v'),
    ('enqueue_graph(graph jsonb, queue text DEFAULT NULL::text, '
        'deadline timestamp with time zone DEFAULT NULL::timestamp with time zone, OUT name text, '
        'OUT id bigint)', 'SETOF record', 'v'),
    ('outcome_of(id bigint)', 'text', 'v'),
    ('outcome_of(name text, job bigint DEFAULT NULL::bigint)', 'text', 'v'),
    ('result_of(id bigint)', 'jsonb', 'v'),
    ('result_of(name text, job bigint DEFAULT NULL::bigint)', 'jsonb', 'v'),
    ('graph_dot(id bigint)', 'text', 's'),
    ('_graph_member(queue_id integer, id bigint, OUT job_type text, OUT outcome text, '
        'OUT waits_for text, OUT created_time timestamp with time zone, '
        'OUT started_time timestamp with time zone, OUT ended_time timestamp with time zone, '
        'OUT error text)', 'SETOF record', 's'),
    ('_newest_graphs(before bigint, most integer)', 'bigint[]', 's'),
    ('_newest_batches(before bigint, most integer)', 'bigint[]', 's'),
    ('cancel_jobs(queue text, job_type text DEFAULT NULL::text, job_key text DEFAULT NULL::text, '
        'state text DEFAULT NULL::text, '
        'created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'reason text DEFAULT NULL::text, max_jobs integer DEFAULT 10000)', 'bigint', 'v'),
    ('alter_instance(name text, strict boolean DEFAULT NULL::boolean, '
        'shard_key text DEFAULT NULL::text, table_naming_strategy text DEFAULT NULL::text, '
        'db_config jsonb DEFAULT NULL::jsonb, max_retries integer DEFAULT NULL::integer, '
        'reset text[] DEFAULT ''{}''::text[])', 'void', 'v'),
    ('create_instance(name text, shard_key text DEFAULT ''NONE''::text, '
        'table_naming_strategy text DEFAULT ''NONE''::text, '
        'db_config jsonb DEFAULT ''{}''::jsonb, strict boolean DEFAULT false, '
        'if_not_exists boolean DEFAULT false, or_replace boolean DEFAULT false, '
        'max_retries integer DEFAULT NULL::integer)', 'integer', 'v'),
    ('create_queue(queue text, owner regrole DEFAULT NULL::regrole, '
        'throttle_limit double precision DEFAULT 0, '
        'retention hipq.duration DEFAULT NULL::hipq.duration, '
        'history text DEFAULT ''failed''::text, strict boolean DEFAULT NULL::boolean, '
        'queue_ttl hipq.duration DEFAULT NULL::hipq.duration, '
        'dead_letter_enabled boolean DEFAULT NULL::boolean, '
        'dead_letter_retention hipq.duration DEFAULT NULL::hipq.duration, '
        'durability text DEFAULT ''strict''::text, weight integer DEFAULT 100, '
        'dead_letter_max integer DEFAULT NULL::integer, '
        'dead_letter_handler text DEFAULT ''NONE''::text, '
        'max_timeout hipq.duration DEFAULT NULL::hipq.duration, '
        'highest_priority integer DEFAULT NULL::integer, allow_free_jobs boolean DEFAULT true, '
        'retry_enabled boolean DEFAULT NULL::boolean, if_not_exists boolean DEFAULT false, '
        'or_replace boolean DEFAULT false, shard_key text DEFAULT NULL::text, '
        'throttle_mode text DEFAULT ''shared''::text, move_order text DEFAULT ''key''::text, '
        'unique_scope text DEFAULT ''global''::text, '
        'worker_wait_ttl hipq.duration DEFAULT NULL::hipq.duration, '
        'max_retries integer DEFAULT NULL::integer, rate_limit text DEFAULT ''NONE''::text, '
        'rate_mode text DEFAULT ''exact''::text)', 'integer', 'v'),
    ('deregister_worker(worker bigint)', 'void', 'v'),
    ('handle_again(id bigint)', 'void', 'v'),
    ('handle_jobs_again(queue text, job_type text DEFAULT NULL::text, '
        'reason text DEFAULT NULL::text, '
        'before timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'state text DEFAULT ''waiting''::text, max_jobs integer DEFAULT 10000)', 'bigint', 'v'),
    ('dismiss_dead_letter(id bigint)', 'void', 'v'),
    ('dismiss_dead_letters(queue text, job_type text DEFAULT NULL::text, '
        'reason text DEFAULT NULL::text, '
        'before timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'max_jobs integer DEFAULT 10000)', 'bigint', 'v'),
    ('drain_worker(worker bigint)', 'void', 'v'),
    ('drop_instance(name text)', 'void', 'v'),
    ('drop_job_type(queue text, job_type text, force boolean DEFAULT false)', 'void', 'v'),
    ('drop_queue(queue text, force boolean DEFAULT false)', 'void', 'v'),
    ('dry_fail(id bigint, error text DEFAULT ''failed''::text, retriable boolean DEFAULT true, '
        'retry_after hipq.duration DEFAULT NULL::hipq.duration, queue text DEFAULT NULL::text)',
        'interval', 'v'),
    ('dry_run(id bigint, queue text DEFAULT NULL::text, OUT result jsonb, OUT error text, '
        'OUT sqlstate text, OUT duration interval)', 'record', 'v'),
    ('enqueued(job_type text DEFAULT NULL::text, queue text DEFAULT NULL::text)', 'SETOF hipq.job',
        'v'),
    ('run_until_idle(queue text, max_jobs integer DEFAULT 1000)', 'integer', 'v'),
    ('enqueue(job_type text, job_data anyelement, queue text DEFAULT NULL::text, '
        'job_key text DEFAULT NULL::text, '
        'scheduled_run_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'priority integer DEFAULT NULL::integer, '
        'timeout hipq.duration DEFAULT NULL::hipq.duration, '
        'throttle_factor double precision DEFAULT NULL::double precision, '
        'time_windows text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, '
        'expires_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'on_duplicate text DEFAULT ''error''::text, throttle_key text DEFAULT NULL::text, '
        'queue_ttl hipq.duration DEFAULT NULL::hipq.duration, worker text DEFAULT NULL::text, '
        'job_text text DEFAULT NULL::text, traceparent text DEFAULT NULL::text, '
        'after bigint[] DEFAULT NULL::bigint[], '
        'after_policy text DEFAULT NULL::text, on_failure text DEFAULT NULL::text, '
        'batch bigint DEFAULT NULL::bigint, after_batch bigint DEFAULT NULL::bigint)', 'bigint',
        'v'),
    ('enqueue(job_type text, job_data text DEFAULT ''{}''::text, queue text DEFAULT NULL::text, '
        'job_key text DEFAULT NULL::text, '
        'scheduled_run_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'priority integer DEFAULT NULL::integer, '
        'timeout hipq.duration DEFAULT NULL::hipq.duration, '
        'throttle_factor double precision DEFAULT NULL::double precision, '
        'time_windows text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, '
        'expires_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'on_duplicate text DEFAULT ''error''::text, throttle_key text DEFAULT NULL::text, '
        'queue_ttl hipq.duration DEFAULT NULL::hipq.duration, worker text DEFAULT NULL::text, '
        'job_text text DEFAULT NULL::text, traceparent text DEFAULT NULL::text, '
        'after bigint[] DEFAULT NULL::bigint[], '
        'after_policy text DEFAULT NULL::text, on_failure text DEFAULT NULL::text, '
        'batch bigint DEFAULT NULL::bigint, after_batch bigint DEFAULT NULL::bigint)', 'bigint',
        'v'),
    ('enqueue_many(job_type text, job_data jsonb[], job_keys text[] DEFAULT NULL::text[], '
        'queue text DEFAULT NULL::text, '
        'scheduled_run_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'priority integer DEFAULT NULL::integer, '
        'timeout hipq.duration DEFAULT NULL::hipq.duration, '
        'throttle_factor double precision DEFAULT NULL::double precision, '
        'time_windows text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, '
        'expires_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'on_duplicate text DEFAULT ''error''::text, throttle_key text DEFAULT NULL::text, '
        'queue_ttl hipq.duration DEFAULT NULL::hipq.duration, traceparent text DEFAULT NULL::text, '
        'after bigint[] DEFAULT NULL::bigint[], '
        'after_policy text DEFAULT NULL::text, on_failure text DEFAULT NULL::text, '
        'batch bigint DEFAULT NULL::bigint, after_batch bigint DEFAULT NULL::bigint)',
        'bigint[]', 'v'),
    ('enqueue_unique(job_type text, job_data anyelement, queue text DEFAULT NULL::text, '
        'job_key text DEFAULT NULL::text, '
        'scheduled_run_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'priority integer DEFAULT NULL::integer, '
        'timeout hipq.duration DEFAULT NULL::hipq.duration, '
        'throttle_factor double precision DEFAULT NULL::double precision, '
        'time_windows text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, '
        'expires_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'on_duplicate text DEFAULT ''return''::text, throttle_key text DEFAULT NULL::text, '
        'queue_ttl hipq.duration DEFAULT NULL::hipq.duration, worker text DEFAULT NULL::text, '
        'job_text text DEFAULT NULL::text, traceparent text DEFAULT NULL::text, '
        'after bigint[] DEFAULT NULL::bigint[], '
        'after_policy text DEFAULT NULL::text, on_failure text DEFAULT NULL::text, '
        'batch bigint DEFAULT NULL::bigint, after_batch bigint DEFAULT NULL::bigint, '
        'OUT id bigint, OUT action text)', 'record', 'v'),
    ('enqueue_unique(job_type text, job_data text DEFAULT ''{}''::text, '
        'queue text DEFAULT NULL::text, job_key text DEFAULT NULL::text, '
        'scheduled_run_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'priority integer DEFAULT NULL::integer, '
        'timeout hipq.duration DEFAULT NULL::hipq.duration, '
        'throttle_factor double precision DEFAULT NULL::double precision, '
        'time_windows text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, '
        'expires_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'on_duplicate text DEFAULT ''return''::text, throttle_key text DEFAULT NULL::text, '
        'queue_ttl hipq.duration DEFAULT NULL::hipq.duration, worker text DEFAULT NULL::text, '
        'job_text text DEFAULT NULL::text, traceparent text DEFAULT NULL::text, '
        'after bigint[] DEFAULT NULL::bigint[], '
        'after_policy text DEFAULT NULL::text, on_failure text DEFAULT NULL::text, '
        'batch bigint DEFAULT NULL::bigint, after_batch bigint DEFAULT NULL::bigint, '
        'OUT id bigint, OUT action text)', 'record', 'v'),
    ('erase(id bigint, queue text DEFAULT NULL::text)', 'boolean', 'v'),
    ('extend_job(id bigint, more hipq.duration, queue text DEFAULT NULL::text)',
        'timestamp with time zone', 'v'),
    ('extend(more hipq.duration)', 'timestamp with time zone', 'v'),
    ('fail_permanently(message text)', 'void', 'v'),
    ('fail_retriable(message text)', 'void', 'v'),
    ('grant_queue(queue text, role regrole, privilege text)', 'void', 'v'),
    ('heartbeat(worker bigint, health jsonb)', 'text', 'v'),
    ('heartbeat(worker bigint, health text DEFAULT NULL::text)', 'text', 'v'),
    ('heartbeat_attempts(ids bigint[], attempts integer[])', 'bigint[]', 'v'),
    ('move_jobs(from_queue text, to_queue text, job_type text, max_jobs integer DEFAULT 10000, '
        'OUT moved bigint, OUT key_taken bigint)', 'SETOF record', 'v'),
    ('now()', 'timestamp with time zone', 'v'),
    ('pause(queue text DEFAULT NULL::text, job_type text DEFAULT NULL::text, '
        'throttle_key text DEFAULT NULL::text, reason text DEFAULT ''NONE''::text, '
        'instance text DEFAULT NULL::text, '
        'until hipq.time_or_duration DEFAULT NULL::hipq.time_or_duration)', 'boolean', 'v'),
    ('purge_dead_letter(id bigint)', 'void', 'v'),
    ('purge_dead_letters(queue text, job_type text DEFAULT NULL::text, '
        'reason text DEFAULT NULL::text, '
        'before timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'state text DEFAULT NULL::text, max_jobs integer DEFAULT 10000)', 'bigint', 'v'),
    ('redrive(id bigint, to_queue text DEFAULT NULL::text, '
        'with_dependents boolean DEFAULT false)', 'bigint', 'v'),
    ('redrive_jobs(queue text, job_type text DEFAULT NULL::text, reason text DEFAULT NULL::text, '
        'before timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'rate double precision DEFAULT NULL::double precision, to_queue text DEFAULT NULL::text, '
        'state text DEFAULT ''waiting''::text, max_jobs integer DEFAULT 10000, '
        'OUT redriven bigint, OUT key_taken bigint)', 'record', 'v'),
    ('register_job_type(queue text, job_type text, handler text DEFAULT ''NONE''::text, '
        'handler_kind text DEFAULT ''auto''::text, retry_handler text DEFAULT ''NONE''::text, '
        'default_timeout hipq.duration DEFAULT NULL::hipq.duration, '
        'default_priority integer DEFAULT 0, default_throttle_factor double precision DEFAULT 1, '
        'default_time_windows text DEFAULT ''NONE''::text, time_zone text DEFAULT NULL::text, '
        'max_retries integer DEFAULT NULL::integer, '
        'retry_base hipq.duration DEFAULT NULL::hipq.duration, '
        'retry_multiplier double precision DEFAULT NULL::double precision, '
        'retry_max hipq.duration DEFAULT NULL::hipq.duration, '
        'retry_jitter double precision DEFAULT NULL::double precision, '
        'retry_on text[] DEFAULT ''{}''::text[], do_not_retry_on text[] DEFAULT ''{}''::text[], '
        'on_missing_handler text DEFAULT ''wait''::text, '
        'queue_ttl hipq.duration DEFAULT NULL::hipq.duration, claim text DEFAULT ''auto''::text, '
        'batch_size integer DEFAULT 1, throttle_limit double precision DEFAULT 0, '
        'throttle_limit_per_key double precision DEFAULT 0, requires jsonb DEFAULT ''{}''::jsonb, '
        'worker_wait_ttl hipq.duration DEFAULT NULL::hipq.duration, '
        'retry_enabled boolean DEFAULT NULL::boolean, parameters jsonb DEFAULT ''{}''::jsonb, '
        'validate text DEFAULT ''enqueue''::text, attempt_log boolean DEFAULT NULL::boolean, '
        'if_not_exists boolean DEFAULT false, or_replace boolean DEFAULT false, '
        'rate_limit text DEFAULT ''NONE''::text, rate_mode text DEFAULT ''exact''::text, '
        'breaker text DEFAULT ''NONE''::text, rate_limit_per_key text DEFAULT ''NONE''::text)',
        'void', 'v'),
    ('register_worker(name text, queues text[], job_types text[], capacity integer DEFAULT 1, '
        'prefetch integer DEFAULT 0, capabilities jsonb DEFAULT ''{}''::jsonb, '
        'listen boolean DEFAULT false, take_over boolean DEFAULT false)', 'bigint', 'v'),
    ('release_hold()', 'void', 'v'),
    ('release_hold(queue text)', 'void', 'v'),
    ('restore_schedules()', 'bigint', 'v'),
    ('_lost_schedules(OUT schedule_id integer, OUT name text)', 'SETOF record', 'v'),
    ('reschedule(id bigint, '
        'scheduled_run_time timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'priority integer DEFAULT NULL::integer, queue text DEFAULT NULL::text)', 'void', 'v'),
    ('resume(queue text DEFAULT NULL::text, job_type text DEFAULT NULL::text, '
        'throttle_key text DEFAULT NULL::text, instance text DEFAULT NULL::text)', 'boolean', 'v'),
    ('retry(id bigint, reason text DEFAULT ''manual_retry''::text, '
        'job_data jsonb DEFAULT NULL::jsonb, queue text DEFAULT NULL::text, '
        'max_retries integer DEFAULT NULL::integer)', 'bigint', 'v'),
    ('rate_limited(retry_after hipq.duration, '
        'message text DEFAULT ''the service allows no more calls now''::text)', 'void', 'v'),
    ('retry_after(delay hipq.duration, message text DEFAULT ''retry asked for''::text)', 'void',
        'v'),
    ('retry_jobs(queue text, job_type text DEFAULT NULL::text, '
        'failed_after timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'failed_before timestamp with time zone DEFAULT NULL::timestamp with time zone, '
        'reason text DEFAULT ''manual_retry''::text, max_jobs integer DEFAULT 10000, '
        'max_retries integer DEFAULT NULL::integer)', 'bigint', 'v'),
    ('retry_schedule(job_type text, OUT retry integer, OUT delay interval, '
        'OUT since_first_failure interval)', 'SETOF record', 'v'),
    ('retry_schedule(queue text, job_type text, OUT retry integer, OUT delay interval, '
        'OUT since_first_failure interval)', 'SETOF record', 'v'),
    ('revoke_queue(queue text, role regrole, privilege text)', 'void', 'v'),
    ('snooze(delay hipq.duration)', 'void', 'v'),
    ('complete_later()', 'void', 'v'),
    ('report_progress(done bigint, total bigint DEFAULT NULL::bigint, '
        'message text DEFAULT NULL::text)', 'void', 'v'),
    ('report_progress(id bigint, attempt integer, done bigint, total bigint, '
        'message text DEFAULT NULL::text)', 'void', 'v'),
    ('version()', 'text', 'v'),
    ('wait_for(id bigint, timeout hipq.duration DEFAULT ''00:01:00''::hipq.duration, '
        'queue text DEFAULT NULL::text, OUT outcome text, OUT result jsonb, OUT error text)',
        'record', 'v'),
    ('worker_queue_depth(worker bigint)', 'integer', 'v'),
    ('who_fills(queue text, lines integer DEFAULT 20, OUT job_type text, OUT throttle_key text, '
        'OUT jobs bigint, OUT percent double precision, OUT last_minute bigint, '
        'OUT oldest_due_time timestamp with time zone, OUT waits_for text, OUT first_job bigint)',
        'SETOF record', 'v'),
    ('why(id bigint, queue text DEFAULT NULL::text, OUT condition text, OUT passed boolean, '
        'OUT explanation text)', 'SETOF record', 'v'),
    ('_join_shards(instance_name text, cluster text, node integer)', 'void', 'v'),
    ('_keep_outbox(slot text)', 'void', 'v'),
    ('_publish_outbox(publication text, instance_name text, node integer)', 'void', 'v'),
    ('_receive()', 'trigger', 'v'),
    ('_send_set_up(instance_name text, to_node integer DEFAULT NULL::integer)', 'void', 'v'),
    ('_set_up_of(instance_name text)', 'jsonb', 'v'),
    ('_shards_changed()', 'trigger', 'v'),
    ('_subscribe_to_outbox(publication text, publisher text, publisher_version integer)', 'void',
        'v'),
    ('_tell_shards()', 'trigger', 'v'),
    ('_unfit_for_shards()', 'text', 'v'),
    ('create_shard(IN instance text, IN shard integer, IN conninfo text, '
        'IN publisher text DEFAULT NULL::text, IN weight integer DEFAULT 100)', NULL, 'v'),
    ('drop_shard(IN instance text, IN shard integer, IN force boolean DEFAULT false)', NULL, 'v'),
    ('resync_shard(IN instance text, IN shard integer, IN force boolean DEFAULT false)', NULL, 'v'),
    ('_own_timeline()', 'text', 'v'),
    ('_is_own_timeline(noted text)', 'boolean', 'v'),
    ('_receive_again(letter jsonb, after_loss boolean)', 'boolean', 'v'),
    ('_begin_resync(instance_name text, truth jsonb)', 'text', 'v'),
    ('drain_shard(instance text, shard integer)', 'integer', 'v'),
    ('_leave_shards(instance_name text)', 'void', 'v'),
    ('_position_after_all_sent(since timestamp with time zone)', 'text', 'v'),
    ('_unsubscribe_from_outbox(publication text)', 'void', 'v'),
    ('_unpublish_outbox(publication text)', 'void', 'v'),
    ('move_slots(instance text, slots integer[], shard integer)', 'integer', 'v'),
    ('rebalance(instance text)', 'integer', 'v'),
    ('resend_rejects(queue text, sqlstate text DEFAULT NULL::text, '
        'ids bigint[] DEFAULT NULL::bigint[], max_jobs integer DEFAULT 10000)', 'bigint', 'v'),
    ('_answer(instance_name text, asker integer, role text, function text, id bigint, '
        'arguments text[], is_about_letter boolean)', 'text', 'v'),
    ('_wait_until_read(instance_name text)', 'boolean', 'v'),
    ('find_job(id bigint, queue text DEFAULT NULL::text)', 'SETOF hipq.jobs_detail', 'v'),
    ('slot_of(key text)', 'integer', 'i')
$want$, 'functions: arguments with their defaults, result, volatility');

SELECT is_empty($got$
SELECT oid::regprocedure FROM pg_proc
WHERE pronamespace = 'hipq'::regnamespace
  AND (proleakproof OR prosecdef OR proparallel <> 'u' OR prokind NOT IN ('f', 'p'))
$got$, 'no function is LEAKPROOF, SECURITY DEFINER or marked safe for parallel plans');

SELECT set_eq($got$
SELECT tgname::text, tgrelid::regclass::text, tgfoid::regproc::text, tgenabled::text,
       concat_ws(' ', CASE WHEN tgtype & 1 = 1 THEN 'row' ELSE 'statement' END,
                 CASE WHEN tgtype & 2 = 2 THEN 'before' ELSE 'after' END,
                 CASE WHEN tgtype & 4 = 4 THEN 'insert' END,
                 CASE WHEN tgtype & 16 = 16 THEN 'update' END,
                 CASE WHEN tgtype & 8 = 8 THEN 'delete' END,
                 CASE WHEN tgtype & 32 = 32 THEN 'truncate' END)
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE relnamespace = 'hipq'::regnamespace AND NOT relispartition AND NOT tgisinternal
$got$, $want$VALUES
    ('catalogue_changed', 'hipq.breaker_state', 'hipq._catalogue_changed', 'A',
        'statement after truncate'),
    ('catalogue_changed', 'hipq.instance', 'hipq._catalogue_changed', 'A', 'row after update'),
    ('catalogue_changed', 'hipq.job_type', 'hipq._catalogue_changed', 'A',
        'statement after truncate'),
    ('catalogue_changed', 'hipq.queue_hold', 'hipq._catalogue_changed', 'A',
        'statement after truncate'),
    ('catalogue_changed', 'hipq.pause', 'hipq._catalogue_changed', 'A', 'statement after truncate'),
    ('catalogue_changed', 'hipq.queue', 'hipq._catalogue_changed', 'A',
        'statement after insert delete truncate'),
    ('catalogue_changed', 'hipq.worker', 'hipq._catalogue_changed', 'A',
        'statement after insert update delete truncate'),
    ('guard_job', 'hipq.job', 'hipq._guard_job', 'A', 'row before insert update delete'),
    ('receive', 'hipq.shard_outbox', 'hipq._receive', 'A', 'row before insert'),
    ('row_changed', 'hipq.job_type', 'hipq._catalogue_changed', 'A',
        'row after insert update delete'),
    ('row_changed', 'hipq.breaker_state', 'hipq._catalogue_changed', 'A',
        'row after insert update delete'),
    ('row_changed', 'hipq.pause', 'hipq._catalogue_changed', 'A', 'row after insert update delete'),
    ('row_changed', 'hipq.queue', 'hipq._catalogue_changed', 'A', 'row after update'),
    ('row_changed', 'hipq.queue_hold', 'hipq._catalogue_changed', 'A',
        'row after insert update delete'),
    ('shards_changed', 'hipq.shard_coming', 'hipq._shards_changed', 'A',
        'statement after insert update delete truncate'),
    ('shards_changed', 'hipq.shard_leaving', 'hipq._shards_changed', 'A',
        'statement after insert delete truncate'),
    ('shards_changed', 'hipq.shard_map', 'hipq._shards_changed', 'A',
        'statement after insert update delete truncate'),
    ('shards_changed', 'hipq.shard_move', 'hipq._shards_changed', 'A',
        'statement after update truncate'),
    ('tell_shards_of_update', 'hipq.instance', 'hipq._tell_shards', 'A', 'statement after update'),
    ('tell_shards_of_delete', 'hipq.instance', 'hipq._tell_shards', 'A', 'statement after delete'),
    ('tell_shards_of_insert', 'hipq.job_type', 'hipq._tell_shards', 'A', 'statement after insert'),
    ('tell_shards_of_update', 'hipq.job_type', 'hipq._tell_shards', 'A', 'statement after update'),
    ('tell_shards_of_delete', 'hipq.job_type', 'hipq._tell_shards', 'A', 'statement after delete'),
    ('tell_shards_of_insert', 'hipq.pause', 'hipq._tell_shards', 'A', 'statement after insert'),
    ('tell_shards_of_update', 'hipq.pause', 'hipq._tell_shards', 'A', 'statement after update'),
    ('tell_shards_of_delete', 'hipq.pause', 'hipq._tell_shards', 'A', 'statement after delete'),
    ('tell_shards_of_insert', 'hipq.queue', 'hipq._tell_shards', 'A', 'statement after insert'),
    ('tell_shards_of_update', 'hipq.queue', 'hipq._tell_shards', 'A', 'statement after update'),
    ('tell_shards_of_delete', 'hipq.queue', 'hipq._tell_shards', 'A', 'statement after delete')
$want$, 'triggers, all of them ENABLE ALWAYS');

SELECT is_empty($got$
SELECT oid::regclass FROM pg_class
WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v'
  AND NOT coalesce('security_barrier=true' = ANY (reloptions), false)
$got$, 'every view is a security barrier');

SELECT set_eq($got$
SELECT partrelid::regclass::text, pg_get_partkeydef(partrelid)
FROM pg_partitioned_table JOIN pg_class ON pg_class.oid = partrelid
WHERE relnamespace = 'hipq'::regnamespace AND NOT relispartition
$got$, $want$VALUES
    ('hipq.job', 'LIST (queue_id)'),
    ('hipq.attempt', 'RANGE (ended_time)'),
    ('hipq.attempt_log', 'RANGE (logged_time)'),
    ('hipq.shard_outbox', 'RANGE (sent_time)'),
    ('hipq.shard_received', 'RANGE (sent_time)')
$want$, 'partitioned tables');

SELECT results_eq($got$SELECT unnest(enum_range(NULL::hipq.job_state))::text$got$,
    $want$VALUES ('initial'), ('running'), ('error'), ('retry'), ('final')$want$,
    'states of a job');

-- The tables whose rows pg_dump dumps: rows that users own, not rows that workers leave behind.
SELECT set_eq($got$
SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'hipq'
$got$, $want$VALUES
    ('hipq.identity'), ('hipq.instance'), ('hipq.queue'), ('hipq.job_type'), ('hipq.pause'),
    ('hipq.breaker_state'),
    ('hipq.queue_hold'), ('hipq.dead_letter'), ('hipq.dependency'), ('hipq.graph_job'),
    ('hipq.batch'), ('hipq.batch_failure'), ('hipq.batch_join'),
    ('hipq.made_by_handler'), ('hipq.aimed_job'), ('hipq.set_aside'), ('hipq.schedule'),
    ('hipq.schedule_id_seq'),
    ('hipq.instance_id_seq'), ('hipq.queue_id_seq'), ('hipq.job_id_seq'),
    ('hipq.shard'),
    ('hipq.shard_coming'),
    ('hipq.shard_held_job'),
    ('hipq.shard_leaving'),
    ('hipq.shard_map'),
    ('hipq.shard_move'),
    ('hipq.shard_reject')
$want$, 'tables and sequences that are dumped with their data');

SELECT * FROM finish();
ROLLBACK;
