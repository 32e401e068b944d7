// Jobs that another node has sent.
#pragma once

#include "shards/receive.hpp"

namespace hipq::shards {

// Enqueues jobs whose slots are this node's; sends others on to their nodes. Jobs that are not
// valid are written to hipq.shard_reject, here and at the sender.
void take_jobs(const Letter &letter);

}  // namespace hipq::shards
