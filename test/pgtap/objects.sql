-- The contract: every object of the extension, by name, type and definition. A change here is a change for users: it belongs in the changelog.
BEGIN;
-- Definitions are printed with the names of schemas that are not in the search_path.
SET LOCAL search_path = pg_catalog, public;
SELECT plan(14);

SELECT set_eq($got$
SELECT relname::text, relkind::text FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p', 'v', 'S') AND NOT relispartition
$got$, $want$VALUES
    ('instance_id_seq', 'S'),
    ('job_id_seq', 'S'),
    ('queue_id_seq', 'S'),
    ('worker_id_seq', 'S'),
    ('attempt', 'p'),
    ('job', 'p'),
    ('dead_letter', 'r'),
    ('identity', 'r'),
    ('instance', 'r'),
    ('job_type', 'r'),
    ('queue', 'r'),
    ('worker', 'r'),
    ('attempts', 'v'),
    ('dead_letters', 'v'),
    ('executors', 'v'),
    ('instances', 'v'),
    ('job_types', 'v'),
    ('jobs', 'v'),
    ('queues', 'v'),
    ('running', 'v'),
    ('sizes', 'v')
$want$, 'tables (r, p), views (v), sequences (S)');

SELECT set_eq($got$
SELECT relname::text, attname::text, format_type(atttypid, atttypmod), attnotnull::text, coalesce(pg_get_expr(adbin, adrelid), '')
FROM pg_class
JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
$got$, $want$VALUES
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
    ('dead_letter', 'job_id', 'bigint', 'true', ''),
    ('dead_letter', 'died_time', 'timestamp with time zone', 'true', ''),
    ('dead_letter', 'handled_time', 'timestamp with time zone', 'false', ''),
    ('dead_letter', 'redriven_time', 'timestamp with time zone', 'false', ''),
    ('dead_letter', 'dismissed_time', 'timestamp with time zone', 'false', ''),
    ('dead_letter', 'queue_id', 'integer', 'true', ''),
    ('dead_letter', 'job_type', 'text', 'true', ''),
    ('dead_letter', 'job_key', 'text', 'true', ''),
    ('dead_letter', 'reason', 'text', 'true', ''),
    ('dead_letter', 'sqlstate', 'text', 'false', ''),
    ('dead_letter', 'error', 'text', 'true', ''),
    ('dead_letter', 'job', 'jsonb', 'true', ''),
    ('dead_letter', 'history', 'jsonb', 'true', '''[]''::jsonb'),
    ('identity', 'system_identifier', 'bigint', 'true', ''),
    ('identity', 'database_oid', 'oid', 'true', ''),
    ('identity', 'token', 'uuid', 'true', 'gen_random_uuid()'),
    ('identity', 'created_time', 'timestamp with time zone', 'true', 'now()'),
    ('identity', 'only_row', 'boolean', 'true', 'true'),
    ('instance', 'instance_id', 'integer', 'true', 'nextval(''hipq.instance_id_seq''::regclass)'),
    ('instance', 'name', 'text', 'true', ''),
    ('instance', 'shard_key', 'text', 'true', '''NONE''::text'),
    ('instance', 'table_naming_strategy', 'text', 'true', '''NONE''::text'),
    ('instance', 'db_config', 'jsonb', 'true', '''{}''::jsonb'),
    ('instance', 'created_time', 'timestamp with time zone', 'true', 'now()'),
    ('job', 'id', 'bigint', 'true', ''),
    ('job', 'original_job_id', 'bigint', 'false', ''),
    ('job', 'retry_of', 'bigint', 'false', ''),
    ('job', 'worker_id', 'bigint', 'false', ''),
    ('job', 'scheduled_run_time', 'timestamp with time zone', 'true', 'now()'),
    ('job', 'update_time', 'timestamp with time zone', 'true', ''),
    ('job', 'created_time', 'timestamp with time zone', 'true', ''),
    ('job', 'accepted_time', 'timestamp with time zone', 'true', '''infinity''::timestamp with time zone'),
    ('job', 'deadline', 'timestamp with time zone', 'true', '''infinity''::timestamp with time zone'),
    ('job', 'expires_time', 'timestamp with time zone', 'true', '''infinity''::timestamp with time zone'),
    ('job', 'queue_id', 'integer', 'true', ''),
    ('job', 'state', 'hipq.job_state', 'true', '''initial''::hipq.job_state'),
    ('job', 'timeout', 'integer', 'true', ''),
    ('job', 'attempt', 'integer', 'true', '0'),
    ('job', 'retry_count', 'integer', 'true', '0'),
    ('job', 'max_retries', 'integer', 'true', ''),
    ('job', 'queue_ttl', 'integer', 'false', ''),
    ('job', 'priority', 'smallint', 'true', ''),
    ('job', 'throttle_factor', 'numeric(9,3)', 'true', ''),
    ('job', 'job_type', 'text', 'true', ''),
    ('job', 'job_key', 'text', 'true', '''NONE''::text'),
    ('job', 'error', 'text', 'true', '''NONE''::text'),
    ('job', 'throttle_key', 'text', 'true', '''NONE''::text'),
    ('job', 'time_windows', 'hipq.time_windows', 'true', ''),
    ('job', 'retry_reason', 'text', 'true', '''NONE''::text'),
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
    ('job_type', 'created_time', 'timestamp with time zone', 'true', 'now()'),
    ('queue', 'queue_id', 'integer', 'true', 'nextval(''hipq.queue_id_seq''::regclass)'),
    ('queue', 'instance_id', 'integer', 'true', ''),
    ('queue', 'name', 'text', 'true', ''),
    ('queue', 'owner', 'regrole', 'true', ''),
    ('queue', 'table_name', 'text', 'true', ''),
    ('queue', 'throttle_limit', 'numeric(12,3)', 'true', '0'),
    ('queue', 'retention', 'interval', 'false', ''),
    ('queue', 'history', 'text', 'true', '''failed''::text'),
    ('queue', 'durability', 'text', 'true', '''strict''::text'),
    ('queue', 'is_strict', 'boolean', 'true', 'false'),
    ('queue', 'queue_ttl', 'integer', 'false', ''),
    ('queue', 'dead_letter_enabled', 'boolean', 'false', ''),
    ('queue', 'dead_letter_retention', 'interval', 'false', ''),
    ('queue', 'is_dropped', 'boolean', 'true', 'false'),
    ('queue', 'created_time', 'timestamp with time zone', 'true', 'now()'),
    ('worker', 'worker_id', 'bigint', 'true', 'nextval(''hipq.worker_id_seq''::regclass)'),
    ('worker', 'name', 'text', 'true', ''),
    ('worker', 'role', 'regrole', 'true', ''),
    ('worker', 'queues', 'text[]', 'true', '''{}''::text[]'),
    ('worker', 'job_types', 'text[]', 'true', '''{}''::text[]'),
    ('worker', 'capacity', 'integer', 'true', '1'),
    ('worker', 'prefetch', 'integer', 'true', '0'),
    ('worker', 'capabilities', 'jsonb', 'true', '''{}''::jsonb'),
    ('worker', 'registered_time', 'timestamp with time zone', 'true', 'now()'),
    ('worker', 'heartbeat_time', 'timestamp with time zone', 'true', 'now()')
$want$, 'columns of tables: type, NOT NULL, default');

SELECT is((SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'hipq.job'::regclass AND attnum > 0),
    'id, original_job_id, retry_of, worker_id, scheduled_run_time, update_time, created_time, accepted_time, deadline, expires_time, queue_id, state, timeout, attempt, retry_count, max_retries, queue_ttl, priority, throttle_factor, job_type, job_key, error, throttle_key, time_windows, retry_reason, shard_key, job_data, result',
    'order of the columns of hipq.job, the row type of handlers: new ones come last');

SELECT set_eq($got$
SELECT relname::text, attname::text FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND attcollation = 'pg_catalog."C"'::regcollation
$got$, $want$VALUES
    ('attempt', 'job_key'),
    ('attempt', 'job_type'),
    ('dead_letter', 'job_key'),
    ('dead_letter', 'job_type'),
    ('instance', 'name'),
    ('job', 'job_key'),
    ('job', 'job_type'),
    ('job', 'throttle_key'),
    ('job', 'time_windows'),
    ('job_type', 'default_time_windows'),
    ('job_type', 'name'),
    ('queue', 'name'),
    ('queue', 'table_name'),
    ('worker', 'name')
$want$, 'columns that compare bytes');

SELECT set_eq($got$
SELECT relname::text, attname::text, format_type(atttypid, atttypmod)
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v'
$got$, $want$VALUES
    ('attempts', 'queue', 'text'),
    ('attempts', 'job_id', 'bigint'),
    ('attempts', 'attempt', 'integer'),
    ('attempts', 'job_type', 'text'),
    ('attempts', 'job_key', 'text'),
    ('attempts', 'reason', 'text'),
    ('attempts', 'sqlstate', 'text'),
    ('attempts', 'error', 'text'),
    ('attempts', 'detail', 'text'),
    ('attempts', 'hint', 'text'),
    ('attempts', 'context', 'text'),
    ('attempts', 'executor_pid', 'integer'),
    ('attempts', 'worker_id', 'bigint'),
    ('attempts', 'started_time', 'timestamp with time zone'),
    ('attempts', 'ended_time', 'timestamp with time zone'),
    ('attempts', 'duration', 'interval'),
    ('dead_letters', 'queue', 'text'),
    ('dead_letters', 'job_id', 'bigint'),
    ('dead_letters', 'job_type', 'text'),
    ('dead_letters', 'job_key', 'text'),
    ('dead_letters', 'reason', 'text'),
    ('dead_letters', 'sqlstate', 'text'),
    ('dead_letters', 'error', 'text'),
    ('dead_letters', 'died_time', 'timestamp with time zone'),
    ('dead_letters', 'handled_time', 'timestamp with time zone'),
    ('dead_letters', 'redriven_time', 'timestamp with time zone'),
    ('dead_letters', 'dismissed_time', 'timestamp with time zone'),
    ('dead_letters', 'job', 'jsonb'),
    ('dead_letters', 'history', 'jsonb'),
    ('executors', 'pid', 'integer'),
    ('executors', 'database', 'name'),
    ('executors', 'role', 'name'),
    ('executors', 'status', 'text'),
    ('executors', 'started_time', 'timestamp with time zone'),
    ('executors', 'queue', 'text'),
    ('executors', 'job_id', 'bigint'),
    ('executors', 'attempt', 'integer'),
    ('executors', 'job_type', 'text'),
    ('executors', 'job_started_time', 'timestamp with time zone'),
    ('executors', 'jobs_done', 'bigint'),
    ('instances', 'name', 'text'),
    ('instances', 'shard_key', 'text'),
    ('instances', 'table_naming_strategy', 'text'),
    ('instances', 'db_config', 'jsonb'),
    ('instances', 'queues', 'bigint'),
    ('instances', 'created_time', 'timestamp with time zone'),
    ('job_types', 'queue', 'text'),
    ('job_types', 'job_type', 'text'),
    ('job_types', 'handler', 'text'),
    ('job_types', 'handler_kind', 'text'),
    ('job_types', 'retry_handler', 'text'),
    ('job_types', 'default_timeout', 'integer'),
    ('job_types', 'default_priority', 'smallint'),
    ('job_types', 'default_throttle_factor', 'numeric(9,3)'),
    ('job_types', 'default_time_windows', 'hipq.time_windows'),
    ('job_types', 'time_zone', 'text'),
    ('job_types', 'max_retries', 'integer'),
    ('job_types', 'retry_base', 'interval'),
    ('job_types', 'retry_multiplier', 'double precision'),
    ('job_types', 'retry_max', 'interval'),
    ('job_types', 'retry_jitter', 'double precision'),
    ('job_types', 'retry_on', 'text[]'),
    ('job_types', 'do_not_retry_on', 'text[]'),
    ('job_types', 'on_missing_handler', 'text'),
    ('job_types', 'queue_ttl', 'integer'),
    ('job_types', 'claim', 'text'),
    ('job_types', 'batch_size', 'integer'),
    ('job_types', 'created_time', 'timestamp with time zone'),
    ('jobs', 'id', 'bigint'),
    ('jobs', 'queue', 'text'),
    ('jobs', 'job_type', 'text'),
    ('jobs', 'job_key', 'text'),
    ('jobs', 'state', 'hipq.job_state'),
    ('jobs', 'outcome', 'text'),
    ('jobs', 'error', 'text'),
    ('jobs', 'attempt', 'integer'),
    ('jobs', 'retry_count', 'integer'),
    ('jobs', 'max_retries', 'integer'),
    ('jobs', 'retry_reason', 'text'),
    ('jobs', 'scheduled_run_time', 'timestamp with time zone'),
    ('jobs', 'priority', 'smallint'),
    ('jobs', 'timeout', 'integer'),
    ('jobs', 'created_time', 'timestamp with time zone'),
    ('jobs', 'accepted_time', 'timestamp with time zone'),
    ('jobs', 'update_time', 'timestamp with time zone'),
    ('jobs', 'deadline', 'timestamp with time zone'),
    ('jobs', 'expires_time', 'timestamp with time zone'),
    ('jobs', 'job_data', 'jsonb'),
    ('jobs', 'result', 'jsonb'),
    ('jobs', 'original_job_id', 'bigint'),
    ('jobs', 'retry_of', 'bigint'),
    ('jobs', 'throttle_factor', 'numeric(9,3)'),
    ('jobs', 'throttle_key', 'text'),
    ('jobs', 'time_windows', 'hipq.time_windows'),
    ('jobs', 'shard_key', 'text'),
    ('jobs', 'worker_id', 'bigint'),
    ('jobs', 'queue_ttl', 'integer'),
    ('queues', 'queue', 'text'),
    ('queues', 'owner', 'regrole'),
    ('queues', 'table_name', 'text'),
    ('queues', 'throttle_limit', 'numeric(12,3)'),
    ('queues', 'throttle_used', 'numeric'),
    ('queues', 'running_jobs', 'bigint'),
    ('queues', 'initial', 'bigint'),
    ('queues', 'running', 'bigint'),
    ('queues', 'error', 'bigint'),
    ('queues', 'retry', 'bigint'),
    ('queues', 'oldest_due_time', 'timestamp with time zone'),
    ('queues', 'retention', 'interval'),
    ('queues', 'history', 'text'),
    ('queues', 'durability', 'text'),
    ('queues', 'is_strict', 'boolean'),
    ('queues', 'queue_ttl', 'integer'),
    ('queues', 'dead_letter_enabled', 'boolean'),
    ('queues', 'dead_letter_retention', 'interval'),
    ('queues', 'is_dropped', 'boolean'),
    ('queues', 'created_time', 'timestamp with time zone'),
    ('running', 'queue', 'text'),
    ('running', 'id', 'bigint'),
    ('running', 'job_type', 'text'),
    ('running', 'job_key', 'text'),
    ('running', 'attempt', 'integer'),
    ('running', 'pid', 'integer'),
    ('running', 'worker_id', 'bigint'),
    ('running', 'since', 'timestamp with time zone'),
    ('running', 'timeout', 'integer'),
    ('running', 'deadline', 'timestamp with time zone'),
    ('running', 'wait_event_type', 'text'),
    ('running', 'wait_event', 'text'),
    ('running', 'blocked_by', 'integer[]'),
    ('sizes', 'queue', 'text'),
    ('sizes', 'table_name', 'text'),
    ('sizes', 'kind', 'text'),
    ('sizes', 'from_time', 'timestamp with time zone'),
    ('sizes', 'to_time', 'timestamp with time zone'),
    ('sizes', 'row_estimate', 'bigint'),
    ('sizes', 'bytes', 'bigint'),
    ('sizes', 'rows_per_day', 'numeric'),
    ('sizes', 'bytes_per_day', 'numeric')
$want$, 'columns of views');

SELECT set_eq($got$
SELECT relname::text, conname::text, pg_get_constraintdef(pg_constraint.oid)
FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
WHERE relnamespace = 'hipq'::regnamespace AND NOT relispartition
$got$, $want$VALUES
    ('dead_letter', 'dead_letter_pkey', 'PRIMARY KEY (job_id)'),
    ('identity', 'identity_is_one_row', 'CHECK (only_row)'),
    ('identity', 'identity_pkey', 'PRIMARY KEY (only_row)'),
    ('instance', 'instance_db_config_is_an_object', 'CHECK ((jsonb_typeof(db_config) = ''object''::text))'),
    ('instance', 'instance_name_is_unique', 'UNIQUE (name)'),
    ('instance', 'instance_name_is_valid', 'CHECK (((name ~ ''^[a-z][a-z_]*$''::text) AND (octet_length(name) <= 63)))'),
    ('instance', 'instance_pkey', 'PRIMARY KEY (instance_id)'),
    ('job', 'job_error_and_retry_have_an_error', 'CHECK (((state <> ALL (ARRAY[''error''::hipq.job_state, ''retry''::hipq.job_state])) OR (error <> ''NONE''::text)))'),
    ('job', 'job_expires_time_is_a_time', 'CHECK ((expires_time <> ''-infinity''::timestamp with time zone))'),
    ('job', 'job_initial_has_not_been_tried', 'CHECK (((state <> ''initial''::hipq.job_state) OR ((attempt = 0) AND (retry_count = 0) AND (error = ''NONE''::text))))'),
    ('job', 'job_key_is_short', 'CHECK (((octet_length(job_key) >= 1) AND (octet_length(job_key) <= 1000)))'),
    ('job', 'job_max_retries_is_not_negative', 'CHECK ((max_retries >= 0))'),
    ('job', 'job_past_initial_has_been_tried', 'CHECK (((state = ''initial''::hipq.job_state) OR (attempt >= 1)))'),
    ('job', 'job_queue_ttl_is_positive', 'CHECK ((queue_ttl > 0))'),
    ('job', 'job_retry_count_is_not_negative', 'CHECK ((retry_count >= 0))'),
    ('job', 'job_running_has_no_error', 'CHECK (((state <> ''running''::hipq.job_state) OR (error = ''NONE''::text)))'),
    ('job', 'job_scheduled_run_time_is_finite', 'CHECK (isfinite(scheduled_run_time))'),
    ('job', 'job_throttle_factor_is_not_negative', 'CHECK (((throttle_factor >= (0)::numeric) AND (throttle_factor <> ''NaN''::numeric)))'),
    ('job', 'job_throttle_key_is_short', 'CHECK (((octet_length(throttle_key) >= 1) AND (octet_length(throttle_key) <= 1000)))'),
    ('job', 'job_timeout_is_positive', 'CHECK ((timeout > 0))'),
    ('job', 'job_type_is_short', 'CHECK (((octet_length(job_type) >= 1) AND (octet_length(job_type) <= 63)))'),
    ('job_type', 'job_type_batch_size_is_in_range', 'CHECK (((batch_size >= 1) AND (batch_size <= 1000)))'),
    ('job_type', 'job_type_claim_is_known', 'CHECK ((claim = ANY (ARRAY[''auto''::text, ''lock''::text, ''record''::text])))'),
    ('job_type', 'job_type_default_timeout_is_positive', 'CHECK ((default_timeout > 0))'),
    ('job_type', 'job_type_handler_kind_is_known', 'CHECK ((handler_kind = ANY (ARRAY[''none''::text, ''function''::text, ''procedure''::text, ''statement''::text, ''notify''::text])))'),
    ('job_type', 'job_type_handler_none_iff_kind_none', 'CHECK (((handler = ''NONE''::text) = (handler_kind = ANY (ARRAY[''none''::text, ''notify''::text]))))'),
    ('job_type', 'job_type_max_retries_is_not_negative', 'CHECK ((max_retries >= 0))'),
    ('job_type', 'job_type_name_is_short', 'CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 63)))'),
    ('job_type', 'job_type_on_missing_handler_is_known', 'CHECK ((on_missing_handler = ANY (ARRAY[''wait''::text, ''fail''::text])))'),
    ('job_type', 'job_type_pkey', 'PRIMARY KEY (queue_id, name)'),
    ('job_type', 'job_type_queue_ttl_is_positive', 'CHECK ((queue_ttl > 0))'),
    ('job_type', 'job_type_retry_base_is_not_negative', 'CHECK ((retry_base >= ''00:00:00''::interval))'),
    ('job_type', 'job_type_retry_jitter_is_a_fraction', 'CHECK (((retry_jitter >= (0)::double precision) AND (retry_jitter <= (1)::double precision)))'),
    ('job_type', 'job_type_retry_max_is_not_negative', 'CHECK ((retry_max >= ''00:00:00''::interval))'),
    ('job_type', 'job_type_retry_multiplier_is_at_least_one', 'CHECK (((retry_multiplier >= (1)::double precision) AND (retry_multiplier <= (1000)::double precision)))'),
    ('job_type', 'job_type_throttle_factor_is_not_negative', 'CHECK (((default_throttle_factor >= (0)::numeric) AND (default_throttle_factor <> ''NaN''::numeric)))'),
    ('queue', 'queue_dead_letter_retention_is_positive', 'CHECK ((dead_letter_retention > ''00:00:00''::interval))'),
    ('queue', 'queue_durability_is_known', 'CHECK ((durability = ANY (ARRAY[''strict''::text, ''group''::text])))'),
    ('queue', 'queue_history_is_known', 'CHECK ((history = ANY (ARRAY[''failed''::text, ''all''::text])))'),
    ('queue', 'queue_name_is_unique', 'UNIQUE (instance_id, name)'),
    ('queue', 'queue_name_is_valid', 'CHECK (((name ~ ''^[a-z][a-z_]*$''::text) AND (octet_length(name) <= 63)))'),
    ('queue', 'queue_pkey', 'PRIMARY KEY (queue_id)'),
    ('queue', 'queue_queue_ttl_is_positive', 'CHECK ((queue_ttl > 0))'),
    ('queue', 'queue_retention_is_positive', 'CHECK ((retention > ''00:00:00''::interval))'),
    ('queue', 'queue_table_name_is_unique', 'UNIQUE (table_name)'),
    ('queue', 'queue_throttle_limit_is_not_negative', 'CHECK (((throttle_limit >= (0)::numeric) AND (throttle_limit <> ''NaN''::numeric)))'),
    ('worker', 'worker_capabilities_are_an_object', 'CHECK ((jsonb_typeof(capabilities) = ''object''::text))'),
    ('worker', 'worker_capacity_is_positive', 'CHECK ((capacity > 0))'),
    ('worker', 'worker_name_is_unique', 'UNIQUE (name)'),
    ('worker', 'worker_pkey', 'PRIMARY KEY (worker_id)'),
    ('worker', 'worker_prefetch_is_not_negative', 'CHECK ((prefetch >= 0))')
$want$, 'constraints of tables');

SELECT set_eq($got$
SELECT replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ')
FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
WHERE relnamespace = 'hipq'::regnamespace AND NOT relispartition
$got$, $want$VALUES
    ('CREATE INDEX dead_letter_died_time ON hipq.dead_letter USING btree (died_time)'),
    ('CREATE UNIQUE INDEX dead_letter_pkey ON hipq.dead_letter USING btree (job_id)'),
    ('CREATE UNIQUE INDEX identity_pkey ON hipq.identity USING btree (only_row)'),
    ('CREATE UNIQUE INDEX instance_name_is_unique ON hipq.instance USING btree (name)'),
    ('CREATE UNIQUE INDEX instance_pkey ON hipq.instance USING btree (instance_id)'),
    ('CREATE UNIQUE INDEX job_type_pkey ON hipq.job_type USING btree (queue_id, name)'),
    ('CREATE UNIQUE INDEX queue_name_is_unique ON hipq.queue USING btree (instance_id, name)'),
    ('CREATE UNIQUE INDEX queue_pkey ON hipq.queue USING btree (queue_id)'),
    ('CREATE UNIQUE INDEX queue_table_name_is_unique ON hipq.queue USING btree (table_name)'),
    ('CREATE UNIQUE INDEX worker_name_is_unique ON hipq.worker USING btree (name)'),
    ('CREATE UNIQUE INDEX worker_pkey ON hipq.worker USING btree (worker_id)')
$want$, 'indexes');

SELECT set_eq($got$
SELECT proname || '(' || pg_get_function_arguments(oid) || ')', pg_get_function_result(oid), provolatile::text
FROM pg_proc
WHERE pronamespace = 'hipq'::regnamespace
$got$, $want$VALUES
    ('_catalogue_changed()', 'trigger', 'v'),
    ('_executors(OUT pid integer, OUT database oid, OUT role oid, OUT status text, OUT started_time timestamp with time zone, OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT job_type text, OUT job_started_time timestamp with time zone, OUT jobs_done bigint)', 'SETOF record', 'v'),
    ('_guard_job()', 'trigger', 'v'),
    ('_is_held()', 'boolean', 'v'),
    ('_is_running(id bigint)', 'boolean', 'v'),
    ('_running_jobs(OUT pid integer, OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT job_type text, OUT started_time timestamp with time zone, OUT is_locked boolean)', 'SETOF record', 'v'),
    ('_may(queue_id integer, privilege text)', 'boolean', 'v'),
    ('alter_job_type(queue text, job_type text, handler text DEFAULT NULL::text, handler_kind text DEFAULT ''auto''::text, retry_handler text DEFAULT NULL::text, default_timeout integer DEFAULT NULL::integer, default_priority integer DEFAULT NULL::integer, default_throttle_factor numeric DEFAULT NULL::numeric, default_time_windows text DEFAULT NULL::text, time_zone text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, retry_base interval DEFAULT NULL::interval, retry_multiplier double precision DEFAULT NULL::double precision, retry_max interval DEFAULT NULL::interval, retry_jitter double precision DEFAULT NULL::double precision, retry_on text[] DEFAULT NULL::text[], do_not_retry_on text[] DEFAULT NULL::text[], on_missing_handler text DEFAULT NULL::text, queue_ttl integer DEFAULT NULL::integer, claim text DEFAULT NULL::text, batch_size integer DEFAULT NULL::integer, reset text[] DEFAULT ''{}''::text[])', 'void', 'v'),
    ('alter_queue(queue text, owner regrole DEFAULT NULL::regrole, throttle_limit numeric DEFAULT NULL::numeric, retention interval DEFAULT NULL::interval, history text DEFAULT NULL::text, strict boolean DEFAULT NULL::boolean, queue_ttl integer DEFAULT NULL::integer, dead_letter_enabled boolean DEFAULT NULL::boolean, dead_letter_retention interval DEFAULT NULL::interval, durability text DEFAULT NULL::text, reset text[] DEFAULT ''{}''::text[])', 'void', 'v'),
    ('cancel(id bigint, reason text DEFAULT NULL::text, queue text DEFAULT NULL::text)', 'boolean', 'v'),
    ('create_instance(name text, shard_key text DEFAULT ''NONE''::text, table_naming_strategy text DEFAULT ''NONE''::text, db_config jsonb DEFAULT ''{}''::jsonb)', 'integer', 'v'),
    ('create_queue(queue text, owner regrole DEFAULT NULL::regrole, throttle_limit numeric DEFAULT 0, retention interval DEFAULT NULL::interval, history text DEFAULT ''failed''::text, strict boolean DEFAULT false, queue_ttl integer DEFAULT NULL::integer, dead_letter_enabled boolean DEFAULT NULL::boolean, dead_letter_retention interval DEFAULT NULL::interval, durability text DEFAULT ''strict''::text)', 'integer', 'v'),
    ('drop_instance(name text)', 'void', 'v'),
    ('drop_job_type(queue text, job_type text, force boolean DEFAULT false)', 'void', 'v'),
    ('drop_queue(queue text, force boolean DEFAULT false)', 'void', 'v'),
    ('enqueue(job_type text, job_data anyelement, queue text DEFAULT NULL::text, job_key text DEFAULT NULL::text, scheduled_run_time timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT NULL::integer, timeout integer DEFAULT NULL::integer, throttle_factor numeric DEFAULT NULL::numeric, time_windows text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, expires_time timestamp with time zone DEFAULT NULL::timestamp with time zone, on_duplicate text DEFAULT ''error''::text, throttle_key text DEFAULT NULL::text)', 'bigint', 'v'),
    ('enqueue(job_type text, job_data text DEFAULT ''{}''::text, queue text DEFAULT NULL::text, job_key text DEFAULT NULL::text, scheduled_run_time timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT NULL::integer, timeout integer DEFAULT NULL::integer, throttle_factor numeric DEFAULT NULL::numeric, time_windows text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, expires_time timestamp with time zone DEFAULT NULL::timestamp with time zone, on_duplicate text DEFAULT ''error''::text, throttle_key text DEFAULT NULL::text)', 'bigint', 'v'),
    ('enqueue_many(job_type text, job_data jsonb[], job_keys text[] DEFAULT NULL::text[], queue text DEFAULT NULL::text, scheduled_run_time timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT NULL::integer, timeout integer DEFAULT NULL::integer, throttle_factor numeric DEFAULT NULL::numeric, time_windows text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, expires_time timestamp with time zone DEFAULT NULL::timestamp with time zone, on_duplicate text DEFAULT ''error''::text, throttle_key text DEFAULT NULL::text)', 'bigint[]', 'v'),
    ('erase(id bigint, queue text DEFAULT NULL::text)', 'boolean', 'v'),
    ('fail_permanently(message text)', 'void', 'v'),
    ('fail_retriable(message text)', 'void', 'v'),
    ('grant_queue(queue text, role regrole, privilege text)', 'void', 'v'),
    ('now()', 'timestamp with time zone', 'v'),
    ('register_job_type(queue text, job_type text, handler text DEFAULT ''NONE''::text, handler_kind text DEFAULT ''auto''::text, retry_handler text DEFAULT ''NONE''::text, default_timeout integer DEFAULT NULL::integer, default_priority integer DEFAULT 0, default_throttle_factor numeric DEFAULT 1, default_time_windows text DEFAULT ''NONE''::text, time_zone text DEFAULT NULL::text, max_retries integer DEFAULT NULL::integer, retry_base interval DEFAULT NULL::interval, retry_multiplier double precision DEFAULT NULL::double precision, retry_max interval DEFAULT NULL::interval, retry_jitter double precision DEFAULT NULL::double precision, retry_on text[] DEFAULT ''{}''::text[], do_not_retry_on text[] DEFAULT ''{}''::text[], on_missing_handler text DEFAULT ''wait''::text, queue_ttl integer DEFAULT NULL::integer, claim text DEFAULT ''auto''::text, batch_size integer DEFAULT 1)', 'void', 'v'),
    ('release_hold()', 'void', 'v'),
    ('reschedule(id bigint, scheduled_run_time timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT NULL::integer, queue text DEFAULT NULL::text)', 'void', 'v'),
    ('retry(id bigint, reason text DEFAULT ''manual_retry''::text, job_data jsonb DEFAULT NULL::jsonb, queue text DEFAULT NULL::text)', 'bigint', 'v'),
    ('retry_schedule(job_type text, OUT retry integer, OUT delay interval, OUT since_first_failure interval)', 'SETOF record', 'v'),
    ('retry_schedule(queue text, job_type text, OUT retry integer, OUT delay interval, OUT since_first_failure interval)', 'SETOF record', 'v'),
    ('revoke_queue(queue text, role regrole, privilege text)', 'void', 'v'),
    ('version()', 'text', 'v'),
    ('why(id bigint, queue text DEFAULT NULL::text, OUT gate text, OUT passed boolean, OUT explanation text)', 'SETOF record', 'v')
$want$, 'functions: arguments with their defaults, result, volatility');

SELECT is_empty($got$
SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'hipq'::regnamespace AND (proleakproof OR prosecdef OR proparallel <> 'u' OR prokind <> 'f')
$got$, 'no function is LEAKPROOF, SECURITY DEFINER or marked safe for parallel plans');

SELECT set_eq($got$
SELECT tgname::text, tgrelid::regclass::text, tgfoid::regproc::text, tgenabled::text,
       concat_ws(' ', CASE WHEN tgtype & 1 = 1 THEN 'row' ELSE 'statement' END, CASE WHEN tgtype & 2 = 2 THEN 'before' ELSE 'after' END,
                 CASE WHEN tgtype & 4 = 4 THEN 'insert' END, CASE WHEN tgtype & 16 = 16 THEN 'update' END,
                 CASE WHEN tgtype & 8 = 8 THEN 'delete' END, CASE WHEN tgtype & 32 = 32 THEN 'truncate' END)
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE relnamespace = 'hipq'::regnamespace AND NOT relispartition AND NOT tgisinternal
$got$, $want$VALUES
    ('catalogue_changed', 'hipq.job_type', 'hipq._catalogue_changed', 'A', 'statement after insert update delete truncate'),
    ('catalogue_changed', 'hipq.queue', 'hipq._catalogue_changed', 'A', 'statement after insert update delete truncate'),
    ('guard_job', 'hipq.job', 'hipq._guard_job', 'A', 'row before insert update delete')
$want$, 'triggers, all of them ENABLE ALWAYS');

SELECT is_empty($got$
SELECT oid::regclass FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v' AND NOT coalesce('security_barrier=true' = ANY (reloptions), false)
$got$, 'every view is a security barrier');

SELECT set_eq($got$
SELECT partrelid::regclass::text, pg_get_partkeydef(partrelid) FROM pg_partitioned_table JOIN pg_class ON pg_class.oid = partrelid
WHERE relnamespace = 'hipq'::regnamespace AND NOT relispartition
$got$, $want$VALUES
    ('hipq.job', 'LIST (queue_id)'),
    ('hipq.attempt', 'RANGE (ended_time)')
$want$, 'partitioned tables');

SELECT results_eq($got$SELECT unnest(enum_range(NULL::hipq.job_state))::text$got$, $want$VALUES ('initial'), ('running'), ('error'), ('retry'), ('final')$want$,
    'states of a job');

-- What pg_dump carries as data: what users own, not what workers leave behind.
SELECT set_eq($got$
SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'hipq'
$got$, $want$VALUES
    ('hipq.identity'), ('hipq.instance'), ('hipq.queue'), ('hipq.job_type'), ('hipq.dead_letter'),
    ('hipq.instance_id_seq'), ('hipq.queue_id_seq'), ('hipq.job_id_seq')
$want$, 'tables and sequences that are dumped with their data');

SELECT * FROM finish();
ROLLBACK;
