// Keeps the executors of one database from starting their next job for a moment; one database at a
// time.
#include "shared/databases/quiesce.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/shared_struct.hpp"

namespace hipq::databases {

namespace {

// Uses the system's clock, because a setting can advance hipq's clock, and not in all processes at
// once. If the system's clock is set back, the recorded end may be far ahead; limit the quiet
// moment to its maximum length.
bool is_on(const memory::Quiesce &quiesce, pg::Time now)
{
    return now < quiesce.end && quiesce.end.value - now.value <= longest_quiesce;
}

}  // namespace

bool begin_quiesce(Oid database) noexcept
{
    const pg::Time now{::GetCurrentTimestamp()};
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::Quiesce &quiesce = memory::registry()->quiesce;
    if (quiesce.database != database && is_on(quiesce, now))
        return false;
    quiesce = memory::Quiesce{database, now + longest_quiesce};
    return true;
}

void end_quiesce(Oid database) noexcept
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::Quiesce &quiesce = memory::registry()->quiesce;
    if (quiesce.database == database)
        quiesce = memory::Quiesce{InvalidOid, pg::Time{0}};
}

bool is_quiesced(Oid database)
{
    if (memory::glance(memory::registry()->quiesce.database) != database)
        return false;
    const pg::Time now{::GetCurrentTimestamp()};
    const memory::Lock lock(LW_SHARED);
    const memory::Quiesce &quiesce = memory::registry()->quiesce;
    return quiesce.database == database && is_on(quiesce, now);
}

void wait_out_quiesce(Oid database)
{
    // Polls. To be woken, it would have to wait for its latch, and would consume wakeups that are
    // meant for other code.
    for (std::int64_t waited = 0; waited < longest_quiesce && is_quiesced(database);
         waited += 1'000)
        pg::call([] {
            (void)::WaitLatch(MyLatch, WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 1, PG_WAIT_EXTENSION);
            CHECK_FOR_INTERRUPTS();
        });
}

}  // namespace hipq::databases
