// Gives slots to other nodes: rebalance(), move_slots(), and each node's part in a move.
#include "shards/map.hpp"

#include "core/shards/rebalance.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/subtransaction.hpp"

namespace hipq::shards {

namespace {

// ---- taking over ----

constinit pg::Statement update_to_newer_map(R"(
    UPDATE hipq.shard_map AS map
    SET generation = ($2 ->> 'generation')::bigint,
        nodes = ARRAY(
            SELECT entry.node::smallint
            FROM pg_catalog.jsonb_array_elements_text($2 -> 'nodes') WITH ORDINALITY AS entry (node, place)
            ORDER BY entry.place)
    FROM hipq.instance AS instance
    WHERE instance.instance_id = map.instance_id AND instance.name = $1 AND map.generation < ($2 ->> 'generation')::bigint
    RETURNING map.instance_id, map.own_node)");

// $1 instance, $2 own node, $3 the moves. A slot that comes back has not left.
#define HIPQ_MOVES                                                                                 \
    "WITH move AS ("                                                                               \
    "    SELECT entry.slot, entry.from_node, entry.to_node, coalesce(entry.in_order, '{}') AS "    \
    "in_order"                                                                                     \
    "    FROM pg_catalog.jsonb_to_recordset($3) AS entry (slot smallint, from_node smallint, "     \
    "to_node smallint, in_order text[])) "

constinit pg::Statement begin_leaving(HIPQ_MOVES R"(
    INSERT INTO hipq.shard_leaving (instance_id, slot, in_order)
    SELECT $1, move.slot, move.in_order FROM move WHERE move.from_node = $2
    ON CONFLICT ON CONSTRAINT shard_leaving_pkey
    DO UPDATE SET seen_time = NULL, busy_keys = NULL, in_order = excluded.in_order, last_came = false)");
constinit pg::Statement end_leaving(HIPQ_MOVES R"(
    DELETE FROM hipq.shard_leaving AS leaving USING move
    WHERE leaving.instance_id = $1 AND leaving.slot = move.slot AND move.to_node = $2)");
constinit pg::Statement begin_coming(HIPQ_MOVES R"(
    INSERT INTO hipq.shard_coming (instance_id, slot, in_order)
    SELECT $1, move.slot, move.in_order FROM move WHERE move.to_node = $2
    ON CONFLICT ON CONSTRAINT shard_coming_pkey
    DO UPDATE SET busy_keys = NULL, in_order = excluded.in_order, quiet_time = NULL)");

void take_moves(int instance_id, int own_node, pg::RawValue moves)
{
    const auto own = static_cast<std::int16_t>(own_node);
    for (pg::Statement *step : {&begin_leaving, &end_leaving, &begin_coming})
        step->run(instance_id, own, moves);
}

constinit pg::Statement select_moves("SELECT $1 -> 'moves' WHERE $1 ? 'moves'");

constinit pg::Statement lock_out_moves("LOCK TABLE hipq.shard_map IN SHARE MODE");

// ---- the router ----

// First take the lock that the router waits for before it takes what shards send (receive.cpp).
constinit pg::Statement lock_table("LOCK TABLE hipq.shard_map IN ROW EXCLUSIVE MODE");
constinit pg::Statement lock_map_of_router(R"(
    SELECT map.instance_id
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND map.own_node = 0
    FOR UPDATE OF map)");

// $2 slots, $3 their nodes. Ignores slots that already move, or that are there. The order to keep
// is decided here, for all nodes: a queue may be altered while a slot moves.
constinit pg::Statement insert_moves(R"(
    INSERT INTO hipq.shard_move (instance_id, slot, from_node, to_node, in_order)
    SELECT map.instance_id, entry.slot, map.nodes[entry.slot + 1], entry.node,
           ARRAY(
               SELECT queue.name
               FROM hipq.queue AS queue
               WHERE queue.instance_id = $1 AND queue.move_order = 'strict' AND NOT queue.is_dropped
               ORDER BY queue.name)
    FROM hipq.shard_map AS map
    CROSS JOIN unnest($2, $3) AS entry (slot, node)
    WHERE map.instance_id = $1 AND map.nodes[entry.slot + 1] <> entry.node
    ON CONFLICT DO NOTHING
    RETURNING slot)");

constinit pg::Statement change_map(R"(
    UPDATE hipq.shard_map AS map
    SET generation = map.generation + 1,
        nodes = ARRAY(
            SELECT coalesce(move.to_node, entry.node)
            FROM unnest(map.nodes) WITH ORDINALITY AS entry (node, place)
            LEFT JOIN hipq.shard_move AS move ON move.instance_id = map.instance_id AND move.slot = entry.place - 1
            ORDER BY entry.place)
    WHERE map.instance_id = $1)");

// $2: the slots that begin to move.
constinit pg::Statement select_begun(R"(
    SELECT jsonb_agg(jsonb_build_object('slot', move.slot, 'from_node', move.from_node, 'to_node', move.to_node, 'in_order', move.in_order))
    FROM hipq.shard_move AS move
    WHERE move.instance_id = $1 AND move.slot = ANY ($2))");

constinit pg::Statement tell_all(R"(
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT instance.name, 0, shard.node, 'map',
           jsonb_build_object('generation', map.generation, 'nodes', to_jsonb(map.nodes), 'moves', $2)
    FROM hipq.shard AS shard
    JOIN hipq.shard_map AS map USING (instance_id)
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE shard.instance_id = $1
    ORDER BY shard.node)");

constinit pg::Statement select_active_shard(R"(
    SELECT
    FROM hipq.shard AS shard
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND shard.node = $2 AND shard.state = 'active')");

// A shard that is being emptied has no weight. The router does not work beside shards; without any
// it gets all slots back.
constinit pg::Statement select_weights(R"(
    SELECT shard.node, CASE shard.state WHEN 'active' THEN shard.weight ELSE 0 END
    FROM hipq.shard AS shard
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND shard.state <> 'joining'
    UNION ALL
    SELECT 0, (NOT EXISTS (
        SELECT
        FROM hipq.shard AS shard
        JOIN hipq.instance AS instance USING (instance_id)
        WHERE instance.name = $1 AND shard.state = 'active'))::integer
    ORDER BY 1)");

constinit pg::Statement begin_draining(R"(
    UPDATE hipq.shard AS shard
    SET state = 'draining'
    FROM hipq.instance AS instance
    WHERE instance.instance_id = shard.instance_id AND instance.name = $1 AND shard.node = $2
      AND shard.state IN ('active', 'draining'))");

constinit pg::Statement select_nodes_of_slots(R"(
    SELECT entry.node
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    CROSS JOIN unnest(map.nodes) WITH ORDINALITY AS entry (node, place)
    WHERE instance.name = $1
    ORDER BY entry.place)");

// A session that waits for this lock keeps the router from taking what all other shards send.
void lock_table_for_a_while()
{
    constexpr int longest_wait = 5'000;  // ms
    const auto take = [] { pg::as_hipq([] { lock_table.run(); }); };
    if (pg::with_lock_limit(longest_wait, pg::Ending::kept, take))
        return;
    HIPQ_RAISE(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
               errmsg("the router is just taking what a shard has sent, and has to wait"),
               errhint("Try again when the transactions that are open have ended: pg_locks shows "
                       "them."));
}

int lock_router(const std::string &instance)
{
    lock_table_for_a_while();
    const pg::Rows rows = pg::as_hipq([&] { return lock_map_of_router.run(instance); });
    if (rows.empty())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("this server is not the router of instance \"%s\"", instance.c_str()),
                   errhint("Slots are moved on the router; see hipq.create_shard()."));
    return rows.front().integer32(0);
}

// Returns the number of slots that begin to move.
std::int64_t begin_moves(int instance_id, const std::vector<std::int64_t> &slots,
                         const std::vector<std::int64_t> &nodes)
{
    std::vector<std::int64_t> begun;
    pg::as_hipq([&] {
        for (const pg::Row row : insert_moves.run(instance_id, slots, nodes))
            begun.push_back(row.integer(0));
        if (begun.empty())
            return;
        change_map.run(instance_id);
        const pg::RawValue moves = select_begun.run(instance_id, begun).front().raw(0);
        tell_all.run(instance_id, moves);
        take_moves(instance_id, core::router_node, moves);
    });
    return static_cast<std::int64_t>(begun.size());
}

std::int64_t rebalance(const std::string &instance)
{
    const int instance_id = lock_router(instance);
    std::vector<core::NodeWeight> weights;
    core::SlotMap map{};
    pg::as_extension_owner([&] {
        for (const pg::Row row : select_weights.run(instance))
            weights.push_back({row.integer32(0), row.integer(1)});
        std::size_t slot = 0;
        for (const pg::Row row : select_nodes_of_slots.run(instance))
            map.at(slot++) = static_cast<std::int16_t>(row.integer32(0));
    });
    std::vector<std::int64_t> slots;
    std::vector<std::int64_t> nodes;
    for (const core::SlotMove &move : core::rebalance(map, weights)) {
        slots.push_back(move.slot);
        nodes.push_back(move.to);
    }
    return begin_moves(instance_id, slots, nodes);
}

std::int64_t drain_shard(const std::string &instance, int node)
{
    (void)lock_router(instance);
    const bool is_there =
        pg::as_hipq([&] { return begin_draining.run(instance, node).processed() > 0; });
    if (!is_there)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("instance \"%s\" has no active shard %d", instance.c_str(), node),
                   errhint("View hipq.shards has them."));
    return rebalance(instance);
}

void demand_movable(const std::vector<std::int32_t> &slots)
{
    for (const int slot : slots)
        if (slot <= core::router_slot || slot >= core::slot_count)
            HIPQ_RAISE(
                errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("slot %d cannot be moved", slot),
                errhint("Slots have numbers from 1 to 4095; slot 0 is always the router's."));
}

void demand_node(const std::string &instance, int node)
{
    if (node == core::router_node)
        return;
    const bool is_there =
        node > 0 && node < core::node_count && pg::as_extension_owner([&] {
            return !select_active_shard.run(instance, static_cast<std::int16_t>(node)).empty();
        });
    if (!is_there)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("instance \"%s\" has no active shard %d", instance.c_str(), node),
                   errhint("View hipq.shards has them."));
}

std::int64_t move_slots(const std::string &instance, const std::vector<std::int32_t> &slots,
                        int node)
{
    const int instance_id = lock_router(instance);
    demand_movable(slots);
    demand_node(instance, node);
    return begin_moves(instance_id, {slots.begin(), slots.end()},
                       std::vector<std::int64_t>(slots.size(), node));
}

}  // namespace

void wait_for_moves()
{
    lock_out_moves.run();
}

void take_map(const std::string &instance, pg::RawValue body)
{
    pg::as_hipq([&] {
        const pg::Rows taken = update_to_newer_map.run(instance, body);
        if (taken.empty())
            return;
        for (const pg::Row row : select_moves.run(body))
            take_moves(taken.front().integer32(0), taken.front().integer32(1), row.raw(0));
    });
}

}  // namespace hipq::shards

HIPQ_FUNCTION(hipq_rebalance)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return hipq::pg::return_int(
        static_cast<std::int32_t>(hipq::shards::rebalance(arguments.text("instance"))));
}

HIPQ_FUNCTION(hipq_drain_shard)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return hipq::pg::return_int(static_cast<std::int32_t>(
        hipq::shards::drain_shard(arguments.text("instance"), arguments.integer("shard"))));
}

HIPQ_FUNCTION(hipq_move_slots)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return hipq::pg::return_int(static_cast<std::int32_t>(hipq::shards::move_slots(
        arguments.text("instance"), arguments.integers("slots"), arguments.integer("shard"))));
}
