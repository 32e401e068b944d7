-- Functions that make, change and drop instances, queues and job types, and grant rights on queues.

CREATE FUNCTION hipq.create_instance(
    name text, shard_key text DEFAULT 'NONE', table_naming_strategy text DEFAULT 'NONE',
    db_config jsonb DEFAULT '{}', strict boolean DEFAULT false, if_not_exists boolean DEFAULT false,
    or_replace boolean DEFAULT false, max_retries integer DEFAULT NULL
) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_or_replace_instance';
COMMENT ON FUNCTION hipq.create_instance(
    text, text, text, jsonb, boolean, boolean, boolean, integer
) IS 'makes an instance, a named group of queues, and returns its number. name: lower-case '
    'letters and underscores; table_naming_strategy: SQL expression over $1 (instance) and $2 '
    '(queue) that names a queue''s table; strict: whether its queues refuse jobs of types that '
    'nobody has registered; shard_key: what its queues divide their jobs by when it has shards; '
    'db_config: {"publisher": connection string}, how shards reach this server; '
    'max_retries: of jobs whose queue and type say nothing, NULL = setting hipq.max_retries; '
    'if_not_exists: one that is there stays as it is; or_replace: it becomes what the arguments '
    'say';

CREATE FUNCTION hipq.alter_instance(
    name text, strict boolean DEFAULT NULL, shard_key text DEFAULT NULL,
    table_naming_strategy text DEFAULT NULL, db_config jsonb DEFAULT NULL,
    max_retries integer DEFAULT NULL, reset text[] DEFAULT '{}'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_whole_instance';
COMMENT ON FUNCTION hipq.alter_instance(text, boolean, text, text, jsonb, integer, text[])
    IS 'changes an instance. name: the instance; table_naming_strategy: for queues to come, with '
    'the rights of the caller; reset: names of arguments that go back to the setting; the other '
    'arguments are those of create_instance(), NULL = as it is';

CREATE FUNCTION hipq.drop_instance(name text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drop_instance';
COMMENT ON FUNCTION hipq.drop_instance(text)
    IS 'drops an instance that has no queues. name: the instance';

CREATE FUNCTION hipq.create_queue(
    queue text, owner regrole DEFAULT NULL, throttle_limit double precision DEFAULT 0,
    retention hipq.duration DEFAULT NULL, history text DEFAULT 'failed',
    strict boolean DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL,
    dead_letter_enabled boolean DEFAULT NULL, dead_letter_retention hipq.duration DEFAULT NULL,
    durability text DEFAULT 'strict', weight integer DEFAULT 100,
    dead_letter_max integer DEFAULT NULL, dead_letter_handler text DEFAULT 'NONE',
    max_timeout hipq.duration DEFAULT NULL, highest_priority integer DEFAULT NULL,
    allow_free_jobs boolean DEFAULT true, retry_enabled boolean DEFAULT NULL,
    if_not_exists boolean DEFAULT false, or_replace boolean DEFAULT false,
    shard_key text DEFAULT NULL, throttle_mode text DEFAULT 'shared', move_order text DEFAULT 'key',
    unique_scope text DEFAULT 'global', worker_wait_ttl hipq.duration DEFAULT NULL,
    max_retries integer DEFAULT NULL, rate_limit text DEFAULT 'NONE',
    rate_mode text DEFAULT 'exact'
) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_or_replace_queue';
COMMENT ON FUNCTION hipq.create_queue(
    text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean,
    hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, boolean,
    boolean, text, text, text, text, hipq.duration, integer, text, text
) IS 'makes a queue and its table, and returns its number. queue: instance.queue; owner: the role '
    'that handlers run as, NULL = the caller; weight: its share of the executors, 1 to 1000; '
    'queue_ttl, worker_wait_ttl, max_timeout: a number is seconds; worker_wait_ttl 0 = for ever; '
    'max_timeout, highest_priority, allow_free_jobs: caps on what enqueuers ask for; rate_limit: '
    'how much may start in a time, such as 100/min; rate_mode: exact = never more in any such '
    'time, smooth = at even distances; what is NULL '
    'is as the setting of that name says; shard_key: what a sharded instance divides its jobs by, '
    'a column or a path within job_data, NULL = as the instance says; throttle_mode: how its nodes '
    'keep throttle limits, home = all jobs of a queue with limits are on one, shared = each node '
    'has a share; move_order: what stays in order while slots move between its nodes, key = jobs '
    'with one job_key, strict = all jobs of a slot; unique_scope: what keys are unique within, '
    'global = the whole queue, shard_key = the jobs of each shard key; if_not_exists: a queue that '
    'is there stays as it is; or_replace: it becomes what the arguments say, and an owner who is '
    'not given stays';

CREATE FUNCTION hipq.alter_queue(
    queue text, owner regrole DEFAULT NULL, throttle_limit double precision DEFAULT NULL,
    retention hipq.duration DEFAULT NULL, history text DEFAULT NULL, strict boolean DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, dead_letter_enabled boolean DEFAULT NULL,
    dead_letter_retention hipq.duration DEFAULT NULL, durability text DEFAULT NULL,
    weight integer DEFAULT NULL, dead_letter_max integer DEFAULT NULL,
    dead_letter_handler text DEFAULT NULL, max_timeout hipq.duration DEFAULT NULL,
    highest_priority integer DEFAULT NULL, allow_free_jobs boolean DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, reset text[] DEFAULT '{}', shard_key text DEFAULT NULL,
    throttle_mode text DEFAULT NULL, move_order text DEFAULT NULL, unique_scope text DEFAULT NULL,
    worker_wait_ttl hipq.duration DEFAULT NULL, max_retries integer DEFAULT NULL,
    rate_limit text DEFAULT NULL, rate_mode text DEFAULT NULL
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_queue';
COMMENT ON FUNCTION hipq.alter_queue(
    text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean,
    hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, text[],
    text, text, text, text, hipq.duration, integer, text, text
) IS 'changes a queue. queue: the queue; reset: names of arguments that go back to the setting; '
    'the other arguments are those of create_queue(), NULL = as it is';

CREATE FUNCTION hipq.drop_queue(queue text, force boolean DEFAULT false) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drop_queue';
COMMENT ON FUNCTION hipq.drop_queue(text, boolean)
    IS 'drops a queue with its jobs. queue: the queue; force: whether unfinished jobs may be '
    'dropped, too';

CREATE FUNCTION hipq.grant_queue(queue text, role regrole, privilege text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_grant_queue';
COMMENT ON FUNCTION hipq.grant_queue(text, regrole, text)
    IS 'gives a role a right on a queue. queue: the queue; role: the role; privilege: enqueue, '
    'work, read, operate or control';

CREATE FUNCTION hipq.revoke_queue(queue text, role regrole, privilege text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_revoke_queue';
COMMENT ON FUNCTION hipq.revoke_queue(text, regrole, text)
    IS 'takes a right on a queue back, with functions and views that no other right of the role '
    'needs. queue: the queue; role: the role; privilege: enqueue, work, read, operate or '
    'control';

CREATE FUNCTION hipq.register_job_type(
    queue text, job_type text, handler text DEFAULT 'NONE', handler_kind text DEFAULT 'auto',
    retry_handler text DEFAULT 'NONE', default_timeout hipq.duration DEFAULT NULL,
    default_priority integer DEFAULT 0, default_throttle_factor double precision DEFAULT 1,
    default_time_windows text DEFAULT 'NONE', time_zone text DEFAULT NULL,
    max_retries integer DEFAULT NULL, retry_base hipq.duration DEFAULT NULL,
    retry_multiplier double precision DEFAULT NULL, retry_max hipq.duration DEFAULT NULL,
    retry_jitter double precision DEFAULT NULL, retry_on text[] DEFAULT '{}',
    do_not_retry_on text[] DEFAULT '{}', on_missing_handler text DEFAULT 'wait',
    queue_ttl hipq.duration DEFAULT NULL, claim text DEFAULT 'auto', batch_size integer DEFAULT 1,
    throttle_limit double precision DEFAULT 0, throttle_limit_per_key double precision DEFAULT 0,
    requires jsonb DEFAULT '{}', worker_wait_ttl hipq.duration DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, parameters jsonb DEFAULT '{}',
    validate text DEFAULT 'enqueue', attempt_log boolean DEFAULT NULL,
    if_not_exists boolean DEFAULT false, or_replace boolean DEFAULT false,
    rate_limit text DEFAULT 'NONE', rate_mode text DEFAULT 'exact', breaker text DEFAULT 'NONE',
    rate_limit_per_key text DEFAULT 'NONE'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_register_or_replace_job_type';
COMMENT ON FUNCTION hipq.register_job_type(
    text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer,
    hipq.duration, double precision, hipq.duration, double precision, text[], text[], text,
    hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean,
    jsonb, text, boolean, boolean, boolean, text, text, text, text
) IS 'registers a job type of a queue: what runs, and what its jobs start with. queue: the queue; '
    'job_type: the type; handler: a function, a procedure or an SQL statement; retry_handler: what '
    'decides about retries; default_timeout, queue_ttl, worker_wait_ttl: a number is seconds; '
    'worker_wait_ttl 0 = for ever; rate_limit: how much may start in a time, such as 100/min; '
    'rate_mode: exact = never more in any such time, smooth = at even distances; breaker: how many '
    'attempts must fail for no more to start, and for how long, such as 50% of 20 in 1 min, open '
    '30 s; rate_limit_per_key: rate_limit for each throttle key; what is NULL is as the queue, or '
    'the setting of that name, says; if_not_exists: a type that is registered stays as it is; '
    'or_replace: it becomes what the arguments say, and a time zone that is not given stays';

CREATE FUNCTION hipq.alter_job_type(
    queue text, job_type text, handler text DEFAULT NULL, handler_kind text DEFAULT 'auto',
    retry_handler text DEFAULT NULL, default_timeout hipq.duration DEFAULT NULL,
    default_priority integer DEFAULT NULL, default_throttle_factor double precision DEFAULT NULL,
    default_time_windows text DEFAULT NULL, time_zone text DEFAULT NULL,
    max_retries integer DEFAULT NULL, retry_base hipq.duration DEFAULT NULL,
    retry_multiplier double precision DEFAULT NULL, retry_max hipq.duration DEFAULT NULL,
    retry_jitter double precision DEFAULT NULL, retry_on text[] DEFAULT NULL,
    do_not_retry_on text[] DEFAULT NULL, on_missing_handler text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, claim text DEFAULT NULL, batch_size integer DEFAULT NULL,
    throttle_limit double precision DEFAULT NULL,
    throttle_limit_per_key double precision DEFAULT NULL, requires jsonb DEFAULT NULL,
    worker_wait_ttl hipq.duration DEFAULT NULL, retry_enabled boolean DEFAULT NULL,
    parameters jsonb DEFAULT NULL, validate text DEFAULT NULL, attempt_log boolean DEFAULT NULL,
    reset text[] DEFAULT '{}', rate_limit text DEFAULT NULL, rate_mode text DEFAULT NULL,
    breaker text DEFAULT NULL, rate_limit_per_key text DEFAULT NULL
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_whole_job_type';
COMMENT ON FUNCTION hipq.alter_job_type(
    text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer,
    hipq.duration, double precision, hipq.duration, double precision, text[], text[], text,
    hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean,
    jsonb, text, boolean, text[], text, text, text, text
) IS 'changes a job type. queue: the queue; job_type: the type; reset: names of arguments that go '
    'back to the queue or setting; the other arguments are those of register_job_type(), NULL = '
    'as it is';

CREATE FUNCTION hipq.drop_job_type(
    queue text, job_type text, force boolean DEFAULT false
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drop_job_type';
COMMENT ON FUNCTION hipq.drop_job_type(text, text, boolean)
    IS 'forgets a job type. queue: the queue; job_type: the type; force: whether it may have '
    'unfinished jobs, which wait then';
