// What a node does to come back into step.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// The map and the moves as the router has them (truth_for()), with what follows for this node's
// slots. Both need as_hipq.
void take_slots(int instance_id, int own_node, pg::RawValue truth);

// Numbers of jobs and letters that what was forgotten has given already.
void leave_numbers_out();

}  // namespace hipq::shards
