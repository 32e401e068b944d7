// What DISCARD ALL does, but for the plans, which hipq keeps.
#include "session.hpp"

#include "pg/transaction.hpp"

extern "C" {
#include "commands/async.h"
#include "commands/prepare.h"
#include "storage/lock.h"
#include "utils/portal.h"
}

namespace hipq::worker {

void clean_session()
{
    pg::with_transaction([] {
        pg::call([] {
            ::PortalHashTableDeleteAll();
            ::SetPGVariable("session_authorization", NIL, false);
            ::ResetAllOptions();
            ::DropAllPreparedStatements();
            ::Async_UnlistenAll();
            ::LockReleaseAll(USER_LOCKMETHOD, true);
            ::ResetTempTableNamespace();
            ::ResetSequenceCaches();
        });
    });
}

}  // namespace hipq::worker
