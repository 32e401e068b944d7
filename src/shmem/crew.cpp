// What the slots of executors say.
#include "crew.hpp"

#include "settings.hpp"
#include "shmem/executors.hpp"
#include "shmem/reserve.hpp"

namespace hipq::shmem {

namespace {

// Between two jobs an executor is idle too.
constexpr std::int64_t idle_for_a_while = 1'000'000;  // us

void count_own(Crew &crew, const ExecutorSlot &slot)
{
    switch (slot.state) {
    case ExecutorState::requested:
        ++crew.requested;
        return;
    case ExecutorState::starting:
        ++crew.own;
        ++crew.starting;
        return;
    case ExecutorState::idle:
        ++crew.own;
        crew.idle += slot.asked_to_leave ? 0 : 1;
        return;
    case ExecutorState::running:
        ++crew.own;
        return;
    case ExecutorState::orphaned:
    case ExecutorState::free:
        return;
    }
}

}  // namespace

Crew crew_of(Oid database, Oid role)
{
    Crew crew;
    const pg::Time now{::GetCurrentTimestamp()};
    int everywhere = 0;
    for (const ExecutorSlot &slot : list_executors()) {
        everywhere += slot.state == ExecutorState::orphaned ? 0 : 1;
        if (slot.database == database && slot.role == role)
            count_own(crew, slot);
        else if (slot.state == ExecutorState::idle && slot.state_since + idle_for_a_while < now)
            crew.stranger_makes_room = true;
    }
    const Lock lock(LW_SHARED);
    crew.has_place = has_place(places(), database, role);
    crew.is_kept_back = !crew.has_place && everywhere < settings::max_executors;
    return crew;
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
    std::vector<AboutToMove> result(static_cast<std::size_t>(registry()->executor_count));  // before the lock: allocation
    std::size_t count = 0;
    {
        const Lock lock(LW_SHARED);
        const core::JobTable table = jobs_in_hand();
        for (const ExecutorSlot &slot : executor_slots()) {
            const bool has_hand = table.first_of(index_of(slot)) != core::no_entry;
            if (slot.state == ExecutorState::requested || slot.state == ExecutorState::starting ||
                (slot.state == ExecutorState::idle && (slot.woken || has_hand)))
                result[count++] = {slot.database, slot.role, has_hand, slot.state_since};
        }
    }
    result.resize(count);
    return result;
}

}  // namespace hipq::shmem
