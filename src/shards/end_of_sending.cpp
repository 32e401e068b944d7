// Sends a shard from which slots have left the letter `last`: the router sends it no more jobs of
// these slots.
//
// Streams keep their order, so no job of these slots comes after this letter. No session has to
// wait: the locks on the map show which transactions may still use the previous map
// (older_maps.hpp).
#include "shards/end_of_sending.hpp"

#include "catalog/cache.hpp"
#include "core/shards/ids.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "process/process.hpp"
#include "shards/map.hpp"
#include "shards/older_maps.hpp"

namespace hipq::shards {

namespace {

constexpr std::int64_t last_look_interval = 100'000;  // us, between two looks at open transactions

#define HIPQ_AWAITS_LAST                                                                           \
    "move.instance_id = $1 AND move.in_order <> '{}' AND move.from_node <> 0 AND NOT "             \
    "move.last_sent"

constinit pg::Statement note_moves_seen(
    "UPDATE hipq.shard_move AS move SET seen_time = clock_timestamp() WHERE " HIPQ_AWAITS_LAST
    " AND move.seen_time IS NULL");

// By time, so that later moves do not hold up earlier ones.
constinit pg::Statement
    select_times_moves_seen("SELECT DISTINCT move.seen_time FROM hipq.shard_move AS move "
                            "WHERE " HIPQ_AWAITS_LAST " ORDER BY move.seen_time DESC");

// $2 the instance's name, $3 the latest time at which they were seen.
constinit pg::Statement insert_last(R"(
    WITH told AS (
        UPDATE hipq.shard_move AS move
        SET last_sent = true
        WHERE )" HIPQ_AWAITS_LAST R"( AND move.seen_time <= $3
        RETURNING move.from_node, move.slot
    )
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT $2, 0, told.from_node, 'last', jsonb_build_object('slots', jsonb_agg(told.slot ORDER BY told.slot))
    FROM told
    GROUP BY told.from_node)");

constinit pg::Statement update_leaving(R"(
    UPDATE hipq.shard_leaving AS leaving
    SET last_came = true
    FROM hipq.instance AS instance
    WHERE instance.name = $1 AND leaving.instance_id = instance.instance_id
      AND leaving.slot IN (SELECT told.slot::smallint FROM pg_catalog.jsonb_array_elements_text($2 -> 'slots') AS told (slot)))");

void send_to_shards(int instance_id, const std::string &instance)
{
    wait_for_moves();
    note_moves_seen.run(instance_id);
    for (const pg::Row row : select_times_moves_seen.run(instance_id))
        if (!has_users_since(row.time(0))) {
            insert_last.run(instance_id, instance, row.time(0));
            return;
        }
}

}  // namespace

pg::Time send_last(const catalog::Catalogue &catalogue)
{
    std::map<int, std::string> instances;
    for (const auto &[id, queue] : catalogue.queues)
        if (queue.shards != nullptr && queue.shards->awaits_last)
            instances.emplace(queue.instance_id, queue.instance);
    for (const auto &instance : instances)
        process::do_duty(core::Duty::slots, nullptr, [&] {
            pg::with_transaction(
                [&] { pg::as_hipq([&] { send_to_shards(instance.first, instance.second); }); });
        });
    return instances.empty() ? pg::infinity : pg::now() + last_look_interval;
}

void take_last(const std::string &instance, pg::RawValue body)
{
    pg::as_hipq([&] { update_leaving.run(instance, body); });
}

}  // namespace hipq::shards
