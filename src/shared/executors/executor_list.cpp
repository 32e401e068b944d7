// Tells which executors work for a queue owner, and whether one more may start.
#include "shared/executors/executor_list.hpp"

#include "core/lanes/job_table.hpp"
#include "settings.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/executors/reserve.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

namespace {

// An executor is also idle between two jobs.
constexpr std::int64_t idle_for_a_while = 1'000'000;  // us

void count_own(ExecutorList &executor_list, const ExecutorSlot &slot)
{
    switch (slot.state) {
    case ExecutorState::requested:
        ++executor_list.requested;
        return;
    case ExecutorState::starting:
        ++executor_list.own;
        ++executor_list.starting;
        return;
    case ExecutorState::idle:
        ++executor_list.own;
        executor_list.idle += slot.asked_to_leave ? 0 : 1;
        return;
    case ExecutorState::running:
        ++executor_list.own;
        return;
    case ExecutorState::orphaned:
    case ExecutorState::free:
        return;
    }
}

}  // namespace

ExecutorList executor_list_of(Oid database, Oid role)
{
    ExecutorList executor_list;
    const pg::Time now{::GetCurrentTimestamp()};
    int everywhere = 0;
    for (const ExecutorSlot &slot : list_executors()) {
        everywhere += slot.state == ExecutorState::orphaned ? 0 : 1;
        if (slot.database == database && slot.role == role)
            count_own(executor_list, slot);
        else if (slot.state == ExecutorState::idle && slot.state_since + idle_for_a_while < now)
            executor_list.stranger_gives_way = true;
    }
    const ExecutorLock lock(LW_SHARED);
    executor_list.has_place = has_place(places(), database, role);
    executor_list.is_kept_back = !executor_list.has_place && everywhere < settings::max_executors;
    return executor_list;
}

Progress progress_of(Oid database, Oid role)
{
    Progress progress;
    for (const ExecutorSlot &slot : list_executors()) {
        if (slot.database != database || slot.role != role)
            continue;
        progress.jobs_done += slot.jobs_done;
        if (slot.job.id != 0)
            progress.last_start = std::max(progress.last_start, slot.job.started);
    }
    return progress;
}

std::vector<AboutToMove> executors_about_to_move()
{
    std::vector<AboutToMove> result(
        static_cast<std::size_t>(memory::executor_places()));  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const ExecutorLock lock(LW_SHARED);
        const lanes::InFlightLock jobs_lock(LW_SHARED);
        const core::JobTable table = lanes::jobs_in_flight();
        for (const ExecutorSlot &slot : executor_slots()) {
            const bool has_prefetched = table.first_of(index_of(slot)) != core::no_entry;
            if (slot.state == ExecutorState::requested || slot.state == ExecutorState::starting ||
                (slot.state == ExecutorState::idle && (slot.woken || has_prefetched)))
                result[count++] = {slot.database, slot.role, has_prefetched, slot.state_since};
        }
    }
    result.resize(count);
    return result;
}

}  // namespace hipq::executors
