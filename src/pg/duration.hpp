// Lengths of time as the SQL type hipq.duration: a single number of microseconds. A month counts as
// 30 days, as in PostgreSQL's comparison of intervals.
#pragma once

#include <limits>

#include "pg/spi.hpp"

namespace hipq::pg {

// A duration that exceeds the range (292,000 years) is endless.
inline constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

// Returns the interval of a duration, in days and smaller units, in the current memory context;
// NULL for nothing.
pg::RawValue interval_of(const std::optional<std::int64_t> &microseconds);

}  // namespace hipq::pg
