// Asks a scheduler to leave for a process that found no free background worker slot.
#include "shared/databases/launcher_slots.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::databases {

void choose_scheduler_to_give_way()
{
    memory::DatabaseSlot *oldest = nullptr;
    for (memory::DatabaseSlot &slot : memory::registry()->databases) {
        if (slot.scheduler != memory::SchedulerState::running)
            continue;
        if (slot.must_give_way)  // one at a time
            return memory::wake_process(slot.process);
        if (oldest == nullptr || slot.started < oldest->started)
            oldest = &slot;
    }
    if (oldest == nullptr)
        return;
    oldest->must_give_way = true;
    memory::wake_process(oldest->process);
}

void ask_scheduler_to_give_way()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    choose_scheduler_to_give_way();
}

void call_off_giving_way()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    for (memory::DatabaseSlot &slot : memory::registry()->databases)
        slot.must_give_way = false;
}

}  // namespace hipq::databases
