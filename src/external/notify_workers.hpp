// Notifies external workers of the jobs that they are offered.
#pragma once

#include "shared/workers/offers.hpp"

#include <span>

namespace hipq::external {

// Notifies each worker once, in a transaction of its own. A database error becomes a WARNING: a
// worker that misses the notification finds its jobs when it polls.
void notify_workers(std::span<const workers::NewOffer> given);

}  // namespace hipq::external
