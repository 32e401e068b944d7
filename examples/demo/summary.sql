-- What happened.
\set ON_ERROR_STOP on
\pset footer off
\pset linestyle unicode
\pset border 1
SET intervalstyle = postgres;

\echo
\echo Jobs by outcome
SELECT jobs.outcome, count(*) AS jobs, sum(jobs.attempt) AS attempts
FROM hipq.jobs AS jobs
WHERE jobs.queue = 'demo.packages'
GROUP BY jobs.outcome
ORDER BY count(*) DESC;

-- Jobs that a fault made wait for a retry or a timeout would say nothing of the speed.
\echo Speed
SELECT count(*) AS "jobs done at the first attempt",
       round(extract(epoch FROM max(jobs.update_time) - min(jobs.created_time)), 2) AS seconds,
       round(count(*) / nullif(extract(epoch FROM max(jobs.update_time) - min(jobs.created_time)), 0)) AS "jobs/s"
FROM hipq.jobs_detail AS jobs
WHERE jobs.queue = 'demo.packages' AND jobs.outcome = 'succeeded' AND jobs.attempt = 1;

\echo From commit to the first statement of the handler, on an idle queue
WITH latency AS (
    SELECT extract(epoch FROM (job.result #>> '{}')::timestamptz - ping.committed_time) * 1000 AS ms
    FROM demo.ping AS ping
    JOIN hipq.demo_latency AS job ON job.id = ping.job_id
)
SELECT count(*) AS jobs,
       round((percentile_cont(0.5) WITHIN GROUP (ORDER BY latency.ms))::numeric, 2) AS "p50 (ms)",
       round((percentile_cont(0.99) WITHIN GROUP (ORDER BY latency.ms))::numeric, 2) AS "p99 (ms)"
FROM latency;

\echo Failed attempts, by reason
SELECT attempts.reason, attempts.sqlstate, regexp_replace(attempts.error, '"[^"]*"', '"..."', 'g') AS error, count(*) AS attempts,
       count(DISTINCT attempts.job_id) AS jobs
FROM hipq.attempts_detail AS attempts
WHERE attempts.queue = 'demo.packages' AND attempts.reason IS NOT NULL
GROUP BY 1, 2, 3
ORDER BY 4 DESC, 1;

\echo Retries
SELECT count(*) FILTER (WHERE jobs.retry_count > 0) AS "jobs retried", coalesce(sum(jobs.retry_count), 0) AS retries,
       count(*) FILTER (WHERE jobs.retry_count > 0 AND jobs.outcome = 'succeeded') AS "succeeded in the end"
FROM hipq.jobs_detail AS jobs
WHERE jobs.queue = 'demo.packages';

\echo Failed for good
SELECT jobs.job_key AS package, jobs.attempt AS attempts, left(jobs.error, 60) AS error
FROM hipq.jobs_detail AS jobs
WHERE jobs.queue = 'demo.packages' AND jobs.outcome = 'failed'
ORDER BY jobs.job_key
LIMIT 12;

\echo The most frequent words in the descriptions
SELECT word_count.word, sum(word_count.occurrences) AS occurrences, count(*) AS packages
FROM demo.word_count AS word_count
GROUP BY word_count.word
ORDER BY sum(word_count.occurrences) DESC, word_count.word
LIMIT 10;

\echo Every job took effect once or not at all
SELECT (SELECT count(*) FROM hipq.jobs AS jobs WHERE jobs.queue = 'demo.packages' AND jobs.outcome = 'succeeded') AS "jobs succeeded",
       (SELECT count(*) FROM demo.package_words) AS "packages stored",
       (SELECT count(DISTINCT package) FROM demo.package_words) AS "different packages",
       (SELECT count(*) = count(DISTINCT (word, package)) FROM demo.word_count) AS "each word once";
