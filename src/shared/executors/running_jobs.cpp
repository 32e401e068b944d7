// Lists running jobs.
//
// Combines the table of jobs in flight with the slots of executors.
#include "shared/executors/running_jobs.hpp"
#include "core/lanes/job_table.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/shared_struct.hpp"

namespace hipq::executors {

namespace {

// The executor may be starting or ending the stop control of its code at this moment.
pg::Time deadline_of(const StopControl &stop_control)
{
    if (!memory::glance(stop_control.is_on))
        return pg::infinity;
    pg_read_barrier();
    return stop_control.deadline;
}

}  // namespace

std::vector<RunningEntry> list_running_jobs()
{
    std::vector<RunningEntry> result;
    if (!memory::is_loaded())
        return result;
    result.resize(lanes::jobs_in_flight().capacity());  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const lanes::InFlightLock lock(LW_SHARED);
        const core::JobTable table = lanes::jobs_in_flight();
        for (int i = 0; i < memory::executor_places(); ++i) {
            const ExecutorSlot &slot = executor_table().slots[i];
            if (slot.state != ExecutorState::running)
                continue;
            for (std::int32_t entry = table.first_of(i); entry != core::no_entry;
                 entry = table.next_of(entry))
                if (table.at(entry).phase == core::JobPhase::running)
                    result[count++] =
                        RunningEntry{slot.database, slot.pid, job_of(slot, table.at(entry)),
                                     deadline_of(slot.stop_control)};
        }
    }
    result.resize(count);
    return result;
}

std::vector<std::int64_t> jobs_claimed_by_lock()
{
    std::vector<std::int64_t> ids;
    for (const RunningEntry &entry : list_running_jobs())
        if (entry.database == MyDatabaseId && entry.job.is_locked)
            ids.push_back(entry.job.id);
    return ids;
}

}  // namespace hipq::executors
