-- The view of pauses.

CREATE VIEW hipq.pauses_detail WITH (security_barrier) AS
WITH readable_queue AS MATERIALIZED (
    SELECT queue.queue_id, queue.instance_id FROM hipq._readable_queue AS queue
)
SELECT instance.name AS instance,
       instance.name || '.' || queue.name AS queue,
       pause.job_type,
       pause.throttle_key,
       pause.paused_by,
       pause.paused_time,
       nullif(pause.reason, 'NONE') AS reason,
       pause.crashes,
       pause.paused_until
FROM hipq.pause
LEFT JOIN hipq.queue ON queue.queue_id = pause.queue_id
JOIN hipq.instance ON instance.instance_id = coalesce(pause.instance_id, queue.instance_id)
WHERE pg_has_role('pg_monitor', 'USAGE')
   OR EXISTS (
       SELECT FROM readable_queue AS concerned
       WHERE concerned.queue_id = pause.queue_id OR concerned.instance_id = pause.instance_id
   )
OFFSET 0;
COMMENT ON VIEW hipq.pauses_detail
    IS 'what is paused, by whom, since when and until when; hipq.resume() with the same names ends '
    'it';
COMMENT ON COLUMN hipq.pauses_detail.instance IS 'instance that is paused, or has the queue';
COMMENT ON COLUMN hipq.pauses_detail.queue
    IS 'queue that is paused, or has the job type; NULL = the whole instance is paused';
COMMENT ON COLUMN hipq.pauses_detail.job_type
    IS 'job type that is paused, or has the throttle key; NULL = all of the queue or instance is '
    'paused';
COMMENT ON COLUMN hipq.pauses_detail.throttle_key
    IS 'throttle key that is paused; NULL = more than a key';
COMMENT ON COLUMN hipq.pauses_detail.paused_by IS 'role that paused it';
COMMENT ON COLUMN hipq.pauses_detail.paused_time IS 'since when';
COMMENT ON COLUMN hipq.pauses_detail.reason IS 'why; NULL = nothing was given';
COMMENT ON COLUMN hipq.pauses_detail.crashes
    IS 'crashes within 10 minutes for which hipq itself holds the job type; NULL = somebody '
    'paused it';
COMMENT ON COLUMN hipq.pauses_detail.paused_until
    IS 'when it ends by itself; NULL = only hipq.resume() ends it';
