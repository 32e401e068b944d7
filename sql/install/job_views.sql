-- Views of jobs: all jobs, running jobs, and the progress of these.

-- Where a table has NONE or a time of the year 9999, views show NULL. Users look for a job by its
-- key, so hipq._is_as_asked() makes the planner use the index of the column.

-- Planning a statement over the tables of many queues takes long. If the statement gives ids, its
-- jobs come from hipq._jobs_by_id(), and no table is scanned; without ids this function returns no
-- row. hipq._is_asked_for() limits the plan to the tables of the queues that the statement names.
-- If these are many, the jobs come from hipq._jobs_queue_by_queue() instead of hipq.job.

-- Where hipq.job is joined with queues, it is in a subquery of its own. Otherwise the planner adds
-- the queue_id of each table of each queue to one equivalence class, and searches this class for
-- each index of each table, which takes seconds with 1,000 queues.
-- A volatile output column or OFFSET 0 keeps the planner from pulling the subquery up; with a
-- volatile column the conditions of the caller can still use the indexes.
CREATE VIEW hipq.jobs_detail WITH (security_barrier) AS
SELECT job.id,
       queue.name AS queue,
       job.job_type,
       nullif(job.job_key, 'NONE') AS job_key,
       job.state,
       CASE
           WHEN job.state = 'running' THEN 'running'
           WHEN job.state IN ('initial', 'retry') AND hipq._is_running(job.queue_id, job.id)
               THEN 'running'
           WHEN job.state <> 'final' THEN 'waiting'
           WHEN job.error = 'NONE' THEN 'succeeded'
           WHEN job.retry_reason = 'cancelled' THEN 'cancelled'
           WHEN job.retry_reason = 'expired' THEN 'expired'
           WHEN job.retry_reason = 'skipped' THEN 'skipped'
           ELSE 'failed'
       END AS outcome,
       nullif(job.error, 'NONE') AS error,
       job.attempt,
       job.retry_count,
       job.max_retries,
       nullif(job.retry_reason, 'NONE') AS retry_reason,
       job.manual_reason,
       job.scheduled_run_time,
       job.priority,
       job.timeout,
       job.created_time,
       CASE
           WHEN job.accepted_time < '9999-01-01 00:00:00+00' THEN job.accepted_time
       END AS accepted_time,
       job.update_time,
       CASE WHEN job.deadline < '9999-01-01 00:00:00+00' THEN job.deadline END AS deadline,
       CASE
           WHEN job.expires_time < '9999-01-01 00:00:00+00' THEN job.expires_time
       END AS expires_time,
       hipq._masked(job.queue_id, job.job_type, job.job_data) AS job_data,
       nullif(job.result, 'null') AS result,
       job.original_job_id,
       job.retry_of,
       job.throttle_factor,
       nullif(job.throttle_key, 'NONE') AS throttle_key,
       CASE
           WHEN job.time_windows <> 'NONE' THEN job.time_windows
           ELSE NULL::hipq.time_windows
       END AS time_windows,
       nullif(job.shard_key, 'NONE') AS shard_key,
       nullif(job.worker_id, -1) AS worker_id,
       job.queue_ttl,
       job.traceparent,
       job.waits_for,
       job.batch_id,
       job.schedule_time
FROM (
    SELECT *, clock_timestamp()
    FROM hipq.job
    WHERE hipq._is_in_reach_by_scan(job.queue_id, hipq._readable_queues(), false)
      AND hipq._is_as_asked(job.job_key)
    UNION ALL
    SELECT *, clock_timestamp()
    FROM hipq._jobs_queue_by_queue() AS job
    WHERE hipq._is_in_reach_by_scan(job.queue_id, hipq._readable_queues(), true)
      AND hipq._is_as_asked(job.job_key)
    UNION ALL
    SELECT *, clock_timestamp()
    FROM hipq._jobs_by_id(hipq._asked_ids()) AS job
) AS job
JOIN hipq._readable_queue AS queue ON queue.queue_id = job.queue_id
WHERE hipq._is_asked_for(queue.name, job.queue_id);
COMMENT ON VIEW hipq.jobs_detail IS 'jobs of every queue the caller may read, with their outcome';
COMMENT ON COLUMN hipq.jobs_detail.id IS 'id of the job';
COMMENT ON COLUMN hipq.jobs_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.jobs_detail.job_type IS 'job type';
COMMENT ON COLUMN hipq.jobs_detail.job_key IS 'job key; NULL = none';
COMMENT ON COLUMN hipq.jobs_detail.state
    IS 'initial, running, error, retry or final; a job that was claimed by a lock has the state '
    'in which it waited';
COMMENT ON COLUMN hipq.jobs_detail.outcome
    IS 'waiting, running, succeeded, failed, cancelled, expired or skipped';
COMMENT ON COLUMN hipq.jobs_detail.error IS 'error of the last failed attempt; NULL = none';
COMMENT ON COLUMN hipq.jobs_detail.attempt IS 'attempts started so far';
COMMENT ON COLUMN hipq.jobs_detail.retry_count IS 'retries charged so far';
COMMENT ON COLUMN hipq.jobs_detail.max_retries IS 'retries after a retriable failure';
COMMENT ON COLUMN hipq.jobs_detail.retry_reason
    IS 'why the last attempt did not succeed; manual_retry or redriven before the first; NULL = '
    'neither';
COMMENT ON COLUMN hipq.jobs_detail.manual_reason
    IS 'why somebody enqueued the job again, as given to hipq.retry(), else manual_retry or '
    'redriven; NULL = nobody did';
COMMENT ON COLUMN hipq.jobs_detail.scheduled_run_time IS 'not started before';
COMMENT ON COLUMN hipq.jobs_detail.priority IS 'lower runs first';
COMMENT ON COLUMN hipq.jobs_detail.timeout IS 'seconds an attempt may run';
COMMENT ON COLUMN hipq.jobs_detail.created_time IS 'when it was enqueued';
COMMENT ON COLUMN hipq.jobs_detail.accepted_time
    IS 'when the present or last attempt started; NULL = none yet';
COMMENT ON COLUMN hipq.jobs_detail.update_time
    IS 'when the row last changed, but for one that has not been tried yet; when a final job ended';
COMMENT ON COLUMN hipq.jobs_detail.deadline
    IS 'when the running attempt times out; NULL = it does not run';
COMMENT ON COLUMN hipq.jobs_detail.expires_time
    IS 'not started by then: final with reason expired; NULL = it does not expire';
COMMENT ON COLUMN hipq.jobs_detail.job_data IS 'data for the handler; secret parameters are ***';
COMMENT ON COLUMN hipq.jobs_detail.result
    IS 'what the handler or the external worker returned; NULL = nothing';
COMMENT ON COLUMN hipq.jobs_detail.original_job_id IS 'first job of its chain of retries by hand';
COMMENT ON COLUMN hipq.jobs_detail.retry_of
    IS 'final job that hipq.retry() or hipq.redrive() made this one from';
COMMENT ON COLUMN hipq.jobs_detail.throttle_factor IS 'weight under the queue''s throttle_limit';
COMMENT ON COLUMN hipq.jobs_detail.throttle_key
    IS 'jobs with the same key share a limit; NULL = no key';
COMMENT ON COLUMN hipq.jobs_detail.time_windows IS 'when the job may start; NULL = always';
COMMENT ON COLUMN hipq.jobs_detail.shard_key
    IS 'what places the job in a sharded instance; NULL = nothing';
COMMENT ON COLUMN hipq.jobs_detail.worker_id
    IS 'external worker that has accepted the job, or had it last; 0 = it is to be completed '
    'later; NULL = none';
COMMENT ON COLUMN hipq.jobs_detail.traceparent
    IS 'trace that the job belongs to, as W3C Trace Context writes it; NULL = none';
COMMENT ON COLUMN hipq.jobs_detail.waits_for
    IS 'what holds it besides its time: jobs = the jobs that it comes after; key = the running job '
    'with its key; NULL = nothing';
COMMENT ON COLUMN hipq.jobs_detail.batch_id IS 'batch that the job belongs to; NULL = none';
COMMENT ON COLUMN hipq.jobs_detail.schedule_time
    IS 'the time for which its schedule planned it; NULL = it is not of a schedule';
COMMENT ON COLUMN hipq.jobs_detail.queue_ttl
    IS 'seconds an external worker has to accept the job after the offer';

-- Combines jobs in state running with the jobs in flight of shared memory. While a job
-- of an executor starts or finishes, it is in only one of the two. The tables say everything of a
-- job that an external worker has accepted. An offer is in shared memory alone.
CREATE VIEW hipq.running_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       busy.id,
       busy.job_type,
       CASE WHEN hipq._may(busy.queue_id, 'read') THEN nullif(busy.job_key, 'NONE') END AS job_key,
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
    SELECT job.queue_id,
           job.id,
           job.job_type COLLATE "C",
           job.job_key COLLATE "C",
           coalesce(executor.attempt, job.attempt) AS attempt,
           executor.pid,
           CASE WHEN executor.pid IS NULL THEN job.worker_id END AS worker_id,
           CASE
               WHEN executor.pid IS NULL AND job.worker_id > 0 THEN coalesce(
                   executor.is_accepted, job.accepted_time < '9999-01-01 00:00:00+00'
               )
           END AS is_accepted,
           coalesce(
               executor.started_time,
               CASE WHEN job.accepted_time < '9999-01-01 00:00:00+00' THEN job.accepted_time END,
               job.update_time
           ) AS since,
           job.timeout,
           coalesce(
               executor.deadline,
               CASE WHEN job.deadline < '9999-01-01 00:00:00+00' THEN job.deadline END
           ) AS deadline
    FROM hipq._unfinished_queue_by_queue() AS job
    LEFT JOIN hipq._running_jobs() AS executor ON executor.job_id = job.id
    WHERE job.state = 'running'
    UNION ALL
    SELECT executor.queue_id,
           executor.job_id,
           coalesce(waiting.job_type, executor.job_type) COLLATE "C",
           waiting.job_key COLLATE "C",
           executor.attempt,
           executor.pid,
           executor.worker_id,
           executor.is_accepted,
           executor.started_time,
           waiting.timeout,
           executor.deadline
    FROM hipq._running_jobs() AS executor
    LEFT JOIN LATERAL hipq._unfinished_job(executor.queue_id, executor.job_id) AS waiting ON true
    WHERE NOT coalesce(executor.is_accepted, false)
      AND waiting.state IS DISTINCT FROM 'running'
      AND (executor.pid IS NOT NULL OR waiting.state IS NOT NULL)
) AS busy
JOIN hipq._visible_queue AS queue ON queue.queue_id = busy.queue_id
LEFT JOIN (SELECT worker.worker_id, worker.name FROM hipq.worker OFFSET 0) AS worker
    ON worker.worker_id = busy.worker_id
LEFT JOIN pg_stat_activity AS activity ON activity.pid = busy.pid
WHERE hipq._is_asked_for(queue.name, busy.queue_id);
COMMENT ON VIEW hipq.running_detail
    IS 'jobs that run at this moment or are offered to external workers, and what they wait for';
COMMENT ON COLUMN hipq.running_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.running_detail.id IS 'id of the job';
COMMENT ON COLUMN hipq.running_detail.job_type IS 'job type';
COMMENT ON COLUMN hipq.running_detail.job_key
    IS 'job key; NULL = none, or the job has ended, or the caller may not read the queue';
COMMENT ON COLUMN hipq.running_detail.attempt
    IS 'number of the attempt; of an offer, the number that the attempt will have';
COMMENT ON COLUMN hipq.running_detail.pid
    IS 'executor that runs it; NULL = an external worker has it, or it is offered to one, or '
    'nobody has it';
COMMENT ON COLUMN hipq.running_detail.worker_id
    IS 'external worker that has it, or to which it is offered; 0 = it is to be completed later';
COMMENT ON COLUMN hipq.running_detail.worker IS 'name of that worker';
COMMENT ON COLUMN hipq.running_detail.is_accepted
    IS 'whether that worker has accepted it; false = it is offered, and the job waits; NULL = no '
    'worker has it';
COMMENT ON COLUMN hipq.running_detail.since
    IS 'when the attempt started; NULL = the worker has not accepted the job';
COMMENT ON COLUMN hipq.running_detail.timeout IS 'seconds the attempt may run';
COMMENT ON COLUMN hipq.running_detail.deadline
    IS 'when the attempt times out, or until when its worker may accept it';
COMMENT ON COLUMN hipq.running_detail.wait_event_type
    IS 'kind of event the executor waits for; NULL = none, or not shown';
COMMENT ON COLUMN hipq.running_detail.wait_event IS 'event the executor waits for';
COMMENT ON COLUMN hipq.running_detail.blocked_by
    IS 'processes that hold the lock the executor waits for';

CREATE VIEW hipq.progress_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       reported.job_id AS id,
       job.job_type,
       reported.attempt,
       reported.done,
       reported.total,
       CASE
           WHEN reported.total = 0 THEN 100.0
           ELSE round(100.0 * reported.done / reported.total, 1)
       END AS percent,
       reported.message,
       reported.reported_time,
       reported.pid,
       reported.worker_id,
       reported.reported_time
           + (reported.reported_time - coalesce(executor.started_time, job.accepted_time))
               * ((reported.total - reported.done) / nullif(reported.done, 0)::float8)
           AS expected_end_time
FROM hipq._progress() AS reported
CROSS JOIN LATERAL (
    SELECT reported.queue_id, found.job_type COLLATE "C" AS job_type, found.accepted_time
    FROM hipq._unfinished_job(reported.queue_id, reported.job_id) AS found
) AS job
JOIN hipq._visible_queue AS queue ON queue.queue_id = job.queue_id
LEFT JOIN hipq._running_jobs() AS executor ON executor.job_id = reported.job_id;
COMMENT ON VIEW hipq.progress_detail
    IS 'how far jobs that run have come, as they have said by hipq.report_progress(), committed '
    'or not';
COMMENT ON COLUMN hipq.progress_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.progress_detail.id IS 'id of the job';
COMMENT ON COLUMN hipq.progress_detail.job_type IS 'job type';
COMMENT ON COLUMN hipq.progress_detail.attempt IS 'number of the attempt';
COMMENT ON COLUMN hipq.progress_detail.done IS 'what is done, in units of the job''s own';
COMMENT ON COLUMN hipq.progress_detail.total IS 'what is to be done; NULL = not known';
COMMENT ON COLUMN hipq.progress_detail.percent IS 'what part is done; NULL = not known';
COMMENT ON COLUMN hipq.progress_detail.message
    IS 'what it does, in its own words; NULL to callers who may not read the queue';
COMMENT ON COLUMN hipq.progress_detail.reported_time IS 'when it said so';
COMMENT ON COLUMN hipq.progress_detail.pid IS 'executor that runs it';
COMMENT ON COLUMN hipq.progress_detail.worker_id
    IS 'external worker that has it; 0 = it is to be completed later';
COMMENT ON COLUMN hipq.progress_detail.expected_end_time
    IS 'when it will have ended at its pace so far; NULL = not known';
