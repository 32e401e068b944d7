// CALL hipq.drop_shard(): takes a drained shard out of its instance.
//
// Runs step by step, like create_shard() in the other direction; after a failure the call can be
// repeated. The shard reads all that is sent to it and leaves, so that it sends nothing more; then
// the router reads what is left. A dead shard is not asked: the letters that it has not read go to
// the nodes that have its slots now, and no node waits any more for what it would have sent back.
#include "core/shards/ids.hpp"
#include "core/text/names.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "shards/incoming_slots.hpp"
#include "shards/map.hpp"
#include "shards/node.hpp"
#include "shards/receive.hpp"
#include "shards/remote.hpp"
#include "shards/steps.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::shards {

namespace {

struct LeavingShard {
    std::string instance;
    int node;
    std::string conninfo;
    std::string forth;
    std::string back;
};

constinit pg::Statement lock_shard(R"(
    SELECT shard.conninfo, shard.channel, shard.state,
           (SELECT count(*) FROM unnest(map.nodes) AS entry (node) WHERE entry.node = shard.node),
           (SELECT count(*) FROM hipq.shard_move AS move WHERE move.instance_id = shard.instance_id AND shard.node = move.from_node)
    FROM hipq.shard AS shard
    JOIN hipq.shard_map AS map USING (instance_id)
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND shard.node = $2
    FOR UPDATE OF shard)");
constinit pg::Statement set_state_leaving(R"(
    UPDATE hipq.shard AS shard
    SET state = 'leaving'
    FROM hipq.instance AS instance
    WHERE instance.instance_id = shard.instance_id AND instance.name = $1 AND shard.node = $2)");
constinit pg::Statement delete_shard(R"(
    WITH dropped AS (
        DELETE FROM hipq.shard AS shard
        USING hipq.instance AS instance
        WHERE instance.instance_id = shard.instance_id AND instance.name = $1 AND shard.node = $2
        RETURNING shard.instance_id, shard.node
    ),
    stats AS (
        DELETE FROM hipq.shard_stats AS stats
        USING dropped
        WHERE stats.instance_id = dropped.instance_id AND stats.node = dropped.node
    ),
    signs AS (
        DELETE FROM hipq.shard_sign AS sign
        USING dropped
        WHERE sign.instance_id = dropped.instance_id AND sign.node = dropped.node
    )
    DELETE FROM hipq.shard_neighbour AS neighbour
    USING dropped
    WHERE neighbour.instance_id = dropped.instance_id AND neighbour.node = dropped.node)");

[[noreturn]] void refuse_slots(const std::string &instance, int node)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
               errmsg("shard %d of instance \"%s\" has slots", node, instance.c_str()),
               errhint("Run SELECT hipq.drain_shard('%s', %d), and wait until view hipq.shards "
                       "shows none that is leaving. If the shard is dead nothing leaves it: drain "
                       "it, and CALL hipq.drop_shard('%s', %d, force => true).",
                       instance.c_str(), node, instance.c_str(), node));
}

[[noreturn]] void refuse_leaving_slots(const std::string &instance, int node, long long count)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
               errmsg("%lld slot(s) of instance \"%s\" are leaving shard %d", count,
                      instance.c_str(), node),
               errdetail("It was drained, and has not sent back all jobs, or some still run."),
               errhint("Wait until view hipq.shards shows none. If the shard is dead, and will "
                       "never come back: CALL hipq.drop_shard('%s', %d, force => true).",
                       instance.c_str(), node));
}

// Locks the shard's row. Raises unless the shard is empty, or dead and without slots.
LeavingShard require_empty(const std::string &instance, int node, bool is_dead)
{
    const pg::Rows rows = pg::as_hipq([&] {
        wait_for_moves();  // no session gives it slots meanwhile
        return lock_shard.run(instance, node);
    });
    if (rows.empty())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("instance \"%s\" has no shard %d", instance.c_str(), node),
                   errhint("View hipq.shards has them."));
    const pg::Row row = rows.front();
    if (row.integer(3) > 0)
        refuse_slots(instance, node);
    if (row.integer(4) > 0 && !is_dead)
        refuse_leaving_slots(instance, node, row.integer(4));
    const std::string channel = row.text(1);
    return {instance, node, row.text(0), core::line_to_shard(channel, node),
            core::line_from_shard(channel, node)};
}

// Returns a statement that checks, on the server that has the slot, whether its reader has come far
// enough.
std::string slot_is(const std::string &slot, const std::string &condition)
{
    return "SELECT (NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots AS known WHERE "
           "known.slot_name = " +
           pg::quote_literal(slot) + " AND NOT (" + condition + ")))::text";
}

std::string has_read(const std::string &position)
{
    return "known.confirmed_flush_lsn >= " + pg::quote_literal(position);
}

constexpr const char *has_no_reader = "NOT known.active";

[[noreturn]] void refuse_unread(const std::string &message)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("%s", message.c_str()),
               errhint("View hipq.shards says what is in the way; call hipq.drop_shard() again "
                       "then."));
}

// Waits until the other node has read the slot `slot` of `from` up to the time at which no
// transaction sends by an older map any more, so that a late job is not lost.
template <class From>
void wait_until_read(From &&from, const std::string &slot, const std::string &names)
{
    const std::string since = from("SELECT pg_catalog.clock_timestamp()::text");
    const std::string end = call_of("hipq._position_after_all_sent", {since});
    std::string position;
    if (!comes_true([&] { return !(position = from(end)).empty(); }))
        refuse_unread("transactions from before may still send jobs from " + names);
    if (!comes_true([&] { return from(slot_is(slot, has_read(position))) == "true"; }))
        refuse_unread("not all is read that was sent from " + names);
}

// Both nodes read what the other one has sent; then the shard leaves.
void part(const LeavingShard &shard)
{
    const auto here = [](const std::string &statement) { return first_of(ask_here(statement)); };
    const auto there = [&](const std::string &statement) {
        return ask_one(shard.conninfo, statement);
    };
    const std::string number = std::to_string(shard.node);
    const bool is_member =
        there("SELECT EXISTS (SELECT FROM hipq.shard_map AS map JOIN hipq.instance AS instance "
              "USING (instance_id) WHERE instance.name = " +
              pg::quote_literal(shard.instance) + ")::text") == "true";
    if (is_member) {
        wait_until_read(here, shard.forth, "the router to shard " + number);
        (void)there(call_of("hipq._leave_shards", {shard.instance}));
    }
    wait_until_read(there, shard.back, "shard " + number + " to the router");
}

// ---- a dead shard ----

// Letters of the outbox that the slot has not been confirmed to have sent, from rows in the format
// of pgoutput: I, relation, N, columns, t, length, and the number, which is the first column.
constinit pg::Statement select_unread(R"(
    WITH sent AS MATERIALIZED (
        SELECT convert_from(substring(change.data FROM 14 FOR (get_byte(change.data, 11) << 8) + get_byte(change.data, 12)), 'UTF8')::bigint AS id
        FROM pg_catalog.pg_logical_slot_peek_binary_changes($3, NULL, NULL, 'proto_version', '1', 'publication_names', $3) AS change
        WHERE get_byte(change.data, 0) = ascii('I')
    )
    SELECT letter.id, letter.sent_time, letter.kind, letter.queue, letter.jobs, letter.body
    FROM hipq.shard_outbox AS letter
    WHERE letter.instance = $1 AND letter.node = $2 AND letter.sender = 0 AND letter.kind IN ('jobs', 'moved')
      AND letter.id IN (SELECT sent.id FROM sent)
    ORDER BY letter.id)");
constinit pg::Statement
    select_slot_state("SELECT known.active, coalesce(known.wal_status = 'lost', false) FROM "
                      "pg_catalog.pg_replication_slots AS known WHERE known.slot_name = $1");
constinit pg::Statement select_all_returned(R"(
    SELECT count(*), jsonb_build_object('slots', jsonb_agg(jsonb_build_object('slot', move.slot, 'busy', '[]'::jsonb)))
    FROM hipq.shard_move AS move
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND move.from_node = $2)");

// Takes letters as if the shard had sent them back. Returns nothing if it is not known which ones
// it has not read.
std::optional<std::size_t> take_unread(const LeavingShard &shard)
{
    const pg::Rows slot =
        pg::as_extension_owner([&] { return select_slot_state.run(shard.forth); });
    if (slot.empty() || slot.front().boolean(1))
        return std::nullopt;
    if (slot.front().boolean(0))
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
                   errmsg("shard %d of instance \"%s\" reads what the router sends", shard.node,
                          shard.instance.c_str()),
                   errdetail("It is not dead."),
                   errhint("Drop it without force, or stop its server for ever first."));
    const pg::Rows letters = pg::as_extension_owner([&] {
        return select_unread.run(shard.instance, static_cast<std::int16_t>(shard.node),
                                 shard.forth);
    });
    for (const pg::Row row : letters) {
        Letter letter{row.integer(0), row.time(1), shard.instance, shard.node, core::router_node,
                      row.text(2),    row.text(3), row.raw(4),     row.raw(5)};
        letter.comes_again = true;
        (void)receive_by_hand(letter);
    }
    return letters.size();
}

// Ends the waits for what the shard does not return. Returns the number of slots.
std::int64_t end_moves(const LeavingShard &shard)
{
    const pg::Rows returned = pg::as_extension_owner([&] {
        return select_all_returned.run(shard.instance, static_cast<std::int16_t>(shard.node));
    });
    const pg::Row row = returned.front();
    if (row.integer(0) > 0)
        take_returned(shard.instance, shard.node, row.raw(1));
    return row.integer(0);
}

void bury(const LeavingShard &shard)
{
    const std::optional<std::size_t> letters = take_unread(shard);
    const auto slots = static_cast<long long>(end_moves(shard));
    next_step();
    const std::string unread =
        letters.has_value()
            ? std::to_string(*letters) + " letter(s) with jobs that it had not read go to the "
                                         "nodes that have its slots now"
            : "Its replication slot is gone or lost, so what it had not read is not known";
    pg::call([&] {
        ereport(NOTICE,
                errmsg("shard %d of instance \"%s\" is taken for dead", shard.node,
                       shard.instance.c_str()),
                errdetail("%s. %lld slot(s) were leaving it, and nobody waits for what it would "
                          "have sent back. Jobs that it had taken and not sent back are lost.",
                          unread.c_str(), slots),
                errhint("Table hipq.shard_outbox has what was sent to it, for hipq.outbox_keep."));
    });
}

void drop_shard(const std::string &instance, int node, bool is_dead)
{
    const LeavingShard shard = require_empty(instance, node, is_dead);
    pg::as_hipq([&] { set_state_leaving.run(instance, node); });
    next_step();
    if (is_dead)
        bury(shard);
    else
        part(shard);
    unsubscribe(shard.back);
    next_step();
    if (!is_dead) {
        (void)ask(shard.conninfo, call_of("hipq._unsubscribe_from_outbox", {shard.forth}));
        (void)comes_true(
            [&] { return ask_one(shard.conninfo, slot_is(shard.back, has_no_reader)) == "true"; });
        (void)ask(shard.conninfo, call_of("hipq._unpublish_outbox", {shard.back}));
    }
    (void)comes_true(
        [&] { return first_of(ask_here(slot_is(shard.forth, has_no_reader))) == "true"; });
    unpublish(shard.forth);
    pg::as_hipq([&] { delete_shard.run(instance, node); });
    wakeup::note_shares();  // its part of limits is free
}

}  // namespace

}  // namespace hipq::shards

HIPQ_FUNCTION(hipq_drop_shard)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::shards::demand_step_by_step(fcinfo, "drop_shard");
    hipq::shards::drop_shard(arguments.text("instance"), arguments.integer("shard"),
                             arguments.maybe_bool("force").value_or(false));
    return hipq::pg::return_void();
}
