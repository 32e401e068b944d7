// Which slots move, so that each node has its part of them.
#pragma once

#include "core/shards/route.hpp"

#include <vector>

namespace hipq::core {

// A weight of 0 drains a node: all its slots go to others. (The router keeps its own slot in any
// case, and has none beside it at weight 0.)
struct NodeWeight {
    int node;
    std::int64_t weight;  // 1,000,000 at most
};

inline constexpr std::int64_t greatest_node_weight = 1'000'000;

struct SlotMove {
    int slot;
    int from;
    int to;
    bool operator==(const SlotMove &) const = default;
};

// How many slots each of the nodes should have, in their order: its part by weight, rounded down or
// up. Of several ways to round, the one with the fewest moves. Empty if no node has a weight.
std::vector<int> fair_slot_counts(const SlotMap &map, const std::vector<NodeWeight> &nodes);

// The fewest moves that give each node its part, in the order of slots. Slots of nodes that are not
// in the list move as well. `nodes` names each node once. The same arguments give the same moves.
std::vector<SlotMove> rebalance(const SlotMap &map, const std::vector<NodeWeight> &nodes);

}  // namespace hipq::core
