// Ends the coming of slots.
//
// A message alone is not what lets held jobs in: somebody may hold one who has seen the slot coming
// and commits later. So the scheduler looks at them, too.
#include "shards/coming.hpp"

#include "pg/internal_write.hpp"
#include "process/process.hpp"
#include "shards/arrived_jobs.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement select_map(R"(
    SELECT map.instance_id, map.own_node
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1)");

// A node may answer to a move while the process that began it is still on its way through its
// commit, which the shards have read from its WAL: nobody here sees the move yet. It has this row
// locked until it is seen.
constinit pg::Statement
    wait_for_moves("SELECT FROM hipq.shard_map AS map WHERE map.instance_id = $1 FOR SHARE OF map");

// What the router hears of a slot's move counts if the sender is the node that it leaves: a node
// that was promoted may say once more that an earlier move has ended.
constinit pg::Statement leave_out_others(R"(
    SELECT jsonb_build_object('slots', coalesce(jsonb_agg(entry.returned), '[]'))
    FROM pg_catalog.jsonb_array_elements($3 -> 'slots') AS entry (returned)
    JOIN hipq.shard_move AS move
        ON move.instance_id = $1 AND move.slot = (entry.returned ->> 'slot')::smallint AND move.from_node = $2)");

constinit pg::Statement pass_on(R"(
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT $1, 0, entry.node, 'returned', jsonb_build_object('slots', jsonb_agg(entry.returned))
    FROM (
        SELECT told.returned, map.nodes[(told.returned ->> 'slot')::integer + 1] AS node
        FROM hipq.shard_map AS map
        CROSS JOIN pg_catalog.jsonb_array_elements($3 -> 'slots') AS told (returned)
        WHERE map.instance_id = $2
    ) AS entry
    WHERE entry.node <> 0
    GROUP BY entry.node)");

constinit pg::Statement delete_moves(R"(
    DELETE FROM hipq.shard_move AS move
    USING pg_catalog.jsonb_to_recordset($2 -> 'slots') AS entry (slot smallint, busy jsonb)
    WHERE move.instance_id = $1 AND move.slot = entry.slot AND entry.busy = '[]')");

constinit pg::Statement note_busy(R"(
    UPDATE hipq.shard_move AS move
    SET busy_keys = entry.busy
    FROM pg_catalog.jsonb_to_recordset($2 -> 'slots') AS entry (slot smallint, busy jsonb)
    WHERE move.instance_id = $1 AND move.slot = entry.slot)");

constinit pg::Statement update_coming(R"(
    UPDATE hipq.shard_coming AS coming
    SET busy_keys = entry.busy
    FROM pg_catalog.jsonb_to_recordset($2 -> 'slots') AS entry (slot smallint, busy jsonb)
    WHERE coming.instance_id = $1 AND coming.slot = entry.slot)");

constinit pg::Statement select_held("SELECT FROM hipq.shard_held_job AS held LIMIT 1");

constinit pg::Statement release_jobs(R"(
    WITH released AS (
        DELETE FROM hipq.shard_held_job AS held
        WHERE held.place IN (
            SELECT free.place
            FROM hipq.shard_held_job AS free
            LEFT JOIN hipq.shard_coming AS coming ON coming.instance_id = free.instance_id AND coming.slot = free.slot
            WHERE free.instance_id = $1
              AND (coming.slot IS NULL
                   OR NOT coming.busy_keys @> jsonb_build_array(jsonb_build_array(free.queue, free.job_type, free.job_key)))
            FOR UPDATE OF free SKIP LOCKED)
        RETURNING held.place, held.queue, held.sender, held.outbox_id, held.job
    )
    SELECT released.queue, released.sender, released.outbox_id, array_agg(released.job ORDER BY released.place)
    FROM released
    GROUP BY released.queue, released.sender, released.outbox_id
    ORDER BY min(released.place))");

constinit pg::Statement delete_come("DELETE FROM hipq.shard_coming AS coming WHERE "
                                    "coming.instance_id = $1 AND coming.busy_keys = '[]'");

// As the letters that they came in, in their order. Nobody at the node before has their keys any
// more, so they are let in as those are that come from there.
void release(const std::string &instance, int instance_id, int own_node)
{
    const pg::Rows rows = pg::as_hipq([&] { return release_jobs.run(instance_id); });
    for (const pg::Row row : rows) {
        Letter letter{};
        letter.id = row.integer(2);
        letter.instance = instance;
        letter.sender = row.integer32(1);
        letter.node = own_node;
        letter.kind = "moved";
        letter.queue = row.text(0);
        letter.jobs = row.raw(3);
        take_jobs(letter);
    }
}

}  // namespace

void take_returned(const std::string &instance, int sender, pg::RawValue body)
{
    int instance_id = 0;
    int own_node = 0;
    pg::as_hipq([&] {
        const pg::Row map = select_map.run(instance).front();
        instance_id = map.integer32(0);
        own_node = map.integer32(1);
        if (own_node == core::router_node) {
            wait_for_moves.run(instance_id);
            body = leave_out_others.run(instance_id, static_cast<std::int16_t>(sender), body)
                       .front()
                       .raw(0);
            pass_on.run(instance, instance_id, body);
            delete_moves.run(instance_id, body);
            note_busy.run(instance_id, body);
        }
        update_coming.run(instance_id, body);
    });
    release(instance, instance_id, own_node);
    pg::as_hipq([&] { delete_come.run(instance_id); });
}

void look_at_held(const catalog::Catalogue &catalogue)
{
    std::map<int, const catalog::Queue *> instances;
    for (const auto &[id, queue] : catalogue.queues)
        if (queue.shards != nullptr)
            instances.emplace(queue.instance_id, &queue);
    if (instances.empty())
        return;
    process::do_duty(core::Duty::slots, nullptr, [&] {
        pg::with_transaction([&] {
            if (pg::as_hipq([&] { return select_held.run().empty(); }))
                return;
            for (const auto &[id, queue] : instances)
                release(queue->instance, id, queue->shards->own_node);
        });
    });
}

}  // namespace hipq::shards
