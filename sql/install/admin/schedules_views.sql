-- The view of schedules.

CREATE VIEW hipq.schedules_detail WITH (security_barrier) AS
SELECT schedule.name,
       schedule.cron,
       queue.name AS queue,
       schedule.job_type,
       nullif(schedule.job_key, 'NONE') AS job_key,
       hipq._masked(schedule.queue_id, schedule.job_type, schedule.job_data) AS job_data,
       schedule.role::regrole,
       entry.is_active,
       CASE
           WHEN schedule.told_by = 'hipq' THEN schedule.due_time
           WHEN entry.is_active THEN hipq._next_run(schedule.cron, schedule.last_run_time)
       END AS next_run_time,
       schedule.last_run_time,
       CASE
           WHEN EXISTS (
               SELECT FROM hipq.shard_reject AS reject
               WHERE reject.job_id = schedule.last_job_id
                 AND reject.instance || '.' || reject.queue = queue.name
                 AND reject.sqlstate = '23505'
           ) THEN 'skipped'
           ELSE schedule.last_action
       END AS last_action,
       schedule.last_job_id,
       last.outcome AS last_outcome,
       schedule.created_time,
       schedule.told_by,
       schedule.time_zone,
       schedule.missed,
       schedule.missed_within,
       schedule.jitter,
       CASE WHEN schedule.job_key = 'NONE' THEN 'allow' ELSE schedule.overlap END AS overlap,
       schedule.starts,
       schedule.ends,
       schedule.last_time AS last_schedule_time,
       schedule.last_error
FROM hipq.schedule
JOIN hipq._readable_queue AS queue ON queue.queue_id = schedule.queue_id
CROSS JOIN LATERAL (
    SELECT CASE
               WHEN schedule.told_by = 'hipq' THEN schedule.due_time IS NOT NULL
               ELSE hipq._has_cron_entry(schedule.schedule_id)
           END AS is_active
) AS entry
-- An aggregate always returns one row, so a query that does not read the outcome does not look it
-- up.
LEFT JOIN LATERAL (
    SELECT min(jobs.outcome) AS outcome
    FROM hipq.jobs_detail AS jobs
    WHERE jobs.id = schedule.last_job_id
) AS last ON true
OFFSET 0;
COMMENT ON VIEW hipq.schedules_detail
    IS 'jobs that are enqueued again and again, with their last and next run';
COMMENT ON COLUMN hipq.schedules_detail.name IS 'name';
COMMENT ON COLUMN hipq.schedules_detail.cron IS 'cron expression, as given';
COMMENT ON COLUMN hipq.schedules_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.schedules_detail.job_type IS 'job type';
COMMENT ON COLUMN hipq.schedules_detail.job_key IS 'job key; NULL = none';
COMMENT ON COLUMN hipq.schedules_detail.job_data
    IS 'job data of its jobs; secret parameters are ***';
COMMENT ON COLUMN hipq.schedules_detail.role IS 'role that made it, and that enqueues';
COMMENT ON COLUMN hipq.schedules_detail.is_active
    IS 'it has a next run; of pg_cron: it runs, and has an active job for it; if not, '
    'hipq.restore_schedules() mends it, unless somebody has made that job inactive';
COMMENT ON COLUMN hipq.schedules_detail.next_run_time
    IS 'when it runs next, with jitter; of pg_cron: by cron.timezone; NULL = it does not';
COMMENT ON COLUMN hipq.schedules_detail.last_run_time IS 'when it ran last; NULL = not yet';
COMMENT ON COLUMN hipq.schedules_detail.last_action
    IS 'enqueued; skipped because a job with the key had not finished; missed because its time had '
    'passed; failed';
COMMENT ON COLUMN hipq.schedules_detail.last_job_id
    IS 'the job that it enqueued, or that had not finished';
COMMENT ON COLUMN hipq.schedules_detail.last_outcome
    IS 'outcome of that job so far; NULL = the job has been removed';
COMMENT ON COLUMN hipq.schedules_detail.created_time IS 'when it was made';
COMMENT ON COLUMN hipq.schedules_detail.told_by IS 'who tells the time: hipq or pg_cron';
COMMENT ON COLUMN hipq.schedules_detail.time_zone IS 'zone of its times; NULL = that of pg_cron';
COMMENT ON COLUMN hipq.schedules_detail.missed
    IS 'what becomes of runs whose time has passed: once, skip or all';
COMMENT ON COLUMN hipq.schedules_detail.missed_within
    IS 'how old a run may be that is made up for';
COMMENT ON COLUMN hipq.schedules_detail.jitter IS 'runs are up to so much later than their times';
COMMENT ON COLUMN hipq.schedules_detail.overlap
    IS 'what a run does if a job with the key has not finished: skip, after or allow';
COMMENT ON COLUMN hipq.schedules_detail.starts IS 'no run is before it; NULL = any may be';
COMMENT ON COLUMN hipq.schedules_detail.ends IS 'no run is after it; NULL = any may be';
COMMENT ON COLUMN hipq.schedules_detail.last_schedule_time
    IS 'the time that the last run was for; NULL = not known';
COMMENT ON COLUMN hipq.schedules_detail.last_error
    IS 'why the last run failed, or why missed ones were left out; NULL = nothing went wrong';
