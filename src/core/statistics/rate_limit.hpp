// Limits how often something may be done: a burst at once, then once per interval.
//
// Each use counts as time that must pass, so the state is a single number (the generic cell rate
// algorithm). Times are microseconds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hipq::core {

struct RateLimit {
    std::int64_t interval;
    std::int64_t burst;  // uses allowed at once after a pause
};

// All zero: no use yet.
struct RateState {
    std::int64_t paid_until;
};

// Returns whether it may be done now; if so, it counts as a use. A clock that was set back costs at
// most one burst.
constexpr bool may_do_now(RateState &state, const RateLimit &limit, std::int64_t now)
{
    const std::int64_t latest = now + limit.interval * limit.burst;
    const std::int64_t paid_until = std::clamp(state.paid_until, now, latest) + limit.interval;
    if (paid_until > latest)
        return false;
    state.paid_until = paid_until;
    return true;
}

}  // namespace hipq::core
