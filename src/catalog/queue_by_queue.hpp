// Reading one queue after the other: an error in the tables of one leaves the answer about the
// others.
#pragma once

#include "catalog/cache.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"

namespace hipq::catalog {

// Warns that a queue is missing in an answer. Errors that are not the queue's (is_fault_of_job())
// it raises again.
void leave_out(const Queue &queue, const pg::Error &error);

// Whether its live leaf can be read at once: it is there, and nobody has locked it. Locks it.
bool can_be_read(const Queue &queue);

// Calls `read` with the rights of the extension's owner in a subtransaction that is rolled back, so
// that no lock is kept. A queue that cannot be read at once is left out, and with a WARNING one in
// whose tables there is an error. Needs a transaction.
template <class Function>
void read_apart(const Queue &queue, Function &&read)
{
    const auto error = pg::in_subtransaction(pg::Ending::rolled_back, [&] {
        if (can_be_read(queue))
            pg::as_extension_owner(read);
    });
    if (error.has_value())
        leave_out(queue, *error);
}

}  // namespace hipq::catalog
