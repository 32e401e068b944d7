// Keeps the progress of jobs in flight.
//
// It is stored in an array of the same length as the table of jobs in flight.
#include "shared/workers/progress.hpp"

#include "core/lanes/job_table.hpp"
#include "shared/executors/executor_table.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/tranche.hpp"
#include "shared/workers/registered.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace hipq::workers {

namespace {

// The progress of the entry with that serial number (0: none) and attempt.
struct Place {
    std::uint64_t serial;
    std::int32_t attempt;
    Progress progress;
};

constinit Place *places = nullptr;
constinit memory::Tranche progress_tranche{"HipqProgress", memory::LockRank::progress};

class PlacesLock : public memory::TrancheLock {
public:
    explicit PlacesLock(LWLockMode mode) : TrancheLock(progress_tranche, mode) {}
};

bool is_of(const Place &place, const core::JobEntry &job)
{
    return place.serial == job.serial && place.attempt == job.attempt;
}

// Records progress of an attempt of this database, if `may` accepts its entry. The caller needs no
// lock. Returns false if nothing was recorded.
template <class Predicate>
bool note(std::int64_t job_id, const Progress &progress, const Predicate &may)
{
    const lanes::InFlightLock lock(LW_SHARED);
    const core::JobTable table = lanes::jobs_in_flight();
    const std::int32_t entry = table.find(MyDatabaseId, job_id);
    if (entry == core::no_entry || table.at(entry).phase != core::JobPhase::running ||
        !may(table.at(entry)))
        return false;
    const PlacesLock places_lock(LW_EXCLUSIVE);
    places[entry] = {table.at(entry).serial, table.at(entry).attempt, progress};
    return true;
}

Size places_size()
{
    return ::mul_size(sizeof(Place), lanes::job_capacity());
}

// For a worker's job, the caller fills in the worker later.
JobProgress job_progress(const core::JobEntry &job, const Progress &progress)
{
    const bool is_executors = job.holder < memory::executor_places();
    return {job.queue_id,
            job.job_id,
            job.attempt,
            is_executors ? executors::executor_table().slots[job.holder].pid : 0,
            0,
            progress};
}

}  // namespace

Progress make_progress(std::int64_t done, std::optional<std::int64_t> total,
                       const std::string &message, pg::Time reported)
{
    Progress progress{done, total.value_or(unknown_total), reported, {}};
    const int length = pg::call([&] {
        return ::pg_mbcliplen(message.data(), static_cast<int>(message.size()),
                              static_cast<int>(longest_progress_message));
    });
    std::memcpy(progress.message, message.data(), static_cast<std::size_t>(length));
    return progress;
}

void note_own_progress(std::int64_t job_id, const Progress &progress)
{
    if (memory::is_loaded())
        note(job_id, progress, [](const core::JobEntry &job) {
            return job.holder == executors::own_executor_index();
        });
}

bool note_progress(std::int64_t job_id, int attempt, const Progress &progress)
{
    return memory::is_loaded() && note(job_id, progress, [&](const core::JobEntry &job) {
               return job.holder >= memory::worker_holder(0) && job.attempt == attempt;
           });
}

std::vector<JobProgress> list_progress()
{
    if (!memory::is_loaded())
        return {};
    std::vector<JobProgress> result(
        lanes::jobs_in_flight().capacity());  // allocated before the locks are taken
    std::vector<std::int32_t> holders(result.size());
    std::size_t count = 0;
    {
        const lanes::InFlightLock lock(LW_SHARED);
        const PlacesLock places_lock(LW_SHARED);
        const std::span<const core::JobEntry> entries = lanes::jobs_in_flight().entries();
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (entries[i].job_id == 0 || entries[i].database != MyDatabaseId ||
                !is_of(places[i], entries[i]))
                continue;
            holders[count] = entries[i].holder;
            result[count++] = job_progress(entries[i], places[i].progress);
        }
    }
    result.resize(count);
    for (std::size_t i = 0; i < count; ++i)
        if (holders[i] >= memory::worker_holder(0))
            result[i].worker_id = worker_at(holders[i] - memory::worker_holder(0));
    return result;
}

namespace {

void request_progress()
{
    ::RequestAddinShmemSpace(places_size());
    progress_tranche.request();
}

void set_up_progress()
{
    bool found = false;
    places = static_cast<Place *>(::ShmemInitStruct("hipq progress", places_size(), &found));
    progress_tranche.set_up();
    if (!found)
        std::memset(static_cast<void *>(places), 0, places_size());
}

}  // namespace

constinit const memory::Part progress_part{request_progress, set_up_progress};

}  // namespace hipq::workers
