\echo Use "ALTER EXTENSION hipq UPDATE" to load this file. \quit

SET LOCAL search_path = pg_catalog, pg_temp;

-- A server that was not restarted still runs the library of 0.1.0, which has none of the functions below.
DO $upgrade$
BEGIN
    IF hipq.version() = '0.1.0' THEN
        RAISE EXCEPTION 'the server still runs the library of hipq 0.1.0'
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Restart the server, and then update the extension.';
    END IF;
END
$upgrade$;
-- Tables that a subscription fills: their queues stand still until release_hold(queue).
CREATE TABLE hipq.queue_hold (
    queue_id     integer     NOT NULL CONSTRAINT queue_hold_pkey PRIMARY KEY,
    subscription text COLLATE "C" NOT NULL,
    held_time    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE hipq.queue_hold
    IS 'queues whose jobs a logical subscription has brought: they run where they come from, until '
    'hipq.release_hold(queue)';
COMMENT ON COLUMN hipq.queue_hold.queue_id IS 'number of the queue';
COMMENT ON COLUMN hipq.queue_hold.subscription IS 'the subscription';
COMMENT ON COLUMN hipq.queue_hold.held_time IS 'since when the queue stands still';
SELECT pg_extension_config_dump('hipq.queue_hold', '');

CREATE TRIGGER catalogue_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON hipq.queue_hold
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.queue_hold ENABLE ALWAYS TRIGGER catalogue_changed;

CREATE FUNCTION hipq.release_hold(queue text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release_hold_of_queue';
COMMENT ON FUNCTION hipq.release_hold(text)
    IS 'makes this server the one that runs the jobs of a queue that a logical subscription has '
    'fed';
REVOKE ALL ON TABLE hipq.queue_hold FROM PUBLIC;
REVOKE ALL ON FUNCTION hipq.release_hold(text) FROM PUBLIC;

-- Subscriptions that are there already.
INSERT INTO hipq.queue_hold (queue_id, subscription)
SELECT queue.queue_id, pg_catalog.min(subscription.subname)
FROM pg_catalog.pg_subscription AS subscription
JOIN pg_catalog.pg_subscription_rel AS fed ON fed.srsubid OPERATOR(pg_catalog.=) subscription.oid
JOIN pg_catalog.pg_class AS relation ON relation.oid OPERATOR(pg_catalog.=) fed.srrelid
LEFT JOIN LATERAL pg_catalog.pg_partition_ancestors(fed.srrelid) AS ancestor ON relation.relispartition
JOIN pg_catalog.pg_class AS root ON root.oid OPERATOR(pg_catalog.=) coalesce(ancestor.relid, relation.oid)
JOIN hipq.queue AS queue
    ON queue.table_name OPERATOR(pg_catalog.=) root.relname OR relation.relname OPERATOR(pg_catalog.=) 'job'
WHERE subscription.subenabled
  AND root.relnamespace OPERATOR(pg_catalog.=) 'hipq'::pg_catalog.regnamespace
  AND subscription.subdbid OPERATOR(pg_catalog.=)
      (SELECT oid FROM pg_catalog.pg_database WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
GROUP BY queue.queue_id;

-- Leaves of queues with long names do not start with the name of the table.
CREATE OR REPLACE VIEW hipq.sizes WITH (security_barrier) AS
SELECT measured.queue,
       measured.table_name,
       measured.kind,
       measured.from_time,
       measured.to_time,
       measured.row_estimate,
       measured.bytes,
       CASE WHEN measured.kind = 'final' THEN round(measured.row_estimate / measured.days, 1) END AS rows_per_day,
       CASE WHEN measured.kind = 'final' THEN round(measured.bytes / measured.days) END AS bytes_per_day
FROM (
    SELECT leaf.queue,
           leaf.name AS table_name,
           leaf.kind,
           bound.from_time,
           bound.to_time,
           pg_stat_get_live_tuples(leaf.oid) AS row_estimate,
           pg_total_relation_size(leaf.oid) AS bytes,
           CASE WHEN bound.from_time < hipq.now()
               THEN (extract(epoch FROM least(bound.to_time, hipq.now()) - bound.from_time) / 86400)::numeric END AS days
    FROM (
        SELECT seen.name AS queue,
               'hipq.' || quote_ident(class.relname) AS name,
               CASE tree.level WHEN 1 THEN 'live' ELSE 'final' END AS kind,
               class.oid,
               class.relpartbound
        FROM (
            SELECT queue.queue_id, queue.table_name
            FROM hipq.queue
            WHERE queue.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()))
            OFFSET 0
        ) AS queue
        JOIN hipq._visible_queue AS seen ON seen.queue_id = queue.queue_id
        JOIN pg_class AS top ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
        CROSS JOIN LATERAL pg_partition_tree(top.oid) AS tree
        JOIN pg_class AS class ON class.oid = tree.relid
        WHERE tree.isleaf
        UNION ALL
        SELECT NULL, 'hipq.' || quote_ident(class.relname), 'attempt', class.oid, class.relpartbound
        FROM pg_partition_tree('hipq.attempt') AS tree
        JOIN pg_class AS class ON class.oid = tree.relid
        WHERE tree.isleaf AND class.relkind = 'r' AND pg_has_role('pg_monitor', 'USAGE')
        UNION ALL
        SELECT NULL, 'hipq.dead_letter', 'dead_letter', 'hipq.dead_letter'::regclass, NULL
        WHERE pg_has_role('pg_monitor', 'USAGE')
    ) AS leaf
    CROSS JOIN LATERAL (SELECT pg_get_expr(leaf.relpartbound, leaf.oid) AS definition) AS partition
    CROSS JOIN LATERAL (
        SELECT substring(partition.definition FROM 'FROM \(''([^'']*)''\)')::timestamptz AS from_time,
               substring(partition.definition FROM 'TO \(''([^'']*)''\)')::timestamptz AS to_time
    ) AS bound
) AS measured
OFFSET 0;
