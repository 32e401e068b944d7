// Checks the tables of queues: orphans, leaves that are kept too long, dead rows, bloat.
#include "monitor/doctor/findings.hpp"

namespace hipq::monitor {

namespace {

// The files of an empty table are empty, or hold only what a vacuum left. Tables without a queue
// are shown to members of pg_monitor only.
constexpr const char *orphans_sql = R"(
    SELECT NULL::integer,
           'warning',
           format('table hipq.%I', orphan.relname),
           'table without queue',
           CASE WHEN orphan.bytes = 0 THEN 'It is the table of a queue that does not exist, and is empty.'
                ELSE 'It is the table of a queue that does not exist, and has rows.' END,
           CASE WHEN orphan.bytes = 0 THEN 'Drop it, or take it over with hipq.create_queue().'
                ELSE 'Its rows came without those of hipq.queue, as from pg_dump -t. Restore the whole dump, or empty it and take it over with hipq.create_queue().' END,
           CASE WHEN orphan.bytes = 0 THEN format('DROP TABLE hipq.%I', orphan.relname) END
    FROM (
        SELECT top.relname, (SELECT sum(pg_relation_size(tree.relid)) FROM pg_partition_tree(top.oid) AS tree WHERE tree.isleaf) AS bytes
        FROM (
            SELECT class.oid, class.relname
            FROM pg_class AS class
            WHERE class.relnamespace = 'hipq'::regnamespace AND class.relkind = 'p'
              AND NOT EXISTS (SELECT FROM hipq.queue WHERE queue.table_name = class.relname)
            OFFSET 0
        ) AS top
        WHERE pg_get_partkeydef(top.oid) = 'LIST (state)'
    ) AS orphan
    ORDER BY orphan.relname)";

constexpr const char *missing_sql = R"(
    SELECT queue.queue_id,
           'error',
           format('queue "%s.%s"', instance.name, queue.name),
           'queue without table',
           CASE WHEN top.oid IS NULL THEN format('Its table hipq.%I does not exist.', queue.table_name)
                ELSE format('Its table hipq.%I is not a partition of hipq.job.', queue.table_name) END,
           CASE WHEN top.oid IS NULL THEN 'Restore the table, or drop the queue.' ELSE 'Attach it again: its jobs wait.' END,
           CASE WHEN top.oid IS NULL THEN format('SELECT hipq.drop_queue(%L, force => true)', instance.name || '.' || queue.name)
                ELSE format('ALTER TABLE hipq.job ATTACH PARTITION hipq.%I FOR VALUES IN (%s)', queue.table_name, queue.queue_id) END
    FROM hipq.queue
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    LEFT JOIN pg_class AS top ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
    WHERE NOT queue.is_dropped AND (top.oid IS NULL OR NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = top.oid AND inhparent = 'hipq.job'::regclass))
    ORDER BY instance.name, queue.name)";

// A leaf is dropped when all of its rows are past the retention; it covers a quarter of that time.
constexpr const char *retention_sql = R"(
    SELECT queue.queue_id,
           'warning',
           format('queue "%s.%s"', instance.name, queue.name),
           'retention is behind',
           format('It keeps final jobs for %s, and %s leaf (leaves) are older, the oldest until %s.', kept.retention, count(*), min(bound.to_time)),
           'hipq drops them within a minute, unless it is off here or a reader of the table is in the way: view pg_stat_activity has old transactions. '
           'The statement drops the oldest.',
           format('DROP TABLE %s', (array_agg(leaf.oid::regclass ORDER BY bound.to_time))[1])
    FROM hipq.queue
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    JOIN pg_class AS top ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
    JOIN pg_inherits AS of_top ON of_top.inhparent = top.oid
    JOIN pg_partitioned_table AS final ON final.partrelid = of_top.inhrelid
    JOIN pg_inherits AS of_tree ON of_tree.inhparent = final.partrelid AND of_tree.inhrelid <> final.partdefid
    JOIN pg_class AS leaf ON leaf.oid = of_tree.inhrelid
    CROSS JOIN LATERAL (SELECT substring(pg_get_expr(leaf.relpartbound, 0) FROM 'TO \(''([^'']*)''\)')::timestamptz AS to_time) AS bound
    CROSS JOIN LATERAL (SELECT coalesce(nullif(queue.retention, interval '0'), current_setting('hipq.retention')::interval) AS retention) AS kept
    WHERE NOT queue.is_dropped AND bound.to_time + kept.retention + kept.retention / 4 + interval '1 hour' < hipq.now()
    GROUP BY queue.queue_id, instance.name, queue.name, kept.retention
    ORDER BY instance.name, queue.name)";

// Uses the server's statistics and file sizes, and reads no table. A crash empties the statistics
// until the next vacuum.
constexpr const char *bloat_sql = R"(
    SELECT leaf.queue_id, 'warning', format('table %s', leaf.oid::regclass), rule.finding, rule.detail, rule.hint, rule.statement
    FROM (
        SELECT queue.queue_id,
               leaf.oid,
               pg_stat_get_live_tuples(leaf.oid) AS live,
               pg_stat_get_dead_tuples(leaf.oid) AS dead,
               pg_relation_size(leaf.oid) AS bytes,
               pg_stat_get_live_tuples(leaf.oid) > 0 OR pg_stat_get_last_vacuum_time(leaf.oid) IS NOT NULL
                   OR pg_stat_get_last_autovacuum_time(leaf.oid) IS NOT NULL AS is_known
        FROM hipq.queue
        JOIN pg_class AS top ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
        JOIN pg_inherits ON inhparent = top.oid
        JOIN pg_class AS leaf ON leaf.oid = inhrelid AND leaf.relkind = 'r'
        WHERE NOT queue.is_dropped
        OFFSET 0
    ) AS leaf
    CROSS JOIN LATERAL (VALUES
        (leaf.dead > 20000 AND leaf.dead > 2 * leaf.live,
         'dead rows', format('It has about %s dead rows and %s live ones: claims read over the dead ones.', leaf.dead, leaf.live),
         'hipq vacuums it by itself; what keeps a snapshot is in the way. End that first.', format('VACUUM %s', leaf.oid::regclass)),
        (leaf.is_known AND leaf.bytes > 16 * 1024 * 1024 AND leaf.dead <= 2 * greatest(leaf.live, 10000) AND leaf.bytes > 16384 * greatest(leaf.live, 1),
         'bloat', format('It is %s large with about %s rows.', pg_size_pretty(leaf.bytes), leaf.live),
         'It had many more rows once. The statement writes it anew; jobs of the queue wait meanwhile.', format('VACUUM FULL %s', leaf.oid::regclass))
    ) AS rule (is_the_case, finding, detail, hint, statement)
    WHERE rule.is_the_case AND (leaf.dead > 20000 OR leaf.bytes > 16 * 1024 * 1024)
    ORDER BY leaf.bytes DESC)";

// Publications between the nodes of a sharded instance carry only hipq.shard_outbox.
constexpr const char *publications_sql = R"(
    SELECT NULL::integer,
           CASE WHEN carried.lacking > 0 THEN 'error' ELSE 'information' END,
           format('publication "%s"', publication.pubname),
           CASE WHEN carried.lacking > 0 THEN 'published without identity' ELSE 'hipq is published' END,
           CASE WHEN carried.lacking > 0
                THEN format('%s of the tables of hipq that it publishes have no replica identity: their rows cannot be changed or deleted.', carried.lacking)
                ELSE format('It publishes %s tables of hipq: each change of a job is decoded and sent, and a subscriber that has hipq runs none of these jobs.', carried.tables) END,
           CASE WHEN carried.lacking > 0 THEN 'hipq gives it to the leaves that it makes, within a minute. The statement gives it to the first one.'
                ELSE 'If that is not meant, publish the tables or schemas that are. A subscriber needs the same tables; leaves by time, too, unless publish_via_partition_root is on.' END,
           CASE WHEN carried.lacking > 0 THEN format('ALTER TABLE %s REPLICA IDENTITY FULL', carried.first) END
    FROM pg_publication AS publication
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT published.relid) AS tables,
               count(DISTINCT part.relid) FILTER (WHERE part.lacks) AS lacking,
               min(part.relid::regclass::text) FILTER (WHERE part.lacks) AS first
        FROM pg_get_publication_tables(publication.pubname) AS published
        JOIN pg_class AS top ON top.oid = published.relid AND top.relnamespace = 'hipq'::regnamespace AND top.relname NOT LIKE 'shard\_outbox%'
        CROSS JOIN LATERAL (
            SELECT leaf.oid AS relid,
                   (publication.pubupdate OR publication.pubdelete)
                   AND (leaf.relreplident = 'n'
                        OR leaf.relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = leaf.oid AND indisprimary)) AS lacks
            FROM (SELECT top.oid WHERE top.relkind = 'r' UNION ALL SELECT relid FROM pg_partition_tree(top.oid) WHERE isleaf AND top.relkind = 'p') AS tree (relid)
            JOIN pg_class AS leaf ON leaf.oid = tree.relid
        ) AS part
    ) AS carried
    WHERE carried.tables > 0
    ORDER BY publication.pubname)";

}  // namespace

std::span<const SqlCheck> table_checks()
{
    static constexpr SqlCheck checks[] = {
        {"tables without a queue", orphans_sql},
        {"tables of queues", missing_sql},
        {"retention", retention_sql},
        {"bloat", bloat_sql},
        {"publications", publications_sql},
    };
    return checks;
}

}  // namespace hipq::monitor
