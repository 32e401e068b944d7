// Tries for locks from a distance: each try is a transaction, so that a failed one gives back what it had got.
#include "reluctant_lock.hpp"

extern "C" {
#include "storage/lmgr.h"
}

namespace hipq::storage {

namespace {

constexpr int tries_without_waiting = 20;
constexpr long pause_milliseconds = 25;

bool lock(const std::vector<Oid> &relations, bool wait)
{
    return pg::call([&] {
        // Also for the locks that the step itself comes to need, such as those on TOAST tables.
        (void)::set_config_option("lock_timeout", "100", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
        for (const Oid relation : relations) {
            if (wait)
                ::LockRelationOid(relation, AccessExclusiveLock);
            else if (!::ConditionalLockRelationOid(relation, AccessExclusiveLock))
                return false;
        }
        return true;
    });
}

// Returns whether the process was woken. The latch stays set: what was to wake it for its other work must still wake it there.
bool pause()
{
    return pg::call([] {
        const int events =
            ::WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, pause_milliseconds, PG_WAIT_EXTENSION);
        CHECK_FOR_INTERRUPTS();
        return (events & WL_LATCH_SET) != 0;
    });
}

// One try. A lock that is not to be had within its time undoes the transaction and is no error here.
bool try_once(const std::vector<Oid> &relations, bool wait, void (*step)(const void *), const void *argument)
{
    bool done = false;
    try {
        pg::with_transaction([&] {
            done = lock(relations, wait);
            if (done)
                step(argument);
        });
    } catch (const pg::Error &error) {
        // The transaction is gone already.
        if (error.sqlerrcode() != ERRCODE_LOCK_NOT_AVAILABLE && error.sqlerrcode() != ERRCODE_T_R_DEADLOCK_DETECTED)
            throw;
        return false;
    }
    return done;
}

}  // namespace

bool run_with_reluctant_locks(const std::vector<Oid> &relations, Patience patience, void (*step)(const void *),
                              const void *argument)
{
    if (patience == Patience::hasty)
        return try_once(relations, false, step, argument);
    for (int tries = 0; tries < tries_without_waiting; ++tries) {
        if (try_once(relations, false, step, argument))
            return true;
        if (pause())
            break;
    }
    return try_once(relations, true, step, argument);
}

}  // namespace hipq::storage
