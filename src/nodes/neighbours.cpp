// Finds the neighbours of this node, and how far they have read.
#include "nodes/neighbours.hpp"

#include "core/text/names.hpp"
#include "nodes/dblink.hpp"
#include "nodes/nodes.hpp"
#include "pg/transaction.hpp"
#include "shared/databases/duties_set_aside.hpp"

namespace hipq::nodes {

namespace {

constexpr std::int64_t longest_wait = 5'000'000;  // us
constexpr long look_interval = 20;                // ms

constinit pg::Statement select_shards(R"(
    SELECT shard.node, shard.conninfo
    FROM hipq.shard AS shard
    WHERE shard.instance_id = $1
    ORDER BY shard.node)");

constinit pg::Statement select_router(R"(
    SELECT known.subconninfo
    FROM pg_catalog.pg_subscription AS known
    JOIN pg_catalog.pg_database AS database ON database.oid = known.subdbid AND database.datname = current_database()
    WHERE known.subname = $1)");

std::vector<Neighbour> shards_of(const Instance &instance)
{
    std::vector<Neighbour> found;
    for (const pg::Row row : select_shards.run_latest(instance.id)) {
        const int node = row.integer32(0);
        found.push_back({node, row.text(1), core::line_to_shard(instance.shards->channel, node)});
    }
    return found;
}

std::vector<Neighbour> router_of(const catalog::Shards &shards)
{
    std::vector<Neighbour> found;
    for (const pg::Row row :
         select_router.run_latest(core::line_to_shard(shards.channel, shards.own_node)))
        found.push_back({core::router_node, row.text(0),
                         core::line_from_shard(shards.channel, shards.own_node)});
    return found;
}

constinit pg::Statement select_place(R"(
    SELECT map.generation, map.nodes[$2 + 1], move.from_node
    FROM hipq.shard_map AS map
    LEFT JOIN hipq.shard_move AS move ON move.instance_id = map.instance_id AND move.slot = $2
    WHERE map.instance_id = $1)");

// $1 instance, $2 the neighbour.
constinit pg::Statement select_own_node(R"(
    SELECT map.own_node, map.timeline
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1
      AND CASE map.own_node
              WHEN 0 THEN EXISTS (
                  SELECT
                  FROM hipq.shard AS shard
                  WHERE shard.instance_id = map.instance_id AND shard.node = $2)
              ELSE $2 = 0
          END)");

constinit pg::Statement select_trouble(R"(
    SELECT
    FROM hipq.shard_stats AS said
    WHERE said.instance_id = $1 AND said.node = $2 AND said.trouble IS NOT NULL)");

constinit pg::Statement select_position("SELECT pg_catalog.pg_current_wal_insert_lsn()::text");

// A page header may precede the position; it contains nothing to read.
constinit pg::Statement select_read(R"(
    SELECT
    FROM pg_catalog.pg_replication_slots AS known
    WHERE known.slot_name = $1 AND known.confirmed_flush_lsn >= $2::pg_catalog.pg_lsn - 24::numeric)");

// Returns false if the condition does not become true in time.
bool wait_until(const std::function<bool()> &is_true)
{
    const TimestampTz end = ::GetCurrentTimestamp() + longest_wait;
    while (!is_true()) {
        if (::GetCurrentTimestamp() >= end)
            return false;
        rest(look_interval);
    }
    return true;
}

}  // namespace

std::optional<OwnNode> node_beside(const std::string &instance, int neighbour)
{
    const pg::Rows rows = pg::as_extension_owner(
        [&] { return select_own_node.run_latest(instance, std::int32_t{neighbour}); });
    if (rows.empty())
        return std::nullopt;
    return OwnNode{rows.front().integer32(0), rows.front().text(1)};
}

std::string Instance::shown(int node) const
{
    const std::string of = " of instance \"" + name + "\"";
    return (node == core::router_node ? "the router" : "shard " + std::to_string(node)) + of;
}

std::vector<Neighbour> neighbours(const Instance &instance)
{
    return pg::as_extension_owner(
        [&] { return instance.is_router() ? shards_of(instance) : router_of(*instance.shards); });
}

core::SlotPlace place_of(const Instance &instance, int slot)
{
    return pg::as_extension_owner([&] {
        const pg::Rows rows = select_place.run_latest(instance.id, static_cast<std::int16_t>(slot));
        if (rows.empty())
            return core::SlotPlace{};
        const pg::Row row = rows.front();
        const auto left = row.maybe_integer(2);
        return core::SlotPlace{row.integer(0), row.integer32(1),
                               left.has_value() ? std::optional(static_cast<int>(*left))
                                                : std::nullopt};
    });
}

bool wait_for_moves()
{
    // On a standby no slots move, and wait_until_read() reports that it knows nothing.
    return ::RecoveryInProgress() || wait_until([] { return catalog::are_maps_settled(); });
}

bool meets_error(const Instance &instance, int node)
{
    const auto here = databases::list_set_aside();
    return std::ranges::any_of(
               here, [](const auto &aside) { return aside.duty == core::Duty::letters; }) ||
           pg::as_extension_owner([&] {
               return !select_trouble.run_latest(instance.id, static_cast<std::int16_t>(node))
                           .empty();
           });
}

bool wait_until_read(const Neighbour &neighbour)
{
    if (::RecoveryInProgress())
        return false;  // other nodes read from the primary
    const std::string position =
        pg::as_extension_owner([] { return select_position.run().front().text(0); });
    return wait_until([&] {
        return pg::as_extension_owner(
            [&] { return !select_read.run_latest(neighbour.slot, position).empty(); });
    });
}

}  // namespace hipq::nodes
