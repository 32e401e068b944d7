-- History: attempts that did not succeed (all attempts where the queue says so), and jobs that failed for good.
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
-- Its leaves have an index on (queue_id, job_id, attempt) each. One of the whole tree would be made by a restore twice: with the leaf, and by the dump.
COMMENT ON TABLE hipq.attempt IS 'how attempts ended: those that failed, or all if the queue says history => ''all''';
COMMENT ON COLUMN hipq.attempt.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.attempt.started_time IS 'when the attempt started';
COMMENT ON COLUMN hipq.attempt.ended_time IS 'when it ended';
COMMENT ON COLUMN hipq.attempt.queue_id IS 'queue of the job';
COMMENT ON COLUMN hipq.attempt.attempt IS 'number of the attempt, from 1; of a job that ended, or failed, before a start that of the last one; 0: it was never tried';
COMMENT ON COLUMN hipq.attempt.executor_pid IS 'process that ran it in the server';
COMMENT ON COLUMN hipq.attempt.worker_id IS 'external worker that ran it';
COMMENT ON COLUMN hipq.attempt.job_type IS 'job type';
COMMENT ON COLUMN hipq.attempt.job_key IS 'job key; NONE = none';
COMMENT ON COLUMN hipq.attempt.reason IS 'reason: timeout, transient_error, validation_error, ...; succeeded';
COMMENT ON COLUMN hipq.attempt.sqlstate IS 'SQLSTATE of the error, if the server raised it';
COMMENT ON COLUMN hipq.attempt.error IS 'message; NONE for a success';
COMMENT ON COLUMN hipq.attempt.detail IS 'detail of the error';
COMMENT ON COLUMN hipq.attempt.hint IS 'hint of the error';
COMMENT ON COLUMN hipq.attempt.context IS 'context of the error';

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
-- An index that did not begin with queue_id would be read by what somebody asks of a view, and EXPLAIN count rows of other queues in it.
CREATE INDEX dead_letter_of_queue ON hipq.dead_letter (queue_id, died_time, job_id);
CREATE INDEX dead_letter_awaits_handler ON hipq.dead_letter (queue_id, died_time, job_id) WHERE awaits_handler;
COMMENT ON TABLE hipq.dead_letter IS 'jobs that failed for good, whole, kept for a time';
COMMENT ON COLUMN hipq.dead_letter.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.dead_letter.died_time IS 'when it failed for good';
COMMENT ON COLUMN hipq.dead_letter.handled_time IS 'when the handler of dead letters was done with it';
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
COMMENT ON COLUMN hipq.dead_letter.history IS 'its attempts, the first and the last ones of many: number, reason, sqlstate, error, external worker, times';
COMMENT ON COLUMN hipq.dead_letter.attempts_left_out IS 'how many attempts between the first and the last ones are not in history';
COMMENT ON COLUMN hipq.dead_letter.reduced_because IS 'why job has neither job_data nor result, and history is empty; NULL = the dead letter is whole';
COMMENT ON COLUMN hipq.dead_letter.awaits_handler IS 'the handler of dead letters of the queue is still to be called';
COMMENT ON COLUMN hipq.dead_letter.handler_starts IS 'how often its call was begun: more than once if executor or server ended meanwhile';
COMMENT ON COLUMN hipq.dead_letter.handler_error IS 'how the handler failed; it is not called again then';
COMMENT ON COLUMN hipq.dead_letter.state IS 'waiting, handled, redriven or dismissed';
SELECT pg_extension_config_dump('hipq.dead_letter', '');

-- Rows of all queues are in these tables, and whoever plans a statement sees estimates: the statistics of a column would tell what others have in it.
-- Leaves are made with the targets of their parent (hipq.attempt). Of hipq.job each queue's own leaves have statistics; the whole has none.
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
