// Timing of rounds. A round visits each of many things, a few at a time, whether or not anything
// happened to it. It is the safety net for changes that gave no reason to look.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hipq::core {

inline constexpr std::int64_t shortest_round = 60'000'000;  // us
inline constexpr std::int64_t longest_round = 60 * shortest_round;

// Returns the microseconds from the end of a round to the start of the next: a minute for up to 100
// things, longer for more, so that the cost per second does not grow with their number, but at most
// an hour.
constexpr std::int64_t round_interval(std::size_t things)
{
    constexpr std::int64_t for_each_thing = shortest_round / 100;
    const auto most = static_cast<std::size_t>(longest_round / for_each_thing);
    return std::clamp(static_cast<std::int64_t>(std::min(things, most)) * for_each_thing,
                      shortest_round, longest_round);
}

// Returns whether the next round is due. The clock may have been set back since the last one.
constexpr bool is_round_due(std::size_t things, std::int64_t last_end, std::int64_t now)
{
    return now < last_end || now - last_end >= round_interval(things);
}

}  // namespace hipq::core
