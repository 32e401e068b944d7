// Notifies external workers of the jobs that they were given.
#pragma once

#include "shared/workers/jobs.hpp"

#include <span>

namespace hipq::external {

// Tells each worker once, in a transaction of its own. A database error is a WARNING: a worker that
// hears nothing finds its jobs when it polls.
void notify_workers(std::span<const workers::Dispatched> given);

}  // namespace hipq::external
