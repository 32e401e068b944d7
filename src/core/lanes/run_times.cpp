// Implements the table: a key is looked up in a few neighbouring places.
#include "core/lanes/run_times.hpp"

#include "core/lanes/claiming.hpp"

#include <atomic>

namespace hipq::core {

namespace {

constexpr std::size_t neighbours = 8;

// Other processes read average and key while they change, each on its own.
std::atomic_ref<std::uint64_t> key_of(RunTime &place)
{
    return std::atomic_ref(place.key);
}

std::atomic_ref<std::int64_t> average_of(RunTime &place)
{
    return std::atomic_ref(place.average);
}

// Store the average before the key, so that no process finds the key without it.
void enter(RunTime &place, std::uint64_t key, std::int64_t microseconds, std::uint32_t owner)
{
    key_of(place).store(0, std::memory_order_release);
    average_of(place).store(average_run_time(std::nullopt, microseconds));
    place.owner = owner;
    key_of(place).store(key, std::memory_order_release);
}

}  // namespace

RunTime *RunTimes::find_place(std::uint64_t key) const
{
    for (std::size_t step = 0; step < neighbours; ++step)
        if (key_of(place(key, step)).load(std::memory_order_acquire) == key)
            return &place(key, step);
    return nullptr;
}

std::optional<std::int64_t> RunTimes::find(std::uint64_t key) const
{
    RunTime *known = find_place(key);
    if (known == nullptr)
        return std::nullopt;
    return average_of(*known).load(std::memory_order_relaxed);
}

bool RunTimes::update(std::uint64_t key, std::int64_t microseconds)
{
    RunTime *known = find_place(key);
    if (known == nullptr)
        return false;
    const auto average = average_of(*known);
    average.store(average_run_time(average.load(std::memory_order_relaxed), microseconds),
                  std::memory_order_relaxed);
    return true;
}

bool RunTimes::note(std::uint64_t key, std::int64_t microseconds, std::uint32_t owner)
{
    if (update(key, microseconds))
        return false;
    RunTime *free_place = nullptr;
    RunTime *own_place = nullptr;
    for (std::size_t step = 0; step < neighbours; ++step) {
        RunTime &candidate = place(key, step);
        if (candidate.key == 0 && free_place == nullptr)
            free_place = &candidate;
        if (candidate.owner == owner && own_place == nullptr)
            own_place = &candidate;
    }
    RunTime &replaced = own_place != nullptr ? *own_place : place(key, 0);
    enter(free_place != nullptr ? *free_place : replaced, key, microseconds, owner);
    return free_place == nullptr;
}

}  // namespace hipq::core
