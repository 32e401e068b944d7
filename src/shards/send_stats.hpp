// The figures of its queues that each node sends to its router.
#pragma once

#include "catalog/catalog.hpp"
#include "shards/receive.hpp"

namespace hipq::shards {

// Sends the figures of the queues of each sharded instance to its router if they have changed since
// they were last sent, at most every two seconds. A duty of the scheduler; call with no transaction
// open. Returns when to look again; infinity: nothing goes on here.
pg::Time send_stats(const catalog::Catalogue &catalogue);

// Keeps the last figures of a shard, for view hipq.cluster_queues.
void take_stats(const Letter &letter);

}  // namespace hipq::shards
