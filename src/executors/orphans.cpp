// Lists the jobs of executors that ended, and releases them one by one.
#include "orphans.hpp"

#include "executors/freed_capacity.hpp"
#include "executors/slots.hpp"
#include "executors/stop_control.hpp"
#include "lanes/lanes.hpp"

namespace hipq::executors {

namespace {

// Needs the lock.
Orphan orphan_of(int index, const memory::ExecutorSlot &slot, const memory::RunningJob &job)
{
    const bool was_controlled = slot.stop_control.job_id == 0 || slot.stop_control.job_id == job.id;
    const bool is_cancelled = cancellation_of(slot.database, job.id).is_there;
    return {index,
            slot.generation,
            job,
            slot.pid,
            slot.stop_control.asks_retry_handler,
            slot.stop_control.missed && was_controlled,
            is_cancelled};
}

}  // namespace

std::size_t find_orphans(Oid database, std::span<Orphan> orphans)
{
    std::size_t count = 0;
    const memory::Lock lock(LW_SHARED);
    const core::JobTable table = memory::jobs_in_flight();
    for (int i = 0; i < memory::registry()->executor_count && count < orphans.size(); ++i) {
        const memory::ExecutorSlot &slot = memory::registry()->executors[i];
        if (slot.state != memory::ExecutorState::orphaned || slot.database != database)
            continue;
        std::int32_t entry = table.first_of(i);
        if (entry == core::no_entry)
            orphans[count++] = orphan_of(i, slot, slot.job);
        for (; entry != core::no_entry && count < orphans.size(); entry = table.next_of(entry))
            orphans[count++] = orphan_of(i, slot, job_of(slot, table.at(entry)));
    }
    return count;
}

std::string cancellation_of(const Orphan &orphan)
{
    Cancellation cancellation{};
    {
        const memory::Lock lock(LW_SHARED);
        cancellation =
            cancellation_of(memory::registry()->executors[orphan.slot].database, orphan.job.id);
    }
    return cancellation.error.data();
}

namespace {

// Needs the lock.
void release(const Orphan &orphan, core::JobTable &table)
{
    memory::ExecutorSlot &slot = memory::registry()->executors[orphan.slot];
    if (slot.generation != orphan.generation || slot.state != memory::ExecutorState::orphaned)
        return;
    forget_cancellation(slot.database, orphan.job.id);
    const std::int32_t entry = table.find(slot.database, orphan.job.id);
    if (entry != core::no_entry && table[entry].holder == orphan.slot) {
        lanes::return_to_lane(table[entry]);
        table.erase(entry);
    }
    if (table.first_of(orphan.slot) == core::no_entry)
        free_executor_slot(slot);
}

}  // namespace

void release_orphan(const Orphan &orphan)
{
    core::FreedCapacity freed{};
    Oid role = InvalidOid;
    {
        const memory::Lock lock(LW_EXCLUSIVE);
        core::JobTable table = memory::jobs_in_flight();
        role = memory::registry()->executors[orphan.slot].role;
        release(orphan, table);
        freed = table.take_freed_capacity();
    }
    if (freed.any)
        announce_freed_capacity(freed, MyDatabaseId, role);
}

}  // namespace hipq::executors
