// Searches in the star: the router asks all shards, a shard asks the router.
#include "core/shards/search.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

bool contains(std::span<const int> nodes, int node)
{
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// The shards among `nodes`, each once, in their order.
std::vector<int> known_among(std::initializer_list<std::optional<int>> nodes,
                             std::span<const int> shards)
{
    std::vector<int> known;
    for (const std::optional<int> &node : nodes)
        if (node.has_value() && contains(shards, *node) && !contains(known, *node))
            known.push_back(*node);
    return known;
}

}  // namespace

SearchPlan search_plan(std::int64_t id, int own_node, const SlotPlace &place,
                       std::span<const int> shards)
{
    const auto parts = decompose_id(id);
    if (!parts.has_value())
        return {};
    if (own_node != router_node)
        return {{router_node}, {}, {}};
    SearchPlan plan;
    if (parts->slot == router_slot) {
        plan.senders = known_among({parts->node}, shards);
        return plan;
    }
    plan.ask = known_among({place.owner, place.left, parts->node}, shards);
    for (const int shard : shards)
        if (!contains(plan.ask, shard))
            plan.ask.push_back(shard);
    plan.senders = plan.receivers = plan.ask;
    return plan;
}

}  // namespace hipq::core
