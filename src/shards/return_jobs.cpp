// Has the jobs of slots that have left this node follow them.
//
// First what waits is sent, until nothing does. Then the new node is told which keys still run
// here, and again each time one has ended; a job that is to be retried waits, so it is sent like
// the others, and its key is free here after it.
#include "shards/return_jobs.hpp"

#include <set>

#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "process/process.hpp"
#include "shards/older_maps.hpp"

namespace hipq::shards {

namespace {

using catalog::Queue;

constexpr std::int64_t look_interval = 200'000;  // us: at what still runs, and at open transactions

constinit pg::Statement note_seen(R"(
    UPDATE hipq.shard_leaving AS leaving
    SET seen_time = clock_timestamp()
    WHERE leaving.instance_id = $1 AND leaving.seen_time IS NULL)");

// What a map change has written is seen before others are told to forget the old map, and its lock
// goes after that: this one conflicts with it, and with nobody who enqueues.
constinit pg::Statement lock_map("LOCK TABLE hipq.shard_map IN SHARE MODE");

constinit pg::Statement select_seen(R"(
    SELECT max(leaving.seen_time)
    FROM hipq.shard_leaving AS leaving
    WHERE leaving.instance_id = $1 AND leaving.busy_keys IS NULL)");

// Nobody brings jobs by the map from before any more.
bool is_quiet(int instance_id)
{
    const pg::Rows seen = select_seen.run(instance_id);
    return seen.front().null(0) || !has_users_since(seen.front().time(0));
}

// Ids have their slots in the upper bits.
#define HIPQ_IS_IN_SLOT                                                                            \
    "job.id BETWEEN leaving.slot::bigint << 51 AND (leaving.slot::bigint << 51) + "                \
    "2251799813685247"

// $1 instance, $2 its name, $3 own node, $4 queue.
constexpr const char *send_sql = R"(
    WITH chosen AS MATERIALIZED (
        SELECT waiting.*
        FROM hipq.shard_leaving AS leaving
        CROSS JOIN LATERAL (
            SELECT job.*
            FROM {live} AS job
            WHERE )" HIPQ_IS_IN_SLOT R"( AND job.state IN ('initial', 'retry')
            ORDER BY job.id
            LIMIT 1000
            FOR UPDATE SKIP LOCKED
        ) AS waiting
        WHERE leaving.instance_id = $1
        LIMIT 1000
    ),
    gone AS (
        DELETE FROM {live} AS job USING chosen WHERE job.id = chosen.id RETURNING job.id
    ),
    sent AS (
        INSERT INTO hipq.shard_outbox (instance, sender, node, kind, queue, jobs)
        SELECT $2, $3, owner.node, 'moved', $4, array_agg(to_jsonb(chosen) - 'queue_id' ORDER BY chosen.id)
        FROM chosen
        JOIN hipq.shard_map AS map ON map.instance_id = $1
        CROSS JOIN LATERAL (SELECT CASE WHEN $3 = 0 THEN map.nodes[(chosen.id >> 51) + 1] ELSE 0 END) AS owner (node)
        GROUP BY owner.node
    )
    SELECT count(*) FROM gone)";

// What is unfinished here yet: keys, and slots. $1 instance, $2 queue.
constexpr const char *busy_sql =
    "SELECT leaving.slot, CASE WHEN job.job_key <> 'NONE' THEN jsonb_build_array($2, job.job_type, "
    "job.job_key)::text END FROM hipq.shard_leaving AS leaving JOIN {live} AS job "
    "ON " HIPQ_IS_IN_SLOT " WHERE leaving.instance_id = $1";

// $2 slots and $3 keys, side by side; NULL for a job without.
constinit pg::Statement tell_busy(R"(
    WITH present AS (
        SELECT leaving.slot, coalesce(jsonb_agg(busy.job_key::jsonb ORDER BY busy.job_key) FILTER (WHERE busy.job_key IS NOT NULL), '[]') AS job_keys
        FROM hipq.shard_leaving AS leaving
        LEFT JOIN unnest($2, $3) AS busy (slot, job_key) ON busy.slot = leaving.slot AND busy.job_key <> ''
        WHERE leaving.instance_id = $1
        GROUP BY leaving.slot
    ),
    told AS (
        UPDATE hipq.shard_leaving AS leaving
        SET busy_keys = present.job_keys
        FROM present
        WHERE leaving.instance_id = $1 AND leaving.slot = present.slot AND leaving.busy_keys IS DISTINCT FROM present.job_keys
        RETURNING leaving.slot, leaving.busy_keys
    ),
    moved AS (
        DELETE FROM hipq.shard_move AS move USING told
        WHERE move.instance_id = $1 AND move.slot = told.slot AND told.busy_keys = '[]'
    ),
    noted AS (
        UPDATE hipq.shard_move AS move
        SET busy_keys = told.busy_keys
        FROM told
        WHERE move.instance_id = $1 AND move.slot = told.slot AND told.busy_keys <> '[]'
    )
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT $4, map.own_node, owner.node, 'returned',
           jsonb_build_object('slots', jsonb_agg(jsonb_build_object('slot', told.slot, 'busy', told.busy_keys)))
    FROM told
    JOIN hipq.shard_map AS map ON map.instance_id = $1
    CROSS JOIN LATERAL (SELECT CASE WHEN map.own_node = 0 THEN map.nodes[told.slot + 1] ELSE 0 END) AS owner (node)
    GROUP BY map.own_node, owner.node)");

// $2: slots that have unfinished jobs here.
constinit pg::Statement forget_empty(R"(
    DELETE FROM hipq.shard_leaving AS leaving
    WHERE leaving.instance_id = $1 AND leaving.busy_keys = '[]' AND leaving.slot <> ALL ($2))");

// Its queues, each of which has its own tables.
using Queues = std::vector<const Queue *>;

std::int64_t send_waiting(const Queues &queues)
{
    std::int64_t sent = 0;
    for (const Queue *queue : queues)
        sent += catalog::statement_for(*queue, send_sql)
                    .run(queue->instance_id, queue->instance,
                         static_cast<std::int16_t>(queue->shards->own_node), queue->name)
                    .front()
                    .integer(0);
    return sent;
}

void tell_of_running(const Queues &queues)
{
    std::vector<std::int64_t> slots;
    std::vector<std::string> keys;  // empty: a job without
    for (const Queue *queue : queues)
        for (const pg::Row row :
             catalog::statement_for(*queue, busy_sql).run(queue->instance_id, queue->name)) {
            slots.push_back(row.integer(0));
            keys.push_back(row.text(1));
        }
    const int instance_id = queues.front()->instance_id;
    tell_busy.run(instance_id, slots, keys, queues.front()->instance);
    forget_empty.run(instance_id, slots);
}

// Whether there may be more at once.
bool take_step(const Queues &queues)
{
    const int instance_id = queues.front()->instance_id;
    lock_map.run();
    note_seen.run(instance_id);
    const bool was_quiet = is_quiet(instance_id);  // before looking for jobs
    if (send_waiting(queues) > 0)
        return true;
    if (was_quiet)
        tell_of_running(queues);
    return false;
}

bool step(const Queues &queues)
{
    bool has_more = false;
    process::do_duty(core::Duty::slots, nullptr, [&] {
        pg::with_transaction([&] {
            for (const Queue *queue : queues)
                catalog::lock_or_raise(*queue);
            pg::as_hipq([&] { has_more = take_step(queues); });
        });
    });
    return has_more;
}

}  // namespace

pg::Time return_jobs(const catalog::Catalogue &catalogue)
{
    std::map<int, Queues> instances;
    for (const auto &[id, queue] : catalogue.queues)
        if (!queue.is_dropped && queue.shards != nullptr && queue.shards->has_leaving)
            instances[queue.instance_id].push_back(&queue);
    for (const auto &[instance, queues] : instances)
        while (step(queues))
            process::check_interrupts();
    return instances.empty() ? pg::infinity : pg::now() + look_interval;
}

}  // namespace hipq::shards
