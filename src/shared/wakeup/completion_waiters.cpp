// Keeps the list of processes that wait for the end of a job.
//
// The list is unordered and scanned from end to end. Scans happen only while a process waits.
#include "shared/wakeup/completion_waiters.hpp"

#include "pg/compat.hpp"
#include "shared/memory/shared_struct.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::wakeup {

namespace {

// A process that waits for the end of a job.
constexpr int max_awaited_ends = 1024;
struct AwaitedEnd {
    std::int64_t job_id;
    Oid database;
    int process;  // PGPROC number
    bool was_told;
};

struct Waiters {
    int count;  // number of entries in use, which come first
    AwaitedEnd ends[max_awaited_ends];
};
constinit Waiters *waiters = nullptr;
constinit memory::Tranche tranche{"HipqWaiters", memory::LockRank::waiters};

constinit bool leaves_at_exit = false;

// The functions that read or change the entries need the lock.
std::span<AwaitedEnd> entries()
{
    return {waiters->ends, static_cast<std::size_t>(waiters->count)};
}

template <class Predicate>
void erase_entries(const Predicate &is_unwanted)
{
    int &count = waiters->count;
    for (int i = 0; i < count;)
        if (is_unwanted(waiters->ends[i]))
            waiters->ends[i] = waiters->ends[--count];
        else
            ++i;
}

bool add_entry(const AwaitedEnd &entry)
{
    if (waiters->count == max_awaited_ends)
        return false;
    waiters->ends[waiters->count++] = entry;
    return true;
}

bool is_own(const AwaitedEnd &entry)
{
    return entry.process == pg::own_number();
}

bool is_meant(const AwaitedEnd &entry, std::span<const std::int64_t> job_ids)
{
    const bool is_any =
        job_ids.empty() || std::find(job_ids.begin(), job_ids.end(), entry.job_id) != job_ids.end();
    return is_any && entry.database == MyDatabaseId;
}

extern "C" void hipq_waiting_session_exits(int, Datum)
{
    stop_awaiting();
}

}  // namespace

bool await_end(std::int64_t job_id)
{
    if (!leaves_at_exit)
        pg::call([] { ::on_shmem_exit(hipq_waiting_session_exits, Datum{0}); });
    leaves_at_exit = true;
    const memory::TrancheLock lock(tranche, LW_EXCLUSIVE);
    erase_entries(is_own);
    return add_entry({job_id, MyDatabaseId, pg::own_number(), false});
}

void stop_awaiting() noexcept
{
    const memory::TrancheLock lock(tranche, LW_EXCLUSIVE);
    erase_entries(is_own);
}

bool was_told()
{
    const memory::TrancheLock lock(tranche, LW_EXCLUSIVE);
    for (AwaitedEnd &entry : entries())
        if (is_own(entry))
            return std::exchange(entry.was_told, false);
    return false;
}

namespace {

void request_ends()
{
    ::RequestAddinShmemSpace(sizeof(Waiters));
    tranche.request();
}

void set_up_ends()
{
    waiters = memory::shared_struct<Waiters>("hipq waiters");
    tranche.set_up();
}

}  // namespace

constinit const memory::Part ends_part{request_ends, set_up_ends};

bool are_ends_awaited() noexcept
{
    return memory::is_loaded() && memory::glance(waiters->count) > 0;
}

void tell_end_of(std::span<const std::int64_t> job_ids) noexcept
{
    const memory::TrancheLock lock(tranche, LW_EXCLUSIVE);
    for (AwaitedEnd &entry : entries())
        if (is_meant(entry, job_ids)) {
            entry.was_told = true;
            memory::wake_process(entry.process);
        }
}

}  // namespace hipq::wakeup
