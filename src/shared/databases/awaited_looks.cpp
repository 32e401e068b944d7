// Reports to the watchdog when schedulers looked last, and which of them must look now.
#include "pg/clock.hpp"
#include "shared/databases/launcher_slots.hpp"
#include "shared/databases/stand_aside.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::databases {

pg::Time last_look(Oid database)
{
    const memory::Lock lock(LW_SHARED);
    for (const memory::DatabaseSlot &slot : memory::registry()->databases)
        if (slot.database == database && !slot.closed)
            return slot.last_look;
    return pg::infinity;
}

std::vector<AwaitedLook> awaited_looks()
{
    std::vector<AwaitedLook> looks(
        static_cast<std::size_t>(memory::max_databases));  // allocated before the lock is taken
    std::size_t count = 0;
    const pg::Time now = pg::now();
    {
        const memory::Lock lock(LW_SHARED);
        for (const memory::DatabaseSlot &slot : memory::registry()->databases)
            if (slot.scheduler == memory::SchedulerState::running && slot.next_due <= now &&
                !has_valid_mark(slot.database))
                looks[count++] = {slot.database, slot.generation, slot.last_look, slot.is_looking,
                                  GetPGProcByNumber(slot.process)->pid};
    }
    looks.resize(count);
    return looks;
}

}  // namespace hipq::databases
