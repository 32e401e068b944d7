// hipq._are_time_windows: what the domain hipq.time_windows asks.
#include "api/arguments.hpp"
#include "storage/demand.hpp"

HIPQ_FUNCTION(hipq__are_time_windows)
{
    (void)hipq::storage::canonical_time_windows(hipq::api::Arguments(fcinfo).text(0, "windows"));
    return hipq::api::return_bool(true);
}
