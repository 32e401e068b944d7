// Lists running jobs.
//
// Read from the table of jobs in flight and the slots of executors together.
#include "running_jobs.hpp"

namespace hipq::executors {

std::vector<RunningEntry> list_running_jobs()
{
    std::vector<RunningEntry> result;
    if (!memory::is_loaded())
        return result;
    result.resize(memory::jobs_in_flight().capacity());  // before the lock: allocation
    std::size_t count = 0;
    {
        const memory::Lock lock(LW_SHARED);
        const core::JobTable table = memory::jobs_in_flight();
        for (int i = 0; i < memory::registry()->executor_count; ++i) {
            const memory::ExecutorSlot &slot = memory::registry()->executors[i];
            if (slot.state != memory::ExecutorState::running)
                continue;
            for (std::int32_t entry = table.first_of(i); entry != core::no_entry;
                 entry = table.next_of(entry))
                if (table.at(entry).phase == core::JobPhase::running)
                    result[count++] = RunningEntry{
                        slot.database, slot.pid, job_of(slot, table.at(entry)),
                        slot.stop_control.is_on ? slot.stop_control.deadline : pg::infinity};
        }
    }
    result.resize(count);
    return result;
}

}  // namespace hipq::executors
