// Keeps the open crash cases.
//
// The cases are in the mapped file, under their own lock. If a crash interrupts the writing of a
// case, its checksum does not match and the case is lost.
#include "shared/flight/crash_cases.hpp"

#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/memory/shared_struct.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::flight {

namespace {

using core::CrashCase;

constexpr std::size_t most_woken = 8;  // databases; schedulers of others notice within 10 s

struct OpenCases {
    int count;
};
constinit OpenCases *open_cases = nullptr;
constinit memory::Tranche tranche{"HipqCrashCases", memory::LockRank::crash_cases};
constinit std::span<CrashCase> all_cases{};  // empty: there is no flight recorder
constinit core::CrashStreak streak{};        // as found when the server started

bool has_cases()
{
    return !all_cases.empty() && memory::glance(open_cases->count) > 0;
}

// ---- the functions below need the lock ----

CrashCase *find_case(Oid database, std::int64_t job_id)
{
    for (CrashCase &entry : all_cases)
        if (entry.job_id == job_id && entry.database == database)
            return &entry;
    return nullptr;
}

void forget(CrashCase &entry)
{
    entry = CrashCase{};
    --open_cases->count;
}

// Whether a process has another suspect than this one in flight.
bool is_another_in_flight(const core::JobTable &table, const CrashCase &suspect)
{
    return std::any_of(all_cases.begin(), all_cases.end(), [&](const CrashCase &entry) {
        return entry.job_id != 0 && entry.runs_alone != 0 && &entry != &suspect &&
               table.find(entry.database, entry.job_id) != core::no_entry;
    });
}

bool is_dealt_with(const CrashCase &entry)
{
    return entry.charge_due == 0 && entry.return_due == 0 && entry.crashed == 0;
}

// Closes the cases of these jobs. Returns whether one of the jobs was a suspect.
bool close_cases(Oid database, std::span<const core::FlightJob> jobs)
{
    bool any = false;
    for (const core::FlightJob &job : jobs) {
        CrashCase *entry = find_case(database, job.id);
        if (entry == nullptr || !is_dealt_with(*entry))
            continue;
        any = any || entry->runs_alone != 0;
        forget(*entry);
    }
    return any;
}

struct Woken {
    std::array<Oid, most_woken> databases{};
    std::size_t count = 0;
    void add(Oid database)
    {
        const auto end = databases.begin() + static_cast<std::ptrdiff_t>(count);
        if (count < most_woken && std::find(databases.begin(), end, database) == end)
            databases[count++] = database;
    }
};

Woken databases_with_suspects()
{
    Woken woken;
    for (const CrashCase &entry : all_cases)
        if (entry.job_id != 0 && entry.runs_alone != 0)
            woken.add(entry.database);
    return woken;
}

void wake(const Woken &woken)
{
    for (std::size_t i = 0; i < woken.count; ++i)
        databases::work_due(woken.databases[i], pg::Time{0});
}

}  // namespace

void request_crash_cases()
{
    ::RequestAddinShmemSpace(sizeof(OpenCases));
    tranche.request();
}

void set_up_crash_cases()
{
    open_cases = memory::shared_struct<OpenCases>("hipq crash cases");
    tranche.set_up();
}

void keep_crash_cases_in(std::span<CrashCase> memory, std::size_t number, core::CrashStreak crashes)
{
    all_cases = memory;
    streak = crashes;
    open_cases->count = static_cast<int>(std::min(number, memory.size()));
}

std::vector<CrashCase> crash_cases(Oid database)
{
    std::vector<CrashCase> result;
    if (!has_cases())
        return result;
    result.reserve(all_cases.size());  // allocate before taking the lock
    const memory::TrancheLock lock(tranche, LW_SHARED);
    for (const CrashCase &entry : all_cases)
        if (entry.job_id != 0 && entry.database == database)
            result.push_back(entry);
    return result;
}

void keep_case(const CrashCase &entry)
{
    const memory::TrancheLock lock(tranche, LW_EXCLUSIVE);
    CrashCase *kept = find_case(entry.database, entry.job_id);
    if (kept == nullptr)
        return;
    *kept = entry;
    kept->check = core::check_of(entry);
    if (!core::is_open(entry))
        forget(*kept);
}

void acquit(Oid database, std::span<const core::FlightJob> jobs) noexcept
{
    if (jobs.empty() || !has_cases())
        return;
    Woken woken;
    {
        const memory::TrancheLock lock(tranche, LW_EXCLUSIVE);
        if (close_cases(database, jobs))
            woken = databases_with_suspects();
    }
    wake(woken);
}

void forget_crash_cases(Oid database) noexcept
{
    const memory::TrancheLock lock(tranche, LW_EXCLUSIVE);
    for (CrashCase &entry : all_cases)
        if (entry.job_id != 0 && entry.database == database)
            forget(entry);
}

Suspicion suspicion_of(const core::JobTable &table, Oid database, std::int64_t job_id) noexcept
{
    if (!has_cases())
        return Suspicion::none;
    const memory::TrancheLock lock(tranche, LW_SHARED);
    const CrashCase *entry = find_case(database, job_id);
    if (entry == nullptr || (entry->runs_alone == 0 && entry->charge_due == 0))
        return Suspicion::none;
    if (entry->charge_due != 0 || entry->crashed != 0 || is_another_in_flight(table, *entry))
        return Suspicion::has_to_wait;
    return suspect_pause_left() > 0 ? Suspicion::has_to_pause : Suspicion::may_run;
}

// Limited to the longest possible pause, in case the clock was set back.
std::int64_t suspect_pause_left()
{
    const std::int64_t pause = core::suspect_pause(streak, settings::suspect_pause.microseconds());
    return std::clamp<std::int64_t>(streak.last + pause - ::GetCurrentTimestamp(), 0, pause);
}

std::size_t count_crash_cases()
{
    return has_cases() ? static_cast<std::size_t>(memory::glance(open_cases->count)) : 0;
}

}  // namespace hipq::flight
