// Reserves jobs for a process, and records which of them are chosen and running.
#include "shared/lanes/in_flight.hpp"

#include "core/lanes/pockets.hpp"
#include "core/limits/worker_quota.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/own_holder.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

namespace {

core::JobEntry entry_for(const WaitingJob &job)
{
    core::JobEntry entry{};
    entry.job_id = job.id;
    entry.database = MyDatabaseId;
    entry.queue_id = job.queue_id;
    entry.holder = memory::own_holder();
    entry.lane = job.lane;
    entry.due = job.due.value;
    return entry;
}

bool has_come_to(core::JobPhase phase, Oid database, std::int64_t job_id)
{
    if (!memory::is_loaded())
        return false;
    const InFlightLock lock(LW_SHARED);
    const core::JobTable table = jobs_in_flight();
    const std::int32_t entry = table.find(database, job_id);
    return entry != core::no_entry && table.at(entry).phase >= phase;
}

}  // namespace

std::size_t entries_beyond_the_first(const core::JobTable &jobs)
{
    const std::size_t kept = jobs.size() + static_cast<std::size_t>(memory::executor_places());
    return jobs.capacity() > kept ? jobs.capacity() - kept : 0;
}

std::size_t entries_for_prefetch(const core::JobTable &jobs)
{
    const std::size_t capacity = entries_beyond_the_first(jobs);
    return capacity - std::min(capacity, static_cast<std::size_t>(core::kept_for_newcomers(
                                             static_cast<std::int64_t>(jobs.capacity()))));
}

Reserved reserve_jobs(std::span<const WaitingJob> jobs, std::span<WaitingJob> reserved)
{
    Reserved result{0, 0};
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    // An executor always has room for one job: jobs for workers never take that room, however long
    // the workers keep them. The prefetched batches of executors do not take the room kept for
    // workers either.
    const bool is_for_worker = !memory::is_executor();
    const std::size_t limit =
        std::min(reserved.size(),
                 is_for_worker ? entries_beyond_the_first(table) : 1 + entries_for_prefetch(table));
    if (limit < reserved.size())
        memory::raise_alert(memory::Alert::jobs_in_flight_full);
    if (jobs.size() == 1 &&
        flight::is_kept_back(flight::suspicion_of(table, MyDatabaseId, jobs[0].id)))
        return result;
    for (; result.considered < jobs.size() && result.jobs < limit; ++result.considered)
        if (const WaitingJob &job = jobs[result.considered];
            table.insert(entry_for(job)) != core::no_entry)
            reserved[result.jobs++] = job;
    return result;
}

bool is_with_worker_until_returned(const WaitingJob &job)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    const std::int32_t entry = table.find(MyDatabaseId, job.id);
    if (entry == core::no_entry || table[entry].holder < memory::worker_holder(0))
        return false;
    table[entry].lane = job.lane;
    table[entry].due = job.due.value;
    return true;
}

std::size_t choose_jobs(std::span<WaitingJob> jobs)
{
    std::size_t count = 0;
    const InFlightLock lock(LW_SHARED);
    core::JobTable table = jobs_in_flight();
    for (const WaitingJob &job : jobs) {
        const std::int32_t entry = table.find(MyDatabaseId, job.id);
        if (entry == core::no_entry || table[entry].holder != memory::own_holder())
            continue;
        table[entry].phase = core::JobPhase::chosen;
        jobs[count++] = job;
    }
    return count;
}

void return_to_lane(const core::JobEntry &job, pg::Time not_before) noexcept
{
    const core::LaneKey key{job.due, job.job_id};
    if (job.lane.is_known() && !note_lane(job.lane, {key, key}, not_before))
        lose_lanes(job.database);
}

bool return_up_to(core::JobPhase latest, core::JobTable &jobs, std::int32_t holder)
{
    return jobs.erase_if(holder, [&](const core::JobEntry &job) {
        if (job.phase > latest)
            return false;
        return_to_lane(job);
        return true;
    }) > 0;
}

bool release_prefetched()
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    return return_up_to(core::JobPhase::chosen, table,
                        memory::own_holder());  // none of these jobs runs, so no capacity is freed
}

flight::Suspicion suspicion_of(Oid database, std::int64_t job_id)
{
    if (flight::count_crash_cases() == 0)
        return flight::Suspicion::none;
    const InFlightLock lock(LW_SHARED);
    return flight::suspicion_of(jobs_in_flight(), database, job_id);
}

bool is_in_flight(Oid database, std::int64_t job_id)
{
    const InFlightLock lock(LW_SHARED);
    return jobs_in_flight().find(database, job_id) != core::no_entry;
}

bool is_begun(Oid database, std::int64_t job_id)
{
    return has_come_to(core::JobPhase::chosen, database, job_id);
}

bool is_running(Oid database, std::int64_t job_id)
{
    return has_come_to(core::JobPhase::running, database, job_id);
}

bool is_running_in(Oid database, int queue_id, std::int64_t job_id)
{
    if (!memory::is_loaded())
        return false;
    const InFlightLock lock(LW_SHARED);
    const core::JobTable table = jobs_in_flight();
    const std::int32_t entry = table.find(database, job_id);
    return entry != core::no_entry && table.at(entry).phase >= core::JobPhase::running &&
           table.at(entry).queue_id == queue_id;
}

std::size_t count_in_flight()
{
    const InFlightLock lock(LW_SHARED);
    return jobs_in_flight().size();
}

}  // namespace hipq::lanes
