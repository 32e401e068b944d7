\echo Use "CREATE EXTENSION hipq" to load this file. \quit
-- The schema. The script makes it, not the control file: then a schema "hipq" of somebody else
-- stops the installation.

SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA hipq;
REVOKE ALL ON SCHEMA hipq FROM PUBLIC;
COMMENT ON SCHEMA hipq IS 'hipq: a job queue inside PostgreSQL; each queue is a table here';
-- The type of arguments that are a length of time: text, an interval, or any number of seconds.

CREATE TYPE hipq.duration;

CREATE FUNCTION hipq._duration_in(cstring) RETURNS hipq.duration LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_in';
COMMENT ON FUNCTION hipq._duration_in(cstring)
    IS 'reads a duration: what an interval is read from; a number without a unit counts seconds';

CREATE FUNCTION hipq._duration_out(hipq.duration) RETURNS cstring LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_out';
COMMENT ON FUNCTION hipq._duration_out(hipq.duration)
    IS 'writes a duration as an interval is written';

CREATE TYPE hipq.duration (INPUT = hipq._duration_in, OUTPUT = hipq._duration_out, LIKE = bigint);
COMMENT ON TYPE hipq.duration
    IS 'a length of time: ''5 min'', interval ''5 min'', 300 (seconds) and ''300'' are the same; '
    'a month counts as 30 days';

-- A driver may give a parameter any of these types. Each needs a cast of its own: implicit casts do
-- not follow one another.
CREATE FUNCTION hipq._duration(value text) RETURNS hipq.duration LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_text';
CREATE FUNCTION hipq._duration(value interval) RETURNS hipq.duration LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_interval';
CREATE FUNCTION hipq._duration(value smallint) RETURNS hipq.duration LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_smallint';
CREATE FUNCTION hipq._duration(value integer) RETURNS hipq.duration LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_integer';
CREATE FUNCTION hipq._duration(value bigint) RETURNS hipq.duration LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_bigint';
CREATE FUNCTION hipq._duration(value real) RETURNS hipq.duration LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_real';
CREATE FUNCTION hipq._duration(value double precision) RETURNS hipq.duration LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_double';
CREATE FUNCTION hipq._duration(value numeric) RETURNS hipq.duration LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_numeric';
COMMENT ON FUNCTION hipq._duration(text)
    IS 'the duration that a text says, as _duration_in reads it';
COMMENT ON FUNCTION hipq._duration(interval)
    IS 'the duration of an interval; a month counts as 30 days';
COMMENT ON FUNCTION hipq._duration(smallint) IS 'the duration of so many seconds';
COMMENT ON FUNCTION hipq._duration(integer) IS 'the duration of so many seconds';
COMMENT ON FUNCTION hipq._duration(bigint) IS 'the duration of so many seconds';
COMMENT ON FUNCTION hipq._duration(real) IS 'the duration of so many seconds';
COMMENT ON FUNCTION hipq._duration(double precision) IS 'the duration of so many seconds';
COMMENT ON FUNCTION hipq._duration(numeric) IS 'the duration of so many seconds';

CREATE CAST (text AS hipq.duration) WITH FUNCTION hipq._duration(text) AS IMPLICIT;
COMMENT ON CAST (text AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (varchar AS hipq.duration) WITH FUNCTION hipq._duration(text) AS IMPLICIT;
COMMENT ON CAST (varchar AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (interval AS hipq.duration) WITH FUNCTION hipq._duration(interval) AS IMPLICIT;
COMMENT ON CAST (interval AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (smallint AS hipq.duration) WITH FUNCTION hipq._duration(smallint) AS IMPLICIT;
COMMENT ON CAST (smallint AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (integer AS hipq.duration) WITH FUNCTION hipq._duration(integer) AS IMPLICIT;
COMMENT ON CAST (integer AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (bigint AS hipq.duration) WITH FUNCTION hipq._duration(bigint) AS IMPLICIT;
COMMENT ON CAST (bigint AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (real AS hipq.duration) WITH FUNCTION hipq._duration(real) AS IMPLICIT;
COMMENT ON CAST (real AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (double precision AS hipq.duration) WITH FUNCTION hipq._duration(double precision) AS IMPLICIT;
COMMENT ON CAST (double precision AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (numeric AS hipq.duration) WITH FUNCTION hipq._duration(numeric) AS IMPLICIT;
COMMENT ON CAST (numeric AS hipq.duration) IS 'for arguments that are a length of time';
-- Time windows as a type, and what keeps due jobs from starting.

CREATE FUNCTION hipq._are_time_windows(windows text) RETURNS boolean LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__are_time_windows';
COMMENT ON FUNCTION hipq._are_time_windows(text)
    IS 'true; 22023: they are none, with the place where they are not';

CREATE DOMAIN hipq.time_windows AS text COLLATE "C"
    CONSTRAINT time_windows_are_short CHECK (octet_length(VALUE) <= 1000)
    CONSTRAINT time_windows_can_be_read CHECK (hipq._are_time_windows(VALUE));
COMMENT ON DOMAIN hipq.time_windows
    IS 'when jobs may start: windows such as ''mon-fri 09:00-17:00, sat 22:00-06:00'' in '
    'canonical form; ''NONE'' means always';

CREATE FUNCTION hipq._limiters(OUT queue_id integer, OUT job_type text, OUT used bigint, OUT jobs integer) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__limiters';
COMMENT ON FUNCTION hipq._limiters()
    IS 'what runs in each queue (job_type NULL) and of each job type in thousandths of '
    'throttle_factor, from shared memory; views hipq.queues and hipq.job_types show it';

CREATE FUNCTION hipq._first_unmet_condition(queue_id integer, job_type text, time_windows text, throttle_key text, throttle_factor numeric) RETURNS text
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__first_unmet_condition';
COMMENT ON FUNCTION hipq._first_unmet_condition(integer, text, text, text, numeric)
    IS 'what keeps due jobs of that kind from starting: window, hold, pause, handler, throttle or '
    'none; view hipq.queues counts by it';
-- The catalogue: which database this is, its instances, queues and job types, and who may see them.
-- Users own the rows; pg_dump carries them.

-- Which database this is. A restored or cloned database carries the row of its original and so
-- stands still until release_hold().
CREATE TABLE hipq.identity (
    system_identifier bigint      NOT NULL,
    database_oid      oid         NOT NULL,
    token             uuid,
    created_time      timestamptz NOT NULL DEFAULT now(),
    only_row          boolean     NOT NULL DEFAULT true CONSTRAINT identity_pkey PRIMARY KEY CONSTRAINT identity_is_one_row CHECK (only_row)
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

-- No foreign keys between these tables: they are there before their rows when a dump is restored,
-- and a parallel restore loads the rows in any order. What makes a queue or a job type locks the
-- row it belongs to, what removes one removes what belongs to it.
CREATE TABLE hipq.instance (
    instance_id           integer     NOT NULL DEFAULT nextval('hipq.instance_id_seq') CONSTRAINT instance_pkey PRIMARY KEY,
    name                  text COLLATE "C" NOT NULL CONSTRAINT instance_name_is_unique UNIQUE,
    shard_key             text        NOT NULL DEFAULT 'NONE',
    table_naming_strategy text        NOT NULL DEFAULT 'NONE',
    is_strict             boolean     NOT NULL DEFAULT false,
    db_config             jsonb       NOT NULL DEFAULT '{}' CONSTRAINT instance_db_config_is_an_object CHECK (jsonb_typeof(db_config) = 'object'),
    created_time          timestamptz NOT NULL DEFAULT now(),
    created_by            regrole     NOT NULL DEFAULT current_user::regrole,
    CONSTRAINT instance_name_is_valid CHECK (name ~ '^[a-z][a-z_]*$' AND octet_length(name) <= 63)
);
COMMENT ON TABLE hipq.instance IS 'named groups of queues';
COMMENT ON COLUMN hipq.instance.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.instance.name IS 'name: lower-case letters and underscores';
COMMENT ON COLUMN hipq.instance.shard_key
    IS 'what a sharded instance would spread jobs by; without effect; NONE = not sharded';
COMMENT ON COLUMN hipq.instance.is_strict
    IS 'its queues refuse jobs of unregistered types, unless they say otherwise';
COMMENT ON COLUMN hipq.instance.table_naming_strategy
    IS 'SQL expression over $1 (instance) and $2 (queue) that gives the name of a queue''s table; '
    'NONE = <instance>_<queue>';
COMMENT ON COLUMN hipq.instance.db_config
    IS 'shards and connection data of a sharded instance; without effect';
COMMENT ON COLUMN hipq.instance.created_time IS 'when the instance was created';
COMMENT ON COLUMN hipq.instance.created_by
    IS 'role that created it, with whose rights table_naming_strategy runs';

CREATE SEQUENCE hipq.queue_id_seq AS integer;
COMMENT ON SEQUENCE hipq.queue_id_seq IS 'numbers of queues';

CREATE TABLE hipq.queue (
    queue_id              integer     NOT NULL DEFAULT nextval('hipq.queue_id_seq') CONSTRAINT queue_pkey PRIMARY KEY,
    instance_id           integer     NOT NULL,
    name                  text COLLATE "C" NOT NULL,
    owner                 regrole     NOT NULL,
    table_name            text COLLATE "C" NOT NULL CONSTRAINT queue_table_name_is_unique UNIQUE,
    throttle_limit        numeric(12,3) NOT NULL DEFAULT 0 CONSTRAINT queue_throttle_limit_is_a_number CHECK (throttle_limit <> 'NaN'),
    retention             interval    CONSTRAINT queue_retention_is_not_negative CHECK (retention >= '0'),
    history               text        NOT NULL DEFAULT 'failed' CONSTRAINT queue_history_is_known CHECK (history IN ('failed', 'all')),
    durability            text        NOT NULL DEFAULT 'strict' CONSTRAINT queue_durability_is_known CHECK (durability IN ('strict', 'group')),
    weight                integer     NOT NULL DEFAULT 100 CONSTRAINT queue_weight_is_in_range CHECK (weight BETWEEN 1 AND 1000),
    is_strict             boolean,
    queue_ttl             integer     CONSTRAINT queue_queue_ttl_is_positive CHECK (queue_ttl > 0),
    dead_letter_enabled   boolean,
    dead_letter_retention interval    CONSTRAINT queue_dead_letter_retention_is_positive CHECK (dead_letter_retention > '0'),
    dead_letter_max       integer     CONSTRAINT queue_dead_letter_max_is_positive CHECK (dead_letter_max > 0),
    dead_letter_handler   text        NOT NULL DEFAULT 'NONE',
    dead_letter_crash_times timestamptz[] NOT NULL DEFAULT '{}',
    max_timeout           integer     CONSTRAINT queue_max_timeout_is_positive CHECK (max_timeout > 0),
    highest_priority      smallint,
    allow_free_jobs       boolean     NOT NULL DEFAULT true,
    retry_enabled         boolean,
    is_dropped            boolean     NOT NULL DEFAULT false,
    created_time          timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT queue_name_is_unique UNIQUE (instance_id, name),
    CONSTRAINT queue_name_is_valid CHECK (name ~ '^[a-z][a-z_]*$' AND octet_length(name) <= 63)
);
COMMENT ON TABLE hipq.queue
    IS 'queues; the jobs of each are in its own table, a partition of hipq.job';
COMMENT ON COLUMN hipq.queue.queue_id IS 'number of the queue, hipq.job.queue_id of its jobs';
COMMENT ON COLUMN hipq.queue.instance_id IS 'instance of the queue';
COMMENT ON COLUMN hipq.queue.name IS 'name within the instance: lower-case letters and underscores';
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
    IS 'seconds a dispatched job may wait for its worker; NULL = setting';
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
COMMENT ON COLUMN hipq.queue.is_dropped
    IS 'the queue is being dropped: nothing is enqueued or run any more';
COMMENT ON COLUMN hipq.queue.created_time IS 'when the queue was created';

CREATE TABLE hipq.job_type (
    queue_id                integer     NOT NULL,
    name                    text COLLATE "C" NOT NULL CONSTRAINT job_type_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 63),
    handler                 text        NOT NULL DEFAULT 'NONE',
    handler_kind            text        NOT NULL DEFAULT 'none' CONSTRAINT job_type_handler_kind_is_known CHECK (handler_kind IN ('none', 'function', 'procedure', 'statement', 'notify')),
    retry_handler           text        NOT NULL DEFAULT 'NONE',
    default_timeout         integer     CONSTRAINT job_type_default_timeout_is_positive CHECK (default_timeout > 0),
    default_priority        smallint    NOT NULL DEFAULT 0,
    default_throttle_factor numeric(9,3) NOT NULL DEFAULT 1 CONSTRAINT job_type_throttle_factor_is_not_negative CHECK (default_throttle_factor >= 0 AND default_throttle_factor <> 'NaN'),
    default_time_windows    hipq.time_windows NOT NULL DEFAULT 'NONE',
    time_zone               text        NOT NULL DEFAULT current_setting('TimeZone'),
    max_retries             integer     CONSTRAINT job_type_max_retries_is_not_negative CHECK (max_retries >= 0),
    retry_base              interval    CONSTRAINT job_type_retry_base_is_not_negative CHECK (retry_base >= '0'),
    retry_multiplier        double precision CONSTRAINT job_type_retry_multiplier_is_at_least_one CHECK (retry_multiplier BETWEEN 1 AND 1000),
    retry_max               interval    CONSTRAINT job_type_retry_max_is_not_negative CHECK (retry_max >= '0'),
    retry_jitter            double precision CONSTRAINT job_type_retry_jitter_is_a_fraction CHECK (retry_jitter BETWEEN 0 AND 1),
    retry_on                text[]      NOT NULL DEFAULT '{}',
    do_not_retry_on         text[]      NOT NULL DEFAULT '{}',
    on_missing_handler      text        NOT NULL DEFAULT 'wait' CONSTRAINT job_type_on_missing_handler_is_known CHECK (on_missing_handler IN ('wait', 'fail')),
    queue_ttl               integer     CONSTRAINT job_type_queue_ttl_is_positive CHECK (queue_ttl > 0),
    claim                   text        NOT NULL DEFAULT 'auto' CONSTRAINT job_type_claim_is_known CHECK (claim IN ('auto', 'lock', 'record')),
    batch_size              integer     NOT NULL DEFAULT 1 CONSTRAINT job_type_batch_size_is_in_range CHECK (batch_size BETWEEN 1 AND 1000),
    throttle_limit          numeric(12,3) NOT NULL DEFAULT 0 CONSTRAINT job_type_throttle_limit_is_a_number CHECK (throttle_limit <> 'NaN'),
    throttle_limit_per_key  numeric(12,3) NOT NULL DEFAULT 0 CONSTRAINT job_type_throttle_limit_per_key_is_a_number CHECK (throttle_limit_per_key <> 'NaN'),
    requires                jsonb       NOT NULL DEFAULT '{}' CONSTRAINT job_type_requires_is_an_object CHECK (jsonb_typeof(requires) = 'object'),
    worker_wait_ttl         integer     CONSTRAINT job_type_worker_wait_ttl_is_positive CHECK (worker_wait_ttl > 0),
    retry_enabled           boolean,
    parameters              jsonb       NOT NULL DEFAULT '{}' CONSTRAINT job_type_parameters_are_an_object CHECK (jsonb_typeof(parameters) = 'object'),
    validate                text        NOT NULL DEFAULT 'enqueue' CONSTRAINT job_type_validate_is_known CHECK (validate IN ('enqueue', 'run')),
    is_registered           boolean     NOT NULL DEFAULT true,
    crash_times             timestamptz[] NOT NULL DEFAULT '{}',
    created_time            timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT job_type_pkey PRIMARY KEY (queue_id, name),
    CONSTRAINT job_type_handler_none_iff_kind_none CHECK ((handler = 'NONE') = (handler_kind IN ('none', 'notify')))
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
    IS 'max_retries of jobs that give none; NULL = setting hipq.max_retries';
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
    IS 'seconds a dispatched job may wait for its worker; NULL = the queue''s';
COMMENT ON COLUMN hipq.job_type.claim
    IS 'how jobs are taken: lock = by a row lock, in the transaction of the handler; record = '
    'state running is committed first; auto = lock for short jobs';
COMMENT ON COLUMN hipq.job_type.batch_size
    IS 'most jobs in one call of the handler; more than 1 needs a handler over hipq.job[], '
    'jsonb[], or bigint[] and jsonb[]';
COMMENT ON COLUMN hipq.job_type.throttle_limit
    IS 'limit on the sum of throttle_factor over running jobs of the type; below 1 = no limit';
COMMENT ON COLUMN hipq.job_type.throttle_limit_per_key
    IS 'limit on that sum for running jobs of one throttle_key; below 1 = no limit';
COMMENT ON COLUMN hipq.job_type.requires
    IS 'what the capabilities of an external worker must contain to be given its jobs';
COMMENT ON COLUMN hipq.job_type.worker_wait_ttl
    IS 'seconds a due job waits while no external worker can be given it, before it fails with '
    'worker_unavailable; NULL = for ever';
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

-- Every process caches queues, job types, pauses and who serves what; a change of one, by whatever
-- statement, makes all of them read again.
CREATE FUNCTION hipq._catalogue_changed() RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_catalogue_changed';
COMMENT ON FUNCTION hipq._catalogue_changed()
    IS 'trigger: tells all processes to read queues, job types, pauses and workers anew';

CREATE TRIGGER catalogue_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON hipq.queue
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.queue ENABLE ALWAYS TRIGGER catalogue_changed;

CREATE TRIGGER catalogue_changed AFTER UPDATE ON hipq.instance
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.instance ENABLE ALWAYS TRIGGER catalogue_changed;

CREATE TRIGGER catalogue_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON hipq.job_type
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.job_type ENABLE ALWAYS TRIGGER catalogue_changed;

CREATE FUNCTION hipq.release_hold() RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release_hold';
COMMENT ON FUNCTION hipq.release_hold()
    IS 'lets a restored or cloned database run its jobs, and gives its schedules to pg_cron';

CREATE FUNCTION hipq.now() RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_now';
COMMENT ON FUNCTION hipq.now()
    IS 'tells hipq''s idea of the present: clock_timestamp() plus setting hipq.clock_offset';

CREATE FUNCTION hipq.version() RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_version';
COMMENT ON FUNCTION hipq.version() IS 'tells the version of the library that serves this session';

CREATE FUNCTION hipq._may(queue_id integer, privilege text) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__may';
COMMENT ON FUNCTION hipq._may(integer, text)
    IS 'whether the current user has enqueue, work, read or control on a queue';

-- Not immutable in truth: so that the planner leaves out what the caller may not see, before it
-- looks at any table. Plans do not outlive a change of that.
CREATE FUNCTION hipq._readable_queues() RETURNS integer[] LANGUAGE c IMMUTABLE AS 'MODULE_PATHNAME', 'hipq__readable_queues';
COMMENT ON FUNCTION hipq._readable_queues()
    IS 'queues that the current user may read, as the planner of a view asks';

CREATE FUNCTION hipq._visible_queues() RETURNS integer[] LANGUAGE c IMMUTABLE AS 'MODULE_PATHNAME', 'hipq__visible_queues';
COMMENT ON FUNCTION hipq._visible_queues()
    IS 'the same for views without job data: all queues for members of pg_monitor';

CREATE FUNCTION hipq._reachable_queues(queues integer[]) RETURNS integer[] LANGUAGE c STRICT IMMUTABLE AS 'MODULE_PATHNAME', 'hipq__reachable_queues';
COMMENT ON FUNCTION hipq._reachable_queues(integer[])
    IS 'those of these queues whose tables nobody has locked against readers, with a WARNING for '
    'each other one, as the planner of a view asks';

CREATE FUNCTION hipq._is_one_of_support(internal) RETURNS internal LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_one_of_support';
COMMENT ON FUNCTION hipq._is_one_of_support(internal)
    IS 'tells the planner that hipq._is_one_of() costs and selects nothing';

CREATE FUNCTION hipq._is_one_of(queue_id integer, queues integer[]) RETURNS boolean LANGUAGE c STRICT IMMUTABLE COST 0.0001
    SUPPORT hipq._is_one_of_support AS 'MODULE_PATHNAME', 'hipq__is_one_of';
COMMENT ON FUNCTION hipq._is_one_of(integer, integer[])
    IS 'queue_id = ANY (queues), so cheap that it is asked of a row before anything else is';

CREATE FUNCTION hipq._is_in_reach_support(internal) RETURNS internal LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_in_reach_support';
COMMENT ON FUNCTION hipq._is_in_reach_support(internal)
    IS 'gives the planner ranges of numbers in the place of hipq._is_in_reach()';

CREATE FUNCTION hipq._is_in_reach(queue_id integer, queues integer[]) RETURNS boolean LANGUAGE c STRICT IMMUTABLE
    SUPPORT hipq._is_in_reach_support AS 'MODULE_PATHNAME', 'hipq__is_one_of';
COMMENT ON FUNCTION hipq._is_in_reach(integer, integer[])
    IS 'queue_id = ANY (queues), for tables that are divided by queue: the planner leaves out the '
    'tables of the others';

CREATE FUNCTION hipq._is_held() RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_held';
COMMENT ON FUNCTION hipq._is_held()
    IS 'whether this database is held: its identity is not the one stored with the jobs';
-- External workers that are registered: what of them outlives the server.

CREATE SEQUENCE hipq.worker_id_seq;
COMMENT ON SEQUENCE hipq.worker_id_seq IS 'numbers of external workers';

CREATE TABLE hipq.worker (
    worker_id       bigint      NOT NULL DEFAULT nextval('hipq.worker_id_seq') CONSTRAINT worker_pkey PRIMARY KEY,
    name            text COLLATE "C" NOT NULL,
    role            regrole     NOT NULL,
    queues          text[]      NOT NULL DEFAULT '{}',
    job_types       text[]      NOT NULL DEFAULT '{}',
    capacity        integer     NOT NULL DEFAULT 1 CONSTRAINT worker_capacity_is_positive CHECK (capacity > 0),
    prefetch        integer     NOT NULL DEFAULT 0 CONSTRAINT worker_prefetch_is_not_negative CHECK (prefetch >= 0),
    capabilities    jsonb       NOT NULL DEFAULT '{}' CONSTRAINT worker_capabilities_are_an_object CHECK (jsonb_typeof(capabilities) = 'object'),
    is_bound        boolean     NOT NULL DEFAULT false,
    is_draining     boolean     NOT NULL DEFAULT false,
    registered_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT worker_name_is_unique_in_its_role UNIQUE (role, name)
);
COMMENT ON TABLE hipq.worker
    IS 'external workers; when they were heard of and how they do is in shared memory alone, view '
    'hipq.workers shows it';
COMMENT ON COLUMN hipq.worker.worker_id
    IS 'number of the worker, hipq.job.worker_id of the jobs it has';
COMMENT ON COLUMN hipq.worker.name
    IS 'name the worker gave itself; other roles'' workers may have the same';
COMMENT ON COLUMN hipq.worker.role IS 'role that registered it';
COMMENT ON COLUMN hipq.worker.queues IS 'queues it serves';
COMMENT ON COLUMN hipq.worker.job_types IS 'job types it serves';
COMMENT ON COLUMN hipq.worker.capacity IS 'jobs it runs at a time';
COMMENT ON COLUMN hipq.worker.prefetch IS 'jobs it may hold beyond those it runs';
COMMENT ON COLUMN hipq.worker.capabilities IS 'what it says about itself';
COMMENT ON COLUMN hipq.worker.is_bound
    IS 'it is the session that registered it: when that ends it is gone';
COMMENT ON COLUMN hipq.worker.is_draining IS 'it is given no more jobs';
COMMENT ON COLUMN hipq.worker.registered_time IS 'when it registered';

CREATE TRIGGER catalogue_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON hipq.worker
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.worker ENABLE ALWAYS TRIGGER catalogue_changed;
-- What operators do to jobs: cancel, retry, reschedule, move, pause.

-- Who paused is kept by name: a pause has to outlive that role, and to reach a server that has no
-- such role.
CREATE TABLE hipq.pause (
    instance_id  integer,
    queue_id     integer,
    job_type     text COLLATE "C",
    throttle_key text COLLATE "C",
    paused_by    text        NOT NULL,
    paused_time  timestamptz NOT NULL,
    reason       text        NOT NULL DEFAULT 'NONE',
    crashes      integer     CONSTRAINT pause_crashes_are_positive CHECK (crashes > 0),
    CONSTRAINT pause_is_unique UNIQUE NULLS NOT DISTINCT (queue_id, job_type, throttle_key, instance_id),
    CONSTRAINT pause_is_of_an_instance_or_a_queue CHECK ((instance_id IS NULL) <> (queue_id IS NULL)),
    CONSTRAINT pause_of_a_job_type_is_in_a_queue CHECK (job_type IS NULL OR queue_id IS NOT NULL),
    CONSTRAINT pause_of_a_throttle_key_is_in_a_job_type CHECK (throttle_key IS NULL OR job_type IS NOT NULL),
    CONSTRAINT pause_for_crashes_is_of_a_job_type CHECK (crashes IS NULL OR job_type IS NOT NULL AND throttle_key IS NULL)
);
COMMENT ON TABLE hipq.pause
    IS 'what is paused: an instance, a queue, a job type of a queue, or a throttle key of a job '
    'type';
COMMENT ON COLUMN hipq.pause.instance_id IS 'instance that is paused; NULL = not a whole instance';
COMMENT ON COLUMN hipq.pause.queue_id
    IS 'queue that is paused, or in which the job type is; NULL = an instance is paused';
COMMENT ON COLUMN hipq.pause.job_type
    IS 'job type that is paused, or of which the throttle key is; NULL = all of the queue or '
    'instance is paused';
COMMENT ON COLUMN hipq.pause.throttle_key
    IS 'throttle key that is paused; NULL = not a throttle key alone';
COMMENT ON COLUMN hipq.pause.paused_by IS 'role that paused it';
COMMENT ON COLUMN hipq.pause.paused_time IS 'since when it is paused';
COMMENT ON COLUMN hipq.pause.reason IS 'why, as given; NONE = nothing was given';
COMMENT ON COLUMN hipq.pause.crashes
    IS 'crashes of the server within 10 minutes for which hipq itself holds the job type; NULL = '
    'somebody paused it';

CREATE TRIGGER catalogue_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON hipq.pause
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.pause ENABLE ALWAYS TRIGGER catalogue_changed;

CREATE FUNCTION hipq.cancel(id bigint, reason text DEFAULT NULL, queue text DEFAULT NULL) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_cancel';
COMMENT ON FUNCTION hipq.cancel(bigint, text, text)
    IS 'cancels a waiting or running job for good; false if it ends otherwise. id: the job; '
    'reason: why, 244 bytes are kept; queue: where to look for the job. A running job is stopped '
    'at once, whatever becomes of the transaction';

CREATE FUNCTION hipq.cancel_jobs(
    queue text, job_type text DEFAULT NULL, job_key text DEFAULT NULL, state text DEFAULT NULL, created_before timestamptz DEFAULT NULL,
    reason text DEFAULT NULL, max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_cancel_jobs';
COMMENT ON FUNCTION hipq.cancel_jobs(text, text, text, text, timestamptz, text, integer)
    IS 'cancels unfinished jobs of a queue, the oldest first, and returns how many. queue: the '
    'queue; job_type, job_key, state, created_before: only such jobs, NULL = any; reason: as for '
    'cancel(); max_jobs: 1 to 10000';

CREATE FUNCTION hipq.retry(id bigint, reason text DEFAULT 'manual_retry', job_data jsonb DEFAULT NULL, queue text DEFAULT NULL) RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry';
COMMENT ON FUNCTION hipq.retry(bigint, text, jsonb, text)
    IS 'runs a final job again as a new job and returns its id. id: the final job; reason: why, '
    'in your words; job_data: other data, NULL = the old ones (needs the right enqueue); queue: '
    'where to look for the job';

CREATE FUNCTION hipq.retry_jobs(
    queue text, job_type text DEFAULT NULL, failed_after timestamptz DEFAULT NULL, failed_before timestamptz DEFAULT NULL,
    reason text DEFAULT 'manual_retry', max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_jobs';
COMMENT ON FUNCTION hipq.retry_jobs(text, text, timestamptz, timestamptz, text, integer)
    IS 'runs jobs of a queue that failed for good again as new jobs, the oldest first and each '
    'once, and returns how many. queue: the queue; job_type, failed_after, failed_before: only '
    'such jobs, NULL = any; reason: why; max_jobs: 1 to 10000. Jobs whose key an unfinished job '
    'has are passed over';

CREATE FUNCTION hipq.reschedule(id bigint, scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, queue text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_reschedule';
COMMENT ON FUNCTION hipq.reschedule(bigint, timestamptz, integer, text)
    IS 'moves a waiting job to another time or priority. id: the job; scheduled_run_time, '
    'priority: the new ones, NULL = as it is; queue: where to look for the job';

CREATE FUNCTION hipq.move_jobs(from_queue text, to_queue text, job_type text, max_jobs integer DEFAULT 10000, OUT moved bigint, OUT key_taken bigint) RETURNS SETOF record
    LANGUAGE c ROWS 1 AS 'MODULE_PATHNAME', 'hipq_move_jobs';
COMMENT ON FUNCTION hipq.move_jobs(text, text, text, integer)
    IS 'moves waiting jobs of a type to another queue, the oldest first. from_queue, to_queue: '
    'the queues, which both have the type; job_type: the type; max_jobs: 1 to 10000. Returns how '
    'many moved, and how many stay because their key is taken there';

CREATE FUNCTION hipq.extend(id bigint, more hipq.duration, queue text DEFAULT NULL) RETURNS timestamptz
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend';
COMMENT ON FUNCTION hipq.extend(bigint, hipq.duration, text)
    IS 'gives a running job more time and returns when it times out, at once and whatever becomes '
    'of the transaction. id: the job; more: how much more; queue: where to look for the job';

CREATE FUNCTION hipq.extend(id bigint, more text, queue text) RETURNS timestamptz
    LANGUAGE sql RETURN hipq.extend(id, more::hipq.duration, queue);
COMMENT ON FUNCTION hipq.extend(bigint, text, text)
    IS 'gives a running job more time, as extend(bigint, interval, text) does. Keeps extend(7, '
    '''1 min'', ''app.mail'') apart from extend(id, attempt, more)';

CREATE FUNCTION hipq.erase(id bigint, queue text DEFAULT NULL) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_erase';
COMMENT ON FUNCTION hipq.erase(bigint, text)
    IS 'removes a final job with its attempts and its dead letter; false if there is no such job. '
    'id: the job; queue: where to look for it';

CREATE FUNCTION hipq.fail_job(id bigint, error text, queue text DEFAULT NULL) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_job';
COMMENT ON FUNCTION hipq.fail_job(bigint, text, text)
    IS 'fails a job by hand and returns the state that follows. id: the job; error: why; queue: '
    'where to look for the job. What an external worker has fails as a transient_error, which may '
    'be retried; what waits is final with a dead letter; what an executor runs is refused with '
    '55000: use cancel()';

CREATE FUNCTION hipq.pause(queue text DEFAULT NULL, job_type text DEFAULT NULL, throttle_key text DEFAULT NULL, reason text DEFAULT 'NONE', instance text DEFAULT NULL)
    RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_pause';
COMMENT ON FUNCTION hipq.pause(text, text, text, text, text)
    IS 'starts no more jobs of a queue, a job type, a throttle key or an instance; false if it '
    'was paused already. queue: the queue; job_type: only this type; throttle_key: only this key '
    'of the type; reason: why; instance: all queues of this instance, instead of queue. What runs '
    'goes on';

CREATE FUNCTION hipq.resume(queue text DEFAULT NULL, job_type text DEFAULT NULL, throttle_key text DEFAULT NULL, instance text DEFAULT NULL)
    RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_resume';
COMMENT ON FUNCTION hipq.resume(text, text, text, text)
    IS 'ends what pause() began with the same arguments; false if that was not paused. queue, '
    'job_type, throttle_key, instance: as for pause()';
-- Schedules that pg_cron runs.

CREATE SEQUENCE hipq.schedule_id_seq AS integer;
COMMENT ON SEQUENCE hipq.schedule_id_seq IS 'numbers of schedules';

-- What pg_cron calls has the number alone: the row says what is to be enqueued.
CREATE TABLE hipq.schedule (
    schedule_id     integer     NOT NULL DEFAULT nextval('hipq.schedule_id_seq') CONSTRAINT schedule_pkey PRIMARY KEY,
    name            text COLLATE "C" NOT NULL CONSTRAINT schedule_name_is_unique UNIQUE CONSTRAINT schedule_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 63),
    cron            text        NOT NULL,
    role            regrole     NOT NULL,
    queue_id        integer     NOT NULL,
    job_type        text COLLATE "C" NOT NULL,
    job_key         text COLLATE "C" NOT NULL,
    job_data        jsonb       NOT NULL DEFAULT '{}',
    priority        smallint,
    timeout         integer,
    throttle_factor numeric(9,3),
    throttle_key    text COLLATE "C",
    time_windows    text,
    max_retries     integer,
    expires_after   interval,
    created_time    timestamptz NOT NULL DEFAULT now(),
    last_run_time   timestamptz,
    last_action     text        CONSTRAINT schedule_last_action_is_known CHECK (last_action IN ('enqueued', 'skipped')),
    last_job_id     bigint
);
COMMENT ON TABLE hipq.schedule
    IS 'jobs that are enqueued again and again, at times that pg_cron tells';
COMMENT ON COLUMN hipq.schedule.schedule_id
    IS 'number of the schedule; pg_cron has it in the name of its job and in the command';
COMMENT ON COLUMN hipq.schedule.name IS 'name, unique in the database';
COMMENT ON COLUMN hipq.schedule.cron IS 'cron expression, as given';
COMMENT ON COLUMN hipq.schedule.role IS 'role that made it, and that pg_cron connects as';
COMMENT ON COLUMN hipq.schedule.queue_id IS 'queue of its jobs';
COMMENT ON COLUMN hipq.schedule.job_type IS 'job type of its jobs';
COMMENT ON COLUMN hipq.schedule.job_key IS 'job key of its jobs; NONE = none';
COMMENT ON COLUMN hipq.schedule.job_data IS 'job data of its jobs';
COMMENT ON COLUMN hipq.schedule.priority
    IS 'priority of its jobs; NULL = the job type''s, as all below';
COMMENT ON COLUMN hipq.schedule.timeout IS 'timeout of its jobs, in seconds';
COMMENT ON COLUMN hipq.schedule.throttle_factor IS 'throttle_factor of its jobs';
COMMENT ON COLUMN hipq.schedule.throttle_key IS 'throttle_key of its jobs';
COMMENT ON COLUMN hipq.schedule.time_windows IS 'time windows of its jobs';
COMMENT ON COLUMN hipq.schedule.max_retries IS 'max_retries of its jobs';
COMMENT ON COLUMN hipq.schedule.expires_after
    IS 'how long after its run a job may start; NULL = it does not expire';
COMMENT ON COLUMN hipq.schedule.created_time IS 'when the schedule was made';
COMMENT ON COLUMN hipq.schedule.last_run_time IS 'when it ran last; NULL = not yet';
COMMENT ON COLUMN hipq.schedule.last_action
    IS 'what that run did: enqueued, or skipped because a job with the key had not finished';
COMMENT ON COLUMN hipq.schedule.last_job_id IS 'the job that it enqueued, or that had not finished';
SELECT pg_extension_config_dump('hipq.identity', '');
SELECT pg_extension_config_dump('hipq.instance_id_seq', '');
SELECT pg_extension_config_dump('hipq.instance', '');
SELECT pg_extension_config_dump('hipq.queue_id_seq', '');
SELECT pg_extension_config_dump('hipq.queue', '');
SELECT pg_extension_config_dump('hipq.job_type', '');
SELECT pg_extension_config_dump('hipq.pause', '');
SELECT pg_extension_config_dump('hipq.schedule_id_seq', '');
SELECT pg_extension_config_dump('hipq.schedule', '');

CREATE FUNCTION hipq.schedule(
    name text, cron text, job_type text, job_data jsonb DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL, throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL,
    max_retries integer DEFAULT NULL, expires_after hipq.duration DEFAULT NULL, throttle_key text DEFAULT NULL
) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_schedule';
COMMENT ON FUNCTION hipq.schedule(
    text, text, text, jsonb, text, text, integer, hipq.duration, double precision, text, integer,
    hipq.duration, text
) IS 'makes a schedule, or changes the one of that name, and returns when it comes first. name: 1 '
    'to 63 bytes; cron: a cron expression; job_key: NULL = the name, one job at a time; '
    'expires_after: how long after its run a job may start; the other arguments are those of '
    'enqueue(). pg_cron enqueues the jobs, as the caller';

CREATE FUNCTION hipq.unschedule(name text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_unschedule';
COMMENT ON FUNCTION hipq.unschedule(text)
    IS 'ends a schedule. name: the schedule. Jobs that it has enqueued stay';

CREATE FUNCTION hipq._run_schedule(schedule_id integer) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__run_schedule';
COMMENT ON FUNCTION hipq._run_schedule(integer)
    IS 'a run of a schedule, called by pg_cron; says what it did';

CREATE FUNCTION hipq.restore_schedules() RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_restore_schedules';
COMMENT ON FUNCTION hipq.restore_schedules()
    IS 'gives pg_cron the schedules that it has no job for, as after a restore, and returns how '
    'many. release_hold() does so, too';

CREATE FUNCTION hipq._next_run(cron text, last_run_time timestamptz) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__next_run';
COMMENT ON FUNCTION hipq._next_run(text, timestamptz)
    IS 'when a cron expression comes next, by pg_cron''s clocks; NULL = never, or it cannot be '
    'read';

CREATE FUNCTION hipq._lost_schedules(OUT schedule_id integer, OUT name text) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__lost_schedules';
COMMENT ON FUNCTION hipq._lost_schedules()
    IS 'schedules that pg_cron has no job for; view hipq.alerts shows them';

CREATE FUNCTION hipq._has_cron_entry(schedule_id integer) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__has_cron_entry';
COMMENT ON FUNCTION hipq._has_cron_entry(integer)
    IS 'whether pg_cron in this database has an active job for the schedule';
-- Jobs: one partition tree, by queue, then by state, then (final jobs) by time. Each queue attaches
-- its table.

CREATE TYPE hipq.job_state AS ENUM ('initial', 'running', 'error', 'retry', 'final');
COMMENT ON TYPE hipq.job_state
    IS 'state of a job: initial and retry wait in line, running runs, error awaits the retry '
    'decision, final never changes';

CREATE SEQUENCE hipq.job_id_seq;
COMMENT ON SEQUENCE hipq.job_id_seq IS 'ids of jobs, of all queues';
SELECT pg_extension_config_dump('hipq.job_id_seq', '');

-- Columns that the job type decides have no default: NULL means "the type's value", the guard
-- trigger fills it in. So do bookkeeping columns whose start value is computed. Ordered by
-- alignment. Two constraints, not one for each condition: each is a row of pg_constraint for each
-- table of each queue, and whoever makes a table of a queue reads all rows of pg_constraint.
CREATE TABLE hipq.job (
    id                 bigint          NOT NULL,
    original_job_id    bigint,
    retry_of           bigint,
    worker_id          bigint,
    scheduled_run_time timestamptz     NOT NULL DEFAULT now(),
    update_time        timestamptz     NOT NULL,
    created_time       timestamptz     NOT NULL,
    accepted_time      timestamptz     NOT NULL DEFAULT 'infinity',
    deadline           timestamptz     NOT NULL DEFAULT 'infinity',
    expires_time       timestamptz     NOT NULL DEFAULT 'infinity',
    queue_id           integer         NOT NULL,
    state              hipq.job_state  NOT NULL DEFAULT 'initial',
    timeout            integer         NOT NULL,
    attempt            integer         NOT NULL DEFAULT 0,
    retry_count        integer         NOT NULL DEFAULT 0,
    max_retries        integer         NOT NULL,
    queue_ttl          integer,
    priority           smallint        NOT NULL,
    throttle_factor    numeric         NOT NULL,
    job_type           text COLLATE "C" NOT NULL,
    job_key            text COLLATE "C" NOT NULL DEFAULT 'NONE',
    error              text            NOT NULL DEFAULT 'NONE',
    throttle_key       text COLLATE "C" NOT NULL DEFAULT 'NONE',
    time_windows       hipq.time_windows NOT NULL,
    retry_reason       text            NOT NULL DEFAULT 'NONE',
    shard_key          text            NOT NULL DEFAULT 'NONE',
    job_data           jsonb           NOT NULL DEFAULT '{}',
    result             jsonb           NOT NULL DEFAULT 'null',
    manual_reason      text,
    CONSTRAINT job_state_is_consistent CHECK (
        (state <> 'initial' OR (attempt = 0 AND retry_count = 0 AND error = 'NONE'))
        AND (state = 'initial' OR attempt >= 1 OR error <> 'NONE')
        AND (state <> 'running' OR error = 'NONE')
        AND (state NOT IN ('error', 'retry') OR error <> 'NONE')
    ),
    CONSTRAINT job_values_are_in_range CHECK (
        isfinite(scheduled_run_time)
        AND expires_time <> '-infinity'
        AND timeout > 0
        AND queue_ttl > 0
        AND max_retries >= 0
        AND retry_count >= 0
        AND throttle_factor >= 0 AND throttle_factor <> 'NaN'
        AND octet_length(job_type) BETWEEN 1 AND 63
        AND octet_length(job_key) BETWEEN 1 AND 1000
        AND octet_length(throttle_key) BETWEEN 1 AND 1000
    )
) PARTITION BY LIST (queue_id);
COMMENT ON TABLE hipq.job
    IS 'every job of every queue; a queue is a partition, so enqueue by INSERT into the queue''s '
    'own table';
COMMENT ON COLUMN hipq.job.id IS 'id, given by hipq';
COMMENT ON COLUMN hipq.job.original_job_id
    IS 'first job of the chain of retries this one belongs to';
COMMENT ON COLUMN hipq.job.retry_of
    IS 'the final job that this one was made from by hipq.retry() or hipq.redrive()';
COMMENT ON COLUMN hipq.job.worker_id
    IS 'external worker that has the job; -1 = it is for one worker alone, see hipq.aimed_job';
COMMENT ON COLUMN hipq.job.scheduled_run_time IS 'not started before; a retry moves it';
COMMENT ON COLUMN hipq.job.update_time
    IS 'when the row last changed, but for one that has not been tried yet; decides the leaf of a '
    'final job';
COMMENT ON COLUMN hipq.job.created_time IS 'when the job was enqueued (start of the transaction)';
COMMENT ON COLUMN hipq.job.accepted_time
    IS 'when the present or last attempt started; infinity = none yet';
COMMENT ON COLUMN hipq.job.deadline
    IS 'when the running attempt times out; infinity when not running';
COMMENT ON COLUMN hipq.job.expires_time IS 'not started by then: final with reason expired';
COMMENT ON COLUMN hipq.job.queue_id IS 'queue; the default of the queue''s own table, leave it out';
COMMENT ON COLUMN hipq.job.state IS 'initial, running, error, retry or final';
COMMENT ON COLUMN hipq.job.timeout
    IS 'seconds an attempt may run; NULL at INSERT = the job type''s';
COMMENT ON COLUMN hipq.job.attempt IS 'attempts started so far';
COMMENT ON COLUMN hipq.job.retry_count
    IS 'retries charged so far; at max_retries a failure is final';
COMMENT ON COLUMN hipq.job.max_retries
    IS 'retries after a retriable failure; NULL at INSERT = the job type''s';
COMMENT ON COLUMN hipq.job.queue_ttl
    IS 'seconds a dispatched job may wait for its worker; NULL = the job type''s';
COMMENT ON COLUMN hipq.job.priority IS 'lower runs first; NULL at INSERT = the job type''s';
COMMENT ON COLUMN hipq.job.throttle_factor
    IS 'weight under the queue''s throttle_limit; NULL at INSERT = the job type''s';
COMMENT ON COLUMN hipq.job.job_type IS 'job type: decides the handler';
COMMENT ON COLUMN hipq.job.job_key
    IS 'at most one unfinished job per job_type and job_key; NONE = no key';
COMMENT ON COLUMN hipq.job.error IS 'error of the last failed attempt; NONE = none';
COMMENT ON COLUMN hipq.job.throttle_key IS 'jobs with the same key share a limit; NONE = no key';
COMMENT ON COLUMN hipq.job.time_windows
    IS 'when the job may start; NULL at INSERT = the job type''s; NONE = always';
COMMENT ON COLUMN hipq.job.retry_reason
    IS 'why the last attempt did not succeed; before the first of a job that was enqueued again: '
    'manual_retry or redriven; NONE = neither';
COMMENT ON COLUMN hipq.job.manual_reason
    IS 'why somebody enqueued the job again, in the words given to hipq.retry(), or manual_retry; '
    'redriven: a dead letter was; NULL = nobody did';
COMMENT ON COLUMN hipq.job.shard_key
    IS 'what a sharded instance would place the job by; without effect';
COMMENT ON COLUMN hipq.job.job_data IS 'data for the handler: any JSON';
COMMENT ON COLUMN hipq.job.result IS 'what the handler or the external worker returned';

CREATE FUNCTION hipq._guard_job() RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_guard_job';
COMMENT ON FUNCTION hipq._guard_job()
    IS 'trigger: fills a new job from its type; lets only hipq itself change state and bookkeeping';

CREATE TRIGGER guard_job BEFORE INSERT OR UPDATE OR DELETE ON hipq.job FOR EACH ROW EXECUTE FUNCTION hipq._guard_job();
ALTER TABLE hipq.job ENABLE ALWAYS TRIGGER guard_job;
COMMENT ON TRIGGER guard_job ON hipq.job
    IS 'fills a new job from its type; lets only hipq itself change state and bookkeeping';

-- A table beside the jobs: few are ever set aside, and a row may be one that nobody can change.
CREATE TABLE hipq.set_aside (
    job_id         bigint         NOT NULL CONSTRAINT set_aside_pkey PRIMARY KEY,
    queue_id       integer        NOT NULL,
    attempt        integer        NOT NULL,
    state          hipq.job_state NOT NULL,
    set_aside_time timestamptz    NOT NULL,
    sqlstate       text           NOT NULL,
    error          text           NOT NULL
);
COMMENT ON TABLE hipq.set_aside
    IS 'jobs of which hipq cannot write down what became of them: left alone until an operator '
    'ends them';
COMMENT ON COLUMN hipq.set_aside.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.set_aside.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.set_aside.attempt
    IS 'number of its attempt when it was set aside; it is left alone as long as that stands';
COMMENT ON COLUMN hipq.set_aside.state IS 'state of the job when it was set aside';
COMMENT ON COLUMN hipq.set_aside.set_aside_time IS 'when it was set aside';
COMMENT ON COLUMN hipq.set_aside.sqlstate
    IS 'SQLSTATE of the error that keeps its end from being written';
COMMENT ON COLUMN hipq.set_aside.error IS 'the error that keeps its end from being written';
SELECT pg_extension_config_dump('hipq.set_aside', '');

CREATE FUNCTION hipq._jobs_set_aside(OUT queue_id integer, OUT job_id bigint, OUT set_aside_time timestamptz, OUT error text) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__jobs_set_aside';
COMMENT ON FUNCTION hipq._jobs_set_aside()
    IS 'jobs whose end cannot be written down, of queues that the caller may look at; view '
    'hipq.alerts shows it';

-- Stable, so that whoever does not ask for the column does not pay for it.
CREATE FUNCTION hipq._masked(queue_id integer, job_type text, job_data jsonb) RETURNS jsonb LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__masked';
COMMENT ON FUNCTION hipq._masked(integer, text, jsonb)
    IS 'job_data as views show it: secret parameters of the job type are ***; NULL for who may '
    'not read the queue';

CREATE FUNCTION hipq._masked_job(queue_id integer, job_type text, job jsonb) RETURNS jsonb LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__masked_job';
COMMENT ON FUNCTION hipq._masked_job(integer, text, jsonb)
    IS 'the same of a whole job in a dead letter';

CREATE FUNCTION hipq._fitting_data(queue_id integer, job_type text, job_id bigint, job_data jsonb) RETURNS jsonb LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__fitting_data';
COMMENT ON FUNCTION hipq._fitting_data(integer, text, bigint, jsonb)
    IS 'job_data of a job that comes from another queue, with the defaults of this one''s job '
    'type; 22023: they do not fit its parameters';
-- Attempts that did not succeed (all attempts where the queue says so), and how retries go on.

CREATE TABLE hipq.attempt (
    job_id       bigint      NOT NULL,
    started_time timestamptz NOT NULL,
    ended_time   timestamptz NOT NULL,
    queue_id     integer     NOT NULL,
    attempt      integer     NOT NULL,
    executor_pid integer,
    worker_id    bigint,
    job_type     text COLLATE "C" NOT NULL,
    job_key      text COLLATE "C" NOT NULL,
    reason       text        NOT NULL,
    sqlstate     text,
    error        text        NOT NULL,
    detail       text,
    hint         text,
    context      text
) PARTITION BY RANGE (ended_time);
-- Its leaves have an index on (queue_id, job_id, attempt) each. One of the whole tree would be made
-- by a restore twice: with the leaf, and by the dump.
COMMENT ON TABLE hipq.attempt
    IS 'how attempts ended: those that failed, or all if the queue says history => ''all''';
COMMENT ON COLUMN hipq.attempt.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.attempt.started_time IS 'when the attempt started';
COMMENT ON COLUMN hipq.attempt.ended_time IS 'when it ended';
COMMENT ON COLUMN hipq.attempt.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.attempt.attempt
    IS 'number of the attempt, from 1; of a job that ended, or failed, before a start that of the '
    'last one; 0: it was never tried';
COMMENT ON COLUMN hipq.attempt.executor_pid IS 'process that ran it in the server';
COMMENT ON COLUMN hipq.attempt.worker_id IS 'external worker that ran it';
COMMENT ON COLUMN hipq.attempt.job_type IS 'job type';
COMMENT ON COLUMN hipq.attempt.job_key IS 'job key; NONE = none';
COMMENT ON COLUMN hipq.attempt.reason
    IS 'reason: timeout, transient_error, validation_error, ...; succeeded';
COMMENT ON COLUMN hipq.attempt.sqlstate IS 'SQLSTATE of the error, if the server raised it';
COMMENT ON COLUMN hipq.attempt.error IS 'message; NONE for a success';
COMMENT ON COLUMN hipq.attempt.detail IS 'detail of the error';
COMMENT ON COLUMN hipq.attempt.hint IS 'hint of the error';
COMMENT ON COLUMN hipq.attempt.context IS 'context of the error';

CREATE FUNCTION hipq.retry_schedule(queue text, job_type text, OUT retry integer, OUT delay interval, OUT since_first_failure interval) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_schedule';
COMMENT ON FUNCTION hipq.retry_schedule(text, text)
    IS 'lists the delays before the retries of a job type, without jitter. queue: the queue; '
    'job_type: the type';

CREATE FUNCTION hipq.retry_schedule(job_type text, OUT retry integer, OUT delay interval, OUT since_first_failure interval) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_schedule_of_type';
COMMENT ON FUNCTION hipq.retry_schedule(text)
    IS 'lists the delays before the retries of a job type, without jitter. job_type: a type that '
    'one queue has';

CREATE FUNCTION hipq.is_job_retriable(id bigint, queue text DEFAULT NULL, OUT retriable boolean, OUT reason text) RETURNS record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_is_job_retriable';
COMMENT ON FUNCTION hipq.is_job_retriable(bigint, text)
    IS 'tells whether the retry policy gives a job another attempt after its last failure, or '
    'after the next one, and why. id: the job; queue: where to look for it';

CREATE FUNCTION hipq.retry_chain(
    id bigint, queue text DEFAULT NULL, OUT job_id bigint, OUT retry_of bigint, OUT attempt integer, OUT state text, OUT reason text, OUT sqlstate text,
    OUT error text, OUT executor_pid integer, OUT worker_id bigint, OUT started_time timestamptz, OUT ended_time timestamptz,
    OUT manual_reason text
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_chain';
COMMENT ON FUNCTION hipq.retry_chain(bigint, text)
    IS 'lists every attempt of a job and of the jobs that it was retried from or as, in order. '
    'id: any job of the chain; queue: where to look for it. It reads the jobs that were enqueued '
    'since the first one';
-- Jobs that failed for good, and what operators do about them.

-- A column in hipq.job would cost every job.
CREATE TABLE hipq.made_by_handler (
    queue_id integer NOT NULL,
    job_id   bigint  NOT NULL,
    CONSTRAINT made_by_handler_pkey PRIMARY KEY (queue_id, job_id)
);
COMMENT ON TABLE hipq.made_by_handler
    IS 'unfinished jobs that handlers of dead letters have made: no such handler is called when '
    'they fail';
COMMENT ON COLUMN hipq.made_by_handler.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.made_by_handler.job_id IS 'id of the job';
SELECT pg_extension_config_dump('hipq.made_by_handler', '');

CREATE TABLE hipq.dead_letter (
    job_id         bigint      NOT NULL,
    died_time      timestamptz NOT NULL,
    handled_time   timestamptz,
    redriven_time  timestamptz,
    dismissed_time timestamptz,
    redriven_as    bigint,
    queue_id       integer     NOT NULL,
    job_type       text COLLATE "C" NOT NULL,
    job_key        text COLLATE "C" NOT NULL,
    reason         text        NOT NULL,
    sqlstate       text,
    error          text        NOT NULL,
    job            jsonb       NOT NULL,
    history        jsonb       NOT NULL DEFAULT '[]',
    attempts_left_out bigint   NOT NULL DEFAULT 0,
    reduced_because text,
    awaits_handler boolean     NOT NULL DEFAULT false,
    handler_starts integer     NOT NULL DEFAULT 0,
    handler_error  text,
    state          text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        CASE
            WHEN redriven_time IS NOT NULL THEN 'redriven'
            WHEN dismissed_time IS NOT NULL THEN 'dismissed'
            WHEN handled_time IS NOT NULL THEN 'handled'
            ELSE 'waiting'
        END) STORED,
    CONSTRAINT dead_letter_pkey PRIMARY KEY (queue_id, job_id),
    CONSTRAINT dead_letter_handler_starts_are_not_negative CHECK (handler_starts >= 0)
);
-- An index that did not begin with queue_id would be read by what somebody asks of a view, and
-- EXPLAIN count rows of other queues in it.
CREATE INDEX dead_letter_of_queue ON hipq.dead_letter (queue_id, died_time, job_id);
CREATE INDEX dead_letter_awaits_handler ON hipq.dead_letter (queue_id, died_time, job_id) WHERE awaits_handler;
COMMENT ON TABLE hipq.dead_letter IS 'jobs that failed for good, whole, kept for a time';
COMMENT ON COLUMN hipq.dead_letter.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.dead_letter.died_time IS 'when it failed for good';
COMMENT ON COLUMN hipq.dead_letter.handled_time
    IS 'when the handler of dead letters was done with it';
COMMENT ON COLUMN hipq.dead_letter.redriven_time IS 'when it was enqueued again';
COMMENT ON COLUMN hipq.dead_letter.dismissed_time IS 'when it was dismissed';
COMMENT ON COLUMN hipq.dead_letter.redriven_as IS 'id of the job that it was enqueued again as';
COMMENT ON COLUMN hipq.dead_letter.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.dead_letter.job_type IS 'job type';
COMMENT ON COLUMN hipq.dead_letter.job_key IS 'job key; NONE = none';
COMMENT ON COLUMN hipq.dead_letter.reason IS 'reason of the last failure';
COMMENT ON COLUMN hipq.dead_letter.sqlstate IS 'SQLSTATE of the last failure';
COMMENT ON COLUMN hipq.dead_letter.error IS 'error of the last failure';
COMMENT ON COLUMN hipq.dead_letter.job IS 'the whole row of the job';
COMMENT ON COLUMN hipq.dead_letter.history
    IS 'its attempts, the first and the last ones of many: number, reason, sqlstate, error, '
    'external worker, times';
COMMENT ON COLUMN hipq.dead_letter.attempts_left_out
    IS 'how many attempts between the first and the last ones are not in history';
COMMENT ON COLUMN hipq.dead_letter.reduced_because
    IS 'why job has neither job_data nor result, and history is empty; NULL = the dead letter is '
    'whole';
COMMENT ON COLUMN hipq.dead_letter.awaits_handler
    IS 'the handler of dead letters of the queue is still to be called';
COMMENT ON COLUMN hipq.dead_letter.handler_starts
    IS 'how often its call was begun: more than once if executor or server ended meanwhile';
COMMENT ON COLUMN hipq.dead_letter.handler_error
    IS 'how the handler failed; it is not called again then';
COMMENT ON COLUMN hipq.dead_letter.state IS 'waiting, handled, redriven or dismissed';
SELECT pg_extension_config_dump('hipq.dead_letter', '');
-- Rows of all queues are in these tables, and whoever plans a statement sees estimates: the
-- statistics of a column would tell what others have in it. Leaves are made with the targets of
-- their parent (hipq.attempt). Of hipq.job each queue's own leaves have statistics; the whole has
-- none.
ALTER TABLE hipq.attempt
    ALTER COLUMN job_id SET STATISTICS 0,
    ALTER COLUMN started_time SET STATISTICS 0,
    ALTER COLUMN ended_time SET STATISTICS 0,
    ALTER COLUMN attempt SET STATISTICS 0,
    ALTER COLUMN executor_pid SET STATISTICS 0,
    ALTER COLUMN worker_id SET STATISTICS 0,
    ALTER COLUMN job_type SET STATISTICS 0,
    ALTER COLUMN job_key SET STATISTICS 0,
    ALTER COLUMN reason SET STATISTICS 0,
    ALTER COLUMN sqlstate SET STATISTICS 0,
    ALTER COLUMN error SET STATISTICS 0,
    ALTER COLUMN detail SET STATISTICS 0,
    ALTER COLUMN hint SET STATISTICS 0,
    ALTER COLUMN context SET STATISTICS 0;
ALTER TABLE hipq.dead_letter
    ALTER COLUMN job_id SET STATISTICS 0,
    ALTER COLUMN died_time SET STATISTICS 0,
    ALTER COLUMN handled_time SET STATISTICS 0,
    ALTER COLUMN redriven_time SET STATISTICS 0,
    ALTER COLUMN dismissed_time SET STATISTICS 0,
    ALTER COLUMN redriven_as SET STATISTICS 0,
    ALTER COLUMN job_type SET STATISTICS 0,
    ALTER COLUMN job_key SET STATISTICS 0,
    ALTER COLUMN reason SET STATISTICS 0,
    ALTER COLUMN sqlstate SET STATISTICS 0,
    ALTER COLUMN error SET STATISTICS 0,
    ALTER COLUMN job SET STATISTICS 0,
    ALTER COLUMN history SET STATISTICS 0,
    ALTER COLUMN attempts_left_out SET STATISTICS 0,
    ALTER COLUMN reduced_because SET STATISTICS 0,
    ALTER COLUMN awaits_handler SET STATISTICS 0,
    ALTER COLUMN handler_starts SET STATISTICS 0,
    ALTER COLUMN handler_error SET STATISTICS 0,
    ALTER COLUMN state SET STATISTICS 0;
ALTER TABLE hipq.job
    ALTER COLUMN id SET STATISTICS 0,
    ALTER COLUMN original_job_id SET STATISTICS 0,
    ALTER COLUMN retry_of SET STATISTICS 0,
    ALTER COLUMN worker_id SET STATISTICS 0,
    ALTER COLUMN scheduled_run_time SET STATISTICS 0,
    ALTER COLUMN update_time SET STATISTICS 0,
    ALTER COLUMN created_time SET STATISTICS 0,
    ALTER COLUMN accepted_time SET STATISTICS 0,
    ALTER COLUMN deadline SET STATISTICS 0,
    ALTER COLUMN expires_time SET STATISTICS 0,
    ALTER COLUMN state SET STATISTICS 0,
    ALTER COLUMN timeout SET STATISTICS 0,
    ALTER COLUMN attempt SET STATISTICS 0,
    ALTER COLUMN retry_count SET STATISTICS 0,
    ALTER COLUMN max_retries SET STATISTICS 0,
    ALTER COLUMN queue_ttl SET STATISTICS 0,
    ALTER COLUMN priority SET STATISTICS 0,
    ALTER COLUMN throttle_factor SET STATISTICS 0,
    ALTER COLUMN job_type SET STATISTICS 0,
    ALTER COLUMN job_key SET STATISTICS 0,
    ALTER COLUMN error SET STATISTICS 0,
    ALTER COLUMN throttle_key SET STATISTICS 0,
    ALTER COLUMN time_windows SET STATISTICS 0,
    ALTER COLUMN retry_reason SET STATISTICS 0,
    ALTER COLUMN manual_reason SET STATISTICS 0,
    ALTER COLUMN shard_key SET STATISTICS 0,
    ALTER COLUMN job_data SET STATISTICS 0,
    ALTER COLUMN result SET STATISTICS 0;

CREATE FUNCTION hipq.redrive(id bigint, to_queue text DEFAULT NULL) RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_redrive';
COMMENT ON FUNCTION hipq.redrive(bigint, text)
    IS 'enqueues the job of a dead letter again as a new job and returns its id. id: the job that '
    'died; to_queue: another queue for it, NULL = the same. It is refused if that was done '
    'already, or if its key is taken';

CREATE FUNCTION hipq.redrive(
    queue text, job_type text DEFAULT NULL, reason text DEFAULT NULL, before timestamptz DEFAULT NULL, rate double precision DEFAULT NULL,
    to_queue text DEFAULT NULL, state text DEFAULT 'waiting', max_jobs integer DEFAULT 10000, OUT redriven bigint, OUT key_taken bigint
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_redrive_jobs';
COMMENT ON FUNCTION hipq.redrive(
    text, text, text, timestamptz, double precision, text, text, integer
) IS 'enqueues the jobs of dead letters of a queue again, those that died first come first. '
    'queue: the queue; job_type, reason, before, state: only such, NULL = any; rate: how many '
    'become due in a second, NULL = all at once; to_queue: another queue for them; max_jobs: 1 to '
    '10000. Returns how many were enqueued, and how many stay because their key is taken';

CREATE FUNCTION hipq.dismiss_dead_letters(id bigint) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_dismiss_dead_letter';
COMMENT ON FUNCTION hipq.dismiss_dead_letters(bigint)
    IS 'notes that nothing is to be done about a dead letter that waits; it stays to be looked '
    'at. id: the job that died';

CREATE FUNCTION hipq.dismiss_dead_letters(
    queue text, job_type text DEFAULT NULL, reason text DEFAULT NULL, before timestamptz DEFAULT NULL, max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_dismiss_dead_letters';
COMMENT ON FUNCTION hipq.dismiss_dead_letters(text, text, text, timestamptz, integer)
    IS 'notes that nothing is to be done about dead letters of a queue that wait, and returns how '
    'many. queue: the queue; job_type, reason, before: only such, NULL = any; max_jobs: 1 to 10000';

CREATE FUNCTION hipq.purge_dead_letters(id bigint) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_purge_dead_letter';
COMMENT ON FUNCTION hipq.purge_dead_letters(bigint)
    IS 'removes a dead letter, whatever its state; its job stays. id: the job that died';

CREATE FUNCTION hipq.purge_dead_letters(
    queue text, job_type text DEFAULT NULL, reason text DEFAULT NULL, before timestamptz DEFAULT NULL, state text DEFAULT NULL,
    max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_purge_dead_letters';
COMMENT ON FUNCTION hipq.purge_dead_letters(text, text, text, timestamptz, text, integer)
    IS 'removes dead letters of a queue, the oldest first, and returns how many. queue: the '
    'queue; job_type, reason, before, state: only such, NULL = any; max_jobs: 1 to 10000';
-- Ways to enqueue a job from SQL, and jobs that wait for another one with their key.

-- A job that was asked for while one with its key ran. It is in no queue's table yet: that one
-- still holds the key. When that one has finished the row becomes a job. The job is jsonb for the
-- same reason as in hipq.dead_letter: old rows are understood by new code.
CREATE TABLE hipq.successor (
    queue_id integer          NOT NULL,
    job_type text COLLATE "C" NOT NULL,
    job_key  text COLLATE "C" NOT NULL,
    job_id   bigint           NOT NULL CONSTRAINT successor_job_id_is_unique UNIQUE,
    job      jsonb            NOT NULL,
    CONSTRAINT successor_pkey PRIMARY KEY (queue_id, job_type, job_key)
);
COMMENT ON TABLE hipq.successor
    IS 'jobs that start when the one with their key has finished: on_duplicate => ''after''';
COMMENT ON COLUMN hipq.successor.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.successor.job_type IS 'job type';
COMMENT ON COLUMN hipq.successor.job_key
    IS 'job key, which another job holds until it has finished';
COMMENT ON COLUMN hipq.successor.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.successor.job IS 'the whole row of the job, as it will be';
SELECT pg_extension_config_dump('hipq.successor', '');

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL, job_text text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue';
COMMENT ON FUNCTION hipq.enqueue(
    text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer,
    timestamptz, text, text, hipq.duration, text, text
) IS 'enqueues a job in the caller''s transaction and returns its id. job_type: the type; '
    'job_data: JSON, or a text that is none; job_text: a text, whatever is in it; queue: '
    'instance.queue, NULL = the one that has the type; job_key: one unfinished job for each; '
    'on_duplicate: error, return, replace, merge, debounce or after; timeout, queue_ttl: a number '
    'is seconds; worker: the one external worker of the first attempt; what is NULL comes from '
    'the job type';

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue';
COMMENT ON FUNCTION hipq.enqueue(
    text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text
) IS 'enqueues a job in the caller''s transaction and returns its id. job_data: a value of any '
    'type, as to_jsonb() makes it; the other arguments are those of enqueue() of text';

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL, job_text text DEFAULT NULL,
    OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique';
COMMENT ON FUNCTION hipq.enqueue_unique(
    text, text, text, text, timestamptz, integer, hipq.duration, double precision, text, integer,
    timestamptz, text, text, hipq.duration, text, text
) IS 'enqueues a job unless an unfinished one has its key; returns the id of either, and what was '
    'done: inserted, returned, replaced, merged, debounced or after. job_key: the key, which must '
    'be given; the other arguments are those of enqueue()';

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL, worker text DEFAULT NULL,
    OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique';
COMMENT ON FUNCTION hipq.enqueue_unique(
    text, anyelement, text, text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration, text
) IS 'enqueues a job unless an unfinished one has its key; returns the id of either, and what was '
    'done. job_data: a value of any type, as to_jsonb() makes it; the other arguments are those '
    'of enqueue_unique() of text';

CREATE FUNCTION hipq.enqueue_many(
    job_type text, job_data jsonb[], job_keys text[] DEFAULT NULL, queue text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl hipq.duration DEFAULT NULL
) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_many';
COMMENT ON FUNCTION hipq.enqueue_many(
    text, jsonb[], text[], text, timestamptz, integer, hipq.duration, double precision, text,
    integer, timestamptz, text, text, hipq.duration
) IS 'enqueues one job for each element of an array and returns the ids in that order. job_data: '
    'the data; job_keys: one key for each, NULL = none; the other arguments are those of '
    'enqueue(), for all jobs';
-- What a handler calls while its job runs.

CREATE FUNCTION hipq.fail_retriable(message text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_retriable';
COMMENT ON FUNCTION hipq.fail_retriable(text)
    IS 'fails the attempt of the handler that calls it, with reason transient_error. message: the '
    'error. It raises HQ002';

CREATE FUNCTION hipq.fail_permanently(message text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_permanently';
COMMENT ON FUNCTION hipq.fail_permanently(text)
    IS 'fails the job of the handler that calls it for good, with reason explicit_failure. '
    'message: the error. It raises HQ001';

CREATE FUNCTION hipq.snooze(delay hipq.duration) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_snooze';
COMMENT ON FUNCTION hipq.snooze(hipq.duration)
    IS 'puts the job of the handler that calls it off, uncharged. delay: how long from now. When '
    'the handler returns, what it wrote is committed';

CREATE FUNCTION hipq.complete_later() RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_later';
COMMENT ON FUNCTION hipq.complete_later()
    IS 'leaves the job of the handler that calls it running when the handler returns, until '
    'complete(), fail() or its timeout. What the handler wrote is committed';

CREATE FUNCTION hipq.report_progress(done bigint, total bigint DEFAULT NULL, message text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_report_own_progress';
COMMENT ON FUNCTION hipq.report_progress(bigint, bigint, text)
    IS 'tells how far the job of the handler that calls it has come, for view hipq.progress. '
    'done: how much; total: of how much, NULL = not known; message: what it does, 200 bytes are '
    'kept. It shows at once, whatever becomes of the transaction';

CREATE FUNCTION hipq.extend(more hipq.duration) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_own';
COMMENT ON FUNCTION hipq.extend(hipq.duration)
    IS 'gives the job of the handler that calls it more time and returns when it times out. more: '
    'how much more';
-- What external workers call, and jobs that are meant for one of them.

-- Few jobs are for one worker alone. Their rows say so by a worker_id that no worker has.
CREATE TABLE hipq.aimed_job (
    queue_id integer NOT NULL,
    job_id   bigint  NOT NULL,
    worker   text COLLATE "C" NOT NULL,
    CONSTRAINT aimed_job_pkey PRIMARY KEY (queue_id, job_id)
);
COMMENT ON TABLE hipq.aimed_job
    IS 'jobs that are for one external worker alone until their first attempt: enqueue(..., '
    'worker => ...)';
COMMENT ON COLUMN hipq.aimed_job.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.aimed_job.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.aimed_job.worker IS 'name of the worker';
SELECT pg_extension_config_dump('hipq.aimed_job', '');

CREATE FUNCTION hipq.register_worker(
    name text, queues text[], job_types text[], capacity integer DEFAULT 1, prefetch integer DEFAULT 0, capabilities jsonb DEFAULT '{}',
    listen boolean DEFAULT false, take_over boolean DEFAULT false
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_register_worker';
COMMENT ON FUNCTION hipq.register_worker(
    text, text[], text[], integer, integer, jsonb, boolean, boolean
) IS 'registers a program outside the server that runs jobs, and returns its id. name: its name; '
    'queues, job_types: what it serves; capacity: how many jobs at a time; prefetch: how many '
    'more beforehand; capabilities: what job types may require; listen: whether it is bound to '
    'this session, which listens on hipq_worker_<id>; take_over: whether it takes the name from '
    'one that is there';

CREATE FUNCTION hipq.heartbeat(worker bigint, health text DEFAULT NULL) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_heartbeat';
COMMENT ON FUNCTION hipq.heartbeat(bigint, text)
    IS 'tells that a worker is alive, and returns its status. worker: the worker; health: how it '
    'is doing, in JSON. It counts at once, whatever becomes of the transaction';

CREATE FUNCTION hipq.heartbeat(worker bigint, health jsonb) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_heartbeat_jsonb';
COMMENT ON FUNCTION hipq.heartbeat(bigint, jsonb)
    IS 'tells that a worker is alive, and returns its status. worker: the worker; health: how it '
    'is doing. It counts at once, whatever becomes of the transaction';

CREATE FUNCTION hipq.drain_worker(worker bigint) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drain_worker';
COMMENT ON FUNCTION hipq.drain_worker(bigint)
    IS 'gives a worker no more jobs; what it has accepted it may finish. worker: the worker';

CREATE FUNCTION hipq.deregister_worker(worker bigint) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_deregister_worker';
COMMENT ON FUNCTION hipq.deregister_worker(bigint)
    IS 'forgets a worker; its jobs go to others. worker: the worker';

CREATE FUNCTION hipq.report_progress(id bigint, attempt integer, done bigint, total bigint, message text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_report_progress';
COMMENT ON FUNCTION hipq.report_progress(bigint, integer, bigint, bigint, text)
    IS 'tells how far an attempt of an external worker has come, for view hipq.progress, and that '
    'the worker is alive. id, attempt: the attempt; done: how much; total: of how much, NULL = '
    'not known; message: what it does. It shows at once, whatever becomes of the transaction';

CREATE FUNCTION hipq.claim(
    worker bigint, max_jobs integer DEFAULT 1, wait hipq.duration DEFAULT '0', OUT id bigint, OUT attempt integer, OUT queue text, OUT job_type text,
    OUT job_key text, OUT job_data jsonb, OUT deadline timestamptz, OUT retry_count integer, OUT retry_reason text, OUT max_retries integer,
    OUT scheduled_run_time timestamptz, OUT created_time timestamptz, OUT original_job_id bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_claim';
COMMENT ON FUNCTION hipq.claim(bigint, integer, hipq.duration)
    IS 'accepts jobs that a worker was given, in that order. worker: the worker; max_jobs: 1 to '
    '10000; wait: how long to wait for the first one';

CREATE FUNCTION hipq.complete(id bigint, attempt integer, result jsonb DEFAULT 'null') RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete';
COMMENT ON FUNCTION hipq.complete(bigint, integer, jsonb)
    IS 'ends an attempt of an external worker with success. id, attempt: the attempt; result: the '
    'job''s result. It raises HQ003 if the attempt is over';

CREATE FUNCTION hipq.complete(ids bigint[], attempts integer[], results jsonb[] DEFAULT NULL) RETURNS bigint[]
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_many';
COMMENT ON FUNCTION hipq.complete(bigint[], integer[], jsonb[])
    IS 'ends attempts of external workers with success, and returns the ids of those that were '
    'not over. ids, attempts: the attempts; results: their results, NULL = none';

CREATE FUNCTION hipq.complete(queue text, job_type text, job_key text, result jsonb DEFAULT 'null') RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_by_key';
COMMENT ON FUNCTION hipq.complete(text, text, text, jsonb)
    IS 'ends the attempt that runs of the job with that key with success, and returns the job''s '
    'id. queue, job_type, job_key: the job; result: its result';

CREATE FUNCTION hipq.fail(id bigint, attempt integer, error text, retriable boolean DEFAULT true) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail';
COMMENT ON FUNCTION hipq.fail(bigint, integer, text, boolean)
    IS 'fails an attempt of an external worker, and returns the state of its job: retry, final, '
    'or error while a retry handler is asked. id, attempt: the attempt; error: why; retriable: '
    'whether it may be retried. It raises HQ003 if the attempt is over';

CREATE FUNCTION hipq.fail(ids bigint[], attempts integer[], errors text[], retriable boolean DEFAULT true) RETURNS bigint[]
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_many';
COMMENT ON FUNCTION hipq.fail(bigint[], integer[], text[], boolean)
    IS 'fails attempts of external workers, and returns the ids of those that were not over. ids, '
    'attempts: the attempts; errors: why; retriable: whether they may be retried';

CREATE FUNCTION hipq.fail(queue text, job_type text, job_key text, error text, retriable boolean DEFAULT true) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_by_key';
COMMENT ON FUNCTION hipq.fail(text, text, text, text, boolean)
    IS 'fails the attempt that runs of the job with that key, and returns the job''s state. '
    'queue, job_type, job_key: the job; error: why; retriable: whether it may be retried';

CREATE FUNCTION hipq.release(id bigint, attempt integer, delay hipq.duration DEFAULT '0') RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release';
COMMENT ON FUNCTION hipq.release(bigint, integer, hipq.duration)
    IS 'gives an attempt of an external worker back: its job waits to be run again, uncharged. '
    'id, attempt: the attempt; delay: for how long. It raises HQ003 if the attempt is over';

CREATE FUNCTION hipq.release(ids bigint[], attempts integer[]) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release_many';
COMMENT ON FUNCTION hipq.release(bigint[], integer[])
    IS 'gives attempts of external workers back, and returns the ids of those that were not over. '
    'ids, attempts: the attempts';

CREATE FUNCTION hipq.extend(id bigint, attempt integer, more hipq.duration) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_attempt';
COMMENT ON FUNCTION hipq.extend(bigint, integer, hipq.duration)
    IS 'gives an attempt that an external worker has accepted more time, and returns when it '
    'times out. id, attempt: the attempt; more: how much more. It raises HQ003 if the attempt is '
    'over';

CREATE FUNCTION hipq.extend(ids bigint[], attempts integer[], more hipq.duration) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_many';
COMMENT ON FUNCTION hipq.extend(bigint[], integer[], hipq.duration)
    IS 'gives attempts of external workers more time, and returns the ids of those that were not '
    'over. ids, attempts: the attempts; more: how much more';
-- Makes, changes and drops instances, queues and job types, and grants rights on queues.

CREATE FUNCTION hipq.create_instance(
    name text, shard_key text DEFAULT 'NONE', table_naming_strategy text DEFAULT 'NONE', db_config jsonb DEFAULT '{}', strict boolean DEFAULT false
) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_instance';
COMMENT ON FUNCTION hipq.create_instance(text, text, text, jsonb, boolean)
    IS 'makes an instance, a named group of queues, and returns its number. name: lower-case '
    'letters and underscores; table_naming_strategy: SQL expression over $1 (instance) and $2 '
    '(queue) that names a queue''s table; strict: whether its queues refuse jobs of types that '
    'nobody has registered; shard_key, db_config: kept for sharding, without effect';

CREATE FUNCTION hipq.alter_instance(name text, strict boolean DEFAULT NULL) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_instance';
COMMENT ON FUNCTION hipq.alter_instance(text, boolean)
    IS 'changes an instance. name: the instance; strict: as for create_instance(), NULL = as it is';

CREATE FUNCTION hipq.drop_instance(name text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drop_instance';
COMMENT ON FUNCTION hipq.drop_instance(text)
    IS 'drops an instance that has no queues. name: the instance';

CREATE FUNCTION hipq.create_queue(
    queue text, owner regrole DEFAULT NULL, throttle_limit double precision DEFAULT 0, retention hipq.duration DEFAULT NULL,
    history text DEFAULT 'failed', strict boolean DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL,
    dead_letter_enabled boolean DEFAULT NULL, dead_letter_retention hipq.duration DEFAULT NULL, durability text DEFAULT 'strict',
    weight integer DEFAULT 100, dead_letter_max integer DEFAULT NULL, dead_letter_handler text DEFAULT 'NONE',
    max_timeout hipq.duration DEFAULT NULL, highest_priority integer DEFAULT NULL, allow_free_jobs boolean DEFAULT true,
    retry_enabled boolean DEFAULT NULL
) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_queue';
COMMENT ON FUNCTION hipq.create_queue(
    text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean,
    hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean
) IS 'makes a queue and its table, and returns its number. queue: instance.queue; owner: the role '
    'that handlers run as, NULL = the caller; weight: its share of the executors, 1 to 1000; '
    'queue_ttl, max_timeout: a number is seconds; max_timeout, highest_priority, allow_free_jobs: '
    'caps on what enqueuers ask for; what is NULL is as the setting of that name says';

CREATE FUNCTION hipq.alter_queue(
    queue text, owner regrole DEFAULT NULL, throttle_limit double precision DEFAULT NULL, retention hipq.duration DEFAULT NULL,
    history text DEFAULT NULL, strict boolean DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL,
    dead_letter_enabled boolean DEFAULT NULL, dead_letter_retention hipq.duration DEFAULT NULL, durability text DEFAULT NULL,
    weight integer DEFAULT NULL, dead_letter_max integer DEFAULT NULL, dead_letter_handler text DEFAULT NULL,
    max_timeout hipq.duration DEFAULT NULL, highest_priority integer DEFAULT NULL, allow_free_jobs boolean DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, reset text[] DEFAULT '{}'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_queue';
COMMENT ON FUNCTION hipq.alter_queue(
    text, regrole, double precision, hipq.duration, text, boolean, hipq.duration, boolean,
    hipq.duration, text, integer, integer, text, hipq.duration, integer, boolean, boolean, text[]
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
    'work, read or control';

CREATE FUNCTION hipq.revoke_queue(queue text, role regrole, privilege text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_revoke_queue';
COMMENT ON FUNCTION hipq.revoke_queue(text, regrole, text)
    IS 'takes a right on a queue back, with functions and views that no other right of the role '
    'needs. queue: the queue; role: the role; privilege: enqueue, work, read or control';

CREATE FUNCTION hipq.register_job_type(
    queue text, job_type text, handler text DEFAULT 'NONE', handler_kind text DEFAULT 'auto', retry_handler text DEFAULT 'NONE',
    default_timeout hipq.duration DEFAULT NULL, default_priority integer DEFAULT 0, default_throttle_factor double precision DEFAULT 1,
    default_time_windows text DEFAULT 'NONE', time_zone text DEFAULT NULL, max_retries integer DEFAULT NULL,
    retry_base hipq.duration DEFAULT NULL, retry_multiplier double precision DEFAULT NULL, retry_max hipq.duration DEFAULT NULL,
    retry_jitter double precision DEFAULT NULL, retry_on text[] DEFAULT '{}', do_not_retry_on text[] DEFAULT '{}',
    on_missing_handler text DEFAULT 'wait', queue_ttl hipq.duration DEFAULT NULL, claim text DEFAULT 'auto', batch_size integer DEFAULT 1,
    throttle_limit double precision DEFAULT 0, throttle_limit_per_key double precision DEFAULT 0, requires jsonb DEFAULT '{}', worker_wait_ttl hipq.duration DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, parameters jsonb DEFAULT '{}', validate text DEFAULT 'enqueue'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_register_job_type';
COMMENT ON FUNCTION hipq.register_job_type(
    text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer,
    hipq.duration, double precision, hipq.duration, double precision, text[], text[], text,
    hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean,
    jsonb, text
) IS 'registers a job type of a queue: what runs, and what its jobs start with. queue: the queue; '
    'job_type: the type; handler: a function, a procedure or an SQL statement; retry_handler: '
    'what decides about retries; default_timeout, queue_ttl, worker_wait_ttl: a number is '
    'seconds; what is NULL is as the queue, or the setting of that name, says';

CREATE FUNCTION hipq.alter_job_type(
    queue text, job_type text, handler text DEFAULT NULL, handler_kind text DEFAULT 'auto', retry_handler text DEFAULT NULL,
    default_timeout hipq.duration DEFAULT NULL, default_priority integer DEFAULT NULL, default_throttle_factor double precision DEFAULT NULL,
    default_time_windows text DEFAULT NULL, time_zone text DEFAULT NULL, max_retries integer DEFAULT NULL,
    retry_base hipq.duration DEFAULT NULL, retry_multiplier double precision DEFAULT NULL, retry_max hipq.duration DEFAULT NULL,
    retry_jitter double precision DEFAULT NULL, retry_on text[] DEFAULT NULL, do_not_retry_on text[] DEFAULT NULL,
    on_missing_handler text DEFAULT NULL, queue_ttl hipq.duration DEFAULT NULL, claim text DEFAULT NULL, batch_size integer DEFAULT NULL,
    throttle_limit double precision DEFAULT NULL, throttle_limit_per_key double precision DEFAULT NULL, requires jsonb DEFAULT NULL, worker_wait_ttl hipq.duration DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, parameters jsonb DEFAULT NULL, validate text DEFAULT NULL, reset text[] DEFAULT '{}'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_job_type';
COMMENT ON FUNCTION hipq.alter_job_type(
    text, text, text, text, text, hipq.duration, integer, double precision, text, text, integer,
    hipq.duration, double precision, hipq.duration, double precision, text[], text[], text,
    hipq.duration, text, integer, double precision, double precision, jsonb, hipq.duration, boolean,
    jsonb, text, text[]
) IS 'changes a job type. queue: the queue; job_type: the type; reset: names of arguments that go '
    'back to the queue or setting; the other arguments are those of register_job_type(), NULL = '
    'as it is';

CREATE FUNCTION hipq.drop_job_type(queue text, job_type text, force boolean DEFAULT false) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drop_job_type';
COMMENT ON FUNCTION hipq.drop_job_type(text, text, boolean)
    IS 'forgets a job type. queue: the queue; job_type: the type; force: whether it may have '
    'unfinished jobs, which wait then';
-- For the tests of those who use hipq.

CREATE FUNCTION hipq.enqueued(job_type text DEFAULT NULL, queue text DEFAULT NULL) RETURNS SETOF hipq.job
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueued';
COMMENT ON FUNCTION hipq.enqueued(text, text)
    IS 'lists jobs that wait, those of the caller''s open transaction too, in the order of their '
    'ids. job_type, queue: only such jobs, NULL = any';

CREATE FUNCTION hipq.run_until_idle(queue text, max_jobs integer DEFAULT 1000) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_run_until_idle';
COMMENT ON FUNCTION hipq.run_until_idle(text, integer)
    IS 'runs due jobs of a queue in the caller''s transaction until there are none, and returns '
    'how many. queue: the queue; max_jobs: how many at most. For the queue owner, in a session of '
    'its own, unless hipq.allow_foreign_handlers is on';

CREATE FUNCTION hipq.dry_run(id bigint, queue text DEFAULT NULL, OUT result jsonb, OUT error text, OUT sqlstate text, OUT duration interval) RETURNS record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_dry_run';
COMMENT ON FUNCTION hipq.dry_run(bigint, text)
    IS 'calls the handler of a waiting or final job in the caller''s session and takes back what '
    'it did. id: the job; queue: where to look for it. Returns the result, or the error (NONE = '
    'none), and how long it took. For the queue owner, in a session of its own, unless '
    'hipq.allow_foreign_handlers is on';
-- What operators look at: why a job waits, its end, and what shared memory knows.

CREATE FUNCTION hipq.why(id bigint, queue text DEFAULT NULL, OUT condition text, OUT passed boolean, OUT explanation text) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_why';
COMMENT ON FUNCTION hipq.why(bigint, text)
    IS 'tells what a job waits for: every condition between it and its start, in the order of the '
    'scheduler. id: the job; queue: where to look for it';

CREATE FUNCTION hipq.wait_for(id bigint, timeout hipq.duration DEFAULT '1 minute', queue text DEFAULT NULL, OUT outcome text, OUT result jsonb, OUT error text) RETURNS record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_wait_for';
COMMENT ON FUNCTION hipq.wait_for(bigint, hipq.duration, text)
    IS 'waits until a job is final, and returns its outcome, result and error. id: the job; '
    'timeout: how long, NULL = as long as it takes; queue: where to look for the job';

CREATE FUNCTION hipq._executors(
    OUT pid integer, OUT database oid, OUT role oid, OUT status text, OUT started_time timestamptz,
    OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT job_type text, OUT job_started_time timestamptz, OUT jobs_done bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__executors';
COMMENT ON FUNCTION hipq._executors()
    IS 'executors of the server from shared memory; view hipq.executors shows them';

CREATE FUNCTION hipq._running_jobs(
    OUT pid integer, OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT job_type text, OUT started_time timestamptz, OUT is_locked boolean,
    OUT deadline timestamptz, OUT worker_id bigint, OUT is_accepted boolean
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__running_jobs';
COMMENT ON FUNCTION hipq._running_jobs()
    IS 'jobs of this database that executors run or external workers have, from shared memory; '
    'view hipq.running shows them';

CREATE FUNCTION hipq._progress(
    OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT done bigint, OUT total bigint, OUT message text, OUT reported_time timestamptz,
    OUT pid integer, OUT worker_id bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__progress';
COMMENT ON FUNCTION hipq._progress()
    IS 'how far the jobs of this database that run have come, from shared memory; view '
    'hipq.progress shows it';

CREATE FUNCTION hipq._lanes(
    OUT queue_id integer, OUT job_type text, OUT priority integer, OUT due_time timestamptz, OUT frontier_time timestamptz, OUT frontier_id bigint,
    OUT pockets integer, OUT notes integer, OUT is_read boolean
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__lanes';
COMMENT ON FUNCTION hipq._lanes()
    IS 'lanes of this database from shared memory; view hipq.lanes shows them';

CREATE FUNCTION hipq._workers(
    OUT worker_id bigint, OUT place integer, OUT is_active boolean, OUT health text, OUT last_check timestamptz, OUT consecutive_failures integer,
    OUT total_executions bigint, OUT failed_executions bigint, OUT average_execution_time_ms double precision, OUT queue_depth integer, OUT failure_rate double precision, OUT running_jobs integer,
    OUT last_heartbeat timestamptz, OUT pid integer
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__workers';
COMMENT ON FUNCTION hipq._workers()
    IS 'external workers of this database from shared memory; view hipq.workers shows them';

CREATE FUNCTION hipq._worker_services(OUT queue_id integer, OUT job_type text, OUT workers integer, OUT best_worker bigint) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__worker_services';
COMMENT ON FUNCTION hipq._worker_services()
    IS 'job types that external workers serve, how many of them are there, and which is the next '
    'to be given a job; view hipq.job_types shows it';

CREATE FUNCTION hipq._alerts(OUT alert text, OUT times bigint, OUT first_time timestamptz, OUT last_time timestamptz, OUT detail text, OUT hint text) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__alerts';
COMMENT ON FUNCTION hipq._alerts()
    IS 'what shared memory has to tell an operator; view hipq.alerts shows it';

CREATE FUNCTION hipq._overdue(OUT alert text, OUT severity text, OUT jobs bigint, OUT first_time timestamptz, OUT last_time timestamptz, OUT detail text, OUT hint text) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__overdue';
COMMENT ON FUNCTION hipq._overdue()
    IS 'jobs of this database that should have started long ago, a row for each thing that keeps '
    'them; view hipq.alerts shows it';

CREATE FUNCTION hipq._is_running(queue_id integer, id bigint) RETURNS boolean LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__is_running';
COMMENT ON FUNCTION hipq._is_running(integer, bigint)
    IS 'whether an executor runs the job: one claimed by a lock, whose row still says that it '
    'waits; false for who may not read the queue';
-- What is counted of jobs. The counters are in shared memory: nothing here reads tables of jobs.

CREATE FUNCTION hipq._statistics(
    OUT queue_id integer, OUT job_type text, OUT period text, OUT since timestamptz, OUT succeeded bigint, OUT failed bigint, OUT cancelled bigint,
    OUT expired bigint, OUT retried bigint, OUT put_back bigint, OUT recovered bigint, OUT lost bigint, OUT retries_used bigint, OUT dead_letters bigint,
    OUT retry_rate double precision, OUT retry_success_rate double precision, OUT failure_rate double precision, OUT wait_p50 double precision,
    OUT wait_p90 double precision, OUT wait_p99 double precision, OUT run_p50 double precision, OUT run_p90 double precision, OUT run_p99 double precision
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__statistics';
COMMENT ON FUNCTION hipq._statistics()
    IS 'what is counted of jobs of this database, from shared memory; view hipq.statistics shows '
    'it';

CREATE FUNCTION hipq._retry_distribution(
    OUT queue_id integer, OUT job_type text, OUT period text, OUT retries text, OUT least_retries integer, OUT jobs bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__retry_distribution';
COMMENT ON FUNCTION hipq._retry_distribution()
    IS 'how many retries jobs took; view hipq.retry_distribution shows it';

CREATE FUNCTION hipq._failure_statistics(
    OUT queue_id integer, OUT job_type text, OUT period text, OUT reason text, OUT failures bigint, OUT retries bigint, OUT recoveries bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__failure_statistics';
COMMENT ON FUNCTION hipq._failure_statistics()
    IS 'the same by reason; view hipq.failure_statistics shows it';

CREATE FUNCTION hipq._throughput(
    OUT queue_id integer, OUT minute timestamptz, OUT succeeded bigint, OUT failed bigint, OUT cancelled bigint, OUT expired bigint, OUT retried bigint,
    OUT dead_letters bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__throughput';
COMMENT ON FUNCTION hipq._throughput()
    IS 'the same by minute; view hipq.throughput shows it';

CREATE FUNCTION hipq.stat_reset(queue text DEFAULT NULL) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_stat_reset';
COMMENT ON FUNCTION hipq.stat_reset(text)
    IS 'sets statistics to nothing. queue: the queue, NULL = all queues of this database';
-- Views to look through. Each reads the tables with the extension owner's rights and shows only the
-- queues that the caller may read; those without job data (instances, queues, job_types, pauses,
-- running, executors, workers, lanes, sizes, throttle_keys, progress, worker_health,
-- dead_letter_rates, dead_letter_stats, dead_letter_reasons) show everything to members of
-- pg_monitor too.
--
-- What a caller asks for must not meet rows that he may not see: comparisons that PostgreSQL calls
-- leakproof go below the barrier of a view, and EXPLAIN counts what they find there. So jobs are
-- read with "hipq._is_in_reach(queue_id, hipq._reachable_queues(...))", ranges of constants for the
-- planner, which leaves the tables of other queues out, and those that somebody has locked;
-- attempts and dead letters with a constant array in the condition of every scan, which is asked
-- first, and with indexes that all begin with queue_id; small tables behind OFFSET 0, which no
-- condition of the caller's passes.
--
-- Functions in a view run with the caller's rights, so PUBLIC has EXECUTE on them (rights.sql):
-- each checks its caller.

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
COMMENT ON VIEW hipq._visible_queue
    IS 'the same for views without job data: all queues for members of pg_monitor';
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
COMMENT ON COLUMN hipq.instances.shard_key
    IS 'what a sharded instance would spread jobs by; without effect; NONE = not sharded';
COMMENT ON COLUMN hipq.instances.table_naming_strategy
    IS 'SQL expression that gives the name of a queue''s table; NONE = <instance>_<queue>';
COMMENT ON COLUMN hipq.instances.db_config
    IS 'shards and connection data; NULL for those who may read no queue of the instance';
COMMENT ON COLUMN hipq.instances.queues
    IS 'its queues that the caller may look at, by name: instance.queue';
COMMENT ON COLUMN hipq.instances.created_time IS 'when the instance was created';
COMMENT ON COLUMN hipq.instances.is_strict
    IS 'its queues refuse jobs of unregistered types, unless they say otherwise';

-- Counts live leaves only: they are small, whatever the number of final jobs. What waiting jobs
-- wait for is asked once for each kind: those of one type, with the same time windows, throttle key
-- and weight. It takes a second and dearer reading, left out where none of these columns is asked
-- for.
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
       coalesce(queue.queue_ttl, ceil(extract(epoch FROM current_setting('hipq.queue_ttl', true)::interval))::integer) AS queue_ttl,
       coalesce(queue.dead_letter_enabled, current_setting('hipq.dead_letter_enabled', true)::boolean) AS dead_letter_enabled,
       coalesce(queue.dead_letter_retention, current_setting('hipq.dead_letter_retention', true)::interval) AS dead_letter_retention,
       coalesce(queue.dead_letter_max, current_setting('hipq.dead_letter_max', true)::integer) AS dead_letter_max,
       queue.dead_letter_handler,
       coalesce(queue.max_timeout, ceil(extract(epoch FROM current_setting('hipq.max_timeout', true)::interval))::integer) AS max_timeout,
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
    WHERE job.queue_id = queue.queue_id AND hipq._is_in_reach(job.queue_id, hipq._reachable_queues(hipq._visible_queues())) AND job.state <> 'final'
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
        WHERE job.queue_id = queue.queue_id AND hipq._is_in_reach(job.queue_id, hipq._reachable_queues(hipq._visible_queues()))
          AND job.state IN ('initial', 'retry')
          AND job.id NOT IN (SELECT locked.job_id FROM hipq._running_jobs() AS locked WHERE locked.is_locked)
        GROUP BY 1, 2, 3, 4, 5
    ) AS kind
    CROSS JOIN LATERAL (
        SELECT CASE WHEN kind.is_due
            THEN hipq._first_unmet_condition(queue.queue_id, kind.job_type, kind.time_windows::text, kind.throttle_key, kind.throttle_factor) END AS first_unmet
    ) AS condition
) AS waiting ON true;
COMMENT ON VIEW hipq.queues
    IS 'queues with the number of their unfinished jobs. It reads them all, however many: of a '
    'million in half a second, or in some seconds with what they wait for (waiting_time to ready)';
COMMENT ON COLUMN hipq.queues.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.queues.instance IS 'name of its instance';
COMMENT ON COLUMN hipq.queues.owner IS 'queue owner: the role that SQL handlers run as';
COMMENT ON COLUMN hipq.queues.table_name IS 'the queue''s table: enqueue by INSERT into it';
COMMENT ON COLUMN hipq.queues.throttle_limit
    IS 'limit on the sum of throttle_factor over running jobs; below 1 = no limit';
COMMENT ON COLUMN hipq.queues.throttle_used IS 'sum of throttle_factor over running jobs';
COMMENT ON COLUMN hipq.queues.running_jobs IS 'jobs that run now';
COMMENT ON COLUMN hipq.queues.initial IS 'jobs not tried yet';
COMMENT ON COLUMN hipq.queues.running
    IS 'jobs in state running: those claimed by a lock are not among them';
COMMENT ON COLUMN hipq.queues.error IS 'jobs that failed and await the retry decision';
COMMENT ON COLUMN hipq.queues.retry IS 'jobs that wait for their next attempt';
COMMENT ON COLUMN hipq.queues.waiting_time
    IS 'jobs whose time has not come. Each waiting job counts in one of these seven columns: by '
    'the first condition that is not met';
COMMENT ON COLUMN hipq.queues.waiting_window
    IS 'jobs whose time has come, outside their time windows';
COMMENT ON COLUMN hipq.queues.waiting_hold
    IS 'due jobs of which none may run: hipq is off, the database is held, the queue owner may '
    'not connect; hipq.why() says which';
COMMENT ON COLUMN hipq.queues.waiting_pause
    IS 'due jobs that are paused: instance, queue, job type or throttle key';
COMMENT ON COLUMN hipq.queues.waiting_handler IS 'due jobs whose handler is missing';
COMMENT ON COLUMN hipq.queues.waiting_throttle
    IS 'due jobs that a throttle limit keeps back: of queue, job type or throttle key';
COMMENT ON COLUMN hipq.queues.ready IS 'due jobs that wait for their turn and an executor only';
COMMENT ON COLUMN hipq.queues.oldest_due_time
    IS 'scheduled_run_time of the job that has been due longest; NULL = none is due';
COMMENT ON COLUMN hipq.queues.retention
    IS 'how long final jobs are kept; 0 = jobs that succeed leave no row';
COMMENT ON COLUMN hipq.queues.history IS 'which attempts hipq.attempt records: failed or all';
COMMENT ON COLUMN hipq.queues.weight
    IS 'share of the executors'' time when other queues have due jobs too: twice the weight, '
    'twice the time';
COMMENT ON COLUMN hipq.queues.durability
    IS 'when the end of a job is safe from a crash: strict = when it commits; group = at most 10 '
    'ms later';
COMMENT ON COLUMN hipq.queues.is_strict
    IS 'refuses jobs of unregistered types; of its own or as its instance says';
COMMENT ON COLUMN hipq.queues.queue_ttl
    IS 'seconds within which an external worker has to accept a job that it was given, where its '
    'type does not say';
COMMENT ON COLUMN hipq.queues.dead_letter_enabled IS 'whether failed jobs leave a dead letter';
COMMENT ON COLUMN hipq.queues.dead_letter_retention IS 'how long dead letters are kept';
COMMENT ON COLUMN hipq.queues.dead_letter_max IS 'how many dead letters are kept, the newest';
COMMENT ON COLUMN hipq.queues.dead_letter_handler
    IS 'function that is called for each dead letter; NONE = none';
COMMENT ON COLUMN hipq.queues.max_timeout IS 'longest timeout that its jobs may have, in seconds';
COMMENT ON COLUMN hipq.queues.highest_priority
    IS 'most urgent priority, the lowest number, that those who enqueue may give; NULL = any';
COMMENT ON COLUMN hipq.queues.allow_free_jobs
    IS 'whether those who enqueue may give throttle_factor 0';
COMMENT ON COLUMN hipq.queues.retry_enabled
    IS 'whether failed jobs are retried, unless their type says otherwise';
COMMENT ON COLUMN hipq.queues.is_paused
    IS 'starts no jobs, because it or its instance is paused; hipq.pauses says by whom';
COMMENT ON COLUMN hipq.queues.is_dropped IS 'the queue is being dropped';
COMMENT ON COLUMN hipq.queues.created_time IS 'when the queue was created';

CREATE VIEW hipq.job_types WITH (security_barrier) AS
SELECT seen.name AS queue,
       job_type.name AS job_type,
       job_type.handler,
       job_type.handler_kind,
       job_type.retry_handler,
       least(coalesce(job_type.default_timeout, ceil(extract(epoch FROM current_setting('hipq.default_timeout', true)::interval))::integer),
             coalesce(queue.max_timeout, ceil(extract(epoch FROM current_setting('hipq.max_timeout', true)::interval))::integer)) AS default_timeout,
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
       coalesce(job_type.queue_ttl, queue.queue_ttl, ceil(extract(epoch FROM current_setting('hipq.queue_ttl', true)::interval))::integer) AS queue_ttl,
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
COMMENT ON VIEW hipq.job_types
    IS 'job types with the values in force: where the type says nothing, the setting''s';
COMMENT ON COLUMN hipq.job_types.queue IS 'queue of the job type';
COMMENT ON COLUMN hipq.job_types.job_type IS 'name of the job type';
COMMENT ON COLUMN hipq.job_types.handler
    IS 'what runs: schema.function(argument types), or one SQL statement; NONE = nothing yet, '
    'jobs wait';
COMMENT ON COLUMN hipq.job_types.handler_kind
    IS 'none, function, procedure, statement, or notify (external workers)';
COMMENT ON COLUMN hipq.job_types.retry_handler
    IS 'function or SQL statement that decides about retries; NONE = the retry policy decides';
COMMENT ON COLUMN hipq.job_types.default_timeout IS 'timeout of jobs that give none, in seconds';
COMMENT ON COLUMN hipq.job_types.default_priority
    IS 'priority of jobs that give none; lower runs first';
COMMENT ON COLUMN hipq.job_types.default_throttle_factor
    IS 'throttle_factor of jobs that give none';
COMMENT ON COLUMN hipq.job_types.default_time_windows IS 'time windows of jobs that give none';
COMMENT ON COLUMN hipq.job_types.time_zone IS 'zone, by name, in which time windows are read';
COMMENT ON COLUMN hipq.job_types.max_retries IS 'max_retries of jobs that give none';
COMMENT ON COLUMN hipq.job_types.retry_base IS 'delay before the first retry';
COMMENT ON COLUMN hipq.job_types.retry_multiplier IS 'factor from one retry''s delay to the next';
COMMENT ON COLUMN hipq.job_types.retry_max IS 'cap on the delay';
COMMENT ON COLUMN hipq.job_types.retry_jitter IS 'random spread of the delay as a fraction';
COMMENT ON COLUMN hipq.job_types.retry_on
    IS 'reasons, SQLSTATEs or SQLSTATE classes that are retried although they would not be';
COMMENT ON COLUMN hipq.job_types.do_not_retry_on
    IS 'reasons, SQLSTATEs or SQLSTATE classes that are never retried';
COMMENT ON COLUMN hipq.job_types.on_missing_handler
    IS 'what happens to a job whose handler does not exist: wait or fail';
COMMENT ON COLUMN hipq.job_types.queue_ttl
    IS 'seconds within which an external worker has to accept a job that it was given';
COMMENT ON COLUMN hipq.job_types.claim IS 'how jobs are taken: lock, record or auto';
COMMENT ON COLUMN hipq.job_types.batch_size IS 'most jobs in one call of the handler';
COMMENT ON COLUMN hipq.job_types.throttle_limit
    IS 'limit on the sum of throttle_factor over running jobs of the type; below 1 = no limit';
COMMENT ON COLUMN hipq.job_types.throttle_used IS 'sum of throttle_factor over its running jobs';
COMMENT ON COLUMN hipq.job_types.throttle_limit_per_key
    IS 'limit on that sum for the jobs of one throttle_key; below 1 = no limit';
COMMENT ON COLUMN hipq.job_types.requires
    IS 'what the capabilities of an external worker must contain to be given its jobs';
COMMENT ON COLUMN hipq.job_types.worker_wait_ttl
    IS 'seconds a due job waits while no external worker can be given it, before it fails with '
    'worker_unavailable; NULL = for ever';
COMMENT ON COLUMN hipq.job_types.workers
    IS 'external workers that serve it: they name it, may work on its queue and have what it '
    'requires; however they do';
COMMENT ON COLUMN hipq.job_types.is_paused
    IS 'starts no jobs, because it, its queue or its instance is paused; hipq.pauses says by whom';
COMMENT ON COLUMN hipq.job_types.retry_enabled IS 'whether failed jobs are retried';
COMMENT ON COLUMN hipq.job_types.parameters
    IS 'what job_data has to have: for each parameter its type, required, default, secret; {} = '
    'anything';
COMMENT ON COLUMN hipq.job_types.validate
    IS 'when parameters are checked: enqueue = what does not fit is refused; run = its attempt '
    'fails with invalid_parameters';
COMMENT ON COLUMN hipq.job_types.is_registered
    IS 'somebody has registered or altered it; false: a job was enqueued with it, and it goes '
    'when none is left';
COMMENT ON COLUMN hipq.job_types.crashes
    IS 'how often its jobs took the server down, lately: in the 10 minutes up to the last time. '
    'With hipq.max_type_crashes of them it is held, as hipq.pauses says; a new handler begins '
    'with none';
COMMENT ON COLUMN hipq.job_types.created_time IS 'when the job type was registered';
-- The view of pauses.

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
COMMENT ON VIEW hipq.pauses
    IS 'what is paused, by whom and since when; hipq.resume() with the same names ends it';
COMMENT ON COLUMN hipq.pauses.instance IS 'instance that is paused, or in which the queue is';
COMMENT ON COLUMN hipq.pauses.queue
    IS 'queue that is paused, or in which the job type is; NULL = the whole instance is paused';
COMMENT ON COLUMN hipq.pauses.job_type
    IS 'job type that is paused, or of which the throttle key is; NULL = all of the queue or '
    'instance is paused';
COMMENT ON COLUMN hipq.pauses.throttle_key
    IS 'throttle key that is paused; NULL = not a throttle key alone';
COMMENT ON COLUMN hipq.pauses.paused_by IS 'role that paused it';
COMMENT ON COLUMN hipq.pauses.paused_time IS 'since when it is paused';
COMMENT ON COLUMN hipq.pauses.reason IS 'why, as given; NONE = nothing was given';
COMMENT ON COLUMN hipq.pauses.crashes
    IS 'crashes of the server within 10 minutes for which hipq itself holds the job type; NULL = '
    'somebody paused it';
-- Views of jobs: all of them, those that run, and how far these are.

-- Where hipq.job is joined with queues, it is a subquery of its own: else the planner counts the
-- queue_id of each table of each queue among the columns that are equal, and goes through them all
-- for each index of each table, which with 1,000 queues takes seconds.
-- A volatile output or OFFSET 0 keeps a subquery whole; past the first the caller's conditions still
-- come to the indexes.
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
FROM (SELECT *, clock_timestamp() FROM hipq.job WHERE hipq._is_in_reach(job.queue_id, hipq._reachable_queues(hipq._readable_queues()))) AS job
JOIN hipq._readable_queue AS queue ON queue.queue_id = job.queue_id;
COMMENT ON VIEW hipq.jobs IS 'jobs of every queue the caller may read, with their outcome';
COMMENT ON COLUMN hipq.jobs.id IS 'id of the job';
COMMENT ON COLUMN hipq.jobs.queue IS 'queue of the job';
COMMENT ON COLUMN hipq.jobs.job_type IS 'job type: decides the handler';
COMMENT ON COLUMN hipq.jobs.job_key IS 'job key; NONE = none';
COMMENT ON COLUMN hipq.jobs.state
    IS 'initial, running, error, retry or final; a job that was claimed by a lock still has the '
    'state it waited in';
COMMENT ON COLUMN hipq.jobs.outcome IS 'waiting, running, succeeded, failed, cancelled or expired';
COMMENT ON COLUMN hipq.jobs.error IS 'error of the last failed attempt; NONE = none';
COMMENT ON COLUMN hipq.jobs.attempt IS 'attempts started so far';
COMMENT ON COLUMN hipq.jobs.retry_count IS 'retries charged so far';
COMMENT ON COLUMN hipq.jobs.max_retries IS 'retries after a retriable failure';
COMMENT ON COLUMN hipq.jobs.retry_reason
    IS 'why the last attempt did not succeed; before the first of a job that was enqueued again: '
    'manual_retry or redriven; NONE = neither';
COMMENT ON COLUMN hipq.jobs.manual_reason
    IS 'why somebody enqueued the job again, in the words given to hipq.retry(), or manual_retry; '
    'redriven: a dead letter was; NULL = nobody did';
COMMENT ON COLUMN hipq.jobs.scheduled_run_time IS 'not started before';
COMMENT ON COLUMN hipq.jobs.priority IS 'lower runs first';
COMMENT ON COLUMN hipq.jobs.timeout IS 'seconds an attempt may run';
COMMENT ON COLUMN hipq.jobs.created_time IS 'when the job was enqueued';
COMMENT ON COLUMN hipq.jobs.accepted_time
    IS 'when the present or last attempt started; infinity = none yet';
COMMENT ON COLUMN hipq.jobs.update_time
    IS 'when the row last changed, but for one that has not been tried yet; for a final job, when '
    'it ended';
COMMENT ON COLUMN hipq.jobs.deadline
    IS 'when the running attempt times out; infinity when not running';
COMMENT ON COLUMN hipq.jobs.expires_time IS 'not started by then: final with reason expired';
COMMENT ON COLUMN hipq.jobs.job_data IS 'data for the handler; secret parameters are ***';
COMMENT ON COLUMN hipq.jobs.result IS 'what the handler or the external worker returned';
COMMENT ON COLUMN hipq.jobs.original_job_id
    IS 'first job of the chain of retries this one belongs to';
COMMENT ON COLUMN hipq.jobs.retry_of
    IS 'the final job that this one was made from by hipq.retry() or hipq.redrive()';
COMMENT ON COLUMN hipq.jobs.throttle_factor IS 'weight under the queue''s throttle_limit';
COMMENT ON COLUMN hipq.jobs.throttle_key IS 'jobs with the same key share a limit; NONE = no key';
COMMENT ON COLUMN hipq.jobs.time_windows IS 'when the job may start; NONE = always';
COMMENT ON COLUMN hipq.jobs.shard_key
    IS 'what a sharded instance would place the job by; without effect';
COMMENT ON COLUMN hipq.jobs.worker_id IS 'external worker that has the job';
COMMENT ON COLUMN hipq.jobs.queue_ttl IS 'seconds a dispatched job may wait for its worker';

-- Both what the tables call running and what the executors say they run: a job is in the one and
-- not in the other while it is being started or finished. Of what external workers have the tables
-- tell everything.
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
    FROM (SELECT *, clock_timestamp() FROM hipq.job WHERE job.state = 'running' AND hipq._is_in_reach(job.queue_id, hipq._reachable_queues(hipq._visible_queues()))) AS job
    FULL JOIN hipq._running_jobs() AS executor ON executor.job_id = job.id
    LEFT JOIN LATERAL (
        SELECT other.job_key, other.timeout
        FROM hipq.job AS other
        WHERE job.id IS NULL AND other.queue_id = executor.queue_id AND hipq._is_in_reach(other.queue_id, hipq._reachable_queues(hipq._visible_queues()))
          AND other.id = executor.job_id AND other.state <> 'final'
        OFFSET 0
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
COMMENT ON COLUMN hipq.running.job_key
    IS 'job key; NONE = none; NULL = the job ended while the view was read, or the caller may not '
    'read the queue';
COMMENT ON COLUMN hipq.running.attempt IS 'number of the attempt';
COMMENT ON COLUMN hipq.running.pid
    IS 'executor that runs it; NULL = an external worker has it, or nobody yet';
COMMENT ON COLUMN hipq.running.worker_id
    IS 'external worker that has it; 0 = its handler has returned and left it to be completed '
    'later';
COMMENT ON COLUMN hipq.running.worker IS 'name of that worker';
COMMENT ON COLUMN hipq.running.is_accepted
    IS 'whether that worker has accepted it; NULL = no worker has it';
COMMENT ON COLUMN hipq.running.since
    IS 'when the attempt started; while its worker has not accepted it, when it was given to that';
COMMENT ON COLUMN hipq.running.timeout IS 'seconds the attempt may run';
COMMENT ON COLUMN hipq.running.deadline
    IS 'when it times out, with what hipq.extend() gave it; while its worker has not accepted it, '
    'until when it may';
COMMENT ON COLUMN hipq.running.wait_event_type
    IS 'kind of event the executor waits for; NULL = none, or not shown to the caller';
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
CROSS JOIN LATERAL (
    SELECT job.queue_id, job.job_type
    FROM hipq.job
    WHERE job.queue_id = reported.queue_id AND hipq._is_in_reach(job.queue_id, hipq._reachable_queues(hipq._visible_queues()))
      AND job.id = reported.job_id AND job.state <> 'final'
    OFFSET 0
) AS job
JOIN hipq._visible_queue AS queue ON queue.queue_id = job.queue_id;
COMMENT ON VIEW hipq.progress
    IS 'how far jobs that run have come, as they have said by hipq.report_progress(), committed '
    'or not';
COMMENT ON COLUMN hipq.progress.queue IS 'queue of the job';
COMMENT ON COLUMN hipq.progress.id IS 'id of the job';
COMMENT ON COLUMN hipq.progress.job_type IS 'job type';
COMMENT ON COLUMN hipq.progress.attempt IS 'number of the attempt';
COMMENT ON COLUMN hipq.progress.done IS 'what is done, in units of the job''s own';
COMMENT ON COLUMN hipq.progress.total IS 'what is to be done; NULL = not known';
COMMENT ON COLUMN hipq.progress.percent IS 'what part of it is done; NULL = not known';
COMMENT ON COLUMN hipq.progress.message
    IS 'what it does just now, in its own words; NULL to who may not read the queue';
COMMENT ON COLUMN hipq.progress.reported_time IS 'when it said so';
COMMENT ON COLUMN hipq.progress.pid IS 'executor that runs it';
COMMENT ON COLUMN hipq.progress.worker_id
    IS 'external worker that has it; 0 = its handler has returned and left it to be completed '
    'later';
-- The view of attempts.

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
COMMENT ON VIEW hipq.attempts
    IS 'how attempts ended: those that failed, or all if the queue says history => ''all''';
COMMENT ON COLUMN hipq.attempts.queue IS 'queue of the job';
COMMENT ON COLUMN hipq.attempts.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.attempts.attempt
    IS 'number of the attempt, from 1; of a job that ended, or failed, before a start that of the '
    'last one; 0: it was never tried';
COMMENT ON COLUMN hipq.attempts.job_type IS 'job type';
COMMENT ON COLUMN hipq.attempts.job_key IS 'job key; NONE = none';
COMMENT ON COLUMN hipq.attempts.reason
    IS 'reason: timeout, transient_error, validation_error, ...; succeeded';
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
-- Views of jobs that failed for good.

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
COMMENT ON COLUMN hipq.dead_letters.handled_time
    IS 'when the handler of dead letters was done with it';
COMMENT ON COLUMN hipq.dead_letters.redriven_time IS 'when it was enqueued again';
COMMENT ON COLUMN hipq.dead_letters.dismissed_time IS 'when it was dismissed';
COMMENT ON COLUMN hipq.dead_letters.attempts IS 'how often the job was tried';
COMMENT ON COLUMN hipq.dead_letters.redriven_as IS 'id of the job that it was enqueued again as';
COMMENT ON COLUMN hipq.dead_letters.handler_error
    IS 'how the handler of dead letters failed; NULL = it did not';
COMMENT ON COLUMN hipq.dead_letters.job IS 'the whole row of the job; secret parameters are ***';
COMMENT ON COLUMN hipq.dead_letters.history
    IS 'its attempts, the first and the last ones of many: number, reason, sqlstate, error, '
    'external worker, times';
COMMENT ON COLUMN hipq.dead_letters.attempts_left_out
    IS 'how many attempts between the first and the last ones are not in history';
COMMENT ON COLUMN hipq.dead_letters.reduced_because
    IS 'why job has neither job_data nor result, and history is empty; NULL = the dead letter is '
    'whole';

-- What there is of dead letters, counted over those that are kept: dead_letter_retention and
-- dead_letter_max bound it. The last hour is found by an index; the other two read every dead
-- letter of the queues that they show.
CREATE VIEW hipq.dead_letter_rates WITH (security_barrier) AS
SELECT queue.name AS queue,
       date_trunc('minute', dead_letter.died_time) AS minute,
       count(*) AS dead_letters
FROM hipq.dead_letter
JOIN hipq._visible_queue AS queue ON queue.queue_id = dead_letter.queue_id
WHERE hipq._is_one_of(dead_letter.queue_id, hipq._visible_queues()) AND dead_letter.queue_id = ANY (hipq._visible_queues())
  AND dead_letter.died_time > hipq.now() - interval '1 hour'
GROUP BY 1, 2;
COMMENT ON VIEW hipq.dead_letter_rates
    IS 'how many jobs failed for good in each minute of the last hour that had any';
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
COMMENT ON VIEW hipq.dead_letter_stats
    IS 'dead letters of each queue: how many, how fast they come, how fast something is done '
    'about them';
COMMENT ON COLUMN hipq.dead_letter_stats.queue IS 'name of the queue';
COMMENT ON COLUMN hipq.dead_letter_stats.kept IS 'dead letters in all';
COMMENT ON COLUMN hipq.dead_letter_stats.depth
    IS 'those that were neither handled, redriven nor dismissed';
COMMENT ON COLUMN hipq.dead_letter_stats.oldest_waiting_time
    IS 'when the oldest of these failed; NULL = there are none';
COMMENT ON COLUMN hipq.dead_letter_stats.per_minute IS 'dead letters a minute over the last hour';
COMMENT ON COLUMN hipq.dead_letter_stats.failed_by_ttl
    IS 'jobs whose worker did not take them in time';
COMMENT ON COLUMN hipq.dead_letter_stats.handler_failures IS 'dead letters whose handler failed';
COMMENT ON COLUMN hipq.dead_letter_stats.avg_latency
    IS 'mean time until one was handled, redriven or dismissed; NULL = none was';
COMMENT ON COLUMN hipq.dead_letter_stats.p95_latency
    IS 'the time that 95 % of these did not exceed';

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
COMMENT ON COLUMN hipq.dead_letter_reasons.depth
    IS 'those that were neither handled, redriven nor dismissed';
COMMENT ON COLUMN hipq.dead_letter_reasons.last_died_time IS 'when the last of them failed';
-- The view of schedules.

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
COMMENT ON VIEW hipq.schedules
    IS 'jobs that pg_cron has enqueued again and again, with their last and next run';
COMMENT ON COLUMN hipq.schedules.name IS 'name of the schedule';
COMMENT ON COLUMN hipq.schedules.cron IS 'cron expression, as given';
COMMENT ON COLUMN hipq.schedules.queue IS 'queue of its jobs';
COMMENT ON COLUMN hipq.schedules.job_type IS 'job type of its jobs';
COMMENT ON COLUMN hipq.schedules.job_key IS 'job key of its jobs; NONE = none';
COMMENT ON COLUMN hipq.schedules.job_data IS 'job data of its jobs; secret parameters are ***';
COMMENT ON COLUMN hipq.schedules.role IS 'role that made it, and that enqueues';
COMMENT ON COLUMN hipq.schedules.is_active
    IS 'pg_cron has an active job for it; if not, as after a restore into another server, '
    'hipq.restore_schedules() mends it, unless somebody has made that job inactive';
COMMENT ON COLUMN hipq.schedules.next_run_time
    IS 'when it runs next, by pg_cron''s clocks (cron.timezone, GMT by default); NULL = it does '
    'not';
COMMENT ON COLUMN hipq.schedules.last_run_time IS 'when it ran last; NULL = not yet';
COMMENT ON COLUMN hipq.schedules.last_action
    IS 'what that run did: enqueued, or skipped because a job with the key had not finished';
COMMENT ON COLUMN hipq.schedules.last_job_id
    IS 'the job that it enqueued, or that had not finished';
COMMENT ON COLUMN hipq.schedules.last_outcome
    IS 'outcome of that job so far; NULL = the job has been removed';
COMMENT ON COLUMN hipq.schedules.created_time IS 'when the schedule was made';
-- Views of external workers.

-- Of a worker that is not the caller's own only the queues that the caller may read, and job types
-- of these.
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
COMMENT ON VIEW hipq.workers
    IS 'external workers, the best first: healthy, unknown, degraded, unhealthy; of each the one '
    'with the fewest jobs that it has not accepted';
COMMENT ON COLUMN hipq.workers.worker_id IS 'number of the worker';
COMMENT ON COLUMN hipq.workers.name IS 'name the worker gave itself';
COMMENT ON COLUMN hipq.workers.role IS 'role that registered it';
COMMENT ON COLUMN hipq.workers.queues IS 'queues it serves';
COMMENT ON COLUMN hipq.workers.job_types IS 'job types it serves';
COMMENT ON COLUMN hipq.workers.status
    IS 'active: heard of within hipq.heartbeat_timeout, or its session is there; inactive: '
    'neither, or there was no room for it';
COMMENT ON COLUMN hipq.workers.health
    IS 'how it does: status (healthy, degraded, unhealthy, or unknown: not heard of since it '
    'registered or the server started, or hipq.health_enabled is off), last_check, '
    'consecutive_failures, total_executions, failed_executions, average_execution_time_ms, '
    'queue_depth; what the worker says of itself merged in';
COMMENT ON COLUMN hipq.workers.last_heartbeat
    IS 'when it was last heard of; NULL = not since the server started';
COMMENT ON COLUMN hipq.workers.capabilities
    IS 'what it said about itself when it registered; under health what column health has, '
    'whatever it said there';
COMMENT ON COLUMN hipq.workers.capacity IS 'jobs it runs at a time';
COMMENT ON COLUMN hipq.workers.prefetch IS 'jobs it may hold beyond those it runs';
COMMENT ON COLUMN hipq.workers.running_jobs IS 'jobs it has accepted and not finished';
COMMENT ON COLUMN hipq.workers.queue_depth
    IS 'jobs given to it that it has not accepted, by its own count if that is more';
COMMENT ON COLUMN hipq.workers.failure_rate
    IS 'percent of its latest executions that failed, 64 at most, or of all by its own count if '
    'that is more; NULL = fewer than ten';
COMMENT ON COLUMN hipq.workers.is_draining IS 'it is given no more jobs';
COMMENT ON COLUMN hipq.workers.pid
    IS 'session it is bound to; NULL = it registered without listen, or that session has ended';
COMMENT ON COLUMN hipq.workers.registered_time IS 'when it registered';

CREATE VIEW hipq.healthy_workers WITH (security_barrier) AS
SELECT * FROM hipq.workers WHERE workers.health ->> 'status' = 'healthy' AND NOT workers.is_draining;
COMMENT ON VIEW hipq.healthy_workers
    IS 'external workers that are healthy and may be given jobs, the best first';
COMMENT ON COLUMN hipq.healthy_workers.worker_id IS 'number of the worker';
COMMENT ON COLUMN hipq.healthy_workers.name IS 'name the worker gave itself';
COMMENT ON COLUMN hipq.healthy_workers.role IS 'role that registered it';
COMMENT ON COLUMN hipq.healthy_workers.queues IS 'queues it serves';
COMMENT ON COLUMN hipq.healthy_workers.job_types IS 'job types it serves';
COMMENT ON COLUMN hipq.healthy_workers.status
    IS 'active: heard of within hipq.heartbeat_timeout, or its session is there; inactive: '
    'neither, or there was no room for it';
COMMENT ON COLUMN hipq.healthy_workers.health
    IS 'how it does: status (healthy, degraded, unhealthy, or unknown: not heard of since it '
    'registered or the server started, or hipq.health_enabled is off), last_check, '
    'consecutive_failures, total_executions, failed_executions, average_execution_time_ms, '
    'queue_depth; what the worker says of itself merged in';
COMMENT ON COLUMN hipq.healthy_workers.last_heartbeat
    IS 'when it was last heard of; NULL = not since the server started';
COMMENT ON COLUMN hipq.healthy_workers.capabilities
    IS 'what it said about itself when it registered; under health what column health has, '
    'whatever it said there';
COMMENT ON COLUMN hipq.healthy_workers.capacity IS 'jobs it runs at a time';
COMMENT ON COLUMN hipq.healthy_workers.prefetch IS 'jobs it may hold beyond those it runs';
COMMENT ON COLUMN hipq.healthy_workers.running_jobs IS 'jobs it has accepted and not finished';
COMMENT ON COLUMN hipq.healthy_workers.queue_depth
    IS 'jobs given to it that it has not accepted, by its own count if that is more';
COMMENT ON COLUMN hipq.healthy_workers.failure_rate
    IS 'percent of its latest executions that failed, 64 at most, or of all by its own count if '
    'that is more; NULL = fewer than ten';
COMMENT ON COLUMN hipq.healthy_workers.is_draining IS 'it is given no more jobs';
COMMENT ON COLUMN hipq.healthy_workers.pid
    IS 'session it is bound to; NULL = it registered without listen, or that session has ended';
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
COMMENT ON VIEW hipq.worker_health
    IS 'how many external workers are in which health, of those in hipq.workers: always four rows';
COMMENT ON COLUMN hipq.worker_health.status IS 'healthy, unknown, degraded or unhealthy';
COMMENT ON COLUMN hipq.worker_health.workers IS 'number of workers';
COMMENT ON COLUMN hipq.worker_health.queue_depth
    IS 'jobs given to them that they have not accepted';
COMMENT ON COLUMN hipq.worker_health.average_queue_depth
    IS 'jobs given to each of them on average that it has not accepted; NULL = no such worker';
COMMENT ON COLUMN hipq.worker_health.running_jobs IS 'jobs they have accepted and not finished';
COMMENT ON COLUMN hipq.worker_health.average_failure_rate
    IS 'percent of executions that failed, on average over those of them that have had ten; NULL '
    '= no such worker';

CREATE FUNCTION hipq.worker_queue_depth(worker bigint) RETURNS integer LANGUAGE sql SET search_path = pg_catalog, pg_temp
    AS $$ SELECT workers.queue_depth FROM hipq.workers WHERE workers.worker_id = worker $$;
COMMENT ON FUNCTION hipq.worker_queue_depth(bigint)
    IS 'counts the jobs that a worker was given and has not accepted; NULL if there is no such '
    'worker. worker: the worker';
-- Views of executors, lanes, limits, sizes and alerts.

-- Numbers of queues mean something in their own database only: another database's rows carry no
-- queue and go to pg_monitor alone.
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
COMMENT ON COLUMN hipq.executors.database
    IS 'database it is connected to; those of other databases are shown to pg_monitor only';
COMMENT ON COLUMN hipq.executors.role IS 'queue owner it is connected as';
COMMENT ON COLUMN hipq.executors.status
    IS 'requested, starting, idle, running, unresponsive (its job had to stop, and it does not '
    'even react to SIGTERM), or ended (its job is being rescued)';
COMMENT ON COLUMN hipq.executors.started_time IS 'when it was started';
COMMENT ON COLUMN hipq.executors.queue
    IS 'queue of the job it runs; NULL = none, or in another database';
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
CROSS JOIN LATERAL (
    SELECT job.queue_id, job.job_type, job.throttle_key, job.throttle_factor
    FROM hipq.job
    WHERE job.queue_id = executor.queue_id AND hipq._is_in_reach(job.queue_id, hipq._reachable_queues(hipq._visible_queues()))
      AND job.id = executor.job_id AND job.state <> 'final' AND job.throttle_key <> 'NONE'
    OFFSET 0    -- see hipq.jobs
) AS job
JOIN hipq._visible_queue AS queue ON queue.queue_id = job.queue_id
LEFT JOIN (
    SELECT job_type.queue_id, job_type.name, job_type.throttle_limit_per_key FROM hipq.job_type WHERE job_type.queue_id = ANY (hipq._visible_queues()) OFFSET 0
) AS job_type ON job_type.queue_id = job.queue_id AND job_type.name = job.job_type
GROUP BY queue.name, job.job_type, job.throttle_key;
COMMENT ON VIEW hipq.throttle_keys IS 'throttle keys of jobs that run';
COMMENT ON COLUMN hipq.throttle_keys.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.throttle_keys.job_type
    IS 'job type: keys of different types are different keys';
COMMENT ON COLUMN hipq.throttle_keys.throttle_key IS 'throttle key of the jobs';
COMMENT ON COLUMN hipq.throttle_keys.throttle_limit_per_key
    IS 'limit on the sum of throttle_factor over running jobs of the key; below 1 = no limit';
COMMENT ON COLUMN hipq.throttle_keys.throttle_used
    IS 'sum of throttle_factor over its running jobs';
COMMENT ON COLUMN hipq.throttle_keys.running_jobs IS 'jobs of the key that run now';

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
COMMENT ON VIEW hipq.lanes
    IS 'lanes: where executors look next for waiting jobs of a queue, job type and priority';
COMMENT ON COLUMN hipq.lanes.queue IS 'queue of the lane';
COMMENT ON COLUMN hipq.lanes.job_type IS 'job type of the lane';
COMMENT ON COLUMN hipq.lanes.priority IS 'priority of the lane; lower runs first';
COMMENT ON COLUMN hipq.lanes.due_time
    IS 'no job in it is due before; infinity = it is empty, -infinity = nothing is known yet';
COMMENT ON COLUMN hipq.lanes.frontier_time
    IS 'from this scheduled_run_time on it has not been read yet';
COMMENT ON COLUMN hipq.lanes.frontier_id
    IS 'of the jobs with scheduled_run_time = frontier_time, those from this id on have not been '
    'read yet';
COMMENT ON COLUMN hipq.lanes.pockets IS 'places before the frontier where there may be jobs to run';
COMMENT ON COLUMN hipq.lanes.notes
    IS 'places that the next look takes in: jobs that came, or came back, since the last one';
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
COMMENT ON VIEW hipq.sizes
    IS 'rows and bytes of every leaf of the queues'' tables, and per day of final jobs';
COMMENT ON COLUMN hipq.sizes.queue
    IS 'queue; NULL = all queues share the table (attempts, dead letters), shown to pg_monitor '
    'only';
COMMENT ON COLUMN hipq.sizes.table_name IS 'table: a leaf of the queue''s table';
COMMENT ON COLUMN hipq.sizes.kind IS 'live (unfinished jobs), final, attempt or dead_letter';
COMMENT ON COLUMN hipq.sizes.from_time IS 'rows of the leaf are not older; NULL = no bound';
COMMENT ON COLUMN hipq.sizes.to_time IS 'rows of the leaf are older; NULL = no bound';
COMMENT ON COLUMN hipq.sizes.row_estimate IS 'rows, as the statistics of the server estimate them';
COMMENT ON COLUMN hipq.sizes.bytes IS 'bytes on disk with indexes and TOAST';
COMMENT ON COLUMN hipq.sizes.rows_per_day
    IS 'final jobs a day in the time of the leaf that has passed';
COMMENT ON COLUMN hipq.sizes.bytes_per_day IS 'bytes a day in the time of the leaf that has passed';

-- Those that shared memory tells, of the whole server; then those that take a look at this
-- database.
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
COMMENT ON VIEW hipq.alerts
    IS 'what an operator should know: of the whole server, and not older than five minutes; and '
    'what is the case now, in rates, dead letters, snapshots, retention and external workers';
COMMENT ON COLUMN hipq.alerts.alert
    IS 'short name of the alert; ''jobs wait: ...'' names a condition of hipq.why()';
COMMENT ON COLUMN hipq.alerts.severity
    IS 'alarm: somebody has to do something; information: jobs wait because somebody wants it so '
    '(a pause, time windows, a limit), or for their turn';
COMMENT ON COLUMN hipq.alerts.times
    IS 'how often it has happened since first_time; of jobs that wait: how many';
COMMENT ON COLUMN hipq.alerts.first_time
    IS 'since when it has happened again and again; NULL = nobody knows';
COMMENT ON COLUMN hipq.alerts.last_time IS 'when it happened last';
COMMENT ON COLUMN hipq.alerts.detail IS 'what is slower or waits because of it';
COMMENT ON COLUMN hipq.alerts.hint IS 'what to do';
-- Views of what is counted of jobs.

CREATE VIEW hipq.statistics WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.job_type,
       counted.period,
       counted.since,
       counted.succeeded,
       counted.failed,
       counted.cancelled,
       counted.expired,
       counted.retried,
       counted.put_back,
       counted.dead_letters,
       round(((counted.succeeded + counted.failed) / greatest(1, extract(epoch FROM hipq.now() - counted.since) / 60))::numeric, 2) AS finished_per_minute,
       round(counted.retry_rate::numeric, 2) AS retry_rate,
       round(counted.retry_success_rate::numeric, 2) AS retry_success_rate,
       round(counted.failure_rate::numeric, 2) AS failure_rate,
       round(counted.retries_used / nullif(counted.succeeded + counted.failed, 0)::numeric, 3) AS retries_per_job,
       counted.wait_p50,
       counted.wait_p90,
       counted.wait_p99,
       counted.run_p50,
       counted.run_p90,
       counted.run_p99
FROM hipq._statistics() AS counted
JOIN hipq._visible_queue AS queue ON queue.queue_id = counted.queue_id;
COMMENT ON VIEW hipq.statistics
    IS 'what became of jobs, and how long they waited and ran: over the last hour, and since the '
    'statistics began';
COMMENT ON COLUMN hipq.statistics.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.statistics.job_type IS 'job type; NULL = all of the queue';
COMMENT ON COLUMN hipq.statistics.period IS 'hour (the last one) or total';
COMMENT ON COLUMN hipq.statistics.since IS 'when the period began';
COMMENT ON COLUMN hipq.statistics.succeeded IS 'jobs that succeeded';
COMMENT ON COLUMN hipq.statistics.failed IS 'jobs that failed for good';
COMMENT ON COLUMN hipq.statistics.cancelled IS 'jobs that were cancelled';
COMMENT ON COLUMN hipq.statistics.expired IS 'jobs that expired before they started';
COMMENT ON COLUMN hipq.statistics.retried IS 'attempts that failed and were retried';
COMMENT ON COLUMN hipq.statistics.put_back
    IS 'attempts that ended without success and without costing a retry: snoozed, released, lost '
    'to a restart';
COMMENT ON COLUMN hipq.statistics.dead_letters IS 'jobs that left a dead letter';
COMMENT ON COLUMN hipq.statistics.finished_per_minute
    IS 'jobs that succeeded or failed, per minute';
COMMENT ON COLUMN hipq.statistics.retry_rate
    IS 'executions that were retries (retry_count > 0) in percent of those that were not; '
    'Infinity = there were only retries';
COMMENT ON COLUMN hipq.statistics.retry_success_rate
    IS 'percent of retried jobs that succeeded in the end';
COMMENT ON COLUMN hipq.statistics.failure_rate IS 'percent of finished jobs that failed';
COMMENT ON COLUMN hipq.statistics.retries_per_job IS 'retries that finished jobs took on average';
COMMENT ON COLUMN hipq.statistics.wait_p50
    IS 'seconds from when jobs were due to their start: half of them waited no longer';
COMMENT ON COLUMN hipq.statistics.wait_p90
    IS 'seconds from when jobs were due to their start: 90 percent of them waited no longer';
COMMENT ON COLUMN hipq.statistics.wait_p99
    IS 'seconds from when jobs were due to their start: 99 percent of them waited no longer';
COMMENT ON COLUMN hipq.statistics.run_p50
    IS 'seconds that attempts ran: half of them ran no longer';
COMMENT ON COLUMN hipq.statistics.run_p90
    IS 'seconds that attempts ran: 90 percent of them ran no longer';
COMMENT ON COLUMN hipq.statistics.run_p99
    IS 'seconds that attempts ran: 99 percent of them ran no longer';

CREATE VIEW hipq.failure_statistics WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.job_type,
       counted.period,
       counted.reason,
       counted.failures,
       counted.retries,
       counted.recoveries,
       round(100.0 * least(counted.recoveries, counted.retries) / nullif(counted.retries, 0), 2) AS retry_success_rate
FROM hipq._failure_statistics() AS counted
JOIN hipq._visible_queue AS queue ON queue.queue_id = counted.queue_id;
COMMENT ON VIEW hipq.failure_statistics
    IS 'why attempts did not succeed, and what retrying them brought';
COMMENT ON COLUMN hipq.failure_statistics.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.failure_statistics.job_type IS 'job type';
COMMENT ON COLUMN hipq.failure_statistics.period IS 'hour (the last one) or total';
COMMENT ON COLUMN hipq.failure_statistics.reason IS 'reason, as in hipq.attempts';
COMMENT ON COLUMN hipq.failure_statistics.failures IS 'attempts that ended so';
COMMENT ON COLUMN hipq.failure_statistics.retries
    IS 'those of them that a retry followed; manual_retry: jobs that somebody enqueued again, and '
    'that have succeeded or failed';
COMMENT ON COLUMN hipq.failure_statistics.recoveries
    IS 'jobs that succeeded when they were retried for it';
COMMENT ON COLUMN hipq.failure_statistics.retry_success_rate
    IS 'percent of these retries that led to a success';

CREATE VIEW hipq.retry_distribution WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.job_type,
       counted.period,
       counted.retries,
       counted.least_retries,
       counted.jobs
FROM hipq._retry_distribution() AS counted
JOIN hipq._visible_queue AS queue ON queue.queue_id = counted.queue_id;
COMMENT ON VIEW hipq.retry_distribution
    IS 'how many retries jobs took that succeeded or failed: six rows for each queue, job type '
    'and period';
COMMENT ON COLUMN hipq.retry_distribution.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.retry_distribution.job_type IS 'job type; NULL = all of the queue';
COMMENT ON COLUMN hipq.retry_distribution.period IS 'hour (the last one) or total';
COMMENT ON COLUMN hipq.retry_distribution.retries IS 'number of retries: 0, 1, 2, 3-5, 6-10, 11+';
COMMENT ON COLUMN hipq.retry_distribution.least_retries IS 'the least of them, to order by';
COMMENT ON COLUMN hipq.retry_distribution.jobs IS 'jobs that took so many';

CREATE VIEW hipq.throughput WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.minute,
       counted.succeeded,
       counted.failed,
       counted.cancelled,
       counted.expired,
       counted.retried,
       counted.dead_letters
FROM hipq._throughput() AS counted
JOIN hipq._visible_queue AS queue ON queue.queue_id = counted.queue_id;
COMMENT ON VIEW hipq.throughput IS 'what became of jobs, minute by minute over the last hour';
COMMENT ON COLUMN hipq.throughput.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.throughput.minute IS 'when the minute began; the present one is not over';
COMMENT ON COLUMN hipq.throughput.succeeded IS 'jobs that succeeded';
COMMENT ON COLUMN hipq.throughput.failed IS 'jobs that failed for good';
COMMENT ON COLUMN hipq.throughput.cancelled IS 'jobs that were cancelled';
COMMENT ON COLUMN hipq.throughput.expired IS 'jobs that expired before they started';
COMMENT ON COLUMN hipq.throughput.retried IS 'attempts that failed and were retried';
COMMENT ON COLUMN hipq.throughput.dead_letters IS 'jobs that left a dead letter';
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
    hipq.release_hold, hipq.restore_schedules,
    hipq._catalogue_changed, hipq._guard_job, hipq._fitting_data, hipq._is_held,
    hipq._is_one_of_support,
    hipq._is_in_reach_support
    FROM PUBLIC;

GRANT SELECT ON
    hipq.instances, hipq.queues, hipq.job_types, hipq.pauses, hipq.jobs, hipq.running,
    hipq.progress, hipq.attempts, hipq.dead_letters, hipq.dead_letter_rates,
    hipq.dead_letter_stats, hipq.dead_letter_reasons, hipq.schedules, hipq.workers,
    hipq.healthy_workers, hipq.worker_health, hipq.executors, hipq.lanes, hipq.sizes,
    hipq.throttle_keys, hipq.statistics, hipq.retry_distribution, hipq.failure_statistics,
    hipq.throughput
    TO PUBLIC;

-- Members of pg_monitor see all that has no data of jobs. Alerts tell of the whole server: an empty
-- view would tell others that all is well.
GRANT USAGE ON SCHEMA hipq TO pg_monitor;
GRANT SELECT ON hipq.alerts TO pg_monitor;
