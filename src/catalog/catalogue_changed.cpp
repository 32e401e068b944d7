// The triggers on hipq.queue, hipq.instance, hipq.job_type, hipq.pause, hipq.breaker_state and
// hipq.queue_hold that make every process read changed parts again. A write that does not come from
// hipq itself is taken for a restore.
#include "catalog/changes.hpp"
#include "pg/guard.hpp"
#include "pg/internal_write.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::catalog {

namespace {

// ---- call inside pg::call() only ----

std::optional<int> number_in(const TriggerData &trigger, HeapTuple row, const char *column)
{
    const TupleDesc columns = trigger.tg_relation->rd_att;
    bool is_null = false;
    const Datum value = ::SPI_getbinval(row, columns, ::SPI_fnumber(columns, column), &is_null);
    return is_null ? std::nullopt : std::optional(DatumGetInt32(value));
}

bool has_value(const TriggerData &trigger, HeapTuple row, const char *column)
{
    const TupleDesc columns = trigger.tg_relation->rd_att;
    bool is_null = false;
    (void)::SPI_getbinval(row, columns, ::SPI_fnumber(columns, column), &is_null);
    return !is_null;
}

// The trigger's argument says what its rows describe.
void tell_of_row(const TriggerData &trigger, HeapTuple row)
{
    const std::string_view rows_of = trigger.tg_trigger->tgargs[0];
    const auto queue = rows_of == "instance" ? std::nullopt : number_in(trigger, row, "queue_id");
    if (!queue.has_value()) {
        if (const auto instance = number_in(trigger, row, "instance_id"); instance.has_value())
            tell_of_change(Part::instance, *instance);
    } else if (rows_of == "types") {
        tell_of_change(Part::types, *queue);
    } else if (rows_of == "pauses" && has_value(trigger, row, "job_type")) {
        tell_of_change(Part::pauses, *queue);
    } else {
        tell_of_change(Part::queue, *queue);
    }
}

void tell_of_event(const TriggerData &trigger)
{
    if (TRIGGER_FIRED_FOR_STATEMENT(trigger.tg_event) || trigger.tg_trigger->tgnargs == 0) {
        ::CacheInvalidateRelcache(trigger.tg_relation);
        return;
    }
    // Also a process that has not read the queue must now read all queues at once.
    if (std::strcmp(RelationGetRelationName(trigger.tg_relation), "queue_hold") == 0)
        ::CacheInvalidateRelcache(trigger.tg_relation);
    tell_of_row(trigger, trigger.tg_trigtuple);
    if (TRIGGER_FIRED_BY_UPDATE(trigger.tg_event))
        tell_of_row(trigger, trigger.tg_newtuple);
}

}  // namespace

}  // namespace hipq::catalog

HIPQ_FUNCTION(hipq_catalogue_changed)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                   errmsg("function \"hipq._catalogue_changed\" is a trigger"));
    hipq::pg::call(
        [&] { hipq::catalog::tell_of_event(*reinterpret_cast<TriggerData *>(fcinfo->context)); });
    if (!hipq::pg::is_permitted()) {
        hipq::wakeup::note_restore();  // jobs of the queue may have been loaded before this row
        hipq::wakeup::note_unknown_jobs();  // or a pause was deleted
    }
    return Datum{0};
}

// The same for hipq.shard_map and the tables of slots that move: the scheduler must look at them,
// but jobs that were there before are not affected.
HIPQ_FUNCTION(hipq__shards_changed)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                   errmsg("function \"hipq._shards_changed\" is a trigger"));
    hipq::pg::call([&] {
        ::CacheInvalidateRelcache(reinterpret_cast<TriggerData *>(fcinfo->context)->tg_relation);
    });
    hipq::wakeup::note_catalogue_change();
    return Datum{0};
}
