// Holds queues that a logical subscription feeds, and releases them.
//
// A hold is a row, so that it outlives the subscription: dropping the subscription does not say
// that the jobs shall run here. CREATE and ALTER SUBSCRIPTION write the row before the first job
// can arrive; where they did not, the guard trigger writes it in the transaction of the first job.
#include "catalog/queue_hold.hpp"

#include "catalog/queue_statements.hpp"
#include "catalog/timeline.hpp"
#include "pg/internal_write.hpp"
#include "shared/wakeup/commit.hpp"

extern "C" {
#include "replication/logicalworker.h"
#include "replication/worker_internal.h"
}

namespace hipq::catalog {

namespace {

constinit pg::Statement insert_hold(R"(
    INSERT INTO hipq.queue_hold (queue_id, subscription)
    SELECT queue.queue_id, $2
    FROM hipq.queue AS queue
    WHERE queue.queue_id = $1
    ON CONFLICT DO NOTHING)");

// The queues that enabled subscriptions feed. A subscription may contain hipq.job, the queue's
// table or a leaf.
#define HIPQ_FED_QUEUES                                                                            \
    "SELECT queue.queue_id, min(subscription.subname)::text AS subscription "                      \
    "FROM pg_subscription AS subscription "                                                        \
    "JOIN pg_subscription_rel AS fed ON fed.srsubid = subscription.oid "                           \
    "JOIN pg_class AS relation ON relation.oid = fed.srrelid "                                     \
    "LEFT JOIN LATERAL pg_partition_ancestors(fed.srrelid) AS ancestor "                           \
    "ON relation.relispartition "                                                                  \
    "JOIN pg_class AS root ON root.oid = coalesce(ancestor.relid, relation.oid) "                  \
    "JOIN hipq.queue AS queue "                                                                    \
    "ON queue.table_name = root.relname OR relation.oid = 'hipq.job'::regclass "                   \
    "WHERE subscription.subenabled AND root.relnamespace = 'hipq'::regnamespace "                  \
    "AND subscription.subdbid = (SELECT oid FROM pg_database "                                     \
    "WHERE datname = current_database()) "                                                         \
    "GROUP BY queue.queue_id"

constinit pg::Statement
    insert_all_holds("INSERT INTO hipq.queue_hold (queue_id, subscription) " HIPQ_FED_QUEUES
                     " ON CONFLICT DO NOTHING RETURNING (SELECT instance.name || '.' || queue.name "
                     "FROM hipq.queue AS queue JOIN hipq.instance AS instance USING (instance_id) "
                     "WHERE queue.queue_id = queue_hold.queue_id), subscription");

constinit pg::Statement select_feeding("SELECT fed.subscription FROM (" HIPQ_FED_QUEUES
                                       ") AS fed WHERE fed.queue_id = $1");

constinit pg::Statement delete_hold("DELETE FROM hipq.queue_hold WHERE queue_id = $1");

// Ids of jobs come from a sequence, which a subscription does not advance.
constexpr const char *skip_ids_sql = R"(
    SELECT setval('hipq.job_id_seq', highest.id)
    FROM (SELECT max(id) AS id FROM {table}) AS highest
    CROSS JOIN hipq.job_id_seq AS sequence
    WHERE highest.id > sequence.last_value)";

// Shared memory identifies a job by its id only.
constexpr const char *count_double_ids_sql = R"(
    SELECT count(*)
    FROM {live} AS own
    JOIN hipq.job AS other ON other.id = own.id
    WHERE other.queue_id <> own.queue_id AND other.state <> 'final')";

void report_hold(const std::string &queue, const std::string &subscription)
{
    pg::call([&] {
        ereport(LOG, errmsg("hipq holds queue \"%s\"", queue.c_str()),
                errdetail("Its jobs come by subscription \"%s\".", subscription.c_str()));
    });
}

}  // namespace

bool applies_subscription()
{
    return ::IsLogicalWorker();
}

void hold_fed_queue(int queue_id)
{
    const auto known = catalogue();
    const Queue *queue = known->find(queue_id);
    if (queue == nullptr || queue->hold.has_value())
        return;
    const std::string subscription = MySubscription == nullptr ? "" : MySubscription->name;
    pg::as_hipq([&] { insert_hold.run(queue_id, subscription); });
    report_hold(queue->full_name(), subscription);
}

void hold_all_fed_queues()
{
    pg::as_hipq([] {
        for (const pg::Row row : insert_all_holds.run())
            report_hold(row.text(0), row.text(1));
    });
}

std::optional<std::string> feeding_subscription(const Queue &queue)
{
    return pg::as_extension_owner([&] {
        const pg::Rows rows = select_feeding.run_latest(queue.id);
        return rows.empty() ? std::nullopt : rows.front().maybe_text(0);
    });
}

void demand_not_held(const Queue &queue)
{
    if (queue.is_out_of_step())
        refuse_out_of_step(queue.instance, queue.shards->own_node);
    if (!queue.hold.has_value())
        return;
    const std::string name = queue.full_name();
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("queue \"%s\" is a replica", name.c_str()),
               errdetail("Its jobs come by subscription \"%s\" and run where they come from.",
                         queue.hold->subscription.c_str()),
               errhint("To make this server the one that runs them, disable or drop the "
                       "subscription and call hipq.release_hold('%s').",
                       name.c_str()));
}

namespace {

void demand_own_ids(const Queue &queue, const std::string &name)
{
    const auto doubles = static_cast<long long>(pg::as_extension_owner(
        [&] { return statement_for(queue, count_double_ids_sql).run().front().integer(0); }));
    if (doubles > 0)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("%lld unfinished jobs of queue \"%s\" have ids of other queues' jobs",
                          doubles, name.c_str()),
                   errdetail("Ids are unique in a server; these come from two."),
                   errhint("Wait until the jobs of the other queues have ended, or cancel them."));
}

}  // namespace

void release(const Queue &queue)
{
    const std::string name = queue.full_name();
    if (!queue.hold.has_value())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("queue \"%s\" is not held", name.c_str()),
                   errhint("hipq.release_hold() without a name is for a whole database that is a "
                           "copy."));
    if (const auto subscription = feeding_subscription(queue))
        HIPQ_RAISE(
            errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("subscription \"%s\" feeds queue \"%s\"", subscription->c_str(), name.c_str()),
            errdetail("Its jobs would run here and where they come from."),
            errhint("Run ALTER SUBSCRIPTION %s DISABLE or DROP SUBSCRIPTION first.",
                    ::quote_identifier(subscription->c_str())));
    demand_own_ids(queue, name);
    pg::as_hipq([&] {
        delete_hold.run(queue.id);
        statement_for(queue, skip_ids_sql).run();
    });
    wakeup::note_restore();
    wakeup::note_unknown_jobs();
}

}  // namespace hipq::catalog
