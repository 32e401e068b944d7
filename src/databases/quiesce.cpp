// Has the executors of one database start no next job for a moment; one database at a time.
#include "quiesce.hpp"

namespace hipq::databases {

namespace {

// The system's clock: hipq's may be moved on by a setting, and not in all processes at once. Should
// the system's be set back, the lull's end may be far ahead: no lull is longer than the longest.
bool is_on(const memory::Lull &lull, pg::Time now)
{
    return now < lull.end && lull.end.value - now.value <= longest_lull;
}

}  // namespace

bool begin_lull(Oid database) noexcept
{
    const pg::Time now{::GetCurrentTimestamp()};
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::Lull &lull = memory::registry()->lull;
    if (lull.database != database && is_on(lull, now))
        return false;
    lull = memory::Lull{database, now + longest_lull};
    return true;
}

void end_lull(Oid database) noexcept
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::Lull &lull = memory::registry()->lull;
    if (lull.database == database)
        lull = memory::Lull{InvalidOid, pg::Time{0}};
}

bool has_lull(Oid database)
{
    const pg::Time now{::GetCurrentTimestamp()};
    const memory::Lock lock(LW_SHARED);
    const memory::Lull &lull = memory::registry()->lull;
    return lull.database == database && is_on(lull, now);
}

void wait_out_lull(Oid database)
{
    // Looked at again and again: to be woken it would have to wait for its latch, and so to take
    // what others set it for.
    for (std::int64_t waited = 0; waited < longest_lull && has_lull(database); waited += 1'000)
        pg::call([] {
            (void)::WaitLatch(MyLatch, WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 1, PG_WAIT_EXTENSION);
            CHECK_FOR_INTERRUPTS();
        });
}

bool is_executor(Oid database, int process) noexcept
{
    const memory::Lock lock(LW_SHARED);
    for (int i = 0; i < memory::registry()->executor_count; ++i)
        if (memory::registry()->executors[i].process == process &&
            memory::registry()->executors[i].database == database)
            return true;
    return false;
}

}  // namespace hipq::databases
