// CALL hipq.resync_shard(instance, 0): a promoted router goes on, if it has forgotten nothing that
// a shard knows of, or by force.
//
// Work that it has forgotten and that no shard has heard of is lost, as on a single server; then
// its tables are like those of a slow router. But if a shard has received a letter that the router
// does not know, other nodes may have received its consequences, and there is no way to find out.
// By force, the router learns from the shards which slots have moved meanwhile, takes their letters
// once more, and tells all of them the current state.
#include "catalog/timeline.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "shards/resync/kept_letters.hpp"
#include "shards/resync/repeated_letters.hpp"
#include "shards/resync/resync_node.hpp"
#include "shards/resync/shard.hpp"
#include "shards/steps.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement select_timeline(R"(
    SELECT map.timeline
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND map.own_node = 0)");
constinit pg::Statement select_shards(R"(
    SELECT shard.node
    FROM hipq.shard AS shard
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1
    ORDER BY shard.node)");
constinit pg::Statement update_timeline(R"(
    UPDATE hipq.shard_map AS map
    SET timeline = $2
    FROM hipq.instance AS instance
    WHERE instance.instance_id = map.instance_id AND instance.name = $1)");

void demand_out_of_step(const std::string &instance)
{
    const pg::Rows rows = pg::as_extension_owner([&] { return select_timeline.run(instance); });
    if (rows.empty() || catalog::is_own_timeline(rows.front().text(0)))
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("this server is no router of instance \"%s\" that is out of step",
                          instance.c_str()));
}

constexpr const char *forgotten_message =
    "shard %d of instance \"%s\" has got %lld letter(s) that this router does not know";

[[noreturn]] void refuse_forgotten(const ShardInNeed &shard, long long letters)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg(forgotten_message, shard.node, shard.instance.c_str(), letters),
               errdetail("It is a standby that did not have all that its primary had sent, or its "
                         "disk was put back to an earlier state."),
               errhint("Promote another standby, or bring the old primary back. If there is none: "
                       "CALL hipq.resync_shard('%s', 0, force => true); jobs of the last moments "
                       "that no shard has got are lost then, and jobs from one shard to another "
                       "that have ended and are not kept may run twice.",
                       shard.instance.c_str()));
}

void tell_forgotten(const ShardInNeed &shard, long long letters)
{
    pg::call([&] {
        ereport(NOTICE, errmsg(forgotten_message, shard.node, shard.instance.c_str(), letters),
                errdetail("What they brought stays there. Jobs that this router had and no shard "
                          "has got are lost, and so is what was set up last. Jobs from one "
                          "shard to another that have ended and are not kept may run twice."));
    });
}

// Returns whether a shard knows of something that this router has forgotten. Raises in that case,
// unless forced.
bool look_for_forgotten(const std::vector<ShardInNeed> &shards, bool is_forced)
{
    bool found = false;
    for (const ShardInNeed &shard : shards) {
        const auto letters = static_cast<long long>(letters_that_sender_forgot(shard.line_forth()));
        if (letters > 0 && !is_forced)
            refuse_forgotten(shard, letters);
        if (letters > 0)
            tell_forgotten(shard, letters);
        found = found || letters > 0;
    }
    return found;
}

// ---- slots that have moved ----

// Moves are sent to all shards at once, so a shard that has the newest map knows all of them; other
// shards may not have read it yet.
struct Map {
    std::int64_t generation;
    std::string nodes;  // as an array
};

Map newest_map(const std::vector<ShardInNeed> &shards)
{
    Map newest{-1, ""};
    for (const ShardInNeed &shard : shards) {
        const std::string map = " FROM hipq.shard_map AS map JOIN hipq.instance AS instance USING "
                                "(instance_id) WHERE instance.name = " +
                                pg::quote_literal(shard.instance);
        const std::int64_t generation =
            std::stoll(ask_one(shard.conninfo, "SELECT map.generation::text" + map));
        if (generation > newest.generation)
            newest = {generation, ask_one(shard.conninfo, "SELECT map.nodes::text" + map)};
    }
    return newest;
}

// A slot that has moved does so once more, because its previous node may still have jobs of it. An
// earlier move of the slot had ended before.
constinit pg::Statement begin_forgotten_moves(R"(
    INSERT INTO hipq.shard_move AS move (instance_id, slot, from_node, to_node, in_order)
    SELECT map.instance_id, known.place - 1, map.nodes[known.place], known.node,
           ARRAY(
               SELECT queue.name
               FROM hipq.queue AS queue
               WHERE queue.instance_id = map.instance_id AND queue.move_order = 'strict' AND NOT queue.is_dropped
               ORDER BY queue.name)
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    CROSS JOIN unnest($2::smallint[]) WITH ORDINALITY AS known (node, place)
    WHERE instance.name = $1 AND map.generation < $3 AND map.nodes[known.place] <> known.node
    ON CONFLICT ON CONSTRAINT shard_move_pkey DO UPDATE
    SET from_node = excluded.from_node, to_node = excluded.to_node, in_order = excluded.in_order,
        started_time = excluded.started_time, busy_keys = NULL, seen_time = NULL, last_sent = false)");
constinit pg::Statement take_newest_map(R"(
    UPDATE hipq.shard_map AS map
    SET nodes = CASE WHEN map.generation < $3 THEN $2::smallint[] ELSE map.nodes END,
        generation = greatest(map.generation, $3) + 1
    FROM hipq.instance AS instance
    WHERE instance.instance_id = map.instance_id AND instance.name = $1)");
constinit pg::Statement
    read_truth("SELECT instance.instance_id, $2::text::jsonb FROM hipq.instance "
               "AS instance WHERE instance.name = $1");

void take_forgotten_moves(const std::string &instance, const Map &newest)
{
    begin_forgotten_moves.run(instance, newest.nodes, newest.generation);
    take_newest_map.run(instance, newest.nodes, newest.generation);
    const pg::Rows truth =
        read_truth.run(instance, truth_for(instance, core::router_node, {}, false));
    take_slots(truth.front().integer32(0), core::router_node, truth.front().raw(1));
}

// ---- into step ----

constinit pg::Statement forget_authority(R"(
    UPDATE hipq.permit_authority AS authority
    SET timeline = 0
    FROM hipq.queue AS queue
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE queue.queue_id = authority.queue_id AND instance.name = $1)");

void come_into_step(const std::string &instance, const std::vector<ShardInNeed> &shards,
                    const std::optional<Map> &newest)
{
    pg::as_hipq([&] {
        if (newest.has_value())
            take_forgotten_moves(instance, *newest);
        update_timeline.run(instance, catalog::own_timeline());
        forget_authority.run(instance);
        leave_numbers_out();
    });
    for (const ShardInNeed &shard : shards)
        forget_signs_to(shard);  // by the numbers that are skipped
    wakeup::note_restore();
    wakeup::note_unknown_jobs();
    next_step();
}

}  // namespace

void resync_router(const std::string &instance, bool is_forced)
{
    demand_out_of_step(instance);
    std::vector<ShardInNeed> shards;
    pg::as_extension_owner([&] {
        for (const pg::Row row : select_shards.run(instance))
            shards.push_back(require_shard(instance, row.integer32(0)));
    });
    const bool has_forgotten = look_for_forgotten(shards, is_forced);
    std::optional<Map> newest;
    if (has_forgotten)
        newest = newest_map(shards);
    for (const ShardInNeed &shard : shards) {
        next_step();
        disconnect(shard);
    }
    come_into_step(instance, shards, newest);
    for (const ShardInNeed &shard : shards)
        resync_shard(instance, shard.node, is_forced, has_forgotten);
}

}  // namespace hipq::shards
