// What a node needs of a shared limit, by what has run and waited there since it was looked at
// last.
//
// How much would run with a larger share nobody knows: executors that find no capacity do not say
// how many jobs they would start. So a node that has refused somebody wants twice what it ran, and
// is there after some requests. Jobs end and begin between two looks. What a look has found
// therefore counts for a while, or a share would go back and forth with each job.
#pragma once

#include "core/shards/permits.hpp"

namespace hipq::core {

inline constexpr std::int64_t permit_memory =
    100'000;  // us: how long what was found counts, at least

// Since the last look.
struct PermitUse {
    Weight running;  // now
    Weight peak;     // the most
    Weight refused;  // of the lightest that found no capacity; 0: none
};

// What was found in the stretch of time that lasts, and in the one before.
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

// What may be started under a share: not what the node has to give up.
Weight usable_share(const PermitShare &share);

}  // namespace hipq::core
