// A length of time as the SQL type hipq.duration has it: microseconds, as one number. A month
// counts as 30 days, as PostgreSQL compares intervals.
#pragma once

#include <limits>

#include "pg/spi.hpp"

namespace hipq::pg {

// What is longer than a number holds (292,000 years) is endless.
inline constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

// The interval of a duration, in days and less, in the current memory context; NULL for nothing.
pg::RawValue interval_of(const std::optional<std::int64_t> &microseconds);

}  // namespace hipq::pg
