-- Views of the other nodes of a sharded instance.

CREATE FUNCTION hipq.find_job(id bigint, queue text DEFAULT NULL) RETURNS SETOF hipq.jobs_detail
    LANGUAGE c ROWS 1 AS 'MODULE_PATHNAME', 'hipq_find_job';
COMMENT ON FUNCTION hipq.find_job(bigint, text)
    IS 'the row of view hipq.jobs_detail of a job, on whichever server of the instance it is; no '
    'row if there is no such job. id: the job; queue: where to look for it';

-- Each queue of a sharded instance on each node that this node knows; the router knows all nodes.
-- This node's own figures are current; the figures of other nodes are those that they last sent.
CREATE VIEW hipq.cluster_queues_detail WITH (security_barrier) AS
SELECT seen.name AS queue,
       map.own_node::integer AS node,
       activity.backlog_estimate,
       activity.running_jobs,
       activity.finished_per_minute,
       activity.failed,
       activity.oldest_due_time,
       activity.state,
       clock_timestamp() AS as_of,
       true AS is_reachable
FROM hipq._visible_queue AS seen
JOIN hipq.queue ON queue.queue_id = seen.queue_id
JOIN hipq.shard_map AS map ON map.instance_id = queue.instance_id
JOIN hipq.activity_detail AS activity ON activity.queue = seen.name
WHERE NOT queue.is_dropped
UNION ALL
SELECT seen.name,
       shard.node::integer,
       figures.backlog_estimate,
       figures.running_jobs,
       figures.finished_per_minute,
       figures.failed,
       figures.oldest_due_time,
       figures.state,
       stats.as_of,
       link.problem IS NULL
FROM hipq._visible_queue AS seen
JOIN hipq.queue ON queue.queue_id = seen.queue_id
JOIN hipq.instance ON instance.instance_id = queue.instance_id
JOIN hipq.shard ON shard.instance_id = queue.instance_id
JOIN hipq.shards AS link ON link.instance = instance.name AND link.shard = shard.node
LEFT JOIN hipq.shard_stats AS stats
    ON stats.instance_id = shard.instance_id AND stats.node = shard.node
LEFT JOIN LATERAL jsonb_to_recordset(stats.queues) AS figures (
    queue text, backlog_estimate bigint, running_jobs bigint, finished_per_minute numeric,
    failed bigint, oldest_due_time timestamptz, state text
) ON figures.queue = queue.name
WHERE NOT queue.is_dropped;
COMMENT ON VIEW hipq.cluster_queues_detail
    IS 'what goes on in each queue of a sharded instance on each node: on the router of all, on a '
    'shard of this one alone';
COMMENT ON COLUMN hipq.cluster_queues_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.cluster_queues_detail.node IS 'number of the server; 0 = the router';
COMMENT ON COLUMN hipq.cluster_queues_detail.backlog_estimate
    IS 'unfinished jobs, about; NULL: the queue is locked there or, as in the next columns, the '
    'node has not said anything yet';
COMMENT ON COLUMN hipq.cluster_queues_detail.running_jobs
    IS 'jobs that executors run, that external workers have, or that are offered to them';
COMMENT ON COLUMN hipq.cluster_queues_detail.finished_per_minute
    IS 'jobs that succeeded or failed for good, per minute';
COMMENT ON COLUMN hipq.cluster_queues_detail.failed IS 'jobs that failed for good in the last hour';
COMMENT ON COLUMN hipq.cluster_queues_detail.oldest_due_time
    IS 'no job that is due was due before; NULL = none is due';
COMMENT ON COLUMN hipq.cluster_queues_detail.state IS 'as in view hipq.activity';
COMMENT ON COLUMN hipq.cluster_queues_detail.as_of
    IS 'when the node has said so, by its clock: when something changed, at most each 2 seconds';
COMMENT ON COLUMN hipq.cluster_queues_detail.is_reachable
    IS 'rows go to the node and come from it: see hipq.shards';
