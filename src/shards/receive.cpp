// Has a row that another node has sent take effect, in the transaction that brings it.
//
// The apply worker writes rows as a replica does: no trigger, no rule of the origin. What a letter
// says is done as if somebody had asked for it here, so the role of the session is that of an
// origin meanwhile.
#include "shards/receive.hpp"

#include "catalog/catalog.hpp"
#include "job/job.hpp"
#include "pg/internal_write.hpp"
#include "pg/subtransaction.hpp"
#include "shards/arrived_jobs.hpp"
#include "shards/coming.hpp"
#include "shards/last_letter.hpp"
#include "shards/map.hpp"
#include "shards/permits/authority.hpp"
#include "shards/permits/shares.hpp"
#include "shards/send_stats.hpp"
#include "shards/set_up.hpp"

#include <malloc.h>

extern "C" {
#include "commands/trigger.h"
#include "replication/logicalworker.h"
}

namespace hipq::shards {

namespace {

// Sets the variable, not the setting, which would throw away every plan of the process.
class AsOrigin {
public:
    AsOrigin() : before_(SessionReplicationRole)
    {
        SessionReplicationRole = SESSION_REPLICATION_ROLE_ORIGIN;
    }
    ~AsOrigin() { SessionReplicationRole = before_; }
    AsOrigin(const AsOrigin &) = delete;
    AsOrigin &operator=(const AsOrigin &) = delete;

private:
    int before_;
};

constinit pg::Statement select_own_node(R"(
    SELECT map.own_node, map.timeline
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1)");

constinit pg::Statement insert_received(R"(
    INSERT INTO hipq.shard_received (instance, sender, id, sent_time) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING)");

constinit pg::Statement insert_reject_of_other(R"(
    INSERT INTO hipq.shard_reject
    SELECT (jsonb_populate_record(NULL::hipq.shard_reject, $1)).*)");

// A shard answers to a move as soon as it reads of it, which may be before the router's processes
// see it, and before they are told to forget the map from before: by that one, jobs would go back
// to the node that they have left, and come again behind the word that none is left there. The lock
// of who moves slots goes after all that. Who moves takes it first, before rows of the map.
bool depends_on_moves(const Letter &letter)
{
    return letter.node == core::router_node &&
           (letter.kind == "jobs" || letter.kind == "moved" || letter.kind == "returned");
}

// What the router writes for itself is for nobody. Raises 55000 when this node is out of step: the
// stream stops before anything takes effect.
bool is_for_this_node(const Letter &letter)
{
    if (letter.sender == letter.node)
        return false;
    const pg::Rows rows =
        pg::as_extension_owner([&] { return select_own_node.run_latest(letter.instance); });
    if (rows.empty() || rows.front().integer32(0) != letter.node)
        return false;
    if (!catalog::is_own_timeline(rows.front().text(1)))
        catalog::refuse_out_of_step(letter.instance, letter.node);
    return true;
}

bool is_first_time(const Letter &letter)
{
    return pg::as_hipq([&] {
        return insert_received.run(letter.instance, letter.sender, letter.id, letter.sent)
                   .processed() > 0;
    });
}

void take_effect(const Letter &letter)
{
    if (letter.kind == "jobs" || letter.kind == "moved")
        take_jobs(letter);
    else if (letter.kind == "set_up")
        take_set_up(letter.instance, letter.body);
    else if (letter.kind == "map")
        take_map(letter.instance, letter.body);
    else if (letter.kind == "returned")
        take_returned(letter.instance, letter.sender, letter.body);
    else if (letter.kind == "last")
        take_last(letter.instance, letter.body);
    else if (letter.kind == "stats")
        take_stats(letter);
    else if (letter.kind == permit_ask)
        take_requests(letter.instance, letter.sender, letter.body);
    else if (letter.kind == permit_answer)
        take_answers(letter.instance, letter.node, letter.body);
    else if (letter.kind == "rejected")
        pg::as_hipq([&] { insert_reject_of_other.run(letter.body); });
    else if (letter.kind != "alive")
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("node %d of instance \"%s\" has sent \"%s\", which this release of hipq "
                          "does not know",
                          letter.sender, letter.instance.c_str(), letter.kind.c_str()),
                   errhint("Update hipq here: what was sent waits."));
}

// ---- the row ----

pg::RawValue value_of(const TriggerData &data, const char *column, Oid type)
{
    return pg::call([&] {
        TupleDesc descriptor = RelationGetDescr(data.tg_relation);
        const int place = ::SPI_fnumber(descriptor, column);
        bool is_null = true;
        const Datum value =
            place > 0 ? ::heap_getattr(data.tg_trigtuple, place, descriptor, &is_null) : Datum{0};
        return pg::RawValue{type, value, is_null};
    });
}

std::string text_of(const TriggerData &data, const char *column)
{
    const pg::RawValue value = value_of(data, column, TEXTOID);
    return value.null ? std::string() : job::text_of(value.value);
}

int node_of(const TriggerData &data, const char *column)
{
    return DatumGetInt16(value_of(data, column, INT2OID).value);
}

Letter read_letter(const TriggerData &data)
{
    return {DatumGetInt64(value_of(data, "id", INT8OID).value),
            pg::Time{DatumGetTimestampTz(value_of(data, "sent_time", TIMESTAMPTZOID).value)},
            text_of(data, "instance"),
            node_of(data, "sender"),
            node_of(data, "node"),
            text_of(data, "kind"),
            text_of(data, "queue"),
            value_of(data, "jobs", JSONBARRAYOID),
            value_of(data, "body", JSONBOID)};
}

// A letter takes a megabyte or two, and gives them back at its end. glibc would return them to the
// system each time: a quarter of an apply worker's time went into getting them again.
void keep_memory_between_letters()
{
#ifdef __GLIBC__
    static const bool is_kept [[maybe_unused]] =
        ::mallopt(M_MMAP_THRESHOLD, 32 << 20) != 0 && ::mallopt(M_TRIM_THRESHOLD, 64 << 20) != 0;
#endif
}

}  // namespace

bool receive(const Letter &letter)
{
    if (!is_for_this_node(letter))
        return false;
    keep_memory_between_letters();
    (void)take_once(letter);
    return true;
}

bool take_once(const Letter &letter)
{
    const AsOrigin as_origin;
    if (depends_on_moves(letter))
        pg::as_hipq([] { wait_for_moves(); });
    if (!is_first_time(letter))
        return false;
    take_effect(letter);
    return true;
}

}  // namespace hipq::shards

HIPQ_FUNCTION(hipq__receive)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                   errmsg("hipq._receive() is a trigger"));
    const auto *data = reinterpret_cast<TriggerData *>(fcinfo->context);
    const bool is_taken =
        ::IsLogicalWorker() && hipq::shards::receive(hipq::shards::read_letter(*data));
    return PointerGetDatum(is_taken ? nullptr : data->tg_trigtuple);
}
