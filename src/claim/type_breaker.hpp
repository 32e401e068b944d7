// The breaker of a type, for rooms that look at it in shared memory.
#pragma once

#include "claim/claim.hpp"
#include "shared/lanes/breakers.hpp"

namespace hipq::claim {

// The breaker that jobs of a type start under.
core::StartBreaker breaker_of(const catalog::Queue &queue, const catalog::JobType &type);

// When jobs of the type may start.
struct BreakerTurn {
    pg::Time turn{0};       // `now` or before: at once
    bool is_probe = false;  // only one
};
BreakerTurn look_at_breaker(const catalog::Queue &queue, const catalog::JobType &type,
                            pg::Time now);

}  // namespace hipq::claim
