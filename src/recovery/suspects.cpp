// Runs the crash cases of this database one after the other.
#include "recovery/suspects.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "pg/clock.hpp"
#include "pg/error_classes.hpp"
#include "process/process.hpp"
#include "recovery/left_jobs.hpp"
#include "recovery/type_crashes.hpp"
#include "shared/flight/crash_cases.hpp"

namespace hipq::recovery {

namespace {

bool is_to_be_resolved(const core::CrashCase &entry)
{
    return entry.charge_due != 0 || entry.return_due != 0;
}

Left left_by(const core::CrashCase &entry)
{
    const LeftBy by = entry.charge_due != 0 ? LeftBy::crash : LeftBy::neighbour;
    return {entry.queue_id,          entry.job_id, entry.attempt, by, false,
            pg::Time{entry.started}, entry.pid};
}

// Returns suspects and witnesses that wait for their next run.
std::map<std::int64_t, core::CrashCase> waiting_cases()
{
    std::map<std::int64_t, core::CrashCase> cases;
    for (const core::CrashCase &entry : flight::crash_cases(MyDatabaseId))
        if (!is_to_be_resolved(entry) && entry.crashed == 0)
            cases[entry.job_id] = entry;
    return cases;
}

// ---- job types ----

constexpr std::int64_t blame_delay = 1'000'000;  // us; another session has the type's row locked

// Cases of one crash and queue.
using Crash = std::pair<int, std::int64_t>;
using Crashes = std::map<Crash, std::vector<core::CrashCase>>;

Crashes crashes_to_blame(const PostponedJobs &postponed)
{
    const pg::Time now = pg::now();
    Crashes crashes;
    for (const core::CrashCase &entry : flight::crash_cases(MyDatabaseId))
        if (entry.crashed != 0 && !is_postponed(postponed, entry.job_id, now))
            crashes[{entry.queue_id, entry.crashed}].push_back(entry);
    return crashes;
}

std::vector<std::int64_t> ids_of(std::span<const core::CrashCase> cases)
{
    std::vector<std::int64_t> ids;
    std::ranges::transform(cases, std::back_inserter(ids), &core::CrashCase::job_id);
    return ids;
}

std::vector<std::int64_t> earlier_suspects(int queue_id)
{
    std::vector<std::int64_t> ids;
    for (const core::CrashCase &entry : flight::crash_cases(MyDatabaseId))
        if (entry.queue_id == queue_id && core::is_earlier_suspect(entry))
            ids.push_back(entry.job_id);
    return ids;
}

// Returns false if another session has the type's row locked.
bool try_to_blame(std::span<const core::CrashCase> cases)
{
    const auto catalogue = read_catalogue();
    const catalog::Queue *queue = catalogue->find(cases.front().queue_id);
    if (queue == nullptr || queue->is_dropped)
        return true;
    try {
        const TypeCrash crash{pg::Time{cases.front().crashed}, ids_of(cases),
                              cases.front().with_others != 0, earlier_suspects(queue->id)};
        pg::with_transaction([&] { blame_types_of(*queue, crash); });
    } catch (const pg::Error &error) {
        if (!pg::is_fault_of_job(error))
            throw;
        return false;
    }
    return true;
}

void keep_as_blamed(PostponedJobs &postponed, core::CrashCase entry)
{
    postponed.erase(entry.job_id);
    entry.crashed = 0;
    entry.with_others = 0;
    flight::keep_case(entry);
}

// Runs before the jobs move: a rescued job may be final.
void blame_types(PostponedJobs &postponed)
{
    for (const auto &[crash, cases] : crashes_to_blame(postponed)) {
        process::check_interrupts();
        const bool is_done = try_to_blame(cases);
        for (const core::CrashCase &entry : cases)
            if (is_done)
                keep_as_blamed(postponed, entry);
            else
                postponed[entry.job_id].until = pg::now() + blame_delay;
    }
}

// Returns the jobs that are not unfinished; none if the tables cannot be read now.
std::vector<std::int64_t> finished_jobs(const catalog::Catalogue &catalogue, int queue_id,
                                        const std::vector<std::int64_t> &ids)
{
    const catalog::Queue *queue = catalogue.find(queue_id);
    if (queue == nullptr || queue->is_dropped)
        return ids;
    std::vector<std::int64_t> finished = ids;
    const bool is_known = process::do_duty(core::Duty::recovery, queue, [&] {
        pg::with_transaction([&] {
            catalog::lock_or_raise(*queue);
            for (const std::int64_t id : unfinished_jobs(*queue, ids))
                std::erase(finished, id);
        });
    });
    return is_known ? finished : std::vector<std::int64_t>();
}

void forget_case(core::CrashCase entry)
{
    entry.runs_alone = 0;
    entry.sightings = 0;
    flight::keep_case(entry);
}

}  // namespace

void close_crash_cases(PostponedJobs &postponed)
{
    blame_types(postponed);
    const pg::Time now = pg::now();
    std::map<std::int64_t, core::CrashCase> cases;
    std::vector<Left> jobs;
    for (const core::CrashCase &entry : flight::crash_cases(MyDatabaseId)) {
        if (!is_to_be_resolved(entry) || is_postponed(postponed, entry.job_id, now))
            continue;
        cases[entry.job_id] = entry;
        jobs.push_back(left_by(entry));
    }
    while (!jobs.empty()) {
        process::check_interrupts();
        for (const Left &left : rescue_first(postponed, jobs).home)
            flight::keep_case(core::resolved(cases[left.id]));
    }
    if (!cases.empty())
        forget_stale_cases();
}

void forget_stale_cases()
{
    const std::map<std::int64_t, core::CrashCase> cases = waiting_cases();
    if (cases.empty())
        return;
    const auto catalogue = read_catalogue();
    std::map<int, std::vector<std::int64_t>> ids;  // by queue
    for (const auto &[id, entry] : cases)
        ids[entry.queue_id].push_back(id);
    for (const auto &[queue_id, jobs] : ids)
        for (const std::int64_t id : finished_jobs(*catalogue, queue_id, jobs))
            forget_case(cases.at(id));
}

}  // namespace hipq::recovery
