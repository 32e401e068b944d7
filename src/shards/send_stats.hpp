// What each node tells its router of its queues.
#pragma once

#include "catalog/catalog.hpp"
#include "shards/receive.hpp"

namespace hipq::shards {

// Sends the figures of the queues of each sharded instance to its router if they are others than
// when they were last sent, at most each two seconds. A duty of the scheduler; no transaction open.
// Returns when to look again; infinity: nothing goes on here.
pg::Time send_stats(const catalog::Catalogue &catalogue);

// Keeps the last figures of a shard, for view hipq.cluster_queues.
void take_stats(const Letter &letter);

}  // namespace hipq::shards
