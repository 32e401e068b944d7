// What a node does to come back into step: _begin_resync(), and letters that are sent to it again.
//
// Its router calls it in one transaction: either the node has the router's state, and all letters
// sent to it, or nothing has changed.
#include "shards/resync/resync_node.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/timeline.hpp"
#include "core/shards/ids.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "shards/alive.hpp"
#include "shards/receive.hpp"
#include "shards/set_up.hpp"
#include "shards/slot_sql.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement lock_own_map(R"(
    SELECT map.instance_id, map.own_node, map.timeline
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1
    FOR UPDATE OF map)");

// ---- slots ----

// $1 instance, $2 own node, $3 the current state. A slot that was here and no longer is leaves once
// more: its waiting jobs go, and the node that awaits its keys gets a message. A slot whose leaving
// this node has forgotten leaves too.
#define HIPQ_NODES                                                                                 \
    "WITH present AS ("                                                                            \
    "    SELECT (entry.place - 1)::smallint AS slot, entry.node::smallint AS node"                 \
    "    FROM pg_catalog.jsonb_array_elements_text($3 -> 'nodes') WITH ORDINALITY AS entry "       \
    "(node, place)), "                                                                             \
    "move AS ("                                                                                    \
    "    SELECT entry.slot, entry.from_node, entry.to_node, entry.busy, "                          \
    "           coalesce(entry.in_order, '{}') AS in_order, coalesce(entry.last, true) AS last"    \
    "    FROM pg_catalog.jsonb_to_recordset($3 -> 'moves') AS entry (slot smallint, from_node "    \
    "smallint, to_node smallint, busy jsonb, in_order text[], last boolean)) "

constinit pg::Statement end_leaving_by_truth(HIPQ_NODES R"(
    DELETE FROM hipq.shard_leaving AS leaving
    USING present
    WHERE leaving.instance_id = $1 AND leaving.slot = present.slot AND present.node = $2)");
// No node awaits a slot that left by a move that has ended.
constinit pg::Statement leave_anew(R"(
    UPDATE hipq.shard_leaving AS leaving
    SET seen_time = NULL, busy_keys = NULL, last_came = true
    WHERE leaving.instance_id = $1)");
constinit pg::Statement begin_leaving_by_truth(HIPQ_NODES R"(
    INSERT INTO hipq.shard_leaving (instance_id, slot, in_order, last_came)
    SELECT $1, gone.slot, coalesce(move.in_order, '{}'), coalesce(move.last, true)
    FROM (
        SELECT present.slot
        FROM hipq.shard_map AS map
        JOIN present ON map.nodes[present.slot + 1] = $2 AND present.node <> $2
        WHERE map.instance_id = $1
        UNION
        SELECT move.slot FROM move WHERE move.from_node = $2
    ) AS gone
    LEFT JOIN move ON move.slot = gone.slot AND move.from_node = $2
    ON CONFLICT ON CONSTRAINT shard_leaving_pkey
    DO UPDATE SET in_order = excluded.in_order, last_came = excluded.last_came)");
constinit pg::Statement end_coming("DELETE FROM hipq.shard_coming AS coming WHERE "
                                   "coming.instance_id = $1");
constinit pg::Statement begin_coming_by_truth(HIPQ_NODES R"(
    INSERT INTO hipq.shard_coming (instance_id, slot, busy_keys, in_order)
    SELECT $1, move.slot, move.busy, move.in_order FROM move WHERE move.to_node = $2)");
constinit pg::Statement update_map_by_truth(R"(
    UPDATE hipq.shard_map AS map
    SET generation = ($2 ->> 'generation')::bigint,
        nodes = ARRAY(
            SELECT entry.node::smallint
            FROM pg_catalog.jsonb_array_elements_text($2 -> 'nodes') WITH ORDINALITY AS entry (node, place)
            ORDER BY entry.place),
        timeline = $3
    WHERE map.instance_id = $1)");

}  // namespace

void take_slots(int instance_id, int own_node, pg::RawValue truth)
{
    const auto own = static_cast<std::int16_t>(own_node);
    end_leaving_by_truth.run(instance_id, own, truth);
    leave_anew.run(instance_id);
    begin_leaving_by_truth.run(instance_id, own, truth);
    end_coming.run(instance_id);
    begin_coming_by_truth.run(instance_id, own, truth);
    update_map_by_truth.run(instance_id, truth, catalog::own_timeline());
}

namespace {

// ---- numbers ----

constinit pg::Statement set_numbers(R"(
    SELECT setval('hipq.job_id_seq', $1), setval('hipq.shard_outbox_id_seq', $2))");

// ---- jobs ----

constexpr const char *forget_sql = R"(
    WITH gone AS (
        DELETE FROM {live} AS job
        USING pg_catalog.jsonb_array_elements_text($1 -> 'stale') AS stale (id)
        WHERE job.id = stale.id::bigint
        RETURNING job.id
    )
    SELECT count(*) FROM gone)";
constinit pg::Statement forget_held(R"(
    WITH gone AS (
        DELETE FROM hipq.shard_held_job AS held
        WHERE held.instance_id = $1 AND $2 -> 'stale' @> (held.job -> 'id')
        RETURNING held.place
    )
    SELECT count(*) FROM gone)");

std::int64_t forget_stale(const std::string &instance, int instance_id, pg::RawValue truth)
{
    std::int64_t count = forget_held.run(instance_id, truth).front().integer(0);
    for (const auto &[id, queue] : catalog::catalogue()->queues)
        if (queue.instance == instance && !queue.is_dropped)
            count += catalog::statement_for(queue, forget_sql).run(truth).front().integer(0);
    return count;
}

}  // namespace

void leave_numbers_out()
{
    const Numbers last = last_numbers();
    const auto next_job = core::sequence_after_promotion(last.job);
    if (!next_job.has_value())
        HIPQ_RAISE(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
                   errmsg("this server has used up the ids of its jobs"),
                   errdetail("A node of a sharded instance has 2^41 of them, and leaves out 2^28 "
                             "after a promotion."));
    set_numbers.run(*next_job, last.letter + core::promotion_gap);
}

namespace {

// Former shares have no value, as on another timeline.
constinit pg::Statement forget_shares(R"(
    UPDATE hipq.permit_share AS share
    SET timeline = 0
    FROM hipq.queue AS queue
    WHERE queue.queue_id = share.queue_id AND queue.instance_id = $1)");

constinit pg::Statement select_is_anew("SELECT coalesce(($1 ->> 'anew')::boolean, false)");

// A node that is in step may also get `truth`, from a router that has forgotten.
std::string begin_resync(const std::string &instance, pg::RawValue truth)
{
    const pg::Rows rows = pg::as_hipq([&] { return lock_own_map.run(instance); });
    const bool is_in_step = !rows.empty() && catalog::is_own_timeline(rows.front().text(2));
    const bool is_anew = pg::as_hipq([&] { return select_is_anew.run(truth).front().boolean(0); });
    if (rows.empty() || (is_in_step && !is_anew))
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("this server is no node of instance \"%s\" that is out of step",
                          instance.c_str()));
    const int instance_id = rows.front().integer32(0);
    std::int64_t forgotten = 0;
    pg::as_hipq([&] {
        take_slots(instance_id, rows.front().integer32(1), truth);
        forget_shares.run(instance_id);
        if (!is_in_step)
            leave_numbers_out();
        forget_signs(instance_id, core::router_node);
        forgotten = forget_stale(instance, instance_id, truth);
    });
    pg::call([&] {
        ereport(LOG, errhidestmt(true),
                errmsg("node %d of instance \"%s\" is in step again", rows.front().integer32(1),
                       instance.c_str()),
                errdetail("%lld job(s) were forgotten that had left it before it was promoted or "
                          "restored.",
                          static_cast<long long>(forgotten)));
    });
    // As after a restore: no process has looked at these jobs yet.
    wakeup::note_restore();
    wakeup::note_unknown_jobs();
    wakeup::note_shares();
    return std::to_string(forgotten);
}

constinit pg::Statement select_part("SELECT $1 -> $2");

// ---- letters ----

// $1 jobs that have been in the queue of another node since. A job here with the key of one of them
// had ended then, or the other job could not have had the key.
constexpr const char *make_way_sql = R"(
    DELETE FROM {live} AS job
    USING unnest($1) AS sent (value)
    WHERE job.job_type = sent.value ->> 'job_type' AND job.job_key = sent.value ->> 'job_key' AND job.job_key <> 'NONE'
      {+AND job.shard_key COLLATE "C" = coalesce(sent.value ->> 'shard_key', 'NONE')+}
      AND job.id <> (sent.value ->> 'id')::bigint AND )" HIPQ_SLOT_OF("job.id") " = " HIPQ_SLOT_OF(
    "(sent.value ->> 'id')::bigint");

void make_way(const Letter &letter)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(letter.instance + "." + letter.queue);
    if (letter.kind != "moved" || queue == nullptr)
        return;
    const std::uint64_t gone = pg::as_hipq(
        [&] { return catalog::statement_for(*queue, make_way_sql).run(letter.jobs).processed(); });
    if (gone > 0)
        pg::call([&] {
            ereport(LOG, errhidestmt(true),
                    errmsg("%llu job(s) of queue \"%s.%s\" were forgotten: another one had "
                           "their key since, so they had ended",
                           static_cast<unsigned long long>(gone), letter.instance.c_str(),
                           letter.queue.c_str()));
        });
}

constinit pg::Statement select_letter(R"(
    SELECT letter.id, letter.sent_time, letter.instance, letter.sender, letter.node, letter.kind, letter.queue, letter.jobs,
           letter.body
    FROM jsonb_populate_record(NULL::hipq.shard_outbox, $1) AS letter)");

bool receive_again(pg::RawValue json, bool after_loss)
{
    const pg::Rows rows = pg::as_extension_owner([&] { return select_letter.run(json); });
    const pg::Row row = rows.front();
    Letter letter{row.integer(0), row.time(1), row.text(2), row.integer32(3), row.integer32(4),
                  row.text(5),    row.text(6), row.raw(7),  row.raw(8)};
    letter.comes_again = true;
    if (after_loss)
        make_way(letter);
    return receive_by_hand(letter);
}

}  // namespace

}  // namespace hipq::shards

HIPQ_FUNCTION(hipq__begin_resync)
{
    const hipq::pg::Arguments arguments(fcinfo);
    const std::string instance = arguments.text("instance_name");
    const hipq::pg::RawValue truth = arguments.raw("truth", JSONBOID);
    const std::string forgotten = hipq::shards::begin_resync(instance, truth);
    const hipq::pg::RawValue set_up = hipq::pg::as_extension_owner(
        [&] { return hipq::shards::select_part.run(truth, "set_up").front().raw(0); });
    hipq::shards::take_set_up(instance, set_up);
    return hipq::pg::return_text(forgotten);
}

HIPQ_FUNCTION(hipq__receive_again)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return hipq::pg::return_bool(hipq::shards::receive_again(arguments.raw("letter", JSONBOID),
                                                             arguments.boolean("after_loss")));
}
