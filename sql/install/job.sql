-- Jobs: one partition tree, divided by queue, then by state, then (final jobs) by time. Each queue
-- attaches its table.

CREATE TYPE hipq.job_state AS ENUM ('initial', 'running', 'error', 'retry', 'final');
COMMENT ON TYPE hipq.job_state
    IS 'state of a job: initial and retry wait in line, running runs, error awaits the retry '
    'decision, final never changes';

CREATE SEQUENCE hipq.job_id_seq;
COMMENT ON SEQUENCE hipq.job_id_seq IS 'ids of jobs, of all queues';
SELECT pg_extension_config_dump('hipq.job_id_seq', '');

-- Unset times are stored as year 9999, because drivers cannot read infinity.
-- Columns that the job type decides have no default: NULL means "the type's value", which the guard
-- trigger fills in. The same holds for bookkeeping columns with a computed start value. Columns are
-- ordered by alignment. There are two constraints instead of one for each condition: each
-- constraint is a row of pg_constraint for each table of each queue, and making a table of a queue
-- reads all rows of pg_constraint.
CREATE TABLE hipq.job (
    id                 bigint          NOT NULL,
    original_job_id    bigint,
    retry_of           bigint,
    worker_id          bigint,
    scheduled_run_time timestamptz     NOT NULL DEFAULT now(),
    update_time        timestamptz     NOT NULL,
    created_time       timestamptz     NOT NULL,
    accepted_time      timestamptz     NOT NULL DEFAULT '9999-01-01 00:00:00+00',
    deadline           timestamptz     NOT NULL DEFAULT '9999-01-01 00:00:00+00',
    expires_time       timestamptz     NOT NULL DEFAULT '9999-01-01 00:00:00+00',
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
    traceparent        text,
    waits_for          text COLLATE "C",
    batch_id           bigint,
    schedule_time      timestamptz,
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
    IS 'external worker that has accepted the job, or had it last; -1 = it is for one worker '
    'alone, see hipq.aimed_job';
COMMENT ON COLUMN hipq.job.scheduled_run_time IS 'not started before; a retry moves it';
COMMENT ON COLUMN hipq.job.update_time
    IS 'when the row last changed, but for one that has not been tried yet; decides the leaf of a '
    'final job';
COMMENT ON COLUMN hipq.job.created_time IS 'when the job was enqueued (start of the transaction)';
COMMENT ON COLUMN hipq.job.accepted_time
    IS 'when the present or last attempt started; the year 9999 = none yet';
COMMENT ON COLUMN hipq.job.deadline
    IS 'when the running attempt times out; the year 9999 = it does not run';
COMMENT ON COLUMN hipq.job.expires_time
    IS 'not started by then: final with reason expired; the year 9999 = it does not expire';
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
    IS 'seconds an external worker has to accept the job after the offer; NULL = the job '
    'type''s';
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
    IS 'what places the job in a sharded instance: given, or taken from where the queue says; '
    'NONE = nothing';
COMMENT ON COLUMN hipq.job.job_data IS 'data for the handler: any JSON';
COMMENT ON COLUMN hipq.job.traceparent
    IS 'trace that the job belongs to, as W3C Trace Context writes it; NULL = none';
COMMENT ON COLUMN hipq.job.waits_for
    IS 'what holds a waiting job besides its time: jobs = the jobs that it comes after; key = the '
    'running job with its key; NULL = nothing';
COMMENT ON COLUMN hipq.job.batch_id IS 'batch that the job belongs to; NULL = none';
COMMENT ON COLUMN hipq.job.schedule_time
    IS 'the time for which its schedule planned it; NULL = it is not of a schedule';
COMMENT ON COLUMN hipq.job.result IS 'what the handler or the external worker returned';

CREATE FUNCTION hipq._guard_job() RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_guard_job';
COMMENT ON FUNCTION hipq._guard_job()
    IS 'trigger: fills a new job from its type; lets only hipq itself change state and bookkeeping';

CREATE TRIGGER guard_job BEFORE INSERT OR UPDATE OR DELETE ON hipq.job
    FOR EACH ROW EXECUTE FUNCTION hipq._guard_job();
ALTER TABLE hipq.job ENABLE ALWAYS TRIGGER guard_job;
COMMENT ON TRIGGER guard_job ON hipq.job
    IS 'fills a new job from its type; lets only hipq itself change state and bookkeeping';

-- A separate table: few jobs are ever set aside, and the job's own row may be one that cannot be
-- changed.
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

CREATE FUNCTION hipq._jobs_set_aside(
    OUT queue_id integer, OUT job_id bigint, OUT set_aside_time timestamptz, OUT error text
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__jobs_set_aside';
COMMENT ON FUNCTION hipq._jobs_set_aside()
    IS 'jobs whose end cannot be written down, of queues that the caller may look at; view '
    'hipq.alerts shows it';

-- Stable, so that a query that does not read the column does not compute it.
CREATE FUNCTION hipq._masked(queue_id integer, job_type text, job_data jsonb) RETURNS jsonb
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__masked';
COMMENT ON FUNCTION hipq._masked(integer, text, jsonb)
    IS 'job_data as views show it: secret parameters of the job type are ***; NULL for who may '
    'not read the queue';

CREATE FUNCTION hipq._masked_job(queue_id integer, job_type text, job jsonb) RETURNS jsonb
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__masked_job';
COMMENT ON FUNCTION hipq._masked_job(integer, text, jsonb)
    IS 'the same of a whole job in a dead letter, with null where the row says that there is none';

CREATE FUNCTION hipq._fitting_data(
    queue_id integer, job_type text, job_id bigint, job_data jsonb
) RETURNS jsonb LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__fitting_data';
COMMENT ON FUNCTION hipq._fitting_data(integer, text, bigint, jsonb)
    IS 'job_data of a job that comes from another queue, with the defaults of this one''s job '
    'type; 22023: they do not fit its parameters';
