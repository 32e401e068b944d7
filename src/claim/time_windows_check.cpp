// hipq._are_time_windows, hipq._is_rate and hipq._is_breaker_rule: the checks of the domains
// hipq.time_windows, hipq.rate and hipq.breaker_rule. hipq._key_hash: the expression of the index
// over throttle keys.
#include "core/limits/throttle.hpp"
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

HIPQ_FUNCTION(hipq__is_breaker_rule)
{
    (void)hipq::pg::canonical_breaker(hipq::pg::Arguments(fcinfo).text({0, "rule"}));
    return hipq::pg::return_bool(true);
}

HIPQ_FUNCTION(hipq__key_hash)
{
    const std::string key = hipq::pg::Arguments(fcinfo).text({0, "throttle_key"});
    return Int64GetDatum(static_cast<std::int64_t>(hipq::core::throttle_key_hash(key)));
}
