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
    // Before the others are asked again: what the router has sent to these is read, then what they
    // have sent, then what the router has sent since. So a job that was sent by an older map, to a
    // node that its slot has left, is where it belongs: also if nobody knows of that move any more.
    std::vector<int> receivers;
    std::vector<int> senders;
    bool operator==(const SearchPlan &) const = default;
};

// What the router's map says of a slot.
struct SlotPlace {
    std::int64_t generation = 0;  // of the map: how often slots have begun to move
    int owner = router_node;
    std::optional<int> left{};                           // the node that it is just leaving
    bool operator==(const SlotPlace &) const = default;  // NOLINT(modernize-use-nullptr)
};

// From a node. `place`: of the slot of the job, as the router knows. `shards`: those that the
// router has; a shard knows the router alone, and asks it, which asks on. Nothing to do for an id
// that no job elsewhere can have.
SearchPlan search_plan(std::int64_t id, int own_node, const SlotPlace &place,
                       std::span<const int> shards);

}  // namespace hipq::core
