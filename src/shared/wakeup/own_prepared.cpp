// Remembers the transactions that this process has prepared.
//
// An apply worker of logical replication ends prepared transactions by calling a function of
// PostgreSQL that runs no hook, but does so within a transaction of its own. When that transaction
// commits, hipq checks how the prepared ones have ended.
#include "shared/wakeup/own_prepared.hpp"

extern "C" {
#include "access/transam.h"
#include "storage/procarray.h"
}

namespace hipq::wakeup {

namespace {

constinit std::array<TransactionId, 16> prepared{};
constinit std::size_t prepared_count = 0;

void forget(std::size_t place)
{
    std::copy(prepared.begin() + place + 1, prepared.begin() + prepared_count,
              prepared.begin() + place);
    --prepared_count;
}

}  // namespace

void remember_prepared(TransactionId xid) noexcept
{
    if (prepared_count == prepared.size())
        forget(0);
    prepared[prepared_count++] = xid;
}

bool has_own_prepared_committed()
{
    bool has_committed = false;
    for (std::size_t i = prepared_count; i-- > 0;) {
        if (::TransactionIdIsInProgress(prepared[i]))
            continue;
        has_committed = has_committed || ::TransactionIdDidCommit(prepared[i]);
        forget(i);
    }
    return has_committed;
}

}  // namespace hipq::wakeup
