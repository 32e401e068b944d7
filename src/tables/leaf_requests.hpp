// Requests for leaves, in shared memory: a process that writes a final job to the default leaf asks
// the scheduler for the missing leaf.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::tables {

// Asks for the leaves of a queue of this database. Returns true if no process has asked since the
// scheduler's last pass of maintenance; the caller must then wake the scheduler. Takes no lock.
bool ask_for_leaves(int queue_id) noexcept;

// For the scheduler: the queues with requests that are not answered yet.
std::vector<int> requested_leaves();
// Marks a request as answered: the leaves exist. Until forget_answered_requests(), further requests
// for the queue, from rows that still go to the default leaf, do not wake the scheduler: otherwise
// every finish would.
void leaves_are_made(int queue_id) noexcept;
// Deletes the answered requests, once a minute: rows that still go to the default leaf then request
// leaves again. A request that is not answered stays: the scheduler may not have seen it yet.
void forget_answered_requests() noexcept;

extern const memory::Part leaf_requests_part;

}  // namespace hipq::tables
