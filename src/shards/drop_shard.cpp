// CALL hipq.drop_shard(): takes a shard that has been drained out of its instance.
//
// Step by step, as create_shard() in the other direction; after a failure the call is repeated. The
// shard leaves first, so that nothing more is sent to the router; then the router reads what is
// left.
#include "catalog/catalog.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "shards/node.hpp"
#include "shards/remote.hpp"
#include "shards/steps.hpp"

namespace hipq::shards {

namespace {

constexpr int most_looks = 300;  // a tenth of a second each, at a server that has to catch up

struct Shard {
    std::string instance;
    int node;
    std::string conninfo;
    std::string forth;
    std::string back;
};

constinit pg::Statement lock_shard(R"(
    SELECT shard.conninfo, shard.channel, shard.state,
           (SELECT count(*) FROM unnest(map.nodes) AS entry (node) WHERE entry.node = shard.node)
             + (SELECT count(*) FROM hipq.shard_move AS move WHERE move.instance_id = shard.instance_id AND shard.node IN (move.from_node, move.to_node))
    FROM hipq.shard AS shard
    JOIN hipq.shard_map AS map USING (instance_id)
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND shard.node = $2
    FOR UPDATE OF shard)");
constinit pg::Statement begin_leaving(R"(
    UPDATE hipq.shard AS shard
    SET state = 'leaving'
    FROM hipq.instance AS instance
    WHERE instance.instance_id = shard.instance_id AND instance.name = $1 AND shard.node = $2)");
constinit pg::Statement delete_shard(R"(
    DELETE FROM hipq.shard AS shard
    USING hipq.instance AS instance
    WHERE instance.instance_id = shard.instance_id AND instance.name = $1 AND shard.node = $2)");
constinit pg::Statement sleep("SELECT pg_catalog.pg_sleep(0.1)");
constinit pg::Statement select_is_read(R"(
    SELECT
    FROM pg_catalog.pg_replication_slots AS known
    WHERE known.slot_name = $1 AND known.active)");

// Has its row locked. Raises unless it is empty.
Shard require_empty(const std::string &instance, int node)
{
    const pg::Rows rows = pg::as_hipq([&] { return lock_shard.run(instance, node); });
    if (rows.empty())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("instance \"%s\" has no shard %d", instance.c_str(), node),
                   errhint("View hipq.shards has them."));
    const pg::Row row = rows.front();
    if (row.integer(3) > 0)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
                   errmsg("shard %d of instance \"%s\" has slots, or some are on their way", node,
                          instance.c_str()),
                   errhint("Run SELECT hipq.drain_shard('%s', %d), and wait until view hipq.shards "
                           "shows none.",
                           instance.c_str(), node));
    const std::string channel = row.text(1);
    const std::string number = std::to_string(node);
    return {instance, node, row.text(0), channel + "_to_" + number, channel + "_from_" + number};
}

void wait_for_reader_to_catch_up(const Shard &shard, const std::string &position)
{
    const std::string statement =
        "SELECT pg_catalog.count(*)::text FROM pg_catalog.pg_replication_slots AS known WHERE "
        "known.slot_name = '" +
        shard.back + "' AND known.confirmed_flush_lsn < '" + position + "'";
    for (int looks = 0; ask_one(shard.conninfo, statement) != "0"; ++looks) {
        if (looks == most_looks)
            HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                       errmsg("this server has not read all that shard %d has sent", shard.node),
                       errhint("View hipq.shards says what is in the way; call "
                               "hipq.drop_shard() again then."));
        pg::as_extension_owner([] { sleep.run(); });
    }
}

// A slot whose reader has been told to go.
void wait_for_reader_to_go(const std::string &slot)
{
    for (int looks = 0; looks < most_looks; ++looks) {
        if (pg::as_extension_owner([&] { return select_is_read.run_latest(slot).empty(); }))
            return;
        pg::as_extension_owner([] { sleep.run(); });
    }
}

void wait_for_reader_to_go_there(const Shard &shard)
{
    const std::string statement =
        "SELECT pg_catalog.count(*)::text FROM pg_catalog.pg_replication_slots AS known WHERE "
        "known.slot_name = '" +
        shard.back + "' AND known.active";
    for (int looks = 0; looks < most_looks && ask_one(shard.conninfo, statement) != "0"; ++looks)
        pg::as_extension_owner([] { sleep.run(); });
}

void take_leave(const Shard &shard)
{
    wait_for_reader_to_catch_up(
        shard, ask_one(shard.conninfo, call_of("hipq._leave_shards", {shard.instance})));
}

void drop_shard(const std::string &instance, int node, bool is_dead)
{
    const Shard shard = require_empty(instance, node);
    pg::as_hipq([&] { begin_leaving.run(instance, node); });
    next_step();
    if (!is_dead)
        take_leave(shard);
    unsubscribe(shard.back);
    next_step();
    if (!is_dead) {
        (void)ask(shard.conninfo, call_of("hipq._unsubscribe_from_outbox", {shard.forth}));
        wait_for_reader_to_go_there(shard);
        (void)ask(shard.conninfo, call_of("hipq._unpublish_outbox", {shard.back}));
    }
    wait_for_reader_to_go(shard.forth);
    unpublish(shard.forth);
    pg::as_hipq([&] { delete_shard.run(instance, node); });
}

}  // namespace

}  // namespace hipq::shards

HIPQ_FUNCTION(hipq_drop_shard)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::shards::demand_step_by_step(fcinfo, "drop_shard");
    hipq::shards::drop_shard(arguments.text(0, "instance"), arguments.integer(1, "shard"),
                             arguments.maybe_bool(2).value_or(false));
    return hipq::pg::return_void();
}
