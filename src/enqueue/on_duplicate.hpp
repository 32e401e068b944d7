// What an enqueuer does to the unfinished job that holds his key, where he wants more than its id.
#pragma once

#include "enqueue/successor.hpp"

namespace hipq::enqueue {

// Changes the waiting job that holds the newcomer's key, in the current transaction, or makes the
// newcomer the successor of one that runs. Nothing: nobody holds the key, or only the job that runs
// in this session, for whose successor an insert makes room. Whoever else is changing the job at
// this moment is waited for, but never the handler of a job: 55006 for one that runs. Otherwise
// raises what an UPDATE or INSERT by the caller would raise.
std::optional<Enqueued> apply_on_duplicate(const Newcomer &newcomer, OnDuplicate on_duplicate);

}  // namespace hipq::enqueue
