-- Changes of tables from 0.2.0 to 0.3.0 (docs/releasing.md).

-- new: hipq.shard_neighbour
-- new: hipq.shard_sign

CREATE TYPE hipq.role;
CREATE FUNCTION hipq._role_in(cstring) RETURNS hipq.role
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__role_in';
COMMENT ON FUNCTION hipq._role_in(cstring)
    IS 'reads a role as regrole does; one that does not exist is role 1, which never exists';
CREATE FUNCTION hipq._role_out(hipq.role) RETURNS cstring
    LANGUAGE internal STABLE STRICT AS 'regroleout';
COMMENT ON FUNCTION hipq._role_out(hipq.role) IS 'writes a role as regrole does';
CREATE FUNCTION hipq._role_recv(internal) RETURNS hipq.role
    LANGUAGE internal STABLE STRICT AS 'regrolerecv';
COMMENT ON FUNCTION hipq._role_recv(internal) IS 'reads a role in binary as regrole does';
CREATE FUNCTION hipq._role_send(hipq.role) RETURNS bytea
    LANGUAGE internal STABLE STRICT AS 'regrolesend';
COMMENT ON FUNCTION hipq._role_send(hipq.role) IS 'writes a role in binary as regrole does';
CREATE TYPE hipq.role (
    INPUT = hipq._role_in,
    OUTPUT = hipq._role_out,
    RECEIVE = hipq._role_recv,
    SEND = hipq._role_send,
    LIKE = regrole,
    CATEGORY = 'N'
);
COMMENT ON TYPE hipq.role IS 'a role as regrole; one that does not exist is read with a warning';
CREATE CAST (hipq.role AS oid) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (hipq.role AS oid) IS 'used wherever an OID is expected';
CREATE CAST (hipq.role AS regrole) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (hipq.role AS regrole)
    IS 'used wherever a regrole is expected, as in views that show a role';
CREATE CAST (oid AS hipq.role) WITHOUT FUNCTION AS ASSIGNMENT;
COMMENT ON CAST (oid AS hipq.role) IS 'used when an OID is stored as a role';
CREATE CAST (regrole AS hipq.role) WITHOUT FUNCTION AS ASSIGNMENT;
COMMENT ON CAST (regrole AS hipq.role) IS 'used when a regrole is stored as a role';

CREATE TYPE hipq.time_or_duration;
CREATE FUNCTION hipq._time_or_duration_in(cstring) RETURNS hipq.time_or_duration
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_in';
CREATE FUNCTION hipq._time_or_duration_out(hipq.time_or_duration) RETURNS cstring
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_out';
CREATE TYPE hipq.time_or_duration (
    INPUT = hipq._time_or_duration_in,
    OUTPUT = hipq._time_or_duration_out,
    INTERNALLENGTH = 16,
    ALIGNMENT = double
);
CREATE FUNCTION hipq._time_or_duration(value text) RETURNS hipq.time_or_duration
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_of_text';
CREATE FUNCTION hipq._time_or_duration(value interval) RETURNS hipq.time_or_duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_of_interval';
CREATE FUNCTION hipq._time_or_duration(value timestamptz) RETURNS hipq.time_or_duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_of_timestamptz';
CREATE FUNCTION hipq._time_or_duration(value timestamp) RETURNS hipq.time_or_duration
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_of_timestamp';
CREATE FUNCTION hipq._time_or_duration(value date) RETURNS hipq.time_or_duration
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_of_date';
CREATE CAST (text AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(text) AS IMPLICIT;
CREATE CAST (varchar AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(text) AS IMPLICIT;
CREATE CAST (interval AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(interval) AS IMPLICIT;
CREATE CAST (timestamptz AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(timestamptz) AS IMPLICIT;
CREATE CAST (timestamp AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(timestamp) AS IMPLICIT;
CREATE CAST (date AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(date) AS IMPLICIT;

-- PostgreSQL does not change the type of a column that a view reads. These views read no table
-- until the statements below replace them.
DO $upgrade$
DECLARE
    reader regclass;
BEGIN
    FOREACH reader IN ARRAY '{hipq.queues_detail, hipq.schedules_detail}'::regclass[] LOOP
        EXECUTE format('CREATE OR REPLACE VIEW %s WITH (security_barrier) AS SELECT %s', reader, (
            SELECT string_agg(
                       concat_ws(
                           ' ', 'NULL::' || format_type(atttypid, atttypmod),
                           'COLLATE ' || nullif(attcollation, 0)::regcollation,
                           'AS', quote_ident(attname)
                       ),
                       ', ' ORDER BY attnum
                   )
            FROM pg_attribute
            WHERE attrelid = reader AND attnum > 0));
    END LOOP;
END
$upgrade$;

LOCK TABLE hipq.shard_map IN ACCESS EXCLUSIVE MODE;
ALTER TABLE hipq.shard_map ADD COLUMN router_has jsonb;
COMMENT ON COLUMN hipq.shard_map.router_has
    IS 'on a shard: queues that the router has, and the job types of each, as it said last; what '
    'it has not may be dropped here';

LOCK TABLE hipq.shard_stats IN ACCESS EXCLUSIVE MODE;
ALTER TABLE hipq.shard_stats ADD COLUMN trouble text;
COMMENT ON COLUMN hipq.shard_stats.trouble
    IS 'the error that keeps it from taking what this server sends; NULL = none';

LOCK TABLE hipq.shard_reject IN SHARE MODE;
CREATE INDEX shard_reject_time ON hipq.shard_reject (rejected_time);

LOCK TABLE hipq.instance IN ACCESS EXCLUSIVE MODE;
LOCK TABLE hipq.job_type IN ACCESS EXCLUSIVE MODE;
LOCK TABLE hipq.pause IN ACCESS EXCLUSIVE MODE;
LOCK TABLE hipq.queue IN ACCESS EXCLUSIVE MODE;
LOCK TABLE hipq.queue_hold IN SHARE ROW EXCLUSIVE MODE;

ALTER TABLE hipq.instance DROP CONSTRAINT instance_name_is_valid;
ALTER TABLE hipq.instance ADD CONSTRAINT instance_name_is_valid
    CHECK (name ~ '^[a-z][a-z0-9_]*$' AND octet_length(name) <= 63);
ALTER TABLE hipq.queue DROP CONSTRAINT queue_name_is_valid;
ALTER TABLE hipq.queue ADD CONSTRAINT queue_name_is_valid
    CHECK (name ~ '^[a-z][a-z0-9_]*$' AND octet_length(name) <= 63);

ALTER TABLE hipq.instance ALTER COLUMN created_by TYPE hipq.role;
ALTER TABLE hipq.queue ALTER COLUMN owner TYPE hipq.role;

-- Existing queues keep their mode.
ALTER TABLE hipq.queue ALTER COLUMN throttle_mode SET DEFAULT 'shared';

ALTER TABLE hipq.queue ADD COLUMN worker_wait_ttl integer
    CONSTRAINT queue_worker_wait_ttl_is_not_negative CHECK (worker_wait_ttl >= 0);
COMMENT ON COLUMN hipq.queue.worker_wait_ttl
    IS 'seconds a due job waits while no external worker can be offered it, before it fails with '
    'worker_unavailable; 0 = for ever; NULL = setting hipq.worker_wait_ttl';
ALTER TABLE hipq.job_type DROP CONSTRAINT job_type_worker_wait_ttl_is_positive;
ALTER TABLE hipq.job_type ADD CONSTRAINT job_type_worker_wait_ttl_is_not_negative
    CHECK (worker_wait_ttl >= 0);
COMMENT ON COLUMN hipq.job_type.worker_wait_ttl
    IS 'seconds a due job waits while no external worker can be offered it, before it fails with '
    'worker_unavailable; 0 = for ever; NULL = as the queue says';

ALTER TABLE hipq.instance ADD COLUMN max_retries integer
    CONSTRAINT instance_max_retries_is_not_negative CHECK (max_retries >= 0);
COMMENT ON COLUMN hipq.instance.max_retries
    IS 'max_retries of jobs of its queues that give none, unless queue or type say otherwise; '
    'NULL = setting hipq.max_retries';
ALTER TABLE hipq.queue ADD COLUMN max_retries integer
    CONSTRAINT queue_max_retries_is_not_negative CHECK (max_retries >= 0);
COMMENT ON COLUMN hipq.queue.max_retries
    IS 'max_retries of its jobs that give none, unless their type says otherwise; NULL = as the '
    'instance says';
COMMENT ON COLUMN hipq.job_type.max_retries
    IS 'max_retries of jobs that give none; NULL = as the queue says';

CREATE FUNCTION hipq._is_rate(rate text) RETURNS boolean
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__is_rate';
COMMENT ON FUNCTION hipq._is_rate(text)
    IS 'true; 22023: it is none, with the place where it is not';
CREATE DOMAIN hipq.rate AS text COLLATE "C"
    CONSTRAINT rate_can_be_read CHECK (hipq._is_rate(VALUE));
COMMENT ON DOMAIN hipq.rate
    IS 'how many jobs may start in a time, such as ''100/min'', in canonical form; ''NONE'' means '
    'any number';
-- new: hipq.rate_lease
CREATE FUNCTION hipq._is_breaker_rule(rule text) RETURNS boolean
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__is_breaker_rule';
COMMENT ON FUNCTION hipq._is_breaker_rule(text)
    IS 'true; 22023: it is none, with the place where it is not';
CREATE DOMAIN hipq.breaker_rule AS text COLLATE "C"
    CONSTRAINT breaker_rule_can_be_read CHECK (hipq._is_breaker_rule(VALUE));
COMMENT ON DOMAIN hipq.breaker_rule
    IS 'when a breaker opens, and for how long, such as ''50% of 20 in 1 min, open 30 s'', in '
    'canonical form; ''NONE'' means never';
-- new: hipq.breaker_state
ALTER TABLE hipq.queue ADD COLUMN rate_limit hipq.rate NOT NULL DEFAULT 'NONE';
ALTER TABLE hipq.queue ADD COLUMN rate_mode text NOT NULL DEFAULT 'exact'
    CONSTRAINT queue_rate_mode_is_known CHECK (rate_mode IN ('exact', 'smooth'));
COMMENT ON COLUMN hipq.queue.rate_limit
    IS 'limit on the sum of throttle_factor over jobs that start in a time; NONE = no limit';
COMMENT ON COLUMN hipq.queue.rate_mode
    IS 'exact = never more in any such time; smooth = starts at even distances';
ALTER TABLE hipq.job_type ADD COLUMN rate_limit hipq.rate NOT NULL DEFAULT 'NONE';
ALTER TABLE hipq.job_type ADD COLUMN rate_mode text NOT NULL DEFAULT 'exact'
    CONSTRAINT job_type_rate_mode_is_known CHECK (rate_mode IN ('exact', 'smooth'));
ALTER TABLE hipq.job_type ADD COLUMN breaker hipq.breaker_rule NOT NULL DEFAULT 'NONE';
ALTER TABLE hipq.job_type ADD COLUMN rate_limit_per_key hipq.rate NOT NULL DEFAULT 'NONE';
COMMENT ON COLUMN hipq.job_type.rate_limit_per_key
    IS 'limit on the sum of throttle_factor over jobs of one throttle_key that start in a time; '
    'NONE = no limit';
COMMENT ON COLUMN hipq.job_type.breaker
    IS 'how many of its attempts must fail in a time for no more to start, and for how long; NONE '
    '= no breaker';
COMMENT ON COLUMN hipq.job_type.rate_limit
    IS 'limit on the sum of throttle_factor over jobs of the type that start in a time; NONE = no '
    'limit';
COMMENT ON COLUMN hipq.job_type.rate_mode
    IS 'exact = never more in any such time; smooth = starts at even distances';

LOCK TABLE hipq.permit_record IN ACCESS EXCLUSIVE MODE;
ALTER TABLE hipq.permit_record DROP COLUMN importance;

DROP TRIGGER tell_shards ON hipq.queue;
DROP TRIGGER tell_shards ON hipq.job_type;
DROP TRIGGER tell_shards ON hipq.pause;

-- Row triggers, because a change of one queue invalidates only that queue.
CREATE OR REPLACE TRIGGER catalogue_changed AFTER INSERT OR DELETE OR TRUNCATE ON hipq.queue
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.queue ENABLE ALWAYS TRIGGER catalogue_changed;
CREATE OR REPLACE TRIGGER row_changed AFTER UPDATE ON hipq.queue
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('queue');
ALTER TABLE hipq.queue ENABLE ALWAYS TRIGGER row_changed;
CREATE OR REPLACE TRIGGER catalogue_changed AFTER UPDATE ON hipq.instance
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('instance');
ALTER TABLE hipq.instance ENABLE ALWAYS TRIGGER catalogue_changed;
CREATE OR REPLACE TRIGGER catalogue_changed AFTER TRUNCATE ON hipq.job_type
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.job_type ENABLE ALWAYS TRIGGER catalogue_changed;
CREATE OR REPLACE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON hipq.job_type
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('types');
ALTER TABLE hipq.job_type ENABLE ALWAYS TRIGGER row_changed;
CREATE OR REPLACE TRIGGER catalogue_changed AFTER TRUNCATE ON hipq.queue_hold
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.queue_hold ENABLE ALWAYS TRIGGER catalogue_changed;
CREATE OR REPLACE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON hipq.queue_hold
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('queue');
ALTER TABLE hipq.queue_hold ENABLE ALWAYS TRIGGER row_changed;
CREATE OR REPLACE TRIGGER catalogue_changed AFTER TRUNCATE ON hipq.pause
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.pause ENABLE ALWAYS TRIGGER catalogue_changed;
CREATE OR REPLACE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON hipq.pause
    FOR EACH ROW EXECUTE FUNCTION hipq._catalogue_changed('pauses');
ALTER TABLE hipq.pause ENABLE ALWAYS TRIGGER row_changed;

ALTER TABLE hipq.pause ADD COLUMN paused_until timestamptz;
CREATE INDEX pause_until ON hipq.pause (paused_until) WHERE paused_until IS NOT NULL;

LOCK TABLE hipq.schedule IN ACCESS EXCLUSIVE MODE;
ALTER TABLE hipq.schedule ALTER COLUMN role TYPE hipq.role;
ALTER TABLE hipq.schedule DROP CONSTRAINT schedule_name_is_unique;
ALTER TABLE hipq.schedule ADD CONSTRAINT schedule_name_is_unique_in_queue UNIQUE (queue_id, name);
COMMENT ON COLUMN hipq.schedule.name IS 'name, unique in the queue';
ALTER TABLE hipq.schedule DROP CONSTRAINT schedule_last_action_is_known;
ALTER TABLE hipq.schedule
    ADD CONSTRAINT schedule_last_action_is_known
        CHECK (last_action IN ('enqueued', 'skipped', 'missed', 'failed')),
    ADD COLUMN told_by text NOT NULL DEFAULT 'pg_cron'
        CONSTRAINT schedule_told_by_is_known CHECK (told_by IN ('hipq', 'pg_cron')),
    ADD COLUMN time_zone text,
    ADD COLUMN missed text NOT NULL DEFAULT 'once'
        CONSTRAINT schedule_missed_is_known CHECK (missed IN ('once', 'skip', 'all')),
    ADD COLUMN missed_within interval NOT NULL DEFAULT '1 day',
    ADD COLUMN jitter interval NOT NULL DEFAULT '0',
    ADD COLUMN overlap text NOT NULL DEFAULT 'skip'
        CONSTRAINT schedule_overlap_is_known CHECK (overlap IN ('skip', 'after', 'allow')),
    ADD COLUMN starts timestamptz,
    ADD COLUMN ends timestamptz,
    ADD COLUMN next_time timestamptz,
    ADD COLUMN due_time timestamptz,
    ADD COLUMN last_time timestamptz,
    ADD COLUMN last_error text,
    ADD COLUMN tries integer NOT NULL DEFAULT 0;
CREATE INDEX schedule_due ON hipq.schedule (due_time) WHERE due_time IS NOT NULL;
DROP FUNCTION hipq.schedule(
    text, text, text, jsonb, text, text, integer, hipq.duration, double precision, text, integer,
    hipq.duration, text
);

-- The next maintenance makes leaves by time.
ALTER TABLE hipq.attempt REPLICA IDENTITY FULL;
ALTER TABLE hipq.attempt_log REPLICA IDENTITY FULL;
ALTER TABLE hipq.pause REPLICA IDENTITY FULL;
LOCK TABLE hipq.shard_outbox_default IN ACCESS EXCLUSIVE MODE;
ALTER TABLE hipq.shard_outbox REPLICA IDENTITY FULL;
ALTER TABLE hipq.shard_outbox_default REPLICA IDENTITY FULL;
ALTER TABLE hipq.shard_received_default REPLICA IDENTITY FULL;
ALTER TABLE hipq.shard_reject REPLICA IDENTITY FULL;

-- The function returns only the answer; hipq.why_retriable() also returns the reason.
DROP FUNCTION hipq.is_job_retriable(bigint, text);

-- The view now also shows which numbers are exact.
DROP FUNCTION hipq.top(text, integer);

-- hipq calls dead-letter handlers in the order of the jobs' priorities.
LOCK TABLE hipq.dead_letter IN ACCESS EXCLUSIVE MODE;
ALTER TABLE hipq.dead_letter
    ADD COLUMN handler_retries integer NOT NULL DEFAULT 0,
    ADD COLUMN handler_retry_time timestamptz,
    ALTER COLUMN handler_retries SET STATISTICS 0,
    ALTER COLUMN handler_retry_time SET STATISTICS 0;
CREATE INDEX dead_letter_handler_retry ON hipq.dead_letter (queue_id, handler_retry_time)
    WHERE handler_retry_time IS NOT NULL;
DROP INDEX hipq.dead_letter_awaits_handler;
CREATE INDEX dead_letter_awaits_handler ON hipq.dead_letter
    (queue_id, ((job ->> 'priority')::integer), died_time, job_id) WHERE awaits_handler;
ALTER INDEX hipq.dead_letter_awaits_handler ALTER COLUMN 2 SET STATISTICS 0;

-- New pages of queues whose jobs external workers run have room for a second version of each row.
DO $upgrade$
DECLARE
    leaf regclass;
BEGIN
    FOR leaf IN
        SELECT DISTINCT child.inhrelid::regclass
        FROM hipq.queue AS queue
        JOIN hipq.job_type ON job_type.queue_id = queue.queue_id
        JOIN pg_inherits AS child
            ON child.inhparent = to_regclass(format('hipq.%I', queue.table_name))
        JOIN pg_class AS relation ON relation.oid = child.inhrelid AND relation.relkind = 'r'
        WHERE job_type.handler_kind = 'notify'
    LOOP
        EXECUTE format('ALTER TABLE %s SET (fillfactor = 50)', leaf);
    END LOOP;
END $upgrade$;

-- new: hipq.graph_job
-- new: hipq.batch
-- new: hipq.batch_join
-- new: hipq.batch_failure

LOCK TABLE hipq.job IN ACCESS EXCLUSIVE MODE;
LOCK TABLE hipq.successor IN ACCESS EXCLUSIVE MODE;

ALTER TABLE hipq.job ADD COLUMN waits_for text COLLATE "C", ADD COLUMN batch_id bigint,
    ADD COLUMN schedule_time timestamptz;

-- Not "-- new", because rows are inserted below.
CREATE TABLE hipq.dependency (
    queue_id         integer NOT NULL,
    job_id           bigint  NOT NULL,
    before_id        bigint  NOT NULL,
    before_queue_id  integer NOT NULL,
    after_policy     text    NOT NULL
        CONSTRAINT dependency_after_policy_is_known
        CHECK (after_policy IN ('succeeded', 'finished', 'any', 'failed')),
    on_failure       text    NOT NULL
        CONSTRAINT dependency_on_failure_is_known CHECK (on_failure IN ('fail', 'skip', 'run')),
    outcome          text,
    result           jsonb,
    CONSTRAINT dependency_pkey PRIMARY KEY (queue_id, job_id, before_id)
);
CREATE INDEX dependency_before ON hipq.dependency (before_id, queue_id, job_id);
SELECT pg_extension_config_dump('hipq.dependency', '');

-- The index of the lanes leaves out held jobs, which get an index of their own; that of the keys
-- allows one more job for each key, its follower. Jobs of batches get an index, too.
DO $upgrade$
DECLARE
    leaf record;
BEGIN
    FOR leaf IN
        SELECT relation.oid, relation.relname::text AS name,
               (SELECT index.indexrelid::regclass
                FROM pg_index AS index
                WHERE index.indrelid = relation.oid
                  AND index.indisunique AND index.indpred IS NOT NULL
               ) AS key_index,
               (SELECT line.oid::regclass
                FROM pg_class AS line
                WHERE line.relnamespace = relation.relnamespace
                  AND line.relname = relation.relname || '_line'
               ) AS line
        FROM hipq.queue AS queue
        JOIN pg_class AS parent
            ON parent.relnamespace = 'hipq'::regnamespace AND parent.relname = queue.table_name
        JOIN pg_inherits AS part ON part.inhparent = parent.oid
        JOIN pg_class AS relation ON relation.oid = part.inhrelid AND relation.relkind = 'r'
    LOOP
        IF leaf.line IS NOT NULL THEN
            EXECUTE format('DROP INDEX %s', leaf.line);
        END IF;
        EXECUTE format(
            'CREATE INDEX %I ON hipq.%I (job_type, priority, scheduled_run_time, id) '
            'WHERE waits_for IS NULL', leaf.name || '_line', leaf.name
        );
        EXECUTE format('CREATE INDEX %I ON hipq.%I (job_type, id) WHERE waits_for IS NOT NULL',
                       leaf.name || '_held', leaf.name);
        EXECUTE format('CREATE INDEX %I ON hipq.%I (batch_id, id) WHERE batch_id IS NOT NULL',
                       leaf.name || '_batch', leaf.name);
        IF leaf.key_index IS NOT NULL THEN
            DECLARE
                name text := (SELECT relname FROM pg_class WHERE oid = leaf.key_index);
                scope text := CASE
                    WHEN pg_get_indexdef(leaf.key_index) LIKE '%shard_key%'
                        THEN 'shard_key COLLATE "C", '
                END;
            BEGIN
                EXECUTE format('DROP INDEX %s', leaf.key_index);
                EXECUTE format(
                    'CREATE UNIQUE INDEX %I ON hipq.%I (job_type, job_key, %s'
                    '((NOT (waits_for IS DISTINCT FROM ''key'')))) WHERE job_key <> ''NONE''',
                    name, leaf.name, scope
                );
            END;
        END IF;
    END LOOP;
END
$upgrade$;

-- Jobs of on_duplicate => 'after' become rows of their queues, held until the job with their key
-- has ended. JSON's null is read as NULL. Columns that are left out have the values of a new job.
INSERT INTO hipq.job (
    id, original_job_id, retry_of, worker_id, scheduled_run_time, update_time, created_time,
    expires_time, queue_id, timeout, max_retries, queue_ttl, priority, throttle_factor, job_type,
    job_key, throttle_key, time_windows, shard_key, job_data, manual_reason, traceparent, waits_for
)
SELECT job.id, job.original_job_id, job.retry_of, job.worker_id, job.scheduled_run_time,
       job.update_time, job.created_time, job.expires_time, job.queue_id, job.timeout,
       job.max_retries, job.queue_ttl, job.priority, job.throttle_factor, job.job_type, job.job_key,
       job.throttle_key, job.time_windows, job.shard_key, coalesce(job.job_data, 'null'),
       job.manual_reason, job.traceparent, 'key'
FROM hipq.successor
CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, successor.job) AS job;
INSERT INTO hipq.dependency (
    queue_id, job_id, before_id, before_queue_id, after_policy, on_failure
)
SELECT queue_id, job_id, 0, queue_id, 'finished', 'run'
FROM hipq.successor;
ALTER EXTENSION hipq DROP TABLE hipq.successor;
DROP TABLE hipq.successor;
