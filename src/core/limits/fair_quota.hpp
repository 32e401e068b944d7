// How much of a table of fixed size one owner may take: so that whoever fills it fills his own
// part, and who comes later still finds room.
//
// Of what an owner has and what is free, taken together, it may have a given share. At a share of
// 75 % one greedy owner gets three quarters of the table, a second one three quarters of the rest
// and so on: there is always something left for the next. Below its reserve an owner may take
// whatever is free. Nobody has to know how many owners there are, and nothing is taken back.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hipq::core {

inline constexpr int whole_table = 100;  // per cent

// Of a table.
struct Quota {
    std::int64_t capacity;
    int share;             // per cent that an owner may have; whole_table: there is no bound
    std::int64_t reserve;  // that an owner may have in any case, as long as anything is free
};

// Of a table of which nothing more special is known: an owner may have 16 entries, or a sixteenth,
// in any case.
constexpr Quota table_quota(std::int64_t capacity, int share)
{
    constexpr std::int64_t least_reserve = 16;
    return {capacity, share, std::max(least_reserve, capacity / least_reserve)};
}

// Entries in use.
struct QuotaUse {
    std::int64_t all;
    std::int64_t own;  // by the owner who asks, among them
};

// How many more an owner may take.
constexpr std::int64_t left_for_owner(const Quota &quota, const QuotaUse &use)
{
    const std::int64_t free = std::max<std::int64_t>(quota.capacity - use.all, 0);
    const std::int64_t fair = (use.own + free) * quota.share / whole_table;
    return std::clamp<std::int64_t>(std::max(fair, quota.reserve) - use.own, 0, free);
}

// Whether an owner may take one more.
constexpr bool may_take_one(const Quota &quota, const QuotaUse &use)
{
    return left_for_owner(quota, use) > 0;
}

// The most that one owner can have when it is alone.
constexpr std::int64_t most_for_one(const Quota &quota)
{
    return left_for_owner(quota, {0, 0});
}

}  // namespace hipq::core
