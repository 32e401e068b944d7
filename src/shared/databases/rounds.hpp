// When the scheduler of each database has last gone through all its queues
// (core/process/round.hpp): a scheduler that leaves and comes back goes on from there.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::databases {

// Scheduler: when the last round ended, by hipq's clock; 0: there was none since the server
// started.
pg::Time last_round();
void round_done(pg::Time end);

extern const memory::Part rounds_part;

}  // namespace hipq::databases
