// Lists the jobs of executors that exited, and releases them one by one.
#include "shared/executors/orphans.hpp"

#include "core/lanes/job_table.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/executors/freed_capacity.hpp"
#include "shared/executors/stop_control.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/in_flight_table.hpp"

namespace hipq::executors {

namespace {

// Needs the lock of the jobs in flight.
Orphan orphan_of(int index, const ExecutorSlot &slot, const memory::RunningJob &job)
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
    const ExecutorLock lock(LW_SHARED);
    const lanes::InFlightLock jobs_lock(LW_SHARED);
    const core::JobTable table = lanes::jobs_in_flight();
    for (int i = 0; i < memory::executor_places() && count < orphans.size(); ++i) {
        const ExecutorSlot &slot = executor_table().slots[i];
        if (slot.state != ExecutorState::orphaned || slot.database != database)
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
        const lanes::InFlightLock lock(LW_SHARED);
        cancellation = cancellation_of(executor_table().slots[orphan.slot].database, orphan.job.id);
    }
    return cancellation.error.data();
}

namespace {

// Needs both locks.
void release(const Orphan &orphan, core::JobTable &table)
{
    ExecutorSlot &slot = executor_table().slots[orphan.slot];
    if (slot.generation != orphan.generation || slot.state != ExecutorState::orphaned)
        return;
    forget_cancellation(slot.database, orphan.job.id);
    const std::int32_t entry = table.find(slot.database, orphan.job.id);
    if (entry != core::no_entry && table[entry].holder == orphan.slot) {
        lanes::return_to_lane(table[entry]);
        table.erase(entry);
    }
    if (table.first_of(orphan.slot) == core::no_entry)
        clear_executor_slot(slot);
}

}  // namespace

void release_orphan(const Orphan &orphan)
{
    core::FreedCapacity freed{};
    Oid role = InvalidOid;
    {
        const ExecutorLock lock(LW_EXCLUSIVE);
        const lanes::InFlightLock jobs_lock(LW_EXCLUSIVE);
        core::JobTable table = lanes::jobs_in_flight();
        role = executor_table().slots[orphan.slot].role;
        release(orphan, table);
        freed = table.take_freed_capacity();
    }
    if (freed.any)
        announce_freed_capacity(freed, MyDatabaseId, role);
}

}  // namespace hipq::executors
