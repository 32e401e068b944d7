// Prunes records of jobs that other nodes have refused.
#pragma once

#include "pg/clock.hpp"

namespace hipq::nodes {

// Deletes the oldest rows of hipq.shard_reject whose retention has ended, at most `limit`.
// Duplicates are kept as long as final jobs of their queue, others as long as dead letters. A
// resync asks which jobs a node has refused, so rows since `needed_since` are kept. For
// maintenance; needs a transaction.
void prune_rejects(pg::Time needed_since, int limit);

}  // namespace hipq::nodes
