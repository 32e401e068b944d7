-- Attempts that did not succeed (all attempts if the queue says so), and functions for retries.

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
    context      text,
    traceparent  text
) PARTITION BY RANGE (ended_time);
ALTER TABLE hipq.attempt REPLICA IDENTITY FULL;
-- Each leaf has its own index on (queue_id, job_id, attempt). A restore would make an index of the
-- whole tree twice: with the leaf, and by the dump.
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
COMMENT ON COLUMN hipq.attempt.traceparent
    IS 'trace that the job belongs to, as W3C Trace Context writes it; NULL = none';

CREATE TABLE hipq.attempt_log (
    job_id      bigint      NOT NULL,
    logged_time timestamptz NOT NULL,
    queue_id    integer     NOT NULL,
    attempt     integer     NOT NULL,
    level       text        NOT NULL,
    sqlstate    text        NOT NULL,
    message     text        NOT NULL,
    detail      text,
    hint        text,
    context     text
) PARTITION BY RANGE (logged_time);
ALTER TABLE hipq.attempt_log REPLICA IDENTITY FULL;
COMMENT ON TABLE hipq.attempt_log
    IS 'what handlers have said in their attempts: INFO, NOTICE, WARNING';
COMMENT ON COLUMN hipq.attempt_log.job_id IS 'id of the job; of a batch, the first one';
COMMENT ON COLUMN hipq.attempt_log.logged_time IS 'when it was said';
COMMENT ON COLUMN hipq.attempt_log.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.attempt_log.attempt IS 'number of the attempt, from 1';
COMMENT ON COLUMN hipq.attempt_log.level
    IS 'INFO, NOTICE or WARNING; LOG: hipq says how many messages were not kept';
COMMENT ON COLUMN hipq.attempt_log.sqlstate IS 'SQLSTATE of the message';
COMMENT ON COLUMN hipq.attempt_log.message IS 'the message';
COMMENT ON COLUMN hipq.attempt_log.detail IS 'its detail';
COMMENT ON COLUMN hipq.attempt_log.hint IS 'its hint';
COMMENT ON COLUMN hipq.attempt_log.context IS 'its context';

CREATE FUNCTION hipq.retry_schedule(
    queue text, job_type text,
    OUT retry integer, OUT delay interval, OUT since_first_failure interval
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_schedule';
COMMENT ON FUNCTION hipq.retry_schedule(text, text)
    IS 'lists the delays before the retries of a job type, without jitter. queue: the queue; '
    'job_type: the type';

CREATE FUNCTION hipq.retry_schedule(
    job_type text, OUT retry integer, OUT delay interval, OUT since_first_failure interval
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_schedule_of_type';
COMMENT ON FUNCTION hipq.retry_schedule(text)
    IS 'lists the delays before the retries of a job type, without jitter. job_type: a type that '
    'one queue has';

CREATE FUNCTION hipq.is_job_retriable(id bigint, queue text DEFAULT NULL) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_is_job_retriable';
COMMENT ON FUNCTION hipq.is_job_retriable(bigint, text)
    IS 'tells whether the retry policy gives a job another attempt after its last failure, or '
    'after the next one. id: the job; queue: where to look for it';

CREATE FUNCTION hipq.why_retriable(
    id bigint, queue text DEFAULT NULL, OUT retriable boolean, OUT reason text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_why_retriable';
COMMENT ON FUNCTION hipq.why_retriable(bigint, text)
    IS 'tells whether the retry policy gives a job another attempt, as is_job_retriable(), and '
    'why. id: the job; queue: where to look for it';

CREATE FUNCTION hipq.retry_chain(
    id bigint, queue text DEFAULT NULL,
    OUT job_id bigint, OUT retry_of bigint, OUT attempt integer, OUT state text, OUT reason text,
    OUT sqlstate text, OUT error text, OUT executor_pid integer, OUT worker_id bigint,
    OUT started_time timestamptz, OUT ended_time timestamptz, OUT manual_reason text
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_chain';
COMMENT ON FUNCTION hipq.retry_chain(bigint, text)
    IS 'lists every attempt of a job and of the jobs that it was retried from or as, in order. '
    'id: any job of the chain; queue: where to look for it. It reads the jobs that were enqueued '
    'since the first one';
