// Which nodes to ask about a job that this node does not have, and whose messages must be read
// before this node may report that there is no such job.
#pragma once

#include "core/shards/route.hpp"

#include <optional>
#include <span>
#include <vector>

namespace hipq::core {

struct SearchPlan {
    // In this order: the most likely node comes first. Running and final jobs stay where they were
    // when their slot moved, so any node may have the job.
    std::vector<int> ask;
    // Before these are asked a second time, the receivers read what the router has sent, then the
    // router reads what the senders have sent, then the receivers read what the router has sent
    // since. So a job that was sent by an older map, to a node that its slot has left, has reached
    // its place, even if no node remembers that move.
    std::vector<int> receivers;
    std::vector<int> senders;
    bool operator==(const SearchPlan &) const = default;
};

// The entry of a slot in the router's map.
struct SlotPlace {
    std::int64_t generation = 0;  // of the map: how often slots have begun to move
    int owner = router_node;
    std::optional<int> left{};                           // the node that it is just leaving
    bool operator==(const SlotPlace &) const = default;  // NOLINT(modernize-use-nullptr)
};

// Returns the plan for a node. `place`: of the job's slot, as known to the router. `shards`: all
// shards of the router. A shard knows only the router and asks it; the router then asks the others.
// The plan is empty for an id that no job on another node can have.
SearchPlan search_plan(std::int64_t id, int own_node, const SlotPlace &place,
                       std::span<const int> shards);

}  // namespace hipq::core
