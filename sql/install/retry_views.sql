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
