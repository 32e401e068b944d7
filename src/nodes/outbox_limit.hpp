// How much may wait for another node.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::nodes {

// The replication slot that keeps, on this node, what is on its way to another.
std::string slot_for(const catalog::Shards &shards, int node);

// Raises 53400 if more WAL than hipq.outbox_max is kept for a node that does not read it. Its disk
// is everybody's, so whoever makes more of it is told; what goes elsewhere is not held up.
void demand_room(const catalog::Queue &queue, int node);

}  // namespace hipq::nodes
