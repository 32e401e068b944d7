// Knows the neighbours of this node, and how far they have read.
#include "nodes/neighbours.hpp"

#include "nodes/dblink.hpp"
#include "pg/transaction.hpp"

namespace hipq::nodes {

namespace {

constexpr std::int64_t longest_wait = 5'000'000;  // us
constexpr long look_interval = 20;                // ms

constinit pg::Statement select_shards(R"(
    SELECT shard.node, shard.conninfo, shard.channel || '_to_' || shard.node
    FROM hipq.shard AS shard
    WHERE shard.instance_id = $1
    ORDER BY shard.node)");

constinit pg::Statement select_router(R"(
    SELECT 0, known.subconninfo, channel.name || '_from_' || map.own_node
    FROM hipq.shard_map AS map
    CROSS JOIN LATERAL (SELECT 'hipq_' || left(map.cluster::text, 8)) AS channel (name)
    JOIN pg_catalog.pg_subscription AS known ON known.subname = channel.name || '_to_' || map.own_node
    JOIN pg_catalog.pg_database AS database ON database.oid = known.subdbid AND database.datname = current_database()
    WHERE map.instance_id = $1)");

constinit pg::Statement select_left(
    "SELECT move.from_node FROM hipq.shard_move AS move WHERE move.instance_id = $1 AND move.slot "
    "= $2");

constinit pg::Statement select_position("SELECT pg_catalog.pg_current_wal_insert_lsn()::text");

// The header of a page may stand before the position, and is nothing that could be read.
constinit pg::Statement select_read(R"(
    SELECT
    FROM pg_catalog.pg_replication_slots AS known
    WHERE known.slot_name = $1 AND known.confirmed_flush_lsn >= $2::pg_catalog.pg_lsn - 24::numeric)");

}  // namespace

std::string Instance::shown(int node) const
{
    const std::string of = " of instance \"" + name + "\"";
    return (node == core::router_node ? "the router" : "shard " + std::to_string(node)) + of;
}

std::vector<Neighbour> neighbours(const Instance &instance)
{
    return pg::as_extension_owner([&] {
        std::vector<Neighbour> found;
        pg::Statement &select = instance.is_router() ? select_shards : select_router;
        for (const pg::Row row : select.run_latest(instance.id))
            found.push_back({row.integer32(0), row.text(1), row.text(2)});
        return found;
    });
}

std::optional<int> node_left_by(const Instance &instance, int slot)
{
    return pg::as_extension_owner([&]() -> std::optional<int> {
        const pg::Rows rows = select_left.run_latest(instance.id, static_cast<std::int16_t>(slot));
        return rows.empty() ? std::nullopt : std::optional(rows.front().integer32(0));
    });
}

bool wait_until_read(const Neighbour &neighbour)
{
    if (::RecoveryInProgress())
        return false;  // others read from the primary
    const std::string position =
        pg::as_extension_owner([] { return select_position.run().front().text(0); });
    const TimestampTz end = ::GetCurrentTimestamp() + longest_wait;
    const auto is_read = [&] {
        return pg::as_extension_owner(
            [&] { return !select_read.run_latest(neighbour.slot, position).empty(); });
    };
    while (!is_read()) {
        if (::GetCurrentTimestamp() >= end)
            return false;
        rest(look_interval);
    }
    return true;
}

}  // namespace hipq::nodes
