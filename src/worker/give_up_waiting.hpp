// Jobs for which there is no external worker, and whose type says how long they wait for one.
#pragma once

#include "storage/catalogue.hpp"

namespace hipq::worker {

// Fails those that have been due for longer than that (worker_unavailable): the policy decides what follows. Own transactions.
// Returns when to be called again.
pg::Time give_up_waiting(const storage::Catalogue &catalogue);

}  // namespace hipq::worker
