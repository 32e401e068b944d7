// Prepared transactions (two-phase commit) with something for hipq in them: when one has committed
// somebody has to look.
//
// COMMIT PREPARED of a client passes hipq's utility hook, which says so at once. That of an apply
// worker of logical replication does not (own_prepared.hpp), nor does any after which the session
// ends early: the launcher watches for those.
#pragma once

namespace hipq::wakeup {

// Those that are neither committed nor rolled back, of all databases, whatever is in them.
struct PreparedTransaction {
    TransactionId xid;
    Oid database;
};
std::vector<PreparedTransaction> prepared_transactions();

// Has a database looked at as after COMMIT PREPARED: there may be jobs that nobody knows.
void look_for_unknown_jobs(Oid database) noexcept;

}  // namespace hipq::wakeup
