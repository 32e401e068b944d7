// Ends the arrival of slots.
//
// A message is not the only thing that lets held jobs in: a transaction that has seen the slot
// coming may hold one and commit later. So the scheduler looks at held jobs too.
#include "shards/incoming_slots.hpp"

#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "pg/json_array.hpp"
#include "process/process.hpp"
#include "shards/arrived_jobs.hpp"
#include "shards/older_maps.hpp"
#include "shards/receive.hpp"

namespace hipq::shards {

namespace {

constexpr std::int64_t held_look_interval =
    50'000;  // us, while jobs may still be held in strict order

constinit pg::Statement select_own_place(R"(
    SELECT map.instance_id, map.own_node
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1)");

// The router heeds a report on a slot's move only if it comes from the node that the slot leaves: a
// promoted node may report once more that an earlier move has ended.
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

constinit pg::Statement update_busy_of_moves(R"(
    UPDATE hipq.shard_move AS move
    SET busy_keys = entry.busy
    FROM pg_catalog.jsonb_to_recordset($2 -> 'slots') AS entry (slot smallint, busy jsonb)
    WHERE move.instance_id = $1 AND move.slot = entry.slot)");

constinit pg::Statement update_coming(R"(
    UPDATE hipq.shard_coming AS coming
    SET busy_keys = entry.busy
    FROM pg_catalog.jsonb_to_recordset($2 -> 'slots') AS entry (slot smallint, busy jsonb)
    WHERE coming.instance_id = $1 AND coming.slot = entry.slot)");

// In strict order a slot that has come stays known until no transaction can hold a job of it any
// more.
constinit pg::Statement delete_come("DELETE FROM hipq.shard_coming AS coming WHERE "
                                    "coming.instance_id = $1 AND coming.busy_keys = '[]' AND "
                                    "coming.in_order = '{}'");

// ---- held jobs ----

constinit pg::Statement select_any_held("SELECT FROM hipq.shard_held_job AS held LIMIT 1");

// Jobs that were accepted before come first, then older ones (core::comes_before). In strict order
// one transaction at a time lets in jobs of a slot, and all of them, so the transaction that has
// its row locked does it alone and sees what is left.
constinit pg::Statement release_jobs(R"(
    WITH alone AS MATERIALIZED (
        SELECT coming.slot
        FROM hipq.shard_coming AS coming
        WHERE coming.instance_id = $1 AND coming.in_order <> '{}'
        FOR UPDATE SKIP LOCKED
    ),
    chosen AS MATERIALIZED (
        SELECT free.place
        FROM hipq.shard_held_job AS free
        LEFT JOIN hipq.shard_coming AS coming ON coming.instance_id = free.instance_id AND coming.slot = free.slot
        WHERE free.instance_id = $1
          AND CASE
                  WHEN coming.slot IS NULL THEN true
                  WHEN free.queue = ANY (coming.in_order) THEN
                      NOT coming.busy_keys @> jsonb_build_array(jsonb_build_object('queue', free.queue))
                      AND free.slot IN (SELECT alone.slot FROM alone)
                  ELSE
                      coming.busy_keys IS NOT NULL
                      AND jsonb_build_array(free.queue, free.job_type, free.job_key)
                          || CASE WHEN free.shard_key <> 'NONE' THEN jsonb_build_array(free.shard_key) ELSE '[]' END
                          NOT IN (SELECT busy.name FROM jsonb_array_elements(coming.busy_keys) AS busy (name))
              END
        ORDER BY NOT free.was_accepted, CASE WHEN free.queue = ANY (coming.in_order) THEN (free.job ->> 'id')::bigint ELSE free.place END
        LIMIT 20000
        FOR UPDATE OF free SKIP LOCKED
    ),
    released AS (
        DELETE FROM hipq.shard_held_job AS held
        USING chosen
        WHERE held.place = chosen.place
        RETURNING held.place, held.queue, held.sender, held.outbox_id, held.job, held.slot, held.was_accepted
    ),
    anew AS (
        UPDATE hipq.shard_coming AS coming
        SET quiet_time = NULL
        WHERE coming.instance_id = $1 AND coming.quiet_time IS NOT NULL AND coming.slot IN (SELECT released.slot FROM released)
    )
    SELECT released.queue, released.sender, released.outbox_id, released.job, released.was_accepted
    FROM released
    LEFT JOIN hipq.shard_coming AS coming ON coming.instance_id = $1 AND coming.slot = released.slot
    ORDER BY NOT released.was_accepted,
             CASE WHEN released.queue = ANY (coming.in_order) THEN (released.job ->> 'id')::bigint ELSE released.place END)");

// Makes a letter like the one in which they came. No job at the previous node has their keys any
// more, so they are let in like jobs from there.
Letter letter_like(const pg::Row &row, const std::string &instance, int own_node)
{
    Letter letter{};
    letter.id = row.integer(2);
    letter.instance = instance;
    letter.sender = row.integer32(1);
    letter.node = own_node;
    letter.kind = "moved";
    letter.queue = row.text(0);
    letter.is_let_in = true;
    letter.was_accepted = row.boolean(4);
    return letter;
}

// Returns the number of jobs.
std::size_t release_some(const std::string &instance, int instance_id, int own_node)
{
    const pg::Rows rows = pg::as_hipq([&] { return release_jobs.run(instance_id); });
    std::vector<pg::RawValue> jobs;
    std::optional<Letter> letter;
    const auto take = [&] {
        if (!letter.has_value())
            return;
        letter->jobs = pg::array_of(jobs);
        take_jobs(*letter);
        jobs.clear();
    };
    for (const pg::Row row : rows) {
        Letter next = letter_like(row, instance, own_node);
        const bool is_of_same = letter.has_value() && letter->id == next.id &&
                                letter->sender == next.sender && letter->queue == next.queue;
        if (!is_of_same) {
            take();
            letter = std::move(next);
        }
        jobs.push_back(row.raw(3));
    }
    take();
    return rows.size();
}

// In one transaction, however many there are: in strict order no reader may see some without
// others.
void release(const std::string &instance, int instance_id, int own_node)
{
    while (release_some(instance, instance_id, own_node) > 0) {
    }
}

// ---- the end in strict order ----

// A transaction that had begun when the last job came may hold one, and so may every transaction
// that has seen a held one. All of these have to end, after a moment at which no job is held,
// before the slot is like any other: a younger job would get past theirs.

constinit pg::Statement forget_quiet(R"(
    DELETE FROM hipq.shard_coming AS coming
    WHERE coming.instance_id = $1 AND coming.in_order <> '{}' AND coming.busy_keys = '[]' AND coming.quiet_time <= $2
      AND NOT EXISTS (
          SELECT
          FROM hipq.shard_held_job AS held
          WHERE held.instance_id = $1 AND held.slot = coming.slot))");

constinit pg::Statement note_quiet(R"(
    UPDATE hipq.shard_coming AS coming
    SET quiet_time = clock_timestamp()
    WHERE coming.instance_id = $1 AND coming.in_order <> '{}' AND coming.busy_keys = '[]' AND coming.quiet_time IS NULL
      AND NOT EXISTS (
          SELECT
          FROM hipq.shard_held_job AS held
          WHERE held.instance_id = $1 AND held.slot = coming.slot))");

constinit pg::Statement select_quiet(R"(
    SELECT max(coming.quiet_time)
    FROM hipq.shard_coming AS coming
    WHERE coming.instance_id = $1 AND coming.in_order <> '{}' AND coming.busy_keys = '[]')");

void settle(int instance_id)
{
    pg::as_hipq([&] {
        const pg::Rows quiet = select_quiet.run(instance_id);
        // While jobs are held, even a DELETE of no rows would cause the next look at once.
        if (!quiet.front().null(0) && select_any_held.run().empty() &&
            !has_users_since(quiet.front().time(0)))
            forget_quiet.run(instance_id, quiet.front().time(0));
        note_quiet.run(instance_id);
    });
}

}  // namespace

void take_returned(const std::string &instance, int sender, pg::RawValue body)
{
    int instance_id = 0;
    int own_node = 0;
    pg::as_hipq([&] {
        const pg::Row map = select_own_place.run(instance).front();
        instance_id = map.integer32(0);
        own_node = map.integer32(1);
        if (own_node == core::router_node) {
            body = leave_out_others.run(instance_id, static_cast<std::int16_t>(sender), body)
                       .front()
                       .raw(0);
            pass_on.run(instance, instance_id, body);
            delete_moves.run(instance_id, body);
            update_busy_of_moves.run(instance_id, body);
        }
        update_coming.run(instance_id, body);
    });
    release(instance, instance_id, own_node);
    pg::as_hipq([&] { delete_come.run(instance_id); });
}

pg::Time look_at_held(const catalog::Catalogue &catalogue)
{
    std::map<int, const catalog::Queue *> instances;
    for (const auto &[id, queue] : catalogue.queues)
        if (queue.shards != nullptr)
            instances.emplace(queue.instance_id, &queue);
    if (instances.empty())
        return pg::infinity;
    const bool is_settling = std::any_of(instances.begin(), instances.end(), [](const auto &entry) {
        return entry.second->shards->is_settling;
    });
    process::do_duty(core::Duty::slots, nullptr, [&] {
        pg::with_transaction([&] {
            if (!is_settling && pg::as_hipq([&] { return select_any_held.run().empty(); }))
                return;
            for (const auto &[id, queue] : instances) {
                release(queue->instance, id, queue->shards->own_node);
                if (queue->shards->is_settling)
                    settle(id);
            }
        });
    });
    return is_settling ? pg::now() + held_look_interval : pg::infinity;
}

}  // namespace hipq::shards
