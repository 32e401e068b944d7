-- The catalogue: the identity of this database, its instances, queues and job types, and who may
-- see them. Users own the rows; pg_dump dumps them.

-- The identity of this database. A restored or cloned database has the row of its original, and so
-- stands still until release_hold().
CREATE TABLE hipq.identity (
    system_identifier bigint      NOT NULL,
    database_oid      oid         NOT NULL,
    token             uuid,
    created_time      timestamptz NOT NULL DEFAULT now(),
    only_row          boolean     NOT NULL DEFAULT true
        CONSTRAINT identity_pkey PRIMARY KEY
        CONSTRAINT identity_is_one_row CHECK (only_row)
);
COMMENT ON TABLE hipq.identity
    IS 'the server and database that may run the jobs stored here; another one holds them until '
    'hipq.release_hold()';
COMMENT ON COLUMN hipq.identity.system_identifier
    IS 'system identifier of the server (pg_control_system())';
COMMENT ON COLUMN hipq.identity.database_oid IS 'OID of the database';
COMMENT ON COLUMN hipq.identity.token
    IS 'mark of the server (file hipq.server in its data directory), which a copy of its files '
    'does not share; NULL = hipq was not preloaded yet';
COMMENT ON COLUMN hipq.identity.created_time
    IS 'when this database took the jobs over: first create_queue() or last release_hold()';
COMMENT ON COLUMN hipq.identity.only_row IS 'always true: the table has one row at most';

CREATE SEQUENCE hipq.instance_id_seq AS integer;
COMMENT ON SEQUENCE hipq.instance_id_seq IS 'numbers of instances';

-- These tables have no foreign keys: when a dump is restored, the tables exist before their rows,
-- and a parallel restore loads the rows in any order. A function that makes a queue or a job type
-- locks the row that it belongs to; a function that removes one also removes everything that
-- belongs to it.
CREATE TABLE hipq.instance (
    instance_id           integer     NOT NULL DEFAULT nextval('hipq.instance_id_seq')
        CONSTRAINT instance_pkey PRIMARY KEY,
    name                  text COLLATE "C" NOT NULL CONSTRAINT instance_name_is_unique UNIQUE,
    shard_key             text        NOT NULL DEFAULT 'NONE',
    table_naming_strategy text        NOT NULL DEFAULT 'NONE',
    is_strict             boolean     NOT NULL DEFAULT false,
    db_config             jsonb       NOT NULL DEFAULT '{}'
        CONSTRAINT instance_db_config_is_an_object CHECK (jsonb_typeof(db_config) = 'object'),
    created_time          timestamptz NOT NULL DEFAULT now(),
    created_by            hipq.role   NOT NULL DEFAULT current_user::regrole,
    max_retries           integer
        CONSTRAINT instance_max_retries_is_not_negative CHECK (max_retries >= 0),
    CONSTRAINT instance_name_is_valid
        CHECK (name ~ '^[a-z][a-z0-9_]*$' AND octet_length(name) <= 63)
);
COMMENT ON TABLE hipq.instance IS 'named groups of queues';
COMMENT ON COLUMN hipq.instance.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.instance.name IS 'name: lower-case letters, digits and underscores';
COMMENT ON COLUMN hipq.instance.shard_key
    IS 'what its queues divide their jobs by, in a sharded instance, unless they say otherwise; '
    'NONE = nothing';
COMMENT ON COLUMN hipq.instance.is_strict
    IS 'its queues refuse jobs of unregistered types, unless they say otherwise';
COMMENT ON COLUMN hipq.instance.table_naming_strategy
    IS 'SQL expression over $1 (instance) and $2 (queue) that gives the name of a queue''s table; '
    'NONE = <instance>_<queue>';
COMMENT ON COLUMN hipq.instance.db_config
    IS 'of a sharded instance: {"publisher": connection string}, how shards reach the router';
COMMENT ON COLUMN hipq.instance.created_time IS 'when the instance was created';
COMMENT ON COLUMN hipq.instance.created_by
    IS 'role that created it, with whose rights table_naming_strategy runs';
COMMENT ON COLUMN hipq.instance.max_retries
    IS 'max_retries of jobs of its queues that give none, unless queue or type say otherwise; '
    'NULL = setting hipq.max_retries';

CREATE SEQUENCE hipq.queue_id_seq AS integer;
COMMENT ON SEQUENCE hipq.queue_id_seq IS 'numbers of queues';

CREATE TABLE hipq.queue (
    queue_id              integer     NOT NULL DEFAULT nextval('hipq.queue_id_seq')
        CONSTRAINT queue_pkey PRIMARY KEY,
    instance_id           integer     NOT NULL,
    name                  text COLLATE "C" NOT NULL,
    owner                 hipq.role   NOT NULL,
    table_name            text COLLATE "C" NOT NULL CONSTRAINT queue_table_name_is_unique UNIQUE,
    throttle_limit        numeric(12,3) NOT NULL DEFAULT 0
        CONSTRAINT queue_throttle_limit_is_a_number CHECK (throttle_limit <> 'NaN'),
    retention             interval
        CONSTRAINT queue_retention_is_not_negative CHECK (retention >= '0'),
    history               text        NOT NULL DEFAULT 'failed'
        CONSTRAINT queue_history_is_known CHECK (history IN ('failed', 'all')),
    durability            text        NOT NULL DEFAULT 'strict'
        CONSTRAINT queue_durability_is_known CHECK (durability IN ('strict', 'group')),
    weight                integer     NOT NULL DEFAULT 100
        CONSTRAINT queue_weight_is_in_range CHECK (weight BETWEEN 1 AND 1000),
    is_strict             boolean,
    queue_ttl             integer     CONSTRAINT queue_queue_ttl_is_positive CHECK (queue_ttl > 0),
    dead_letter_enabled   boolean,
    dead_letter_retention interval
        CONSTRAINT queue_dead_letter_retention_is_positive CHECK (dead_letter_retention > '0'),
    dead_letter_max       integer
        CONSTRAINT queue_dead_letter_max_is_positive CHECK (dead_letter_max > 0),
    dead_letter_handler   text        NOT NULL DEFAULT 'NONE',
    dead_letter_crash_times timestamptz[] NOT NULL DEFAULT '{}',
    max_timeout           integer
        CONSTRAINT queue_max_timeout_is_positive CHECK (max_timeout > 0),
    highest_priority      smallint,
    allow_free_jobs       boolean     NOT NULL DEFAULT true,
    retry_enabled         boolean,
    is_dropped            boolean     NOT NULL DEFAULT false,
    created_time          timestamptz NOT NULL DEFAULT now(),
    shard_key             text        NOT NULL DEFAULT 'NONE',
    throttle_mode         text        NOT NULL DEFAULT 'shared'
        CONSTRAINT queue_throttle_mode_is_known CHECK (throttle_mode IN ('home', 'shared')),
    move_order            text        NOT NULL DEFAULT 'key'
        CONSTRAINT queue_move_order_is_known CHECK (move_order IN ('key', 'strict')),
    unique_scope          text        NOT NULL DEFAULT 'global'
        CONSTRAINT queue_unique_scope_is_known CHECK (unique_scope IN ('global', 'shard_key')),
    worker_wait_ttl       integer
        CONSTRAINT queue_worker_wait_ttl_is_not_negative CHECK (worker_wait_ttl >= 0),
    max_retries           integer
        CONSTRAINT queue_max_retries_is_not_negative CHECK (max_retries >= 0),
    rate_limit            hipq.rate   NOT NULL DEFAULT 'NONE',
    rate_mode             text        NOT NULL DEFAULT 'exact'
        CONSTRAINT queue_rate_mode_is_known CHECK (rate_mode IN ('exact', 'smooth')),
    CONSTRAINT queue_name_is_unique UNIQUE (instance_id, name),
    CONSTRAINT queue_name_is_valid CHECK (name ~ '^[a-z][a-z0-9_]*$' AND octet_length(name) <= 63)
);
COMMENT ON TABLE hipq.queue
    IS 'queues; the jobs of each are in its own table, a partition of hipq.job';
COMMENT ON COLUMN hipq.queue.queue_id IS 'number of the queue, hipq.job.queue_id of its jobs';
COMMENT ON COLUMN hipq.queue.instance_id IS 'instance of the queue';
COMMENT ON COLUMN hipq.queue.name
    IS 'name within the instance: lower-case letters, digits and underscores';
COMMENT ON COLUMN hipq.queue.owner IS 'queue owner: the role that SQL handlers run as';
COMMENT ON COLUMN hipq.queue.table_name IS 'table of the queue in schema hipq';
COMMENT ON COLUMN hipq.queue.throttle_limit
    IS 'limit on the sum of throttle_factor over running jobs; below 1 = no limit';
COMMENT ON COLUMN hipq.queue.retention
    IS 'how long final jobs are kept; NULL = setting hipq.retention; 0 = jobs that succeed leave '
    'no row, others are kept as long as the setting says';
COMMENT ON COLUMN hipq.queue.history IS 'which attempts hipq.attempt records: failed or all';
COMMENT ON COLUMN hipq.queue.durability
    IS 'when the end of a job is safe from a crash: strict = when it commits, as '
    'synchronous_commit says; group = at most 10 ms later, many jobs with one flush';
COMMENT ON COLUMN hipq.queue.weight
    IS 'share of the executors'' time when other queues have due jobs too: twice the weight, '
    'twice the time';
COMMENT ON COLUMN hipq.queue.is_strict
    IS 'refuses jobs of unregistered types; NULL = as the instance says';
COMMENT ON COLUMN hipq.queue.queue_ttl
    IS 'seconds an external worker has to accept a job offered to it; NULL = setting';
COMMENT ON COLUMN hipq.queue.dead_letter_enabled
    IS 'whether failed jobs leave a dead letter; NULL = setting hipq.dead_letter_enabled';
COMMENT ON COLUMN hipq.queue.dead_letter_retention
    IS 'how long dead letters are kept; NULL = setting hipq.dead_letter_retention';
COMMENT ON COLUMN hipq.queue.dead_letter_max
    IS 'how many dead letters are kept, the newest; NULL = setting hipq.dead_letter_max';
COMMENT ON COLUMN hipq.queue.dead_letter_handler
    IS 'function that is called for each dead letter, as the queue owner: '
    'schema.function(argument types); NONE = none';
COMMENT ON COLUMN hipq.queue.dead_letter_crash_times
    IS 'when that function took the server down, within 10 minutes; with hipq.max_type_crashes of '
    'them it is not called';
COMMENT ON COLUMN hipq.queue.max_timeout
    IS 'longest timeout that its jobs may have, in seconds, with what hipq.extend() gives them; '
    'NULL = setting hipq.max_timeout';
COMMENT ON COLUMN hipq.queue.highest_priority
    IS 'most urgent priority, the lowest number, that those who enqueue may give; NULL = any';
COMMENT ON COLUMN hipq.queue.allow_free_jobs
    IS 'whether those who enqueue may give throttle_factor 0';
COMMENT ON COLUMN hipq.queue.retry_enabled
    IS 'whether failed jobs are retried; NULL = setting hipq.retry_enabled';
COMMENT ON COLUMN hipq.queue.shard_key
    IS 'what a sharded instance divides its jobs by: a column, or a path within job_data; NONE = '
    'all its jobs are the router''s';
COMMENT ON COLUMN hipq.queue.throttle_mode
    IS 'how a sharded instance keeps throttle limits: home = all jobs of a queue with limits are '
    'on one node, shared = each node has a share';
COMMENT ON COLUMN hipq.queue.move_order
    IS 'what stays in order while slots move from one node of a sharded instance to another: key = '
    'jobs with one job_key, strict = all jobs of a slot';
COMMENT ON COLUMN hipq.queue.unique_scope
    IS 'what keys are unique within: global = the whole queue, '
    'shard_key = the jobs of each shard key';
COMMENT ON COLUMN hipq.queue.worker_wait_ttl
    IS 'seconds a due job waits while no external worker can be offered it, before it fails with '
    'worker_unavailable; 0 = for ever; NULL = setting hipq.worker_wait_ttl';
COMMENT ON COLUMN hipq.queue.max_retries
    IS 'max_retries of its jobs that give none, unless their type says otherwise; NULL = as the '
    'instance says';
COMMENT ON COLUMN hipq.queue.rate_limit
    IS 'limit on the sum of throttle_factor over jobs that start in a time; NONE = no limit';
COMMENT ON COLUMN hipq.queue.rate_mode
    IS 'exact = never more in any such time; smooth = starts at even distances';
COMMENT ON COLUMN hipq.queue.is_dropped
    IS 'the queue is being dropped: nothing is enqueued or run any more';
COMMENT ON COLUMN hipq.queue.created_time IS 'when the queue was created';

CREATE TABLE hipq.job_type (
    queue_id                integer     NOT NULL,
    name                    text COLLATE "C" NOT NULL
        CONSTRAINT job_type_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 63),
    handler                 text        NOT NULL DEFAULT 'NONE',
    handler_kind            text        NOT NULL DEFAULT 'none'
        CONSTRAINT job_type_handler_kind_is_known
            CHECK (handler_kind IN ('none', 'function', 'procedure', 'statement', 'notify')),
    retry_handler           text        NOT NULL DEFAULT 'NONE',
    default_timeout         integer
        CONSTRAINT job_type_default_timeout_is_positive CHECK (default_timeout > 0),
    default_priority        smallint    NOT NULL DEFAULT 0,
    default_throttle_factor numeric(9,3) NOT NULL DEFAULT 1
        CONSTRAINT job_type_throttle_factor_is_not_negative
            CHECK (default_throttle_factor >= 0 AND default_throttle_factor <> 'NaN'),
    default_time_windows    hipq.time_windows NOT NULL DEFAULT 'NONE',
    time_zone               text        NOT NULL DEFAULT current_setting('TimeZone'),
    max_retries             integer
        CONSTRAINT job_type_max_retries_is_not_negative CHECK (max_retries >= 0),
    retry_base              interval
        CONSTRAINT job_type_retry_base_is_not_negative CHECK (retry_base >= '0'),
    retry_multiplier        double precision
        CONSTRAINT job_type_retry_multiplier_is_at_least_one
            CHECK (retry_multiplier BETWEEN 1 AND 1000),
    retry_max               interval
        CONSTRAINT job_type_retry_max_is_not_negative CHECK (retry_max >= '0'),
    retry_jitter            double precision
        CONSTRAINT job_type_retry_jitter_is_a_fraction CHECK (retry_jitter BETWEEN 0 AND 1),
    retry_on                text[]      NOT NULL DEFAULT '{}',
    do_not_retry_on         text[]      NOT NULL DEFAULT '{}',
    on_missing_handler      text        NOT NULL DEFAULT 'wait'
        CONSTRAINT job_type_on_missing_handler_is_known
            CHECK (on_missing_handler IN ('wait', 'fail')),
    queue_ttl               integer
        CONSTRAINT job_type_queue_ttl_is_positive CHECK (queue_ttl > 0),
    claim                   text        NOT NULL DEFAULT 'auto'
        CONSTRAINT job_type_claim_is_known CHECK (claim IN ('auto', 'lock', 'record')),
    batch_size              integer     NOT NULL DEFAULT 1
        CONSTRAINT job_type_batch_size_is_in_range CHECK (batch_size BETWEEN 1 AND 1000),
    throttle_limit          numeric(12,3) NOT NULL DEFAULT 0
        CONSTRAINT job_type_throttle_limit_is_a_number CHECK (throttle_limit <> 'NaN'),
    throttle_limit_per_key  numeric(12,3) NOT NULL DEFAULT 0
        CONSTRAINT job_type_throttle_limit_per_key_is_a_number
            CHECK (throttle_limit_per_key <> 'NaN'),
    requires                jsonb       NOT NULL DEFAULT '{}'
        CONSTRAINT job_type_requires_is_an_object CHECK (jsonb_typeof(requires) = 'object'),
    worker_wait_ttl         integer
        CONSTRAINT job_type_worker_wait_ttl_is_not_negative CHECK (worker_wait_ttl >= 0),
    retry_enabled           boolean,
    parameters              jsonb       NOT NULL DEFAULT '{}'
        CONSTRAINT job_type_parameters_are_an_object CHECK (jsonb_typeof(parameters) = 'object'),
    validate                text        NOT NULL DEFAULT 'enqueue'
        CONSTRAINT job_type_validate_is_known CHECK (validate IN ('enqueue', 'run')),
    is_registered           boolean     NOT NULL DEFAULT true,
    crash_times             timestamptz[] NOT NULL DEFAULT '{}',
    created_time            timestamptz NOT NULL DEFAULT now(),
    attempt_log             boolean,
    rate_limit              hipq.rate   NOT NULL DEFAULT 'NONE',
    rate_mode               text        NOT NULL DEFAULT 'exact'
        CONSTRAINT job_type_rate_mode_is_known CHECK (rate_mode IN ('exact', 'smooth')),
    breaker                 hipq.breaker_rule NOT NULL DEFAULT 'NONE',
    rate_limit_per_key      hipq.rate   NOT NULL DEFAULT 'NONE',
    CONSTRAINT job_type_pkey PRIMARY KEY (queue_id, name),
    CONSTRAINT job_type_handler_none_iff_kind_none
        CHECK ((handler = 'NONE') = (handler_kind IN ('none', 'notify')))
);
COMMENT ON TABLE hipq.job_type
    IS 'job types of a queue: what runs for their jobs and the values their jobs start with';
COMMENT ON COLUMN hipq.job_type.queue_id IS 'queue of the job type';
COMMENT ON COLUMN hipq.job_type.name IS 'name, as in hipq.job.job_type';
COMMENT ON COLUMN hipq.job_type.handler
    IS 'what runs: schema.function(argument types), or one SQL statement; NONE = nothing yet, '
    'jobs wait';
COMMENT ON COLUMN hipq.job_type.handler_kind
    IS 'none, function, procedure, statement, or notify (external workers)';
COMMENT ON COLUMN hipq.job_type.retry_handler
    IS 'function of the job, or SQL statement, giving the delay before its next attempt, or NULL '
    'for none; NONE = the retry policy decides';
COMMENT ON COLUMN hipq.job_type.default_timeout
    IS 'timeout of jobs that give none, in seconds; NULL = setting hipq.default_timeout';
COMMENT ON COLUMN hipq.job_type.default_priority
    IS 'priority of jobs that give none; lower runs first';
COMMENT ON COLUMN hipq.job_type.default_throttle_factor IS 'throttle_factor of jobs that give none';
COMMENT ON COLUMN hipq.job_type.default_time_windows IS 'time windows of jobs that give none';
COMMENT ON COLUMN hipq.job_type.time_zone IS 'zone, by name, in which time windows are read';
COMMENT ON COLUMN hipq.job_type.max_retries
    IS 'max_retries of jobs that give none; NULL = as the queue says';
COMMENT ON COLUMN hipq.job_type.retry_base
    IS 'delay before the first retry; NULL = setting hipq.retry_base';
COMMENT ON COLUMN hipq.job_type.retry_multiplier
    IS 'factor from one retry''s delay to the next; NULL = setting hipq.retry_multiplier';
COMMENT ON COLUMN hipq.job_type.retry_max IS 'cap on the delay; NULL = setting hipq.retry_max';
COMMENT ON COLUMN hipq.job_type.retry_jitter
    IS 'random spread of the delay as a fraction; NULL = setting hipq.retry_jitter';
COMMENT ON COLUMN hipq.job_type.retry_on
    IS 'reasons, SQLSTATEs or SQLSTATE classes that are retried although they would not be';
COMMENT ON COLUMN hipq.job_type.do_not_retry_on
    IS 'reasons, SQLSTATEs or SQLSTATE classes that are never retried';
COMMENT ON COLUMN hipq.job_type.on_missing_handler
    IS 'what happens to a job whose handler does not exist: wait until it does, or fail with '
    'handler_not_found';
COMMENT ON COLUMN hipq.job_type.queue_ttl
    IS 'seconds an external worker has to accept a job offered to it; NULL = the queue''s';
COMMENT ON COLUMN hipq.job_type.claim
    IS 'how jobs are taken: lock = by a row lock, in the transaction of the handler; record = '
    'state running is committed first; auto = lock for short jobs';
COMMENT ON COLUMN hipq.job_type.batch_size
    IS 'most jobs in one transaction: in one call of a handler over hipq.job[], jsonb[], or '
    'bigint[] and jsonb[], or in a call each';
COMMENT ON COLUMN hipq.job_type.throttle_limit
    IS 'limit on the sum of throttle_factor over running jobs of the type; below 1 = no limit';
COMMENT ON COLUMN hipq.job_type.throttle_limit_per_key
    IS 'limit on that sum for running jobs of one throttle_key; below 1 = no limit';
COMMENT ON COLUMN hipq.job_type.requires
    IS 'what the capabilities of an external worker must contain to be offered its jobs';
COMMENT ON COLUMN hipq.job_type.worker_wait_ttl
    IS 'seconds a due job waits while no external worker can be offered it, before it fails with '
    'worker_unavailable; 0 = for ever; NULL = as the queue says';
COMMENT ON COLUMN hipq.job_type.retry_enabled
    IS 'whether failed jobs are retried; NULL = as the queue says';
COMMENT ON COLUMN hipq.job_type.parameters
    IS 'what job_data has to have: for each parameter its type, required, default, secret; {} = '
    'anything';
COMMENT ON COLUMN hipq.job_type.validate
    IS 'when parameters are checked: enqueue = what does not fit is refused; run = its attempt '
    'fails with invalid_parameters';
COMMENT ON COLUMN hipq.job_type.is_registered
    IS 'somebody has registered or altered it; false: a job was enqueued with it, and it goes '
    'when none is left';
COMMENT ON COLUMN hipq.job_type.crash_times
    IS 'when its jobs took the server down, within 10 minutes; with hipq.max_type_crashes of them '
    'hipq pauses the type';
COMMENT ON COLUMN hipq.job_type.created_time IS 'when the job type was registered';
COMMENT ON COLUMN hipq.job_type.attempt_log
    IS 'whether what its handlers say is kept; NULL = setting hipq.attempt_log';
COMMENT ON COLUMN hipq.job_type.rate_limit
    IS 'limit on the sum of throttle_factor over jobs of the type that start in a time; NONE = no '
    'limit';
COMMENT ON COLUMN hipq.job_type.rate_mode
    IS 'exact = never more in any such time; smooth = starts at even distances';
COMMENT ON COLUMN hipq.job_type.rate_limit_per_key
    IS 'limit on the sum of throttle_factor over jobs of one throttle_key that start in a time; '
    'NONE = no limit';
COMMENT ON COLUMN hipq.job_type.breaker
    IS 'how many of its attempts must fail in a time for no more to start, and for how long; NONE '
    '= no breaker';

-- Every process caches queues, job types, pauses and the workers of each type; any statement that
-- changes one of these makes all processes read it again. A row trigger reports only the queue or
-- instance of its row.
CREATE FUNCTION hipq._catalogue_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_catalogue_changed';
COMMENT ON FUNCTION hipq._catalogue_changed()
    IS 'trigger: tells all processes to read queues, job types, pauses and workers anew';

CREATE TRIGGER catalogue_changed AFTER INSERT OR DELETE OR TRUNCATE ON hipq.queue
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.queue ENABLE ALWAYS TRIGGER catalogue_changed;
CREATE TRIGGER row_changed AFTER UPDATE ON hipq.queue
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('queue');
ALTER TABLE hipq.queue ENABLE ALWAYS TRIGGER row_changed;

CREATE TRIGGER catalogue_changed AFTER UPDATE ON hipq.instance
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('instance');
ALTER TABLE hipq.instance ENABLE ALWAYS TRIGGER catalogue_changed;

CREATE TRIGGER catalogue_changed AFTER TRUNCATE ON hipq.job_type
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.job_type ENABLE ALWAYS TRIGGER catalogue_changed;
CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON hipq.job_type
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('types');
ALTER TABLE hipq.job_type ENABLE ALWAYS TRIGGER row_changed;

CREATE FUNCTION hipq.release_hold() RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release_hold';
COMMENT ON FUNCTION hipq.release_hold()
    IS 'lets a restored or cloned database run its jobs, and gives pg_cron its schedules';

-- Queues whose tables a subscription fills; they stand still until release_hold(queue).
CREATE TABLE hipq.queue_hold (
    queue_id     integer     NOT NULL CONSTRAINT queue_hold_pkey PRIMARY KEY,
    subscription text COLLATE "C" NOT NULL,
    held_time    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE hipq.queue_hold
    IS 'queues whose jobs a logical subscription has brought: they run where they come from, until '
    'hipq.release_hold(queue)';
COMMENT ON COLUMN hipq.queue_hold.queue_id IS 'number of the queue';
COMMENT ON COLUMN hipq.queue_hold.subscription IS 'the subscription';
COMMENT ON COLUMN hipq.queue_hold.held_time IS 'since when the queue stands still';
SELECT pg_extension_config_dump('hipq.queue_hold', '');

CREATE TRIGGER catalogue_changed AFTER TRUNCATE ON hipq.queue_hold
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.queue_hold ENABLE ALWAYS TRIGGER catalogue_changed;
CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON hipq.queue_hold
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('queue');
ALTER TABLE hipq.queue_hold ENABLE ALWAYS TRIGGER row_changed;

CREATE FUNCTION hipq.release_hold(queue text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release_hold_of_queue';
COMMENT ON FUNCTION hipq.release_hold(text)
    IS 'makes this server the one that runs the jobs of a queue that a logical subscription has '
    'fed';

CREATE FUNCTION hipq.now() RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_now';
COMMENT ON FUNCTION hipq.now()
    IS 'tells hipq''s idea of the present: clock_timestamp() plus setting hipq.clock_offset';

CREATE FUNCTION hipq.version() RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_version';
COMMENT ON FUNCTION hipq.version() IS 'tells the version of the library that serves this session';

CREATE FUNCTION hipq._may(queue_id integer, privilege text) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__may';
COMMENT ON FUNCTION hipq._may(integer, text)
    IS 'whether the current user has enqueue, work, read or control on a queue';

-- Declared immutable although it is not, so that the planner leaves out the queues that the caller
-- may not see before it reads any table. A plan does not outlive a change of the caller's rights.
CREATE FUNCTION hipq._readable_queues() RETURNS integer[]
    LANGUAGE c IMMUTABLE AS 'MODULE_PATHNAME', 'hipq__readable_queues';
COMMENT ON FUNCTION hipq._readable_queues()
    IS 'queues that the current user may read, as the planner of a view asks';

CREATE FUNCTION hipq._visible_queues() RETURNS integer[]
    LANGUAGE c IMMUTABLE AS 'MODULE_PATHNAME', 'hipq__visible_queues';
COMMENT ON FUNCTION hipq._visible_queues()
    IS 'the same for views without job data: all queues for members of pg_monitor';

CREATE FUNCTION hipq._reachable_queues(queues integer[]) RETURNS integer[]
    LANGUAGE c STRICT IMMUTABLE AS 'MODULE_PATHNAME', 'hipq__reachable_queues';
COMMENT ON FUNCTION hipq._reachable_queues(integer[])
    IS 'those of these queues whose tables nobody has locked against readers, with a WARNING for '
    'each other one, as the planner of a view asks';

CREATE FUNCTION hipq._is_one_of_support(internal) RETURNS internal
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_one_of_support';
COMMENT ON FUNCTION hipq._is_one_of_support(internal)
    IS 'tells the planner that hipq._is_one_of() costs and selects nothing';

CREATE FUNCTION hipq._is_one_of(queue_id integer, queues integer[]) RETURNS boolean
    LANGUAGE c STRICT IMMUTABLE COST 0.0001 SUPPORT hipq._is_one_of_support
    AS 'MODULE_PATHNAME', 'hipq__is_one_of';
COMMENT ON FUNCTION hipq._is_one_of(integer, integer[])
    IS 'queue_id = ANY (queues), so cheap that it is asked of a row before anything else is';

CREATE FUNCTION hipq._is_in_reach_by_scan_support(internal) RETURNS internal
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_in_reach_by_scan_support';
COMMENT ON FUNCTION hipq._is_in_reach_by_scan_support(internal)
    IS 'gives the planner ranges of numbers in the place of hipq._is_in_reach_by_scan()';

CREATE FUNCTION hipq._is_in_reach_by_scan(
    queue_id integer, queues integer[], one_by_one boolean
) RETURNS boolean
    LANGUAGE c STRICT IMMUTABLE SUPPORT hipq._is_in_reach_by_scan_support
    AS 'MODULE_PATHNAME', 'hipq__is_one_of';
COMMENT ON FUNCTION hipq._is_in_reach_by_scan(integer, integer[], boolean)
    IS 'queue_id = ANY (queues), for jobs that are scanned unless the statement asks for them by '
    'their ids. one_by_one: of many queues, each read when its turn comes; or else of few, whose '
    'tables the planner scans, and no others';

CREATE FUNCTION hipq._asked_ids_support(internal) RETURNS internal
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__asked_ids_support';
COMMENT ON FUNCTION hipq._asked_ids_support(internal)
    IS 'gives the planner the ids that the statement asks for in the place of hipq._asked_ids()';

CREATE FUNCTION hipq._asked_ids() RETURNS bigint[]
    LANGUAGE c STABLE SUPPORT hipq._asked_ids_support AS 'MODULE_PATHNAME', 'hipq__asked_ids';
COMMENT ON FUNCTION hipq._asked_ids()
    IS 'the ids that the statement asks for, as id = ..., beside hipq._is_in_reach_by_scan(); '
    'NULL = none';

CREATE FUNCTION hipq._is_asked_for_support(internal) RETURNS internal
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_asked_for_support';
COMMENT ON FUNCTION hipq._is_asked_for_support(internal)
    IS 'gives the planner the numbers of the queues that the statement names in the place of '
    'hipq._is_asked_for()';

CREATE FUNCTION hipq._is_asked_for(queue text, queue_id integer) RETURNS boolean
    LANGUAGE c IMMUTABLE SUPPORT hipq._is_asked_for_support
    AS 'MODULE_PATHNAME', 'hipq__is_asked_for';
COMMENT ON FUNCTION hipq._is_asked_for(text, integer)
    IS 'true; in a view that shows the name of a queue it has the planner know the number of one '
    'that is asked for by its name';

CREATE FUNCTION hipq._is_as_asked_support(internal) RETURNS internal
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_as_asked_support';
COMMENT ON FUNCTION hipq._is_as_asked_support(internal)
    IS 'gives the planner what the statement implies of a column in the place of '
    'hipq._is_as_asked()';

CREATE FUNCTION hipq._is_as_asked(value text) RETURNS boolean LANGUAGE c IMMUTABLE
    SUPPORT hipq._is_as_asked_support AS 'MODULE_PATHNAME', 'hipq__is_as_asked';
COMMENT ON FUNCTION hipq._is_as_asked(text)
    IS 'true; in a view that shows nullif(value, ''NONE'') it has the planner use the index of the '
    'column';

CREATE FUNCTION hipq._is_held() RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_held';
COMMENT ON FUNCTION hipq._is_held()
    IS 'whether this database is held: its identity is not the one stored with the jobs';
