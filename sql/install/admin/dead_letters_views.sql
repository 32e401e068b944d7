-- Views of jobs that failed for good.

CREATE VIEW hipq.dead_letters_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       dead_letter.job_id,
       dead_letter.state,
       dead_letter.job_type,
       nullif(dead_letter.job_key, 'NONE') AS job_key,
       dead_letter.reason,
       dead_letter.sqlstate,
       dead_letter.error,
       dead_letter.died_time,
       dead_letter.handled_time,
       dead_letter.redriven_time,
       dead_letter.dismissed_time,
       (dead_letter.job ->> 'attempt')::integer AS attempts,
       dead_letter.redriven_as,
       dead_letter.handler_error,
       hipq._masked_job(dead_letter.queue_id, dead_letter.job_type, dead_letter.job) AS job,
       dead_letter.history,
       dead_letter.attempts_left_out,
       dead_letter.reduced_because,
       dead_letter.handler_retry_time
FROM hipq.dead_letter
JOIN hipq._readable_queue AS queue ON queue.queue_id = dead_letter.queue_id
WHERE hipq._is_one_of(dead_letter.queue_id, hipq._readable_queues())
  AND dead_letter.queue_id = ANY (hipq._readable_queues());
COMMENT ON VIEW hipq.dead_letters_detail IS 'jobs that failed for good, whole, with their attempts';
COMMENT ON COLUMN hipq.dead_letters_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.dead_letters_detail.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.dead_letters_detail.state IS 'waiting, handled, redriven or dismissed';
COMMENT ON COLUMN hipq.dead_letters_detail.job_type IS 'job type';
COMMENT ON COLUMN hipq.dead_letters_detail.job_key IS 'job key; NULL = none';
COMMENT ON COLUMN hipq.dead_letters_detail.reason IS 'reason of the last failure';
COMMENT ON COLUMN hipq.dead_letters_detail.sqlstate IS 'SQLSTATE of the last failure';
COMMENT ON COLUMN hipq.dead_letters_detail.error IS 'error of the last failure';
COMMENT ON COLUMN hipq.dead_letters_detail.died_time IS 'when it failed for good';
COMMENT ON COLUMN hipq.dead_letters_detail.handled_time
    IS 'when the handler of dead letters was done with it';
COMMENT ON COLUMN hipq.dead_letters_detail.redriven_time IS 'when it was enqueued again';
COMMENT ON COLUMN hipq.dead_letters_detail.dismissed_time IS 'when it was dismissed';
COMMENT ON COLUMN hipq.dead_letters_detail.attempts IS 'how often the job was tried';
COMMENT ON COLUMN hipq.dead_letters_detail.redriven_as IS 'the job that it was enqueued again as';
COMMENT ON COLUMN hipq.dead_letters_detail.handler_error
    IS 'how the handler of dead letters failed; NULL = it did not';
COMMENT ON COLUMN hipq.dead_letters_detail.job
    IS 'the whole row of the job, with null for none; secret parameters are ***';
COMMENT ON COLUMN hipq.dead_letters_detail.history
    IS 'its attempts, of many the first and the last ones';
COMMENT ON COLUMN hipq.dead_letters_detail.attempts_left_out
    IS 'how many attempts are not in history';
COMMENT ON COLUMN hipq.dead_letters_detail.reduced_because
    IS 'why job_data, result and history are missing; NULL = the dead letter is whole';
COMMENT ON COLUMN hipq.dead_letters_detail.handler_retry_time
    IS 'when its handler is called again; NULL = it is not';

-- Rates and statistics of dead letters count the dead letters that are kept: dead_letter_retention
-- and dead_letter_max bound them. This view finds the last hour with an index; the other two views
-- read every dead letter of the queues that they show.
CREATE VIEW hipq.dead_letter_rates WITH (security_barrier) AS
SELECT queue.name AS queue,
       date_trunc('minute', dead_letter.died_time) AS minute,
       count(*) AS dead_letters
FROM hipq.dead_letter
JOIN hipq._visible_queue AS queue ON queue.queue_id = dead_letter.queue_id
WHERE hipq._is_one_of(dead_letter.queue_id, hipq._visible_queues())
  AND dead_letter.queue_id = ANY (hipq._visible_queues())
  AND dead_letter.died_time > hipq.now() - interval '1 hour'
GROUP BY 1, 2;
COMMENT ON VIEW hipq.dead_letter_rates
    IS 'how many jobs failed for good in each minute of the last hour that had any';
COMMENT ON COLUMN hipq.dead_letter_rates.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.dead_letter_rates.minute IS 'start of the minute';
COMMENT ON COLUMN hipq.dead_letter_rates.dead_letters IS 'jobs that failed for good in it';

CREATE VIEW hipq.dead_letter_stats_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       count(letter.job_id) AS kept,
       count(*) FILTER (WHERE letter.state = 'waiting') AS depth,
       min(letter.died_time) FILTER (WHERE letter.state = 'waiting') AS oldest_waiting_time,
       round(
           count(*) FILTER (WHERE letter.died_time > hipq.now() - interval '1 hour') / 60.0, 2
       ) AS per_minute,
       count(*) FILTER (WHERE letter.reason = 'queue_timeout') AS failed_by_ttl,
       count(letter.handler_error) AS handler_failures,
       avg(letter.done_time - letter.died_time) AS avg_latency,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY letter.done_time - letter.died_time)
           AS p95_latency
FROM hipq._visible_queue AS queue
LEFT JOIN LATERAL (
    SELECT dead_letter.job_id,
           dead_letter.state,
           dead_letter.reason,
           dead_letter.died_time,
           dead_letter.handler_error,
           least(
               dead_letter.handled_time, dead_letter.redriven_time, dead_letter.dismissed_time
           ) AS done_time
    FROM hipq.dead_letter
    WHERE dead_letter.queue_id = queue.queue_id
) AS letter ON true
WHERE NOT queue.is_dropped
GROUP BY queue.queue_id, queue.name;
COMMENT ON VIEW hipq.dead_letter_stats_detail
    IS 'dead letters of each queue: how many, how fast they come, how fast something is done '
    'about them';
COMMENT ON COLUMN hipq.dead_letter_stats_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.dead_letter_stats_detail.kept IS 'dead letters in all';
COMMENT ON COLUMN hipq.dead_letter_stats_detail.depth
    IS 'those that were neither handled, redriven nor dismissed';
COMMENT ON COLUMN hipq.dead_letter_stats_detail.oldest_waiting_time
    IS 'when the oldest of these failed; NULL = there are none';
COMMENT ON COLUMN hipq.dead_letter_stats_detail.per_minute
    IS 'dead letters a minute over the last hour';
COMMENT ON COLUMN hipq.dead_letter_stats_detail.failed_by_ttl
    IS 'jobs whose worker did not take them in time';
COMMENT ON COLUMN hipq.dead_letter_stats_detail.handler_failures
    IS 'dead letters whose handler failed';
COMMENT ON COLUMN hipq.dead_letter_stats_detail.avg_latency
    IS 'mean time until one was handled, redriven or dismissed; NULL = none was';
COMMENT ON COLUMN hipq.dead_letter_stats_detail.p95_latency
    IS 'the time that 95 % of these did not exceed';

CREATE VIEW hipq.dead_letter_reasons WITH (security_barrier) AS
SELECT queue.name AS queue,
       dead_letter.job_type,
       dead_letter.reason,
       count(*) AS dead_letters,
       count(*) FILTER (WHERE dead_letter.state = 'waiting') AS depth,
       max(dead_letter.died_time) AS last_died_time
FROM hipq.dead_letter
JOIN hipq._visible_queue AS queue ON queue.queue_id = dead_letter.queue_id
WHERE hipq._is_one_of(dead_letter.queue_id, hipq._visible_queues())
  AND dead_letter.queue_id = ANY (hipq._visible_queues())
GROUP BY 1, 2, 3;
COMMENT ON VIEW hipq.dead_letter_reasons IS 'dead letters by job type and reason';
COMMENT ON COLUMN hipq.dead_letter_reasons.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.dead_letter_reasons.job_type IS 'job type';
COMMENT ON COLUMN hipq.dead_letter_reasons.reason IS 'reason of the last failure';
COMMENT ON COLUMN hipq.dead_letter_reasons.dead_letters IS 'dead letters in all';
COMMENT ON COLUMN hipq.dead_letter_reasons.depth
    IS 'those that were neither handled, redriven nor dismissed';
COMMENT ON COLUMN hipq.dead_letter_reasons.last_died_time IS 'when the last of them failed';
