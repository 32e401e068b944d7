// Keeps the jobs that external workers have.
//
// They are entries of the table of jobs in flight whose holder is a worker's place. The functions
// that only look see offers, too.
#include "shared/workers/jobs.hpp"

#include "core/lanes/job_table.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/freed_capacity.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/own_holder.hpp"
#include "shared/memory/registry.hpp"
#include "shared/workers/entries.hpp"
#include "shared/workers/worker_table.hpp"

namespace hipq::workers {

namespace {

// Leaves out the worker's id.
ExternalJob external_job(const core::JobEntry &job)
{
    return {job.job_id,
            job.queue_id,
            job.attempt,
            0,
            job.is_accepted,
            pg::Time{job.deadline},
            item_pointer(job.place)};
}

// Fills in the ids of the workers. A place that holds an entry always has a worker, because the
// worker counts the entry.
void name_workers(std::span<ExternalJob> jobs, std::span<const std::int32_t> places)
{
    for (std::size_t i = 0; i < jobs.size(); ++i)
        jobs[i].worker_id = worker_at(places[i]);
}

// Jobs copied under the lock, as many as there is room for.
struct Copies {
    std::vector<ExternalJob> jobs;
    std::vector<std::int32_t> places;
    std::size_t count = 0;

    explicit Copies(std::size_t most) : jobs(most), places(most) {}  // allocates: before the lock
    bool is_full() const { return count == jobs.size(); }
    void add(const core::JobEntry &job)
    {
        jobs[count] = external_job(job);
        places[count++] = place_of(job);
    }
    std::vector<ExternalJob> take()
    {
        jobs.resize(count);
        name_workers(jobs, places);
        return std::move(jobs);
    }
};

// Returns everything that `copy` copies. Repeats if there are more jobs than when the memory was
// allocated.
template <class Copy>
std::vector<ExternalJob> copy_all(const Copy &copy)
{
    for (;;) {
        Copies copies(lanes::count_in_flight() + 1);
        {
            const lanes::InFlightLock lock(LW_SHARED);
            copy(copies);
        }
        if (!copies.is_full())
            return copies.take();
    }
}

}  // namespace

// ---- after the end of a server or scheduler ----

Entered enter_external_job(const ExternalJob &job, const core::Load &load)
{
    const std::optional<std::int32_t> place = place_of_worker(job.worker_id);
    if (!place.has_value())
        return Entered::no_worker;
    core::JobEntry fresh{};
    fresh.job_id = job.id;
    fresh.database = MyDatabaseId;
    fresh.queue_id = job.queue_id;
    fresh.attempt = job.attempt;
    fresh.holder = memory::worker_holder(*place);
    fresh.deadline = job.deadline.value;
    fresh.phase = core::JobPhase::running;
    fresh.is_accepted = true;
    const lanes::InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = lanes::jobs_in_flight();
    if (const std::int32_t entry = table.find(MyDatabaseId, job.id); entry != core::no_entry)
        return table.at(entry).phase == core::JobPhase::running ? Entered::yes
                                                                : Entered::held_by_other;
    if (lanes::entries_beyond_the_first(table) == 0) {
        memory::raise_alert(memory::Alert::jobs_in_flight_full);
        return Entered::no_capacity;
    }
    table.weigh(table.insert(fresh), load);
    note_held(job.worker_id);
    return Entered::yes;
}

void recount_workers()
{
    const std::vector<WorkerSlot> workers = list_workers();
    std::vector<std::int32_t> places;
    places.reserve(workers.size());
    for (const WorkerSlot &worker : workers)
        places.push_back(place_of_worker(worker.id).value_or(-1));
    const lanes::InFlightLock lock(LW_EXCLUSIVE);
    const core::JobTable table = lanes::jobs_in_flight();
    for (std::size_t i = 0; i < workers.size(); ++i) {
        if (places[i] < 0)
            continue;
        note_in_flight(workers[i].id, table.count_of(memory::offer_holder(places[i])),
                       table.count_of(memory::worker_holder(places[i])));
    }
}

void drop_external_job(std::int64_t job_id, int attempt) noexcept
{
    core::FreedCapacity freed{};
    {
        const lanes::InFlightLock lock(LW_EXCLUSIVE);
        core::JobTable table = lanes::jobs_in_flight();
        const std::int32_t entry = find_attempt(table, job_id, attempt);
        if (entry == core::no_entry)
            return;
        const core::JobEntry &job = table.at(entry);
        note_returned(worker_at(place_of(job)),
                      is_offered(job) ? Holding::offered : Holding::running);
        table.erase(entry);
        freed = table.take_freed_capacity();
    }
    if (freed.any)
        executors::announce_freed_capacity(freed, MyDatabaseId, InvalidOid);
    databases::ask_for_dispatch(MyDatabaseId);
}

// ---- inspection ----

OverdueJobs overdue_jobs(pg::Time now, std::size_t most)
{
    OverdueJobs overdue;
    Copies copies(most);
    {
        const lanes::InFlightLock lock(LW_SHARED);
        for (const core::JobEntry &job : lanes::jobs_in_flight().entries()) {
            if (!has_worker(job) || job.database != MyDatabaseId || is_being_accepted(job))
                continue;
            if (pg::Time{job.deadline} > now || copies.is_full())
                overdue.next = std::min(overdue.next, pg::Time{job.deadline});
            else
                copies.add(job);
        }
    }
    overdue.jobs = copies.take();
    return overdue;
}

std::vector<ExternalJob> jobs_of_worker(std::int64_t worker_id)
{
    const std::optional<std::int32_t> place =
        memory::is_loaded() ? place_of_worker(worker_id) : std::nullopt;
    if (!place.has_value())
        return {};
    return copy_all([&](Copies &copies) {
        const core::JobTable table = lanes::jobs_in_flight();
        for (std::int32_t entry = table.first_of(memory::worker_holder(*place));
             entry != core::no_entry && !copies.is_full(); entry = table.next_of(entry))
            if (table.at(entry).is_accepted)
                copies.add(table.at(entry));
    });
}

std::vector<ExternalJob> list_external_jobs()
{
    if (!memory::is_loaded())
        return {};
    return copy_all([](Copies &copies) {
        for (const core::JobEntry &job : lanes::jobs_in_flight().entries())
            if (has_worker(job) && job.database == MyDatabaseId && !copies.is_full())
                copies.add(job);
    });
}

std::optional<ExternalJob> find_external_job(std::int64_t job_id)
{
    if (!memory::is_loaded())
        return std::nullopt;
    Copies copies(1);
    {
        const lanes::InFlightLock lock(LW_SHARED);
        const core::JobTable table = lanes::jobs_in_flight();
        const std::int32_t entry = table.find(MyDatabaseId, job_id);
        if (entry != core::no_entry && has_worker(table.at(entry)))
            copies.add(table.at(entry));
    }
    const std::vector<ExternalJob> jobs = copies.take();
    return jobs.empty() ? std::nullopt : std::optional(jobs.front());
}

bool is_with_worker(Oid database, std::int64_t job_id)
{
    if (!memory::is_loaded())
        return false;
    const lanes::InFlightLock lock(LW_SHARED);
    const core::JobTable table = lanes::jobs_in_flight();
    const std::int32_t entry = table.find(database, job_id);
    return entry != core::no_entry && has_worker(table.at(entry));
}

bool is_probe(std::int64_t job_id, int attempt)
{
    if (!memory::is_loaded())
        return false;
    const lanes::InFlightLock lock(LW_SHARED);
    const core::JobTable table = lanes::jobs_in_flight();
    const std::int32_t entry = table.find(MyDatabaseId, job_id);
    return entry != core::no_entry && table.at(entry).attempt == attempt &&
           table.at(entry).is_probe;
}

namespace {

void forget_external_jobs(Oid database) noexcept
{
    const lanes::InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = lanes::jobs_in_flight();
    for (std::size_t i = 0; i < table.capacity(); ++i) {
        const auto entry = static_cast<std::int32_t>(i);
        if (has_worker(table.at(entry)) && table.at(entry).database == database)
            table.erase(entry);
    }
    (void)table.take_freed_capacity();
}

// Gives back the jobs that the exiting scheduler has not offered yet.
bool give_back_dispatch(int holder) noexcept
{
    const lanes::InFlightLock lock(LW_EXCLUSIVE);
    lanes::jobs_in_flight().erase_if(holder, [&](const core::JobEntry &job) {
        lanes::return_to_lane(job);
        return true;
    });
    return false;
}

}  // namespace

constinit const memory::Part external_jobs_part{nullptr, nullptr, nullptr, forget_external_jobs,
                                                give_back_dispatch};

}  // namespace hipq::workers
