// Locks on the tables of one queue that are never waited for, so that who locks them delays that
// queue alone; and who does.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// Locks the queue's table and its live leaf as a write does, until the transaction ends, before
// other statements do so. Raises 55P03 at once when somebody holds a lock against that. Needs a
// transaction.
void lock_or_raise(const Queue &queue);

// The same of the live leaf alone, without an error: as a read that locks rows does, which is in
// nobody's way who makes an index, or as a write.
bool try_to_lock(const Queue &queue, LOCKMODE mode = RowShareLock);

// Who keeps others from writing the tables of a queue: 'process 4711 (role "app", application
// "psql") holds AccessExclusiveLock on hipq.app_mail', as many as there are; empty: nobody does.
// Needs a transaction.
std::string lock_holders(const Queue &queue);

}  // namespace hipq::catalog
