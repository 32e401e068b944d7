// CALL hipq.create_shard(): makes another server a shard, step by step.
//
// Each step is its own transaction, and does nothing if it has been done: after a failure the call
// can be repeated. The order keeps every outbox row that is for the shard: first the publication,
// then the slot that keeps rows, then the subscription that reads them.
#include "catalog/cache.hpp"
#include "core/shards/ids.hpp"
#include "core/text/conninfo.hpp"
#include "core/text/names.hpp"
#include "job/dependency_rows.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "shards/fitness.hpp"
#include "shards/node.hpp"
#include "shards/rejects.hpp"
#include "shards/remote.hpp"
#include "shards/set_up.hpp"
#include "shards/steps.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::shards {

namespace {

struct NewShard {
    std::string instance;
    int node;
    std::string conninfo;
    std::string publisher;
    int weight;
    std::string channel{};  // prefix of the names of what connects the two

    std::string forth() const { return core::line_to_shard(channel, node); }
    std::string back() const { return core::line_from_shard(channel, node); }
    std::string shown() const
    {
        return "shard " + std::to_string(node) + " of instance \"" + instance + "\"";
    }
};

constinit pg::Statement lock_instance(R"(
    SELECT instance.db_config ->> 'publisher', map.own_node
    FROM hipq.instance AS instance
    LEFT JOIN hipq.shard_map AS map USING (instance_id)
    WHERE instance.name = $1
    FOR UPDATE OF instance)");
constinit pg::Statement select_known_shard(R"(
    SELECT
    FROM hipq.shard AS shard
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND shard.node = $2)");
constinit pg::Statement select_rated(R"(
    SELECT CASE WHEN queue.rate_limit <> 'NONE' THEN format('Queue "%s.%s"', instance.name, queue.name)
               ELSE format('Job type "%s" of queue "%s.%s"', type.name, instance.name, queue.name)
           END
    FROM hipq.queue AS queue
    JOIN hipq.instance AS instance USING (instance_id)
    LEFT JOIN hipq.job_type AS type
        ON type.queue_id = queue.queue_id AND (type.rate_limit <> 'NONE' OR type.rate_limit_per_key <> 'NONE'
                                              OR type.breaker <> 'NONE')
    WHERE instance.name = $1 AND NOT queue.is_dropped
        AND (queue.rate_limit <> 'NONE' OR type.name IS NOT NULL)
    ORDER BY queue.queue_id, type.name
    LIMIT 1)");
constinit pg::Statement insert_map(R"(
    INSERT INTO hipq.shard_map (instance_id, cluster, own_node, nodes)
    SELECT instance.instance_id, gen_random_uuid(), 0, array_fill(0::smallint, '{4096}')
    FROM hipq.instance AS instance
    WHERE instance.name = $1
    ON CONFLICT DO NOTHING)");
constinit pg::Statement insert_shard(R"(
    INSERT INTO hipq.shard (instance_id, node, conninfo, publisher, channel, weight)
    SELECT map.instance_id, $2, $3, $4, 'hipq_' || left(map.cluster::text, 8), $5
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1
    ON CONFLICT (instance_id, node) DO UPDATE
    SET conninfo = EXCLUDED.conninfo, publisher = EXCLUDED.publisher, weight = EXCLUDED.weight
    RETURNING channel)");
constinit pg::Statement select_lost_slot(R"(
    SELECT
    FROM hipq.shard AS shard
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND shard.node = $2 AND shard.state IN ('active', 'draining')
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots AS known WHERE known.slot_name = $3 AND known.wal_status <> 'lost'))");
constinit pg::Statement select_cluster(R"(
    SELECT map.cluster::text
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1)");
constinit pg::Statement update_shard(R"(
    UPDATE hipq.shard AS shard
    SET state = 'active', timeline = $3,
        created_time = CASE shard.state WHEN 'joining' THEN clock_timestamp() ELSE shard.created_time END
    FROM hipq.instance AS instance
    WHERE instance.instance_id = shard.instance_id AND instance.name = $1 AND shard.node = $2)");

// ---- checks ----

[[noreturn]] void refuse(const std::string &message, const std::string &hint)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("%s", message.c_str()),
               errhint("%s", hint.c_str()));
}

void demand_number(int node)
{
    if (node >= 1 && node < core::node_count)
        return;
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("shard %d is out of range", node),
               errhint("Shards have numbers from 1 to 1023; 0 is the router."));
}

void demand_weight(int weight)
{
    if (weight >= 1 && weight <= 1000)
        return;
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("weight %d is out of range", weight), errhint("Weights are from 1 to 1000."));
}

// It would be stored in a table and in the subscriptions, and shown in their errors.
void demand_no_password(const char *name, const std::string &conninfo)
{
    if (core::has_password(conninfo))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s has a password", name),
                   errhint("Use a passfile or a certificate."));
}

// Fills in how the shard reaches this server. Locks the instance.
void demand_router(NewShard &shard)
{
    const pg::Rows rows = pg::as_hipq([&] { return lock_instance.run(shard.instance); });
    if (rows.empty())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("instance \"%s\" does not exist", shard.instance.c_str()));
    if (shard.publisher.empty())
        shard.publisher = rows.front().text(0);
    if (shard.publisher.empty())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("it is not said how the shard reaches this server"),
                   errhint("Give publisher, a connection string, or put it into db_config of the "
                           "instance: {\"publisher\": \"host=... dbname=...\"}."));
    if (!rows.front().null(1) && rows.front().integer(1) != core::router_node)
        refuse("this server is a shard of instance \"" + shard.instance + "\"",
               "Make shards on the router.");
}

// Jobs that come after others could be on another server than these.
void demand_no_dependent_jobs(const NewShard &shard)
{
    const auto catalogue = catalog::catalogue();
    for (const auto &[id, queue] : catalogue->queues) {
        const bool has_some = queue.instance == shard.instance && !queue.is_dropped &&
                              queue.has_waits && job::has_dependent_jobs(queue);
        const std::string name = queue.full_name();
        if (has_some)
            HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                       errmsg("an instance with jobs that come after others, or belong to "
                              "batches, cannot have shards"),
                       errdetail("Queue \"%s\" has some.", name.c_str()),
                       errhint("Wait until they have ended, or cancel them: view hipq.jobs_detail "
                               "shows them with waits_for or batch_id."));
    }
}

// Each server would keep the rate or the breaker by itself.
void demand_no_rates(const NewShard &shard)
{
    const pg::Rows rows = pg::as_hipq([&] { return select_rated.run_latest(shard.instance); });
    if (rows.empty())
        return;
    const std::string what = rows.front().text(0);
    HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("an instance with a rate_limit or a breaker cannot have shards"),
               errdetail("%s has one: each server would keep it by itself.", what.c_str()),
               errhint("Set it to NONE. Use throttle_limit, which the servers keep together, and "
                       "hipq.pause()."));
}

void demand_fit_servers(const NewShard &shard)
{
    if (const auto problem = unfit(true))
        refuse("this server cannot have shards: " + problem->text, problem->hint);
    if (ask_one(shard.conninfo, "SELECT count(*)::text FROM pg_catalog.pg_extension AS known WHERE "
                                "known.extname = 'hipq'") == "0")
        refuse("extension \"hipq\" is not installed in the database of " + shard.shown(),
               "Run CREATE EXTENSION hipq there.");
    const std::string problem = ask_one(shard.conninfo, "SELECT hipq._unfit_for_shards()");
    const std::size_t end = problem.find('|');
    if (end != std::string::npos)
        refuse("the server of " + shard.shown() + " cannot be one: " + problem.substr(0, end),
               problem.substr(end + 1));
}

// ---- steps ----

bool is_known(const NewShard &shard)
{
    return pg::as_extension_owner([&] {
        return !select_known_shard.run(shard.instance, static_cast<std::int16_t>(shard.node))
                    .empty();
    });
}

void write_down(NewShard &shard)
{
    pg::as_hipq([&] {
        insert_map.run(shard.instance);
        shard.channel = insert_shard
                            .run(shard.instance, static_cast<std::int16_t>(shard.node),
                                 shard.conninfo, shard.publisher, shard.weight)
                            .front()
                            .text(0);
    });
}

void connect_there(const NewShard &shard)
{
    const std::string cluster =
        pg::as_extension_owner([&] { return select_cluster.run(shard.instance).front().text(0); });
    const std::string node = std::to_string(shard.node);
    (void)ask(shard.conninfo, call_of("hipq._join_shards", {shard.instance, cluster, node}));
    (void)ask(shard.conninfo, call_of("hipq._publish_outbox", {shard.back(), shard.instance, "0"}));
    (void)ask(shard.conninfo, call_of("hipq._keep_outbox", {shard.back()}));
    (void)ask(shard.conninfo,
              call_of("hipq._subscribe_to_outbox",
                      {shard.forth(), shard.publisher, std::to_string(PG_VERSION_NUM)}));
}

void connect_here(const NewShard &shard)
{
    subscribe(shard.back(), shard.conninfo, version_of(shard.conninfo));
    const int timeline = timeline_of(shard.conninfo);
    pg::as_hipq([&] {
        update_shard.run(shard.instance, static_cast<std::int16_t>(shard.node), timeline);
        send_set_up(shard.instance, shard.node);
    });
    wakeup::note_shares();  // the shard may get a part of limits
}

void tell(const NewShard &shard)
{
    const std::string shown = shard.shown();
    pg::call([&] {
        ereport(NOTICE, errmsg("%s is connected, and has no slots yet", shown.c_str()),
                errhint("Run SELECT hipq.rebalance('%s').", shard.instance.c_str()));
    });
}

// A new slot would not have the rows that the shard has not read.
void demand_kept_outbox(const NewShard &shard)
{
    const bool is_lost = pg::as_extension_owner([&] {
        return !select_lost_slot
                    .run(shard.instance, static_cast<std::int16_t>(shard.node), shard.forth())
                    .empty();
    });
    if (is_lost)
        refuse("the replication slot of " + shard.shown() + " is gone or lost",
               "CALL hipq.resync_shard('" + shard.instance + "', " + std::to_string(shard.node) +
                   ").");
}

void create_shard(NewShard shard)
{
    demand_number(shard.node);
    demand_weight(shard.weight);
    demand_router(shard);
    demand_no_password("conninfo", shard.conninfo);
    demand_no_password("publisher", shard.publisher);
    if (!is_known(shard)) {
        demand_no_dependent_jobs(shard);
        demand_no_rates(shard);
        demand_fit_servers(shard);
    }
    write_down(shard);
    demand_kept_outbox(shard);
    publish(shard.forth(), shard.instance, shard.node);
    next_step();
    keep_wal(shard.forth());
    next_step();
    connect_there(shard);
    connect_here(shard);
    next_step();
    tell(shard);
}

}  // namespace

}  // namespace hipq::shards

HIPQ_FUNCTION(hipq_create_shard)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::shards::demand_step_by_step(fcinfo, "create_shard");
    hipq::shards::create_shard({arguments.text("instance"), arguments.integer("shard"),
                                arguments.text("conninfo"),
                                arguments.maybe_text("publisher").value_or(""),
                                arguments.maybe_int("weight").value_or(100)});
    return hipq::pg::return_void();
}
