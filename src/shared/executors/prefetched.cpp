// Takes back jobs that executors have prefetched and cannot run soon.
#include "shared/executors/prefetched.hpp"

#include "core/lanes/job_table.hpp"
#include "shared/databases/own_slot.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/in_flight_table.hpp"

namespace hipq::executors {

namespace {

// If a job runs longer than this, the jobs behind it in the prefetched batch are given to others.
constexpr std::int64_t patience = 100'000;  // us

bool has_reserved(const core::JobTable &jobs, std::int32_t holder)
{
    for (std::int32_t entry = jobs.first_of(holder); entry != core::no_entry;
         entry = jobs.next_of(entry))
        if (jobs.at(entry).phase == core::JobPhase::reserved)
            return true;
    return false;
}

}  // namespace

PrefetchedLook look_after_prefetched(pg::Time now)
{
    PrefetchedLook look{false, false};
    const lanes::InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = lanes::jobs_in_flight();
    for (const ExecutorSlot &slot : executor_slots()) {
        const int holder = index_of(slot);
        if (slot.database != MyDatabaseId || !has_reserved(table, holder))
            continue;
        if (slot.state == ExecutorState::running && slot.state_since + patience < now)
            look.has_returned_jobs = lanes::return_up_to(core::JobPhase::reserved, table, holder) ||
                                     look.has_returned_jobs;
        else
            look.watch_on = true;
    }
    // Under the lock: a process that reserves jobs later will also request watching later.
    if (!look.watch_on)
        databases::stop_watching_prefetched();
    return look;
}

}  // namespace hipq::executors
