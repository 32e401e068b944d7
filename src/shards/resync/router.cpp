// CALL hipq.resync_shard(instance, 0): a router that was promoted goes on, if it has forgotten
// nothing that a shard knows of.
//
// What it has forgotten that no shard has heard of is lost, as on one server; then its tables are
// those of a router that was slow. But if a shard has had a letter that it does not know, others
// may have had what followed from it, and nobody can tell.
#include "catalog/catalog.hpp"
#include "pg/internal_write.hpp"
#include "shards/resync/node.hpp"
#include "shards/resync/shard.hpp"
#include "shards/steps.hpp"
#include "wakeup/wakeup.hpp"

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

void demand_nothing_forgotten(const ShardInNeed &shard)
{
    const auto count = static_cast<long long>(letters_that_sender_forgot(shard.line_forth()));
    if (count > 0)
        HIPQ_RAISE(
            errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("shard %d of instance \"%s\" has got %lld letter(s) that this router does "
                   "not know",
                   shard.node, shard.instance.c_str(), count),
            errdetail("It is a standby that did not have all that its primary had sent."),
            errhint("Promote another standby, or bring the old primary back. A router needs "
                    "a synchronous standby."));
}

void come_into_step(const std::string &instance)
{
    pg::as_hipq([&] {
        update_timeline.run(instance, catalog::own_timeline());
        leave_numbers_out();
    });
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
    for (const ShardInNeed &shard : shards)
        demand_nothing_forgotten(shard);
    for (const ShardInNeed &shard : shards) {
        next_step();
        disconnect(shard);
    }
    come_into_step(instance);
    for (const ShardInNeed &shard : shards)
        resync_shard(instance, shard.node, is_forced);
}

}  // namespace hipq::shards
