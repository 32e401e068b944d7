// A round: now and then each of many things is seen to, whether or not anything has happened to it,
// a few at a time. The safety net below what is looked at for a reason.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hipq::core {

inline constexpr std::int64_t shortest_round = 60'000'000;  // us
inline constexpr std::int64_t longest_round = 60 * shortest_round;

// From the end of one to the beginning of the next, in microseconds: up to 100 things once a
// minute, more of them less often, so that what it costs a second does not grow with their number;
// but each once an hour.
constexpr std::int64_t round_interval(std::size_t things)
{
    constexpr std::int64_t for_each_thing = shortest_round / 100;
    const auto most = static_cast<std::size_t>(longest_round / for_each_thing);
    return std::clamp(static_cast<std::int64_t>(std::min(things, most)) * for_each_thing,
                      shortest_round, longest_round);
}

// Whether the next one is due. The clock may have been set back since the last.
constexpr bool is_round_due(std::size_t things, std::int64_t last_end, std::int64_t now)
{
    return now < last_end || now - last_end >= round_interval(things);
}

}  // namespace hipq::core
