// Resets an executor's session after a handler.
//
// It does what DISCARD ALL does, except for the plans, which hipq keeps.
#include "execute/session.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "commands/async.h"
#include "commands/prepare.h"
#include "storage/lock.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"
}

namespace hipq::execute {

namespace {

// Call inside pg::call() only. Drops what needs no transaction, and costs next to nothing when
// there is nothing to drop.
void drop_session_objects()
{
    ::PortalHashTableDeleteAll();
    ::DropAllPreparedStatements();
    ::LockReleaseAll(USER_LOCKMETHOD, true);
    ::ResetSequenceCaches();
}

// Call inside pg::call() only, in a transaction.
void reset_session()
{
    ::SetPGVariable("session_authorization", NIL, false);
    ::SetPGVariable("role", NIL, false);
    ::ResetAllOptions();
    ::Async_UnlistenAll();
    // Deleting catalog rows reads their out-of-line values, which needs a snapshot.
    ::PushActiveSnapshot(::GetTransactionSnapshot());
    ::ResetTempTableNamespace();
    ::PopActiveSnapshot();
}

}  // namespace

void SessionUse::begin()
{
    transaction_ = pg::own_local_transaction();
    settings_level_ = ::NewGUCNestLevel();
}

void SessionUse::put_back()
{
    look();
    pg::call([&] {
        ::AtEOXact_GUC(false, settings_level_);
        // Queues an UNLISTEN only if this process has ever listened.
        ::Async_UnlistenAll();
    });
    if ((MyXactFlags & XACT_FLAGS_ACCESSEDTEMPNAMESPACE) != 0)
        is_dirty_ = true;
}

void SessionUse::look()
{
    if (pg::own_local_transaction() != transaction_)
        is_dirty_ = true;
}

void SessionUse::clean()
{
    pg::call([] { drop_session_objects(); });
    if (!is_dirty_)
        return;
    // Not with_transaction(): it would restore the settings that are to be reset here.
    pg::start_transaction();
    try {
        pg::call([] { reset_session(); });
        pg::commit_transaction();
    } catch (...) {
        pg::abort_transaction();
        throw;
    }
}

}  // namespace hipq::execute
