// Jobs for external workers: the scheduler takes them out of their lane and gives each to the best
// worker there is.
#pragma once

#include "claim/claim.hpp"
#include "external/aim_dispatch.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::external {

// What a scheduler keeps from one dispatch to the next.
struct Dispatcher {
    claim::Claimer claimer;
    std::set<std::int64_t> reported;  // jobs that made trouble, and were logged
    int first_queue = 0;              // whose turn it is to be looked at first
    Aims aims{};
    workers::JobShares
        shares{};  // at the beginning of a way through the lanes, and what was given since
};

// Gives away what is due as long as there are workers for it. The dispatch is the claim, made on
// behalf of the worker, who is told by NOTIFY on its channel when it has committed. It does not
// wait for the disk: a worker that accepts the job does (claim::accept()), and before that nobody
// has begun with it. Own transactions. Whether anything may run in this database the caller has
// asked. Returns when it is worth calling again even if nobody asks for it
// (databases::was_asked_for_dispatch()).
pg::Time dispatch(Dispatcher &dispatcher);

}  // namespace hipq::external
