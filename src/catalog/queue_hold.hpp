// Queues that are held because a logical subscription feeds them: their jobs belong to another
// server, which runs them, until an operator calls release_hold().
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// Whether this process applies the changes of a subscription.
bool applies_subscription();

// Holds the queue that an apply process writes to, if it is not held yet, in the transaction of the
// first row. Does nothing if the extension is older than the table of holds.
void hold_fed_queue(int queue_id);

// Holds all queues whose tables an enabled subscription of this database contains. Like
// hold_fed_queue(), does nothing to a queue that is held. Needs a transaction.
void hold_all_fed_queues();

// The enabled subscription that feeds a queue now, or nothing.
std::optional<std::string> feeding_subscription(const Queue &queue);

// Raises 55000 if the queue is held: only the subscription writes to it.
void demand_not_held(const Queue &queue);

// Ends the hold. Raises 55000 if the queue is not held, if an enabled subscription feeds it, or if
// it has unfinished jobs whose ids jobs of other queues have.
void release(const Queue &queue);

}  // namespace hipq::catalog
