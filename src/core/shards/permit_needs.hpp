// What a node needs of a shared limit, estimated from what ran and waited there since the last
// look.
//
// It is unknown how much would run with a larger share: executors that find no capacity do not tell
// how many jobs they would start. So a node that refused a job requests twice what it ran, and
// reaches its need after a few requests. Jobs end and begin between two looks. Therefore the result
// of a look counts for a while; otherwise a share would go back and forth with each job.
#pragma once

#include "core/shards/permits.hpp"

namespace hipq::core {

inline constexpr std::int64_t permit_memory =
    100'000;  // us: how long the result of a look counts, at least

// The use since the last look.
struct PermitUse {
    Weight running;  // now
    Weight peak;     // the maximum
    Weight refused;  // of the lightest job that found no capacity; 0: none
};

// The results of the current period, and of the one before.
struct PermitDemand {
    struct Found {
        Weight peak = 0;
        Weight refused = 0;
    };
    Found now{};
    Found before{};
    std::int64_t since = 0;  // microseconds
};

void note_use(PermitDemand &demand, const PermitUse &use, std::int64_t time);

PermitNeed need_of(const PermitDemand &demand, Weight running);

// Returns the weight that may start under a share: without the part that the node must give up.
Weight usable_share(const PermitShare &share);

}  // namespace hipq::core
