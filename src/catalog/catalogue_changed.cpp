// The trigger on hipq.queue, hipq.instance, hipq.job_type and hipq.pause that makes every process
// read them anew. Who writes there but hipq is a restore.
#include "pg/guard.hpp"
#include "pg/internal_write.hpp"
#include "wakeup/wakeup.hpp"

HIPQ_FUNCTION(hipq_catalogue_changed)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                   errmsg("function \"hipq._catalogue_changed\" is a trigger"));
    hipq::pg::call([&] {
        ::CacheInvalidateRelcache(reinterpret_cast<TriggerData *>(fcinfo->context)->tg_relation);
    });
    if (!hipq::pg::is_permitted()) {
        hipq::wakeup::note_restore();       // its jobs may have come before
        hipq::wakeup::note_unknown_jobs();  // or a pause was taken away
    }
    return Datum{0};
}

// The same for hipq.shard_map and what says which slots move: the scheduler has to look, and
// nothing that was there before is concerned.
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
