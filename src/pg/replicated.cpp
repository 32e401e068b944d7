// Waits for synchronous standbys outside of a commit.
#include "pg/replicated.hpp"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/lwlock.h"
}

namespace hipq::pg {

namespace {

int wait_mode()
{
    switch (synchronous_commit) {
    case SYNCHRONOUS_COMMIT_REMOTE_WRITE:
        return SYNC_REP_WAIT_WRITE;
    case SYNCHRONOUS_COMMIT_REMOTE_APPLY:
        return SYNC_REP_WAIT_APPLY;
    default:
        return SYNC_REP_WAIT_FLUSH;
    }
}

bool waits_for_standbys()
{
    return SyncRepRequested() && SyncRepStandbyNames != nullptr && SyncRepStandbyNames[0] != '\0';
}

}  // namespace

void wait_until_safe(XLogRecPtr end)
{
    ::XLogFlush(end);
    HOLD_INTERRUPTS();
    ::SyncRepWaitForLSN(end, true);
    RESUME_INTERRUPTS();
}

bool is_replicated(XLogRecPtr end)
{
    if (!waits_for_standbys())
        return true;
    ::LWLockAcquire(SyncRepLock, LW_SHARED);
    const bool is_there = WalSndCtl->lsn[wait_mode()] >= end;
    ::LWLockRelease(SyncRepLock);
    return is_there;
}

}  // namespace hipq::pg
