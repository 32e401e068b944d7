// Lengths of time as the SQL type hipq.duration: a single number of microseconds. A month counts as
// 30 days, as in PostgreSQL's comparison of intervals. And times that may be given by the length of
// time until then: hipq.time_or_duration.
#pragma once

#include <limits>

#include "pg/spi.hpp"

namespace hipq::pg {

// A duration that exceeds the range (292,000 years) is endless.
inline constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

// Returns the interval of a duration, in days and smaller units, in the current memory context;
// NULL for nothing.
pg::RawValue interval_of(const std::optional<std::int64_t> &microseconds);

// The binary form of a hipq.time_or_duration. It keeps a duration as it is, because PostgreSQL
// reads a constant once and may run its statement much later.
struct TimeOrDuration {
    std::int64_t microseconds;  // of the duration, or the time
    std::int64_t is_duration;   // 0 or 1; has no padding, which PostgreSQL would compare

    // Infinity if it exceeds the range.
    Time at(Time now) const;
};

// Reads a text as its type does: as a time, or else as a duration. 22023 for any other text.
TimeOrDuration read_time_or_duration(const std::string &text);

}  // namespace hipq::pg
