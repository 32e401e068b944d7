// A key is looked for in a few neighbouring places.
#include "run_times.hpp"

#include "core/lanes/claiming.hpp"

namespace hipq::core {

namespace {

constexpr std::size_t neighbours = 8;

}  // namespace

std::optional<std::int64_t> RunTimes::find(std::uint64_t key) const
{
    for (std::size_t step = 0; step < neighbours; ++step)
        if (place(key, step).key == key)
            return place(key, step).average;
    return std::nullopt;
}

bool RunTimes::note(std::uint64_t key, std::int64_t microseconds, std::uint32_t owner)
{
    RunTime *free_place = nullptr;
    RunTime *own_place = nullptr;
    for (std::size_t step = 0; step < neighbours; ++step) {
        RunTime &candidate = place(key, step);
        if (candidate.key == key) {
            candidate.average = average_run_time(candidate.average, microseconds);
            return false;
        }
        if (candidate.key == 0 && free_place == nullptr)
            free_place = &candidate;
        if (candidate.owner == owner && own_place == nullptr)
            own_place = &candidate;
    }
    const bool replaces = free_place == nullptr;
    RunTime &replaced = own_place != nullptr ? *own_place : place(key, 0);
    (replaces ? replaced : *free_place) =
        RunTime{key, average_run_time(std::nullopt, microseconds), owner};
    return replaces;
}

}  // namespace hipq::core
