// Jobs that no external worker could be given in time: their type says how long they wait for one.
#pragma once

#include "storage/finish.hpp"

namespace hipq::worker {

// Fails those that have been due for longer than that (worker_unavailable): the policy decides what follows. Own transactions.
// Returns when to be called again.
pg::Time give_up_waiting(const storage::Catalogue &catalogue);

// Fails waiting jobs of a queue that nobody could be given, each that still waits: the policy decides what follows. One that
// cannot be failed is set aside. Own transactions.
void give_up(const storage::Queue &queue, std::span<const storage::DueJob> waiting, const storage::Failure &failure,
             pg::Time now);

}  // namespace hipq::worker
