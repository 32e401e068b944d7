// Queues that stand still because a logical subscription feeds them: their jobs are another
// server's, which runs them, until an operator says otherwise (release_hold).
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// In a process that applies what a subscription has received.
bool applies_subscription();

// Holds the queue that such a process writes to, if it is not held yet: in the transaction of the
// first row. Does nothing while the extension is older than the table of holds.
void hold_fed_queue(int queue_id);

// Holds all queues whose tables an enabled subscription of this database has. As above. Needs a
// transaction.
void hold_all_fed_queues();

// The subscription that feeds a queue this moment; nothing: none that is enabled.
std::optional<std::string> feeding_subscription(const Queue &queue);

// 55000 if the queue is held: nobody but the subscription writes there.
void demand_not_held(const Queue &queue);

// Of a queue that goes. Needs as_hipq.
void forget_hold(int queue_id);

// Ends the hold. 55000: the queue is not held, is fed by an enabled subscription, or
// has unfinished jobs with ids that jobs of other queues have.
void release(const Queue &queue);

}  // namespace hipq::catalog
