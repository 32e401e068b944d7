// When the scheduler of each database last finished a round over all its queues
// (core/process/round.hpp). A scheduler that leaves and comes back continues from there.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::databases {

// For the scheduler: when the last round ended, by hipq's clock; 0: none since the server started.
pg::Time last_round();
void round_done(pg::Time end);

extern const memory::Part rounds_part;

}  // namespace hipq::databases
