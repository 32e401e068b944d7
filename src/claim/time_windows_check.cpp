// hipq._are_time_windows and hipq._is_rate: the checks of the domains hipq.time_windows and
// hipq.rate.
#include "pg/arguments.hpp"
#include "pg/demand.hpp"

HIPQ_FUNCTION(hipq__are_time_windows)
{
    (void)hipq::pg::canonical_time_windows(hipq::pg::Arguments(fcinfo).text({0, "windows"}));
    return hipq::pg::return_bool(true);
}

HIPQ_FUNCTION(hipq__is_rate)
{
    (void)hipq::pg::canonical_rate(hipq::pg::Arguments(fcinfo).text({0, "rate"}));
    return hipq::pg::return_bool(true);
}
