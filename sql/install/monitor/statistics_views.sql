-- Views of the counters of jobs.

CREATE VIEW hipq.statistics_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.job_type,
       counted.period,
       counted.since,
       counted.succeeded,
       counted.failed,
       counted.cancelled,
       counted.expired,
       counted.retried,
       counted.put_back,
       counted.dead_letters,
       round(
           ((counted.succeeded + counted.failed)
            / greatest(1, extract(epoch FROM hipq.now() - counted.since) / 60))::numeric,
           2
       ) AS finished_per_minute,
       round(counted.retry_rate::numeric, 2) AS retry_rate,
       round(counted.retry_success_rate::numeric, 2) AS retry_success_rate,
       round(counted.failure_rate::numeric, 2) AS failure_rate,
       round(counted.retries_used / nullif(counted.succeeded + counted.failed, 0)::numeric, 3)
           AS retries_per_job,
       counted.wait_p50,
       counted.wait_p90,
       counted.wait_p99,
       counted.run_p50,
       counted.run_p90,
       counted.run_p99
FROM hipq._statistics() AS counted
JOIN hipq._visible_queue AS queue ON queue.queue_id = counted.queue_id;
COMMENT ON VIEW hipq.statistics_detail
    IS 'what became of jobs, and how long they waited and ran: over the last hour, and since the '
    'statistics began';
COMMENT ON COLUMN hipq.statistics_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.statistics_detail.job_type IS 'job type; NULL = all of the queue';
COMMENT ON COLUMN hipq.statistics_detail.period IS 'hour (the last one) or total';
COMMENT ON COLUMN hipq.statistics_detail.since IS 'when the period began';
COMMENT ON COLUMN hipq.statistics_detail.succeeded IS 'jobs that succeeded';
COMMENT ON COLUMN hipq.statistics_detail.failed IS 'jobs that failed for good';
COMMENT ON COLUMN hipq.statistics_detail.cancelled IS 'jobs that were cancelled or skipped';
COMMENT ON COLUMN hipq.statistics_detail.expired IS 'jobs that expired before they started';
COMMENT ON COLUMN hipq.statistics_detail.retried IS 'attempts that failed and were retried';
COMMENT ON COLUMN hipq.statistics_detail.put_back
    IS 'attempts without success that cost no retry: snoozed, released, lost to a restart';
COMMENT ON COLUMN hipq.statistics_detail.dead_letters IS 'jobs that left a dead letter';
COMMENT ON COLUMN hipq.statistics_detail.finished_per_minute
    IS 'jobs that succeeded or failed, per minute';
COMMENT ON COLUMN hipq.statistics_detail.retry_rate
    IS 'executions that were retries in percent of those that were not; Infinity = there were '
    'only retries';
COMMENT ON COLUMN hipq.statistics_detail.retry_success_rate
    IS 'percentage of ended retries that succeeded';
COMMENT ON COLUMN hipq.statistics_detail.failure_rate IS 'percent of finished jobs that failed';
COMMENT ON COLUMN hipq.statistics_detail.retries_per_job
    IS 'retries that finished jobs took on average';
COMMENT ON COLUMN hipq.statistics_detail.wait_p50
    IS 'seconds from when jobs were due to their start: half of them waited no longer';
COMMENT ON COLUMN hipq.statistics_detail.wait_p90
    IS 'the same as wait_p50: 90 percent waited no longer';
COMMENT ON COLUMN hipq.statistics_detail.wait_p99
    IS 'the same as wait_p50: 99 percent waited no longer';
COMMENT ON COLUMN hipq.statistics_detail.run_p50
    IS 'seconds that attempts ran: half of them ran no longer';
COMMENT ON COLUMN hipq.statistics_detail.run_p90 IS 'the same as run_p50: 90 percent ran no longer';
COMMENT ON COLUMN hipq.statistics_detail.run_p99 IS 'the same as run_p50: 99 percent ran no longer';

CREATE VIEW hipq.histograms WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.job_type,
       counted.measure,
       counted.upper_bound,
       counted.jobs,
       counted.sum,
       counted.since
FROM hipq._histograms() AS counted
JOIN hipq._visible_queue AS queue ON queue.queue_id = counted.queue_id;
COMMENT ON VIEW hipq.histograms
    IS 'how long jobs waited and attempts ran since the statistics began, as a histogram: 24 '
    'cumulative rows for each queue, job type and measure';
COMMENT ON COLUMN hipq.histograms.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.histograms.job_type IS 'job type';
COMMENT ON COLUMN hipq.histograms.measure
    IS 'wait (from when a job was due to its start) or run (of an attempt)';
COMMENT ON COLUMN hipq.histograms.upper_bound
    IS 'seconds: from 1 ms on twice as many in each row, at last Infinity';
COMMENT ON COLUMN hipq.histograms.jobs IS 'how many took less than that';
COMMENT ON COLUMN hipq.histograms.sum IS 'seconds of all of them together, the same in all rows';
COMMENT ON COLUMN hipq.histograms.since IS 'when the statistics began';

CREATE VIEW hipq.failure_statistics WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.job_type,
       counted.period,
       counted.reason,
       counted.failures,
       counted.retries,
       counted.recoveries,
       round(100.0 * least(counted.recoveries, counted.retries) / nullif(counted.retries, 0), 2)
           AS retry_success_rate
FROM hipq._failure_statistics() AS counted
JOIN hipq._visible_queue AS queue ON queue.queue_id = counted.queue_id;
COMMENT ON VIEW hipq.failure_statistics
    IS 'why attempts did not succeed, and what retrying them brought';
COMMENT ON COLUMN hipq.failure_statistics.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.failure_statistics.job_type IS 'job type';
COMMENT ON COLUMN hipq.failure_statistics.period IS 'hour (the last one) or total';
COMMENT ON COLUMN hipq.failure_statistics.reason IS 'reason, as in hipq.attempts';
COMMENT ON COLUMN hipq.failure_statistics.failures IS 'attempts that ended so';
COMMENT ON COLUMN hipq.failure_statistics.retries
    IS 'failures that a retry followed; for manual_retry, jobs that somebody enqueued again and '
    'that have ended';
COMMENT ON COLUMN hipq.failure_statistics.recoveries
    IS 'jobs that succeeded when they were retried for it';
COMMENT ON COLUMN hipq.failure_statistics.retry_success_rate
    IS 'percent of these retries that led to a success';

CREATE VIEW hipq.retry_distribution WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.job_type,
       counted.period,
       counted.retries,
       counted.least_retries,
       counted.jobs
FROM hipq._retry_distribution() AS counted
JOIN hipq._visible_queue AS queue ON queue.queue_id = counted.queue_id;
COMMENT ON VIEW hipq.retry_distribution
    IS 'how many retries jobs took that succeeded or failed: six rows for each queue, job type '
    'and period';
COMMENT ON COLUMN hipq.retry_distribution.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.retry_distribution.job_type IS 'job type; NULL = all of the queue';
COMMENT ON COLUMN hipq.retry_distribution.period IS 'hour (the last one) or total';
COMMENT ON COLUMN hipq.retry_distribution.retries IS 'number of retries: 0, 1, 2, 3-5, 6-10, 11+';
COMMENT ON COLUMN hipq.retry_distribution.least_retries IS 'the least of them, to order by';
COMMENT ON COLUMN hipq.retry_distribution.jobs IS 'jobs that took so many';

CREATE VIEW hipq.throughput WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.minute,
       counted.succeeded,
       counted.failed,
       counted.cancelled,
       counted.expired,
       counted.retried,
       counted.dead_letters
FROM hipq._throughput() AS counted
JOIN hipq._visible_queue AS queue ON queue.queue_id = counted.queue_id;
COMMENT ON VIEW hipq.throughput IS 'what became of jobs, minute by minute over the last hour';
COMMENT ON COLUMN hipq.throughput.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.throughput.minute IS 'when the minute began; the present one is not over';
COMMENT ON COLUMN hipq.throughput.succeeded IS 'jobs that succeeded';
COMMENT ON COLUMN hipq.throughput.failed IS 'jobs that failed for good';
COMMENT ON COLUMN hipq.throughput.cancelled IS 'jobs that were cancelled or skipped';
COMMENT ON COLUMN hipq.throughput.expired IS 'jobs that expired before they started';
COMMENT ON COLUMN hipq.throughput.retried IS 'attempts that failed and were retried';
COMMENT ON COLUMN hipq.throughput.dead_letters IS 'jobs that left a dead letter';
