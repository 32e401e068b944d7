// Decides which slots move, so that each node has its part of them.
#pragma once

#include "core/shards/route.hpp"

#include <vector>

namespace hipq::core {

// A weight of 0 drains a node: all its slots go to others. (The router always keeps its own slot,
// and has no other at weight 0.)
struct NodeWeight {
    int node;
    std::int64_t weight;  // at most 1,000,000
};

inline constexpr std::int64_t greatest_node_weight = 1'000'000;

struct SlotMove {
    int slot;
    int from;
    int to;
    bool operator==(const SlotMove &) const = default;
};

// Returns how many slots each node should have, in the same order: its part by weight, rounded down
// or up, in the way that needs the fewest moves. Empty if no node has a weight.
std::vector<int> fair_slot_counts(const SlotMap &map, const std::vector<NodeWeight> &nodes);

// Returns the fewest moves that give each node its part, ordered by slot. Slots of nodes that are
// not in the list move as well. `nodes` contains each node once. The same arguments yield the same
// moves.
std::vector<SlotMove> rebalance(const SlotMap &map, const std::vector<NodeWeight> &nodes);

}  // namespace hipq::core
