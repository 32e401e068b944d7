// hipq._are_time_windows: the check of the domain hipq.time_windows.
#include "pg/arguments.hpp"
#include "pg/demand.hpp"

HIPQ_FUNCTION(hipq__are_time_windows)
{
    (void)hipq::pg::canonical_time_windows(hipq::pg::Arguments(fcinfo).text({0, "windows"}));
    return hipq::pg::return_bool(true);
}
