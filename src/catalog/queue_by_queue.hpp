// Reads queues one by one, so that an error in the tables of one does not spoil the answer about
// the others.
#pragma once

#include "catalog/cache.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"

namespace hipq::catalog {

// Warns that the answer lacks a queue. Rethrows errors that are not the fault of the queue (see
// is_fault_of_job()).
void leave_out(const Queue &queue, const pg::Error &error);

// Locks the live leaf for reading without waiting. Returns false if it does not exist or another
// session has it locked.
bool can_be_read(const Queue &queue);

// Calls `read` with the rights of the extension owner, in a subtransaction that is rolled back so
// that no lock is kept. Leaves out a queue that cannot be read at once, and with a WARNING one
// whose tables raise an error. Needs a transaction.
template <class Function>
void read_or_leave_out(const Queue &queue, Function &&read)
{
    const auto error = pg::in_subtransaction(pg::Ending::rolled_back, [&] {
        if (can_be_read(queue))
            pg::as_extension_owner(read);
    });
    if (error.has_value())
        leave_out(queue, *error);
}

}  // namespace hipq::catalog
