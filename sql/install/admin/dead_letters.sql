-- Jobs that failed for good, and the functions to redrive, dismiss and purge them.

-- A separate table, because a column in hipq.job would cost every job.
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
    handler_retries integer    NOT NULL DEFAULT 0,
    handler_retry_time timestamptz,
    CONSTRAINT dead_letter_pkey PRIMARY KEY (queue_id, job_id),
    CONSTRAINT dead_letter_handler_starts_are_not_negative CHECK (handler_starts >= 0)
);
-- Every index begins with queue_id. Otherwise a condition of the caller on a view could use the
-- index, and EXPLAIN would count rows of other queues in it.
CREATE INDEX dead_letter_of_queue ON hipq.dead_letter (queue_id, died_time, job_id);
CREATE INDEX dead_letter_awaits_handler ON hipq.dead_letter
    (queue_id, ((job ->> 'priority')::integer), died_time, job_id) WHERE awaits_handler;
ALTER INDEX hipq.dead_letter_awaits_handler ALTER COLUMN 2 SET STATISTICS 0;
CREATE INDEX dead_letter_handler_retry ON hipq.dead_letter (queue_id, handler_retry_time)
    WHERE handler_retry_time IS NOT NULL;
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
    IS 'how often its call was begun: more than once if executor or server ended meanwhile, or if '
    'it failed with an error that passes';
COMMENT ON COLUMN hipq.dead_letter.handler_error
    IS 'how the handler failed last';
COMMENT ON COLUMN hipq.dead_letter.handler_retries
    IS 'how often it failed with an error that passes, and was to be called again';
COMMENT ON COLUMN hipq.dead_letter.handler_retry_time
    IS 'when it is called again after such an error; NULL = it is not';
COMMENT ON COLUMN hipq.dead_letter.state IS 'waiting, handled, redriven or dismissed';
SELECT pg_extension_config_dump('hipq.dead_letter', '');
-- These tables hold rows of all queues, and every role that plans a statement sees estimates:
-- statistics of a column would show what other queues have in it. Leaves inherit the statistics
-- targets of their parent (hipq.attempt). In hipq.job each queue's own leaves have statistics, and
-- the tree as a whole has none.
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
ALTER TABLE hipq.attempt_log
    ALTER COLUMN job_id SET STATISTICS 0,
    ALTER COLUMN logged_time SET STATISTICS 0,
    ALTER COLUMN attempt SET STATISTICS 0,
    ALTER COLUMN level SET STATISTICS 0,
    ALTER COLUMN sqlstate SET STATISTICS 0,
    ALTER COLUMN message SET STATISTICS 0,
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
    ALTER COLUMN handler_retries SET STATISTICS 0,
    ALTER COLUMN handler_retry_time SET STATISTICS 0,
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

CREATE FUNCTION hipq.redrive(
    id bigint, to_queue text DEFAULT NULL, with_dependents boolean DEFAULT false
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_redrive';
COMMENT ON FUNCTION hipq.redrive(bigint, text, boolean)
    IS 'enqueues the job of a dead letter again as a new job and returns its id. id: the job that '
    'died; to_queue: another queue for it, NULL = the same; with_dependents: also the jobs that '
    'did not start because of it. It is refused if that was done already, or if its key is taken';

CREATE FUNCTION hipq.redrive_jobs(
    queue text, job_type text DEFAULT NULL, reason text DEFAULT NULL,
    before timestamptz DEFAULT NULL, rate double precision DEFAULT NULL, to_queue text DEFAULT NULL,
    state text DEFAULT 'waiting', max_jobs integer DEFAULT 10000,
    OUT redriven bigint, OUT key_taken bigint
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_redrive_jobs';
COMMENT ON FUNCTION hipq.redrive_jobs(
    text, text, text, timestamptz, double precision, text, text, integer
) IS 'enqueues the jobs of dead letters of a queue again, those that died first come first. '
    'queue: the queue; job_type, reason, before, state: only such, NULL = any; rate: how many '
    'become due in a second, NULL = all at once; to_queue: another queue for them; max_jobs: 1 to '
    '10000. Returns how many were enqueued, and how many stay because their key is taken';

CREATE FUNCTION hipq.handle_again(id bigint) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_handle_again';
COMMENT ON FUNCTION hipq.handle_again(bigint)
    IS 'has the handler of dead letters called again for one that waits or was handled. id: the '
    'job that died';

CREATE FUNCTION hipq.handle_jobs_again(
    queue text, job_type text DEFAULT NULL, reason text DEFAULT NULL,
    before timestamptz DEFAULT NULL, state text DEFAULT 'waiting', max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_handle_jobs_again';
COMMENT ON FUNCTION hipq.handle_jobs_again(text, text, text, timestamptz, text, integer)
    IS 'has the handler of dead letters called again for those of a queue for which it is not to '
    'be called anyway, and returns for how many. queue: the queue; job_type, reason, before: only '
    'such, NULL = any; state: waiting or handled; max_jobs: 1 to 10000';

CREATE FUNCTION hipq.dismiss_dead_letter(id bigint) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_dismiss_dead_letter';
COMMENT ON FUNCTION hipq.dismiss_dead_letter(bigint)
    IS 'notes that nothing is to be done about a dead letter that waits; it stays to be looked '
    'at. id: the job that died';

CREATE FUNCTION hipq.dismiss_dead_letters(
    queue text, job_type text DEFAULT NULL, reason text DEFAULT NULL,
    before timestamptz DEFAULT NULL, max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_dismiss_dead_letters';
COMMENT ON FUNCTION hipq.dismiss_dead_letters(text, text, text, timestamptz, integer)
    IS 'notes that nothing is to be done about dead letters of a queue that wait, and returns how '
    'many. queue: the queue; job_type, reason, before: only such, NULL = any; max_jobs: 1 to 10000';

CREATE FUNCTION hipq.purge_dead_letter(id bigint) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_purge_dead_letter';
COMMENT ON FUNCTION hipq.purge_dead_letter(bigint)
    IS 'removes a dead letter, whatever its state; its job stays. id: the job that died';

CREATE FUNCTION hipq.purge_dead_letters(
    queue text, job_type text DEFAULT NULL, reason text DEFAULT NULL,
    before timestamptz DEFAULT NULL, state text DEFAULT NULL, max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_purge_dead_letters';
COMMENT ON FUNCTION hipq.purge_dead_letters(text, text, text, timestamptz, text, integer)
    IS 'removes dead letters of a queue, the oldest first, and returns how many. queue: the '
    'queue; job_type, reason, before, state: only such, NULL = any; max_jobs: 1 to 10000';
