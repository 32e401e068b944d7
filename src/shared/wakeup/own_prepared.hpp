// Transactions with notes for hipq that this process has prepared.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::wakeup {

// Call at the end of PREPARE. If there are too many, the oldest is left to the launcher.
void remember_prepared(TransactionId xid) noexcept;

// Whether one of them has committed since; forgets those that have ended. Call before a commit: it
// may raise an error while it reads how they ended. Call inside pg::call() or in a C frame only.
bool has_own_prepared_committed();

}  // namespace hipq::wakeup
