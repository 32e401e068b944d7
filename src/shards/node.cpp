// Publishes outbox rows, keeps them for a node, and subscribes to those of another.
//
// Publication, slot and subscription have the same name. The slot is created separately: CREATE
// SUBSCRIPTION would create it on the other server, which is not allowed in a function.
#include "shards/node.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement
    select_publication("SELECT FROM pg_catalog.pg_publication AS known WHERE known.pubname = $1");
constinit pg::Statement
    select_slot("SELECT FROM pg_catalog.pg_replication_slots AS known WHERE known.slot_name = $1");
// From 17 on a slot may fail over: a standby can have it too, and no node is sent what that standby
// does not have (synchronized_standby_slots).
constexpr int first_with_failover = 170'000;
constinit pg::Statement make_slot(
    PG_VERSION_NUM >= first_with_failover
        ? "SELECT pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput', failover => true)"
        : "SELECT pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput')");
constinit pg::Statement drop_slot(R"(
    SELECT pg_catalog.pg_drop_replication_slot(known.slot_name)
    FROM pg_catalog.pg_replication_slots AS known
    WHERE known.slot_name = $1)");
constinit pg::Statement select_subscription(R"(
    SELECT known.subconninfo
    FROM pg_catalog.pg_subscription AS known
    JOIN pg_catalog.pg_database AS database ON database.oid = known.subdbid
    WHERE known.subname = $1 AND database.datname = current_database())");
constinit pg::Statement make_instance("SELECT hipq.create_instance($1, if_not_exists => true)");
constinit pg::Statement select_membership(R"(
    SELECT map.cluster::text, map.own_node
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1)");
constinit pg::Statement insert_membership(R"(
    INSERT INTO hipq.shard_map (instance_id, cluster, own_node, generation, nodes)
    SELECT instance.instance_id, $2::uuid, $3, 0, array_fill(0::smallint, '{4096}')
    FROM hipq.instance AS instance
    WHERE instance.name = $1)");

// Makes this database a node of an instance.
void join(const std::string &instance, const std::string &cluster, int node)
{
    std::optional<std::pair<std::string, int>> known;
    pg::as_hipq([&] {
        make_instance.run(instance);
        for (const pg::Row row : select_membership.run(instance))
            known = {row.text(0), row.integer32(1)};
        if (!known.has_value())
            insert_membership.run(instance, cluster, static_cast<std::int16_t>(node));
    });
    if (!known.has_value() || *known == std::pair(cluster, node))
        return;
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("instance \"%s\" of this database is node %d already, of %s router",
                      instance.c_str(), known->second,
                      known->first == cluster ? "the same" : "another"),
               errhint("Use another database, or drop that shard first."));
}

constinit pg::Statement
    count_held("SELECT count(*) FROM hipq.shard_held_job AS held JOIN hipq.instance AS "
               "instance USING (instance_id) WHERE instance.name = $1");
constinit pg::Statement delete_membership(R"(
    WITH gone AS (
        DELETE FROM hipq.shard_map AS map
        USING hipq.instance AS instance
        WHERE instance.instance_id = map.instance_id AND instance.name = $1
        RETURNING map.instance_id
    ),
    signs AS (
        DELETE FROM hipq.shard_sign AS sign USING gone WHERE sign.instance_id = gone.instance_id
    )
    DELETE FROM hipq.shard_neighbour AS neighbour USING gone WHERE neighbour.instance_id = gone.instance_id)");
constinit pg::Statement delete_permits(R"(
    DELETE FROM hipq.permit_share AS share
    USING hipq.queue AS queue
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE queue.queue_id = share.queue_id AND instance.name = $1)");
constexpr const char *count_unfinished = "SELECT count(*) FROM {live} AS job";

std::int64_t unfinished_jobs(const std::string &instance)
{
    std::int64_t count = pg::as_hipq([&] { return count_held.run(instance).front().integer(0); });
    for (const auto &[id, queue] : catalog::catalogue_with_locked_maps()->queues)
        if (queue.instance == instance && !queue.is_dropped)
            count += pg::as_hipq([&, &queue = queue] {
                return catalog::statement_for(queue, count_unfinished).run().front().integer(0);
            });
    return count;
}

// This database stops being a node, and jobs that are enqueued here stay here.
void leave(const std::string &instance)
{
    const std::int64_t unfinished = unfinished_jobs(instance);
    if (unfinished > 0)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
                   errmsg("%lld job(s) of instance \"%s\" are unfinished on the shard",
                          static_cast<long long>(unfinished), instance.c_str()),
                   errhint("Wait until they have ended, and call hipq.drop_shard() again."));
    pg::as_hipq([&] {
        delete_membership.run(instance);
        delete_permits.run(instance);
    });
}

// Returns whether the publisher has made the slot that way. A subscription must agree with its
// slot.
bool can_fail_over(int publisher_version)
{
    return PG_VERSION_NUM >= first_with_failover && publisher_version >= first_with_failover;
}

}  // namespace

void publish(const std::string &publication, const std::string &instance, int node)
{
    pg::as_extension_owner([&] {
        if (!select_publication.run(publication).empty())
            return;
        pg::run_once("CREATE PUBLICATION " + pg::quote_name(publication) +
                     " FOR TABLE hipq.shard_outbox WHERE (instance = " +
                     pg::quote_literal(instance) + " AND node = " + std::to_string(node) +
                     ") WITH (publish = 'insert', publish_via_partition_root = true)");
    });
}

void keep_wal(const std::string &slot)
{
    pg::as_extension_owner([&] {
        if (select_slot.run(slot).empty())
            make_slot.run(slot);
    });
}

// Letters take effect in whole transactions, one after the other, so the stream is not streamed
// before a transaction ends, which is the default from PostgreSQL 18 on.
void subscribe(const std::string &publication, const std::string &publisher, int publisher_version)
{
    pg::as_extension_owner([&] {
        const std::string name = pg::quote_name(publication);
        const pg::Rows known = select_subscription.run(publication);
        if (!known.empty() && known.front().text(0) != publisher)
            pg::run_once("ALTER SUBSCRIPTION " + name + " CONNECTION " +
                         pg::quote_literal(publisher));
        if (!known.empty())
            return;
        const char *failover = can_fail_over(publisher_version) ? ", failover = true" : "";
        pg::run_once("CREATE SUBSCRIPTION " + name + " CONNECTION " + pg::quote_literal(publisher) +
                     " PUBLICATION " + name +
                     " WITH (binary = true, create_slot = false, slot_name = " +
                     pg::quote_literal(publication) + ", copy_data = false, streaming = false" +
                     failover + ")");
    });
}

void unsubscribe(const std::string &publication)
{
    pg::as_extension_owner([&] {
        if (select_subscription.run(publication).empty())
            return;
        const std::string name = pg::quote_name(publication);
        pg::run_once("ALTER SUBSCRIPTION " + name + " DISABLE");
        pg::run_once("ALTER SUBSCRIPTION " + name + " SET (slot_name = NONE)");
        pg::run_once("DROP SUBSCRIPTION " + name);
    });
}

void unpublish(const std::string &publication)
{
    pg::as_extension_owner([&] {
        drop_slot.run(publication);
        pg::run_once("DROP PUBLICATION IF EXISTS " + pg::quote_name(publication));
    });
}

}  // namespace hipq::shards

// The router calls these on a shard.
HIPQ_FUNCTION(hipq__join_shards)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::shards::join(arguments.text("instance_name"), arguments.text("cluster"),
                       arguments.integer("node"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__publish_outbox)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::shards::publish(arguments.text("publication"), arguments.text("instance_name"),
                          arguments.integer("node"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__keep_outbox)
{
    hipq::shards::keep_wal(hipq::pg::Arguments(fcinfo).text("slot"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__leave_shards)
{
    hipq::shards::leave(hipq::pg::Arguments(fcinfo).text("instance_name"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__unsubscribe_from_outbox)
{
    hipq::shards::unsubscribe(hipq::pg::Arguments(fcinfo).text("publication"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__unpublish_outbox)
{
    hipq::shards::unpublish(hipq::pg::Arguments(fcinfo).text("publication"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__subscribe_to_outbox)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::shards::subscribe(arguments.text("publication"), arguments.text("publisher"),
                            arguments.integer("publisher_version"));
    return hipq::pg::return_void();
}
