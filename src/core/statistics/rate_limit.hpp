// How often something may be done: a number of times at once, and from then on once an interval.
//
// What was done counts as time that has to pass: state is one number (the generic cell rate
// algorithm). Times are microseconds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hipq::core {

struct RateLimit {
    std::int64_t interval;
    std::int64_t burst;  // at once, by who has done nothing for a while
};

// All zero: nothing was done yet.
struct RateState {
    std::int64_t paid_until;
};

// Whether it may be done now; then it counts. A clock that was set back costs no more than a burst.
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
