// Lists prepared transactions.
//
// Each prepared transaction has a PGPROC entry without a process.
#include "shared/wakeup/prepared.hpp"

#include "shared/databases/database_slots.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/wakeup/watched_jobs.hpp"

extern "C" {
#include "access/twophase.h"
#include "storage/proc.h"
}

namespace hipq::wakeup {

namespace {

// An unused entry keeps its old content, but only the transaction of an entry in use is among the
// running ones. Needs ProcArrayLock.
bool is_prepared(const PGPROC &entry)
{
    return TransactionIdIsValid(entry.xid) && ProcGlobal->xids[entry.pgxactoff] == entry.xid;
}

}  // namespace

std::vector<PreparedTransaction> prepared_transactions()
{
    std::vector<PreparedTransaction> found(
        static_cast<std::size_t>(max_prepared_xacts));  // allocated before the lock is taken
    std::size_t count = 0;
    if (max_prepared_xacts > 0) {
        ::LWLockAcquire(ProcArrayLock, LW_SHARED);
        for (const PGPROC &entry :
             std::span(PreparedXactProcs, static_cast<std::size_t>(max_prepared_xacts)))
            if (is_prepared(entry))
                found[count++] = {entry.xid, entry.databaseId};
        ::LWLockRelease(ProcArrayLock);
    }
    found.resize(count);
    return found;
}

void look_for_unknown_jobs(Oid database) noexcept
{
    lanes::lose_lanes(database);
    databases::jobs_aimed(database);
    report_all_waits(database);
    databases::work_due(database, pg::Time{0});
}

}  // namespace hipq::wakeup
