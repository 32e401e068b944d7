// The figures of its queues that each node sends to its router.
#pragma once

#include "catalog/cache.hpp"
#include "shards/receive.hpp"
#include "shards/shards.hpp"

namespace hipq::shards {

// Keeps the last figures of a shard, for view hipq.cluster_queues.
void take_stats(const Letter &letter);

}  // namespace hipq::shards
