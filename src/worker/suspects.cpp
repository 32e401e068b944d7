// The open cases of this database, one after the other.
#include "suspects.hpp"

#include "pg/clock.hpp"
#include "shmem/crash_cases.hpp"
#include "worker/process.hpp"

namespace hipq::worker {

namespace {

bool is_to_be_settled(const core::CrashCase &entry)
{
    return entry.charge_due != 0 || entry.return_due != 0;
}

Left left_by(const core::CrashCase &entry)
{
    const LeftBy by = entry.charge_due != 0 ? LeftBy::crash : LeftBy::neighbour;
    return {entry.queue_id, entry.job_id, entry.attempt, by, false, pg::Time{entry.started}, entry.pid};
}

// Suspects and witnesses that wait for their next run.
std::map<std::int64_t, core::CrashCase> waiting_cases()
{
    std::map<std::int64_t, core::CrashCase> cases;
    for (const core::CrashCase &entry : shmem::crash_cases(MyDatabaseId))
        if (!is_to_be_settled(entry))
            cases[entry.job_id] = entry;
    return cases;
}

}  // namespace

void close_crash_cases(PostponedJobs &postponed)
{
    const pg::Time now = pg::now();
    std::map<std::int64_t, core::CrashCase> cases;
    std::vector<Left> jobs;
    for (const core::CrashCase &entry : shmem::crash_cases(MyDatabaseId)) {
        if (!is_to_be_settled(entry) || is_postponed(postponed, entry.job_id, now))
            continue;
        cases[entry.job_id] = entry;
        jobs.push_back(left_by(entry));
    }
    while (!jobs.empty()) {
        check_interrupts();
        for (const Left &left : bring_home_first(postponed, jobs).home)
            shmem::keep_case(core::settled(cases[left.id]));
    }
    if (!cases.empty())
        forget_stale_cases();
}

void forget_stale_cases()
{
    std::map<std::int64_t, core::CrashCase> cases = waiting_cases();
    if (cases.empty())
        return;
    std::vector<std::int64_t> ids;
    ids.reserve(cases.size());
    for (const auto &entry : cases)
        ids.push_back(entry.first);
    pg::with_transaction([&] { ids = storage::unfinished_jobs(ids); });
    for (const std::int64_t id : ids)
        cases.erase(id);
    for (auto &[id, entry] : cases) {
        entry.runs_alone = 0;
        entry.sightings = 0;
        shmem::keep_case(entry);
    }
}

}  // namespace hipq::worker
