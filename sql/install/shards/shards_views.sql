-- Views of shards, on the router, and of jobs that another node refused.

CREATE VIEW hipq.shards WITH (security_barrier) AS
SELECT instance.name AS instance,
       shard.node AS shard,
       shard.state,
       slots.count AS slots,
       moves.coming,
       moves.leaving,
       pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), forth.confirmed_flush_lsn)) AS behind,
       date_trunc('milliseconds', sender.replay_lag) AS lag,
       rejects.count AS rejects,
       CASE
           WHEN forth.slot_name IS NULL THEN 'replication slot is gone'
           WHEN forth.wal_status = 'lost' THEN 'replication slot is lost'
           WHEN NOT forth.active AND stats.trouble IS NULL THEN 'it does not read'
           WHEN back.subid IS NULL THEN 'subscription is gone'
           WHEN back.pid IS NULL THEN 'it is not read'
           WHEN stats.trouble IS NOT NULL THEN 'it cannot take what it reads: ' || stats.trouble
       END AS problem,
       moves.wait_for
FROM hipq.shard
JOIN hipq.instance USING (instance_id)
JOIN hipq.shard_map AS map USING (instance_id)
LEFT JOIN pg_replication_slots AS forth ON forth.slot_name = shard.channel || '_to_' || shard.node
LEFT JOIN pg_stat_replication AS sender ON sender.pid = forth.active_pid
LEFT JOIN hipq.shard_stats AS stats
    ON stats.instance_id = shard.instance_id AND stats.node = shard.node
LEFT JOIN pg_stat_subscription AS back
    ON back.subname = shard.channel || '_from_' || shard.node AND back.relid IS NULL
CROSS JOIN LATERAL (SELECT count(*) FROM unnest(map.nodes) AS node WHERE node = shard.node) AS slots
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE move.to_node = shard.node) AS coming,
           count(*) FILTER (WHERE move.from_node = shard.node) AS leaving,
           CASE
               WHEN bool_or(state.awaits_last) THEN 'transactions'
               WHEN bool_or(move.busy_keys IS NULL) THEN 'waiting jobs'
               WHEN bool_or(state.awaits_jobs) THEN 'running jobs'
           END AS wait_for
    FROM hipq.shard_move AS move
    CROSS JOIN LATERAL (
        SELECT move.in_order <> '{}' AND move.from_node <> 0 AND NOT move.last_sent AS awaits_last,
               jsonb_path_exists(
                   move.busy_keys, '$[*] ? (@.type() == "array" || @.awaits == "jobs")'
               ) AS awaits_jobs
    ) AS state
    WHERE move.instance_id = shard.instance_id AND shard.node IN (move.from_node, move.to_node)
) AS moves
CROSS JOIN LATERAL (
    SELECT count(*)
    FROM hipq.shard_reject AS reject
    WHERE reject.instance = instance.name AND reject.node = shard.node
) AS rejects
WHERE map.own_node = 0;
COMMENT ON VIEW hipq.shards IS 'on the router: the other servers of each instance';
COMMENT ON COLUMN hipq.shards.instance IS 'name of the instance';
COMMENT ON COLUMN hipq.shards.shard IS 'number of the server in the instance';
COMMENT ON COLUMN hipq.shards.state IS 'joining, active, draining or leaving';
COMMENT ON COLUMN hipq.shards.slots IS 'how many of the 4,096 slots it has';
COMMENT ON COLUMN hipq.shards.coming IS 'how many of them have not quite come yet';
COMMENT ON COLUMN hipq.shards.leaving IS 'how many others have not quite left it yet';
COMMENT ON COLUMN hipq.shards.behind IS 'WAL that it has not confirmed yet';
COMMENT ON COLUMN hipq.shards.lag
    IS 'how long the last rows took to get there; NULL = nothing is under way';
COMMENT ON COLUMN hipq.shards.rejects IS 'jobs that it could not take: hipq.shard_rejects';
COMMENT ON COLUMN hipq.shards.problem IS 'what keeps rows from going to and fro; NULL = nothing';
COMMENT ON COLUMN hipq.shards.wait_for
    IS 'what slots wait for that are coming or leaving: transactions (open on the router), '
    'waiting jobs, or running jobs; NULL = nothing';

CREATE VIEW hipq.shard_limits WITH (security_barrier) AS
SELECT instance.name || '.' || queue.name AS queue,
       nullif(record.job_type, '') AS job_type,
       trim_scale(authority.weight_limit / 1000.0) AS throttle_limit,
       record.node,
       CASE WHEN record.is_heard THEN trim_scale(record.share / 1000.0) END AS share,
       trim_scale(record.want / 1000.0) AS wanted,
       date_trunc('milliseconds', clock_timestamp() - record.heard_time) AS heard_ago
FROM hipq.permit_record AS record
JOIN hipq.permit_authority AS authority USING (queue_id, job_type, throttle_key)
JOIN hipq.queue USING (queue_id)
JOIN hipq.instance USING (instance_id)
WHERE throttle_key = 0;
COMMENT ON VIEW hipq.shard_limits
    IS 'on the router: limits that nodes share, and what each node has of them';
COMMENT ON COLUMN hipq.shard_limits.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.shard_limits.job_type IS 'job type that has it; NULL = the whole queue';
COMMENT ON COLUMN hipq.shard_limits.throttle_limit IS 'the limit';
COMMENT ON COLUMN hipq.shard_limits.node IS 'number of a server of the instance; 0 = the router';
COMMENT ON COLUMN hipq.shard_limits.share
    IS 'the most that may run there; NULL = it has not said what runs, so no share grows';
COMMENT ON COLUMN hipq.shard_limits.wanted IS 'what it wants to run, with what runs';
COMMENT ON COLUMN hipq.shard_limits.heard_ago IS 'how long ago it asked last';

CREATE VIEW hipq.shard_rejects_detail WITH (security_barrier) AS
SELECT reject.instance || '.' || reject.queue AS queue,
       reject.job_id,
       reject.sender,
       reject.node,
       reject.rejected_time,
       reject.sqlstate,
       reject.error,
       hipq._masked_job(queue.queue_id, coalesce(reject.job ->> 'job_type', ''), reject.job) AS job
FROM hipq.shard_reject AS reject
JOIN hipq.instance ON instance.name = reject.instance
JOIN hipq.queue ON queue.instance_id = instance.instance_id AND queue.name = reject.queue
WHERE hipq._is_one_of(queue.queue_id, hipq._readable_queues());
COMMENT ON VIEW hipq.shard_rejects_detail
    IS 'jobs that the node that they were for did not take, in both nodes';
COMMENT ON COLUMN hipq.shard_rejects_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.shard_rejects_detail.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.shard_rejects_detail.sender IS 'node that sent it';
COMMENT ON COLUMN hipq.shard_rejects_detail.node IS 'node that did not take it';
COMMENT ON COLUMN hipq.shard_rejects_detail.rejected_time IS 'when that was';
COMMENT ON COLUMN hipq.shard_rejects_detail.sqlstate
    IS 'SQLSTATE of the error; 23505: an unfinished job had its key';
COMMENT ON COLUMN hipq.shard_rejects_detail.error IS 'the error';
COMMENT ON COLUMN hipq.shard_rejects_detail.job IS 'the job as it was sent; secret data are ***';
