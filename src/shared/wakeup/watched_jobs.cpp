// Keeps the filter of watched jobs, and the ends that no scheduler has taken yet.
#include "shared/wakeup/watched_jobs.hpp"

#include "core/flow/watch_protocol.hpp"
#include "pg/clock.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/memory/shared_struct.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::wakeup {

namespace {

// With a million watched jobs, of five that are not watched one seems to be.
constexpr std::size_t filter_bits = std::size_t{1} << 22;
constexpr std::size_t most_reported_ends = 8'192;
constexpr std::int64_t shortest_generation = 600'000'000;  // us

struct Watched {
    core::WatchedJobs<filter_bits> jobs;
    core::ReportedEnds<most_reported_ends> ends;
    TimestampTz renewed;  // by the computer's clock
};
constinit Watched *watched = nullptr;
constinit memory::Tranche watched_tranche{"HipqWatched", memory::LockRank::watched};

// What the current transaction has watched.
struct OwnWatches {
    bool any = false;
    std::uint32_t generation = 0;  // of the filter, when the first job was added
    std::vector<std::int64_t> to_report{};
};
constinit OwnWatches *own = nullptr;  // on the heap, so that no destructor runs at exit

void request_watched()
{
    ::RequestAddinShmemSpace(sizeof(Watched));
    watched_tranche.request();
}

void set_up_watched()
{
    watched = memory::shared_struct<Watched>("hipq watched");
    watched_tranche.set_up();
}

void forget_watched(Oid database) noexcept
{
    const memory::TrancheLock lock(watched_tranche, LW_EXCLUSIVE);
    watched->ends.take(database, [](std::int64_t) {});
}

}  // namespace

constinit const memory::Part watched_part{request_watched, set_up_watched, nullptr, forget_watched};

void watch_job(std::int64_t job_id)
{
    if (!memory::is_loaded())
        return;
    if (own == nullptr)
        own = new OwnWatches();
    if (!std::exchange(own->any, true))
        own->generation = watched->jobs.generation();
    watched->jobs.add(MyDatabaseId, job_id);
}

void watch_older_job(std::int64_t job_id)
{
    watch_job(job_id);
    if (own != nullptr && own->to_report.size() <= most_reported_ends)
        own->to_report.push_back(job_id);
}

bool has_own_watches() noexcept
{
    return own != nullptr && own->any;
}

void forget_own_watches() noexcept
{
    if (!has_own_watches())
        return;
    own->any = false;
    own->to_report.clear();
}

bool is_watched(std::int64_t job_id) noexcept
{
    return memory::is_loaded() && watched->jobs.may_have(MyDatabaseId, job_id);
}

std::uint32_t new_waits() noexcept
{
    return memory::is_loaded() ? watched->jobs.new_waits() : 0;
}

std::uint32_t looks_at(std::int64_t job_id) noexcept
{
    return memory::is_loaded() ? watched->jobs.looks(MyDatabaseId, job_id) : 0;
}

std::uint32_t count_looks(std::int64_t job_id, std::uint32_t count) noexcept
{
    return memory::is_loaded() ? watched->jobs.count_looks(MyDatabaseId, job_id, count) : 0;
}

bool are_jobs_watched() noexcept
{
    return memory::is_loaded() && !watched->jobs.is_empty();
}

void report_end(std::int64_t job_id) noexcept
{
    bool has_room = false;
    {
        const memory::TrancheLock lock(watched_tranche, LW_EXCLUSIVE);
        has_room = watched->ends.add(MyDatabaseId, job_id);
    }
    if (has_room)
        databases::ask_for_waits(MyDatabaseId);
    else
        report_all_waits(MyDatabaseId);
}

void report_all_waits(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    watched->jobs.count_new_wait();
    databases::waits_unknown(database);
    databases::ask_for_waits(database);
}

void report_own_watches() noexcept
{
    if (!has_own_watches())
        return;
    const bool is_renewed = own->generation != watched->jobs.generation();
    if (!own->to_report.empty())
        watched->jobs.count_new_wait();
    if (is_renewed || own->to_report.size() > most_reported_ends)
        report_all_waits(MyDatabaseId);
    else
        for (const std::int64_t job_id : own->to_report)
            report_end(job_id);
    forget_own_watches();
}

std::vector<std::int64_t> take_reported_ends()
{
    std::vector<std::int64_t> ends;
    ends.reserve(most_reported_ends);  // before the lock is taken
    const memory::TrancheLock lock(watched_tranche, LW_EXCLUSIVE);
    watched->ends.take(MyDatabaseId, [&](std::int64_t job_id) { ends.push_back(job_id); });
    return ends;
}

void renew_watches()
{
    const TimestampTz now = ::GetCurrentTimestamp();
    {
        const memory::TrancheLock lock(watched_tranche, LW_EXCLUSIVE);
        if (!watched->jobs.is_crowded() || now < watched->renewed + shortest_generation)
            return;
        watched->renewed = now;
    }
    watched->jobs.begin_again([] { databases::all_waits_unknown(); });
}

}  // namespace hipq::wakeup
