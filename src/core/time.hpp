// Units of time, and the time that never comes. All times are in microseconds.
#pragma once

#include <cstdint>
#include <limits>

namespace hipq::core {

inline constexpr std::int64_t microseconds_per_second = 1'000'000;
inline constexpr std::int64_t microseconds_per_minute = 60 * microseconds_per_second;
inline constexpr std::int64_t microseconds_per_hour = 60 * microseconds_per_minute;
inline constexpr std::int64_t microseconds_per_day = 24 * microseconds_per_hour;

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

}  // namespace hipq::core
