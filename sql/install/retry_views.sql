-- Views of attempts, and of the messages of their handlers.

CREATE VIEW hipq.attempts_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       attempt.job_id,
       attempt.attempt,
       attempt.job_type,
       nullif(attempt.job_key, 'NONE') AS job_key,
       attempt.reason,
       attempt.sqlstate,
       nullif(attempt.error, 'NONE') AS error,
       attempt.detail,
       attempt.hint,
       attempt.context,
       attempt.executor_pid,
       attempt.worker_id,
       attempt.started_time,
       attempt.ended_time,
       attempt.ended_time - attempt.started_time AS duration,
       attempt.traceparent
FROM hipq.attempt
JOIN hipq._readable_queue AS queue ON queue.queue_id = attempt.queue_id
WHERE hipq._is_one_of(attempt.queue_id, hipq._readable_queues())
  AND attempt.queue_id = ANY (hipq._readable_queues());
COMMENT ON VIEW hipq.attempts_detail
    IS 'how attempts ended: those that failed, or all if the queue says history => ''all''';
COMMENT ON COLUMN hipq.attempts_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.attempts_detail.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.attempts_detail.attempt
    IS 'number of the attempt, from 1; of a job that ended before a start that of the last one, '
    'or 0';
COMMENT ON COLUMN hipq.attempts_detail.job_type IS 'job type';
COMMENT ON COLUMN hipq.attempts_detail.job_key IS 'job key; NULL = none';
COMMENT ON COLUMN hipq.attempts_detail.reason IS 'reason of the failure, or succeeded';
COMMENT ON COLUMN hipq.attempts_detail.sqlstate IS 'SQLSTATE of the error, if the server raised it';
COMMENT ON COLUMN hipq.attempts_detail.error IS 'message; NULL for a success';
COMMENT ON COLUMN hipq.attempts_detail.detail IS 'detail of the error';
COMMENT ON COLUMN hipq.attempts_detail.hint IS 'hint of the error';
COMMENT ON COLUMN hipq.attempts_detail.context IS 'context of the error';
COMMENT ON COLUMN hipq.attempts_detail.executor_pid IS 'process that ran it in the server';
COMMENT ON COLUMN hipq.attempts_detail.worker_id IS 'external worker that ran it';
COMMENT ON COLUMN hipq.attempts_detail.started_time IS 'when the attempt started';
COMMENT ON COLUMN hipq.attempts_detail.ended_time IS 'when it ended';
COMMENT ON COLUMN hipq.attempts_detail.duration IS 'how long it took';
COMMENT ON COLUMN hipq.attempts_detail.traceparent IS 'trace that the job belongs to; NULL = none';

-- The messages of handlers, and how attempts failed: only hipq.attempt has the error.
CREATE VIEW hipq.attempt_logs_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       entry.job_id,
       entry.attempt,
       entry.logged_time,
       entry.level,
       entry.sqlstate,
       entry.message,
       entry.detail,
       entry.hint,
       entry.context
FROM (
    SELECT log.queue_id, log.job_id, log.attempt, log.logged_time, log.level,
           log.sqlstate, log.message, log.detail, log.hint, log.context
    FROM hipq.attempt_log AS log
    UNION ALL
    SELECT attempt.queue_id, attempt.job_id, attempt.attempt, attempt.ended_time, 'ERROR',
           attempt.sqlstate, attempt.error, attempt.detail, attempt.hint, attempt.context
    FROM hipq.attempt
    WHERE attempt.reason NOT IN ('succeeded', 'snoozed', 'released')
) AS entry
JOIN hipq._readable_queue AS queue ON queue.queue_id = entry.queue_id
WHERE hipq._is_one_of(entry.queue_id, hipq._readable_queues())
  AND entry.queue_id = ANY (hipq._readable_queues());
COMMENT ON VIEW hipq.attempt_logs_detail
    IS 'what handlers have said in their attempts, and the errors that ended these';
COMMENT ON COLUMN hipq.attempt_logs_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.attempt_logs_detail.job_id IS 'id of the job; of a batch, the first one';
COMMENT ON COLUMN hipq.attempt_logs_detail.attempt IS 'number of the attempt, from 1';
COMMENT ON COLUMN hipq.attempt_logs_detail.logged_time
    IS 'when it was said; of an error, when the attempt ended';
COMMENT ON COLUMN hipq.attempt_logs_detail.level
    IS 'INFO, NOTICE, WARNING or ERROR; LOG: how many messages hipq did not keep';
COMMENT ON COLUMN hipq.attempt_logs_detail.sqlstate IS 'SQLSTATE of the message, if it has one';
COMMENT ON COLUMN hipq.attempt_logs_detail.message IS 'the message';
COMMENT ON COLUMN hipq.attempt_logs_detail.detail IS 'its detail';
COMMENT ON COLUMN hipq.attempt_logs_detail.hint IS 'its hint';
COMMENT ON COLUMN hipq.attempt_logs_detail.context IS 'its context';
