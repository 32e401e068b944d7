// Limits what the external workers of one role may take of a table in shared memory: worker entries
// or jobs in flight.
//
// A role may have a share of what it has and what is free (fair_quota.hpp), so that a role that
// takes all it can leaves something for the next. After several greedy roles little is left, so the
// last eighth is kept for roles that have hardly anything.
#pragma once

#include "core/limits/fair_quota.hpp"

namespace hipq::core {

constexpr std::int64_t kept_for_newcomers(std::int64_t capacity)
{
    return capacity / 8;
}

// What a role may have in any case, as long as there is free space.
constexpr std::int64_t reserve_of_role(std::int64_t capacity)
{
    return std::max<std::int64_t>(capacity / 64, 1);
}

// Returns how many more a role may take. `share` in per cent; whole_table: no limit.
constexpr std::int64_t left_for_role(std::int64_t capacity, int share, const QuotaUse &use)
{
    if (share >= whole_table)
        return std::max<std::int64_t>(capacity - use.all, 0);
    const Quota fair{capacity - kept_for_newcomers(capacity), share, 0};
    const Quota least{capacity, 0, reserve_of_role(capacity)};
    return std::max(left_for_owner(fair, use), left_for_owner(least, use));
}

}  // namespace hipq::core
