// Weights, and the names of the limiters that count them.
#pragma once

#include <cstdint>

namespace hipq::core {

using Weight = std::int64_t;  // thousandths
inline constexpr Weight weight_unit = 1'000;
inline constexpr Weight no_weight_limit = 0;
inline constexpr Weight largest_weight = 999'999'999;  // numeric(9,3)

// What a limiter counts. Type 0: the whole queue. Key 0: the whole type.
struct LimiterName {
    std::uint32_t database;
    std::int32_t queue_id;
    std::uint64_t type;
    std::uint64_t key;
    bool operator==(const LimiterName &) const = default;
};

constexpr std::uint64_t hash_of(const LimiterName &name)
{
    std::uint64_t hash = name.type ^ (name.key * 0x9e3779b97f4a7c15U);
    hash ^= (std::uint64_t{name.database} << 32) | static_cast<std::uint32_t>(name.queue_id);
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9U;
    return hash ^ (hash >> 32);
}

}  // namespace hipq::core
