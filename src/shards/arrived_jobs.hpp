// Jobs that another node has sent.
#pragma once

#include "shards/receive.hpp"

namespace hipq::shards {

// Those whose slots are this node's are enqueued; others go on to whose they are. What does not fit
// is written to hipq.shard_reject, here and at the sender.
void take_jobs(const Letter &letter);

}  // namespace hipq::shards
