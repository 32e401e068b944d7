// Whom a node asks about a job that it has not, and who has to be heard out before it may say that
// there is none.
#pragma once

#include "core/shards/route.hpp"

#include <optional>
#include <span>
#include <vector>

namespace hipq::core {

struct SearchPlan {
    // In this order: where the job most likely is comes first. Running and final jobs stay where
    // they were when their slot moved, so any node may have it.
    std::vector<int> ask;
    // Nodes that may have it in their outbox, on its way to the router. What they have sent has to
    // be read before the others are asked again.
    std::vector<int> senders;
    // Nodes to which it may be on its way from the router.
    std::vector<int> receivers;
    bool operator==(const SearchPlan &) const = default;
};

// From a node. `left`: the node that the slot of the job is just leaving, as the router knows.
// `shards`: those that the router has; a shard knows the router alone, and asks it, which asks on.
// Nothing to do for an id that no job elsewhere can have.
SearchPlan search_plan(std::int64_t id, const SlotMap &map, int own_node, std::optional<int> left,
                       std::span<const int> shards);

}  // namespace hipq::core
