// slot_of: the published hash.
#include "core/shards/slots.hpp"
#include "pg/arguments.hpp"

HIPQ_FUNCTION(hipq_slot_of)
{
    return hipq::pg::return_int(hipq::core::slot_of(hipq::pg::Arguments(fcinfo).text(0, "key")));
}
