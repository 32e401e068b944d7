// Trees of final jobs that lack a leaf, in shared memory: who writes a row to the default leaf asks
// the scheduler for one.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::tables {

// Asks for the leaves of a queue of this database. True: nobody had asked since the scheduler's
// last pass of maintenance, so the scheduler has to be woken. Takes no lock.
bool ask_for_leaves(int queue_id) noexcept;

// Scheduler: the queues that somebody has asked for and that nobody has answered for.
std::vector<int> requested_leaves();
// The leaves of a queue are made. A row that still goes to its default leaf asks in vain until
// forget_leaf_requests(), or each finish would wake the scheduler.
void leaves_are_made(int queue_id) noexcept;
// A pass of maintenance begins, which looks at all trees.
void forget_leaf_requests() noexcept;

extern const memory::Part leaf_requests_part;

}  // namespace hipq::tables
