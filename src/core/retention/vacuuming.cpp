// Decides whether a leaf needs a vacuum.
#include "core/retention/vacuuming.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

constexpr std::int64_t least_dead = 10'000;
constexpr std::int64_t live_per_dead = 5;
constexpr std::int64_t shortest_pause = 1'000'000;  // us
constexpr std::int64_t pause_per_duration = 9;

}  // namespace

VacuumNeed vacuum_need(LeafUse use, LastVacuum last, std::uint32_t horizon, std::int64_t now)
{
    if (use.dead < std::max(least_dead, use.live / live_per_dead))
        return VacuumNeed::none;
    if (last.ended != 0 && horizon == last.horizon)
        return VacuumNeed::blocked;
    const std::int64_t pause = std::max(shortest_pause, pause_per_duration * last.duration);
    const bool is_clock_set_back = now < last.ended;
    return now - last.ended >= pause || is_clock_set_back ? VacuumNeed::now : VacuumNeed::later;
}

}  // namespace hipq::core
