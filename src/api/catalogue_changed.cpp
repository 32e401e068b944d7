// The trigger on hipq.queue and hipq.job_type that makes every process read them anew.
#include "pg/guard.hpp"

HIPQ_FUNCTION(hipq_catalogue_changed)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                   errmsg("function \"hipq._catalogue_changed\" is a trigger"));
    hipq::pg::call([&] { ::CacheInvalidateRelcache(reinterpret_cast<TriggerData *>(fcinfo->context)->tg_relation); });
    return Datum{0};
}
