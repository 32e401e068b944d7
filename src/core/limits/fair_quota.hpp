// Limits how much of a fixed-size table one owner may take, so that a greedy owner leaves room for
// owners that come later.
//
// An owner may have a given share of the sum of what it has and what is free. At a share of 75 %,
// the first greedy owner gets three quarters of the table, the second three quarters of the rest,
// and so on: something is always left for the next. An owner below its reserve may take whatever is
// free. The rule does not need the number of owners, and never takes anything back.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hipq::core {

inline constexpr int whole_table = 100;  // per cent

// The limits of a table.
struct Quota {
    std::int64_t capacity;
    int share;             // per cent that an owner may have; whole_table: no limit
    std::int64_t reserve;  // that an owner may have in any case, as long as there is free space
};

// The default quota of a table: an owner may always have 16 entries, or a sixteenth of the table.
constexpr Quota table_quota(std::int64_t capacity, int share)
{
    constexpr std::int64_t least_reserve = 16;
    return {capacity, share, std::max(least_reserve, capacity / least_reserve)};
}

// Entries in use.
struct QuotaUse {
    std::int64_t all;
    std::int64_t own;  // by the asking owner; included in `all`
};

// Returns how many more entries an owner may take.
constexpr std::int64_t left_for_owner(const Quota &quota, const QuotaUse &use)
{
    const std::int64_t free = std::max<std::int64_t>(quota.capacity - use.all, 0);
    const std::int64_t fair = (use.own + free) * quota.share / whole_table;
    return std::clamp<std::int64_t>(std::max(fair, quota.reserve) - use.own, 0, free);
}

constexpr bool may_take_one(const Quota &quota, const QuotaUse &use)
{
    return left_for_owner(quota, use) > 0;
}

// The most that an owner can have when it is the only one.
constexpr std::int64_t most_for_one(const Quota &quota)
{
    return left_for_owner(quota, {0, 0});
}

}  // namespace hipq::core
