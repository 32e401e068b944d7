// Keeps who waits for the end of a job.
//
// A list without order, looked through from one end to the other, which happens only while somebody
// waits.
#include "completion_waiters.hpp"

#include "core/limits/fair_quota.hpp"

#include "databases/databases.hpp"

namespace hipq::wakeup {

namespace {

constinit bool leaves_at_exit = false;

// A scheduler waits for as many jobs as have successors, each session for one: per cent of what is
// free is for the scheduler.
constexpr int schedulers_share = 50;

// All of it needs the lock.
std::span<memory::AwaitedEnd> entries()
{
    return {memory::registry()->awaited_ends,
            static_cast<std::size_t>(memory::registry()->awaited_count)};
}

template <class Predicate>
void erase_entries(const Predicate &is_unwanted)
{
    int &count = memory::registry()->awaited_count;
    for (int i = 0; i < count;)
        if (is_unwanted(memory::registry()->awaited_ends[i]))
            memory::registry()->awaited_ends[i] = memory::registry()->awaited_ends[--count];
        else
            ++i;
}

bool add_entry(const memory::AwaitedEnd &entry)
{
    if (memory::registry()->awaited_count == memory::max_awaited_ends)
        return false;
    memory::registry()->awaited_ends[memory::registry()->awaited_count++] = entry;
    return true;
}

bool is_own(const memory::AwaitedEnd &entry)
{
    return entry.process == MyProc->pgprocno;
}

bool is_schedulers(const memory::AwaitedEnd &entry)
{
    return entry.process == memory::no_process && entry.database == MyDatabaseId;
}

bool is_meant(const memory::AwaitedEnd &entry, std::span<const std::int64_t> job_ids)
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
    const memory::Lock lock(LW_EXCLUSIVE);
    erase_entries(is_own);
    return add_entry({job_id, MyDatabaseId, MyProc->pgprocno, false});
}

void stop_awaiting() noexcept
{
    const memory::Lock lock(LW_EXCLUSIVE);
    erase_entries(is_own);
}

bool was_told()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    for (memory::AwaitedEnd &entry : entries())
        if (is_own(entry))
            return std::exchange(entry.was_told, false);
    return false;
}

void look_at_end_of(std::span<const std::int64_t> job_ids)
{
    if (job_ids.empty() && !are_ends_awaited())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    erase_entries(is_schedulers);
    const core::Quota quota{memory::max_awaited_ends, schedulers_share, 0};
    const auto capacity = core::left_for_owner(quota, {memory::registry()->awaited_count, 0});
    for (const std::int64_t id :
         job_ids.first(std::min(job_ids.size(), static_cast<std::size_t>(capacity))))
        add_entry({id, MyDatabaseId, memory::no_process, false});
}

namespace {

// Needs the lock.
void forget_ends(Oid database) noexcept
{
    erase_entries([&](const memory::AwaitedEnd &entry) {
        return entry.process == memory::no_process && entry.database == database;
    });
}

}  // namespace

constinit const memory::Part ends_part{nullptr, nullptr, nullptr, forget_ends};

bool are_ends_awaited() noexcept
{
    return memory::is_loaded() &&
           *const_cast<volatile int *>(&memory::registry()->awaited_count) > 0;
}

void tell_end_of(std::span<const std::int64_t> job_ids) noexcept
{
    bool scheduler_waits = false;
    {
        const memory::Lock lock(LW_EXCLUSIVE);
        for (memory::AwaitedEnd &entry : entries()) {
            if (!is_meant(entry, job_ids))
                continue;
            entry.was_told = true;
            scheduler_waits = scheduler_waits || entry.process == memory::no_process;
            memory::wake_process(entry.process);
        }
    }
    if (scheduler_waits)
        databases::look_due(MyDatabaseId, pg::Time{0});
}

}  // namespace hipq::wakeup
