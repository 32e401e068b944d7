// Marks a position of the WAL, with its time, until all nodes have confirmed it.
//
// The mark is in a table, because each pass of maintenance is a process of its own.
#include "nodes/nodes.hpp"

#include "pg/internal_write.hpp"
#include "pg/spi.hpp"
#include "pg/transaction.hpp"

namespace hipq::nodes {

namespace {

// The position that all nodes have confirmed (0/0 for slots that no longer exist), and the present
// WAL position. NULL: there are no other nodes.
constinit pg::Statement select_positions(R"(
    SELECT min(coalesce(slot.confirmed_flush_lsn, '0/0'))::text, pg_catalog.pg_current_wal_insert_lsn()::text
    FROM (SELECT shard.channel || '_to_' || shard.node FROM hipq.shard AS shard
          UNION ALL
          SELECT 'hipq_' || left(map.cluster::text, 8) || '_from_' || map.own_node
          FROM hipq.shard_map AS map
          WHERE map.own_node > 0) AS known (name)
    LEFT JOIN pg_catalog.pg_replication_slots AS slot ON slot.slot_name = known.name)");

constinit pg::Statement move_mark(R"(
    INSERT INTO hipq.shard_outbox_mark AS mark (position, marked_time) VALUES ($2::pg_lsn, $3)
    ON CONFLICT (is_only) DO UPDATE
    SET read_time = mark.marked_time, position = EXCLUDED.position, marked_time = EXCLUDED.marked_time
    WHERE mark.position <= $1::pg_lsn)");

constinit pg::Statement
    select_read_time("SELECT mark.read_time FROM hipq.shard_outbox_mark AS mark");

}  // namespace

std::optional<pg::Time> unread_since(pg::Time now)
{
    const pg::Rows positions = pg::as_extension_owner([] { return select_positions.run(); });
    const pg::Row row = positions.front();
    if (row.null(0))
        return now;
    return pg::as_hipq([&]() -> std::optional<pg::Time> {
        move_mark.run(row.text(0), row.text(1), now);
        const pg::Rows mark = select_read_time.run();
        return mark.front().null(0) ? std::nullopt : std::optional(mark.front().time(0));
    });
}

}  // namespace hipq::nodes
