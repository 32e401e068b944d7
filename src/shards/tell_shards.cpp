// Sends the router's set-up to shards, and keeps a shard from setting up anything itself.
//
// Uses triggers with transition tables: a change concerns only the instance of its rows. Data that
// each node keeps for itself does not count as a change: types that jobs brought, crashes of
// handlers and the holds after them, queues that are being dropped, naming strategies. Nor does the
// end of a pause whose time is over: each node ends it by its own clock.
#include "catalog/name_lock.hpp"
#include "core/shards/ids.hpp"
#include "pg/internal_write.hpp"
#include "shards/rejects.hpp"
#include "shards/remote.hpp"
#include "shards/set_up.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement select_any_map("SELECT FROM hipq.shard_map LIMIT 1");
constinit pg::Statement send_to_all("SELECT hipq._send_set_up($1)");

#define HIPQ_ROWS_OF(table)                                                                        \
    "SELECT to_jsonb(line) - '{crash_times,dead_letter_crash_times,created_time,created_by,"       \
    "db_config,table_naming_strategy}'::text[] FROM " table " AS line"

std::string changed_rows(TriggerEvent event)
{
    std::string before = HIPQ_ROWS_OF("old_rows");
    std::string after = HIPQ_ROWS_OF("new_rows");
    if (TRIGGER_FIRED_BY_INSERT(event))
        return after;
    if (TRIGGER_FIRED_BY_DELETE(event))
        return before;
    return "(" + before + " EXCEPT " + after + ") UNION (" + after + " EXCEPT " + before + ")";
}

// $1: the table. For a shard: whether only the router may do this. The shard must not drop what the
// router has, and not create or change anything.
constexpr const char *select_concerned = R"(
    SELECT instance.instance_id, instance.name, map.own_node,
           bool_or(CASE $1
               WHEN 'queue' THEN known.queue OR NOT coalesce(queue.is_dropped, true)
               WHEN 'job_type' THEN known.job_type OR type.name IS NOT NULL
               WHEN 'pause' THEN CASE WHEN queue.queue_id IS NULL THEN true WHEN place.job_type IS NULL THEN known.queue ELSE known.job_type END
               ELSE true
           END)
    FROM changed
    LEFT JOIN hipq.queue AS queue ON queue.queue_id = (changed.state ->> 'queue_id')::integer
    JOIN hipq.instance AS instance ON instance.instance_id = coalesce((changed.state ->> 'instance_id')::integer, queue.instance_id)
    JOIN hipq.shard_map AS map ON map.instance_id = instance.instance_id
    CROSS JOIN LATERAL (
        SELECT instance.name || '.' || CASE $1 WHEN 'queue' THEN changed.state ->> 'name' ELSE queue.name END,
               CASE $1 WHEN 'job_type' THEN changed.state ->> 'name' ELSE changed.state ->> 'job_type' END
    ) AS place (queue, job_type)
    LEFT JOIN hipq.job_type AS type ON type.queue_id = queue.queue_id AND type.name = place.job_type
    CROSS JOIN LATERAL (
        SELECT map.router_has IS NULL OR map.router_has ? place.queue,
               map.router_has IS NULL OR coalesce(map.router_has -> place.queue ? place.job_type, false)
    ) AS known (queue, job_type)
    WHERE NOT hipq._is_held()
      AND CASE $1
          WHEN 'queue' THEN NOT (changed.state ->> 'is_dropped')::boolean
          WHEN 'job_type' THEN NOT queue.is_dropped AND (changed.state ->> 'is_registered')::boolean
          WHEN 'pause' THEN NOT coalesce(queue.is_dropped, false) AND changed.state ->> 'crashes' IS NULL AND coalesce(type.is_registered, true)
               AND ((changed.state ->> 'paused_until')::timestamptz <= hipq.now()) IS NOT TRUE
          ELSE true
      END
    GROUP BY instance.instance_id, instance.name, map.own_node
    ORDER BY instance.name)";

[[noreturn]] void refuse(int instance_id, const std::string &name, int own_node)
{
    const std::string router = router_of(instance_id);
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("instance \"%s\" is set up on its router", name.c_str()),
               errdetail("This server is shard %d of it.", own_node),
               errhint("Call the function on %s: it tells its shards.", router.c_str()));
}

// Sends the whole set-up as this transaction sees it. So transactions that set up an instance wait
// for each other: a letter that lacks what another transaction is about to commit would undo that
// on the shards.
void tell_shards(const std::string &instance)
{
    catalog::lock_set_up_of_shards(instance);
    send_to_all.run_latest(instance);
}

void note_change(TriggerData &data)
{
    const bool is_own = pg::is_permitted();  // else it is a restore
    const std::string table = pg::call([&] { return RelationGetRelationName(data.tg_relation); });
    pg::as_hipq([&] {
        if (select_any_map.run_latest().empty())
            return;
        const std::string sql =
            "WITH changed (state) AS (" + changed_rows(data.tg_event) + ") " + select_concerned;
        for (const pg::Row row : pg::run_in_trigger(&data, sql, table)) {
            if (row.integer32(2) == core::router_node)
                tell_shards(row.text(1));
            else if (is_own && row.boolean(3) && !is_taking_set_up())
                refuse(row.integer32(0), row.text(1), row.integer32(2));
        }
    });
}

}  // namespace

}  // namespace hipq::shards

// The triggers on hipq.instance, hipq.queue, hipq.job_type and hipq.pause: shards get a change
// before any job arrives that needs it.
HIPQ_FUNCTION(hipq__tell_shards)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                   errmsg("hipq._tell_shards() is a trigger"));
    hipq::shards::note_change(*reinterpret_cast<TriggerData *>(fcinfo->context));
    return Datum{0};
}
