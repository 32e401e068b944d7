// The limit on data that waits for another node.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::nodes {

// The replication slot on this node that keeps the data on its way to another node.
std::string slot_for(const catalog::Shards &shards, int node);

// Raises 53400 if more WAL than hipq.outbox_max is kept for a node that does not read it. The disk
// is shared by all, so the session that would add to it gets the error; data that is already on its
// way is not held up.
void demand_room(const catalog::Queue &queue, int node);

}  // namespace hipq::nodes
