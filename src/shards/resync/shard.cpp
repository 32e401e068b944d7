// CALL hipq.resync_shard(): brings a shard back into step with its router, step by step.
//
// A new replication slot has nothing that was written before it, and a promoted standby does not
// know what its primary has confirmed. So both read again the letters that the other one keeps and
// they have not received: first the router, whose outbox then has its answers; then the shard. Only
// after that do they subscribe again. A letter takes effect once, whichever way it comes.
#include "shards/resync/shard.hpp"

#include "catalog/cache.hpp"
#include "catalog/timeline.hpp"
#include "core/text/names.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "shards/alive.hpp"
#include "shards/node.hpp"
#include "shards/resync/known_jobs.hpp"
#include "shards/resync/repeated_letters.hpp"
#include "shards/set_up.hpp"
#include "shards/steps.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement select_shard_in_need(R"(
    SELECT shard.conninfo, shard.publisher, shard.channel, map.cluster::text, shard.created_time::text
    FROM hipq.shard AS shard
    JOIN hipq.shard_map AS map USING (instance_id)
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND shard.node = $2)");
constinit pg::Statement select_instance(
    "SELECT instance.instance_id FROM hipq.instance AS instance WHERE instance.name = $1");
// Sets the sender to that shard, whatever the letter says.
constinit pg::Statement receive_letter_again(R"(
    SELECT hipq._receive_again($1::jsonb || jsonb_build_object('instance', $2, 'sender', $3, 'node', 0), false))");
constinit pg::Statement note_timeline(R"(
    UPDATE hipq.shard AS shard
    SET timeline = $3
    FROM hipq.instance AS instance
    WHERE instance.instance_id = shard.instance_id AND instance.name = $1 AND shard.node = $2)");

std::string literal(const std::string &text)
{
    return pg::quote_literal(text);
}

// ---- checks ----

// FROM its map.
std::string own_map(const ShardInNeed &shard)
{
    return " FROM hipq.shard_map AS map JOIN hipq.instance AS instance USING (instance_id) WHERE "
           "instance.name = " +
           pg::quote_literal(shard.instance) +
           " AND map.cluster = " + pg::quote_literal(shard.cluster) +
           " AND map.own_node = " + std::to_string(shard.node);
}

// Returns whether the shard has forgotten its last work. Raises if its database is not a node of
// the instance.
bool is_out_of_step(const ShardInNeed &shard)
{
    const std::string answer = ask_one(
        shard.conninfo, "SELECT (NOT hipq._is_own_timeline(map.timeline))::text" + own_map(shard));
    if (answer.empty())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("the database that \"conninfo\" of shard %d names is not that shard of "
                          "instance \"%s\"",
                          shard.node, shard.instance.c_str()),
                   errhint("It may have been restored as it was before it became one. Restore it "
                           "as it was later."));
    return answer == "true";
}

// A shard that learned this from a sign of life has received letters after the gap.
std::optional<std::int64_t> whole_letters(const ShardInNeed &shard)
{
    const std::string own = own_map(shard);
    if (ask_one(shard.conninfo, "SELECT (map.timeline LIKE " +
                                    literal(catalog::forgotten_timeline("%")) + ")::text" + own) !=
        "true")
        return std::nullopt;
    return std::stoll(ask_one(
        shard.conninfo,
        "SELECT coalesce(min(neighbour.whole_id), 0)::text FROM hipq.shard_neighbour AS neighbour "
        "WHERE neighbour.node = 0 AND neighbour.instance_id = (SELECT map.instance_id" +
            own + ")"));
}

void demand_own_step(const std::string &instance)
{
    for (const auto &[id, queue] : catalog::catalogue()->queues)
        if (queue.instance == instance && queue.is_out_of_step())
            catalog::refuse_out_of_step(instance, queue.shards->own_node);
}

// A receiver that has received nothing so far may have its first letters on the way.
void demand_all_kept(const Line &line)
{
    const bool is_new = newest_read(line) == 0;
    if (are_all_kept(line) || (is_new && comes_true([&] { return are_all_kept(line); })))
        return;
    const std::string sender =
        line.from == core::router_node ? "the router" : "shard " + std::to_string(line.from);
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("node %d of instance \"%s\" lacks more than %s keeps", line.to,
                      line.instance.c_str(), sender.c_str()),
               errdetail("What was sent is kept for hipq.outbox_keep; what is older is gone."),
               errhint("Restore the shard as it was later. Or CALL hipq.resync_shard('%s', %d, "
                       "force => true): jobs that were sent in between are lost, and some that it "
                       "has sent back may run twice.",
                       line.instance.c_str(), std::max(line.from, line.to)));
}

// ---- steps ----

// No rows are kept for the former reader of the slot.
void drop_slot_in_use(const Ask &node, const std::string &slot)
{
    const std::string known =
        " FROM pg_catalog.pg_replication_slots AS known WHERE known.slot_name = " + literal(slot);
    (void)node("SELECT pg_catalog.pg_terminate_backend(known.active_pid)::text" + known +
               " AND known.active");
    const bool is_free = comes_true(
        [&] { return node("SELECT known.slot_name::text" + known + " AND known.active").empty(); });
    if (!is_free)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
                   errmsg("somebody reads replication slot \"%s\" again and again", slot.c_str()),
                   errhint("The old primary of a shard that was promoted must not run any more."));
    (void)node("SELECT pg_catalog.pg_drop_replication_slot(known.slot_name)::text" + known);
}

// The slot keeps what commits from now on; what has committed is visible from now on.
void wait_for_older_senders(const Ask &node)
{
    const std::string since = first_of(node("SELECT pg_catalog.clock_timestamp()::text"));
    const std::string call = call_of("hipq._position_after_all_sent", {since});
    if (!comes_true([&] { return !first_of(node(call)).empty(); }))
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("a transaction from before has enqueued jobs and does not end"),
                   errhint("View pg_stat_activity has it. CALL hipq.resync_shard() again when it "
                           "has ended."));
}

// The router takes the letters that the shard keeps for it. Returns their number.
std::size_t take_what_it_has(const ShardInNeed &shard)
{
    drop_slot_in_use(shard.there(), shard.back);
    (void)ask(shard.conninfo, call_of("hipq._keep_outbox", {shard.back}));
    wait_for_older_senders(shard.there());
    std::vector<KeptLetter> letters = unread_letters(shard.line_back());
    if (shard.is_told_anew)
        leave_out_known_jobs(shard.instance, letters);
    for (const KeptLetter &letter : letters)
        pg::as_hipq([&] {
            receive_letter_again.run(letter.json, shard.instance, std::int32_t{shard.node});
        });
    next_step();
    subscribe(shard.back, shard.conninfo, version_of(shard.conninfo));
    next_step();
    return letters.size();
}

void keep_anew(const ShardInNeed &shard)
{
    drop_slot_in_use(ask_here, shard.forth);
    next_step();
    keep_wal(shard.forth);
    next_step();
    wait_for_older_senders(ask_here);
    next_step();
}

std::string again(const std::string &letter, bool after_loss)
{
    return "SELECT hipq._receive_again(" + literal(letter) + "::jsonb, " +
           (after_loss ? "true" : "false") + ")::text";
}

struct Resent {
    std::size_t letters;
    std::size_t forgotten;
};

// A shard that has its tables lacks letters, and takes them in order. A promoted or restored shard
// is first told the current state.
Resent send_what_it_lacks(const ShardInNeed &shard, bool has_forgotten)
{
    const std::vector<KeptLetter> unread = unread_letters(shard.line_forth());
    Resending resending;
    std::string truth;
    if (has_forgotten) {
        const std::int64_t newest = newest_read(shard.line_forth());
        resending =
            choose(shard.instance, shard.node, unread, {newest, shard.whole.value_or(newest)});
    } else {
        for (const KeptLetter &letter : unread)
            resending.letters.push_back(letter.json);
    }
    const bool is_told = has_forgotten || shard.is_told_anew;
    if (is_told)
        truth = truth_for(shard.instance, shard.node, resending.stale, shard.is_told_anew);
    Resent sent{unread.size(), 0};
    in_one_transaction(shard.conninfo, [&](const Ask &there) {
        if (is_told)
            sent.forgotten =
                std::stoul(first_of(there("SELECT hipq._begin_resync(" + literal(shard.instance) +
                                          ", " + literal(truth) + "::jsonb)")));
        for (const std::string &letter : resending.letters)
            (void)there(again(letter, has_forgotten));
    });
    (void)ask(shard.conninfo,
              call_of("hipq._subscribe_to_outbox",
                      {shard.forth, shard.publisher, std::to_string(PG_VERSION_NUM)}));
    return sent;
}

void finish(const ShardInNeed &shard)
{
    const int timeline = timeline_of(shard.conninfo);
    pg::as_hipq([&] {
        note_timeline.run(shard.instance, static_cast<std::int16_t>(shard.node), timeline);
        send_set_up(shard.instance, shard.node);
    });
}

}  // namespace

ShardInNeed require_shard(const std::string &instance, int node)
{
    const pg::Rows rows = pg::as_extension_owner(
        [&] { return select_shard_in_need.run(instance, static_cast<std::int16_t>(node)); });
    if (rows.empty())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("instance \"%s\" has no shard %d", instance.c_str(), node),
                   errhint("View hipq.shards has them."));
    const pg::Row row = rows.front();
    return {instance,
            node,
            row.text(0),
            row.text(1),
            core::line_to_shard(row.text(2), node),
            core::line_from_shard(row.text(2), node),
            row.text(3),
            row.text(4)};
}

void forget_signs_to(const ShardInNeed &shard)
{
    pg::as_hipq([&] {
        forget_signs(select_instance.run(shard.instance).front().integer32(0), shard.node);
    });
}

// Signs that go through the new slots must not name one that did not, and signs that the shard
// received before must not count when they are read again.
void disconnect(const ShardInNeed &shard)
{
    forget_signs_to(shard);
    (void)ask(shard.conninfo, call_of("hipq._unsubscribe_from_outbox", {shard.forth}));
    unsubscribe(shard.back);
    next_step();
}

void resync_shard(const std::string &instance, int node, bool is_forced, bool is_told_anew)
{
    ShardInNeed shard = require_shard(instance, node);
    shard.is_told_anew = is_told_anew;
    demand_own_step(instance);
    const bool has_forgotten = is_out_of_step(shard);
    shard.whole = whole_letters(shard);
    if (!is_forced) {
        demand_all_kept(shard.line_forth());
        demand_all_kept(shard.line_back());
    }
    next_step();
    disconnect(shard);
    const std::size_t taken = take_what_it_has(shard);
    keep_anew(shard);
    const Resent sent = send_what_it_lacks(shard, has_forgotten);
    finish(shard);
    pg::call([&] {
        ereport(
            NOTICE, errmsg("shard %d of instance \"%s\" is in step", node, instance.c_str()),
            errdetail("The router has taken %zu letter(s) that it had missed, and sent %zu that "
                      "the shard had missed; the shard has forgotten %zu job(s) that had left "
                      "it.",
                      taken, sent.letters, sent.forgotten));
    });
}

}  // namespace hipq::shards

HIPQ_FUNCTION(hipq_resync_shard)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::shards::demand_step_by_step(fcinfo, "resync_shard");
    const std::string instance = arguments.text("instance");
    const int node = arguments.integer("shard");
    const bool is_forced = arguments.maybe_bool("force").value_or(false);
    if (node == hipq::core::router_node)
        hipq::shards::resync_router(instance, is_forced);
    else
        hipq::shards::resync_shard(instance, node, is_forced);
    return hipq::pg::return_void();
}
