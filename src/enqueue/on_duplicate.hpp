// What an enqueuer does to the unfinished job that holds the key of a new one, other than to return
// its id.
#pragma once

#include "enqueue/successor.hpp"

namespace hipq::enqueue {

// Changes the waiting job that holds the newcomer's key, in the current transaction, or makes the
// newcomer the successor of a running one. Nothing: no job holds the key, or only a job that runs
// in this session, for whose successor an insert makes room. Waits for another transaction that is
// changing the job, but never for the handler of a job: raises 55006 for a job that runs. Otherwise
// raises what an UPDATE or INSERT by the caller would raise.
std::optional<Enqueued> apply_on_duplicate(const Newcomer &newcomer, OnDuplicate on_duplicate);

}  // namespace hipq::enqueue
