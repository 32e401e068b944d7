-- How far the demo is: ended, all, running now, waiting for a retry, seconds since the first enqueue.
SELECT count(*) FILTER (WHERE jobs.outcome NOT IN ('waiting', 'running')),
       count(*),
       count(*) FILTER (WHERE jobs.outcome = 'running'),
       count(*) FILTER (WHERE jobs.outcome = 'waiting' AND jobs.attempt > 0),
       round(extract(epoch FROM clock_timestamp() - min(jobs.created_time)), 1)
FROM hipq.jobs_detail AS jobs
WHERE jobs.queue = 'demo.packages';
