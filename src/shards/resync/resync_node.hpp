// What a node does to come back into step.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// Takes the router's map and moves (truth_for()), with the consequences for this node's slots. Both
// functions need as_hipq.
void take_slots(int instance_id, int own_node, pg::RawValue truth);

// Skips numbers of jobs and letters that may have been given in the forgotten time.
void leave_numbers_out();

}  // namespace hipq::shards
