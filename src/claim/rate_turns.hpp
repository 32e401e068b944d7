// The rates of a type, for rooms that look at them in shared memory.
#pragma once

#include "claim/claim.hpp"

namespace hipq::claim {

// The rates of a type in its queue.
core::StartRates rates_of(const catalog::Queue &queue, const catalog::JobType &type);

}  // namespace hipq::claim
