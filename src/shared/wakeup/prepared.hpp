// Prepared transactions (two-phase commit) with notes for hipq. When one has committed, the
// scheduler must look.
//
// A client's COMMIT PREPARED passes hipq's utility hook, which reports it at once. An apply worker
// of logical replication does not pass it (own_prepared.hpp), and a session may end too early to
// report it; the launcher watches for both.
#pragma once

#include "pg/postgres.hpp"

#include <vector>

namespace hipq::wakeup {

// All prepared transactions of all databases that are neither committed nor rolled back, with or
// without notes for hipq.
struct PreparedTransaction {
    TransactionId xid;
    Oid database;
};
std::vector<PreparedTransaction> prepared_transactions();

// Makes the scheduler look at a database as after COMMIT PREPARED: there may be jobs at unknown
// places.
void look_for_unknown_jobs(Oid database) noexcept;

}  // namespace hipq::wakeup
