// Transactions that this process has prepared with something for hipq in them.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::wakeup {

// At the end of PREPARE. With more of them than there is room for, the oldest is left to the
// launcher.
void remember_prepared(TransactionId xid) noexcept;

// Whether one of them has committed since; those that have ended are forgotten. Before a commit:
// may raise, reading how they have ended. PostgreSQL regime.
bool has_own_prepared_committed();

}  // namespace hipq::wakeup
