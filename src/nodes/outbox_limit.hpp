// The limit on data that waits for another node.
#pragma once

#include "catalog/cache.hpp"
#include "nodes/nodes.hpp"

namespace hipq::nodes {

// The replication slot on this node that keeps the data on its way to another node.
std::string slot_for(const catalog::Shards &shards, int node);

}  // namespace hipq::nodes
