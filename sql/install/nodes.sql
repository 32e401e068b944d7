-- Functions with which the nodes of a sharded instance query one another.

CREATE FUNCTION hipq._answer(
    instance_name text, asker integer, role text, function text, id bigint, arguments text[],
    is_about_letter boolean
) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__answer';
COMMENT ON FUNCTION hipq._answer(text, integer, text, text, bigint, text[], boolean)
    IS 'does for another node what a role has called there, by the id of a job, with the rights '
    'that this role has here; NULL = there is no such job';

CREATE FUNCTION hipq._wait_until_read(instance_name text) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__wait_until_read';
COMMENT ON FUNCTION hipq._wait_until_read(text)
    IS 'waits for some seconds until others have read what this node has sent; its router asks';

-- The activity in the queues of each shard, as the shard last reported it.
CREATE TABLE hipq.shard_stats (
    instance_id integer     NOT NULL,
    node        smallint    NOT NULL,
    as_of       timestamptz NOT NULL,
    queues      jsonb       NOT NULL,
    trouble     text,
    CONSTRAINT shard_stats_pkey PRIMARY KEY (instance_id, node)
);
COMMENT ON TABLE hipq.shard_stats IS 'on the router: what each shard has last said of its queues';
COMMENT ON COLUMN hipq.shard_stats.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_stats.node IS 'number of the shard';
COMMENT ON COLUMN hipq.shard_stats.as_of IS 'when it has said so, by its clock';
COMMENT ON COLUMN hipq.shard_stats.queues
    IS 'an object for each queue: columns of view hipq.activity_detail';
COMMENT ON COLUMN hipq.shard_stats.trouble
    IS 'the error that keeps it from taking what this server sends; NULL = none';
