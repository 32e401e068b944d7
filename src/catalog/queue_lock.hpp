// Locks on the tables of one queue that are never waited for, so that another session's lock delays
// that queue only. Also reports the holders of locks.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// Locks the queue's table and its live leaf as a write does, until the transaction ends; call it
// before other statements would. Raises 55P03 at once if another session holds a conflicting lock.
// Needs a transaction.
void lock_or_raise(const Queue &queue);

// The same for the live leaf alone, without an error: by default with the lock of a read that locks
// rows, which does not conflict with CREATE INDEX, or with that of a write.
[[nodiscard]] bool try_to_lock(const Queue &queue, LOCKMODE mode = RowShareLock);

// The sessions that hold locks against writes to the tables of a queue, all of them: 'process 4711
// (role "app", application "psql") holds AccessExclusiveLock on hipq.app_mail'. Empty if there are
// none. Needs a transaction.
std::string lock_holders(const Queue &queue);

}  // namespace hipq::catalog
