// Implements the memory of two periods: what was found counts for one to two of them.
#include "core/shards/permit_needs.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

// The lighter of two weights; 0 means that there is none.
Weight lighter(Weight left, Weight right)
{
    return left == 0 || right == 0 ? std::max(left, right) : std::min(left, right);
}

}  // namespace

void note_use(PermitDemand &demand, const PermitUse &use, std::int64_t time)
{
    const std::int64_t age = time - demand.since;
    if (age < 0 || age >= permit_memory) {
        demand.before = age < 0 || age >= 2 * permit_memory ? PermitDemand::Found{} : demand.now;
        demand.now = {};
        demand.since = time;
    }
    demand.now.peak = std::max({demand.now.peak, use.peak, use.running});
    demand.now.refused = lighter(demand.now.refused, use.refused);
}

PermitNeed need_of(const PermitDemand &demand, Weight running)
{
    const Weight peak = std::max({demand.now.peak, demand.before.peak, running});
    const Weight refused = lighter(demand.now.refused, demand.before.refused);
    return {running, refused == 0 ? peak : 2 * peak + refused, refused};
}

Weight usable_share(const PermitShare &share)
{
    return std::min(share.share, share.target);
}

}  // namespace hipq::core
