// Computes parts by weight, then moves slots from nodes that have too many to nodes that have too
// few.
#include "core/shards/rebalance.hpp"

#include <algorithm>
#include <numeric>

namespace hipq::core {

namespace {

constexpr std::size_t unlisted = SIZE_MAX;

std::size_t position_of(const std::vector<NodeWeight> &nodes, int node)
{
    const auto found = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const NodeWeight &each) { return each.node == node; });
    return found == nodes.end() ? unlisted : static_cast<std::size_t>(found - nodes.begin());
}

// Returns the position of the node of each slot.
std::vector<std::size_t> owners(const SlotMap &map, const std::vector<NodeWeight> &nodes)
{
    std::vector<std::size_t> position(node_count, unlisted);
    for (int node = 0; node < node_count; ++node)
        position[static_cast<std::size_t>(node)] = position_of(nodes, node);
    std::vector<std::size_t> result;
    result.reserve(map.size());
    for (const int node : map)
        result.push_back(node >= 0 && node < node_count ? position[static_cast<std::size_t>(node)]
                                                        : unlisted);
    return result;
}

std::vector<int> counts_now(const SlotMap &map, const std::vector<NodeWeight> &nodes)
{
    std::vector<int> counts(nodes.size(), 0);
    for (const std::size_t owner : owners(map, nodes))
        if (owner != unlisted)
            ++counts[owner];
    return counts;
}

// The number of slots that are divided by weight. A router without weight keeps one for itself.
int shared_slots(const std::vector<NodeWeight> &nodes)
{
    const std::size_t router = position_of(nodes, router_node);
    return router != unlisted && nodes[router].weight > 0 ? slot_count : slot_count - 1;
}

// A part of the slots: whole ones, and the remainder.
struct Part {
    int whole;
    std::int64_t rest;
};

std::vector<Part> parts(const std::vector<NodeWeight> &nodes, std::int64_t total)
{
    const std::int64_t shared = shared_slots(nodes);
    std::vector<Part> result;
    result.reserve(nodes.size());
    for (const NodeWeight &each : nodes)
        result.push_back(
            {static_cast<int>(shared * each.weight / total), shared * each.weight % total});
    return result;
}

// The nodes whose part has a remainder: first those that have the extra slot already, then by size
// of the remainder.
std::vector<std::size_t> order_of_rounding(const std::vector<Part> &part,
                                           const std::vector<int> &now)
{
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < part.size(); ++i)
        if (part[i].rest > 0)
            order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const bool a_has = now[a] > part[a].whole;
        const bool b_has = now[b] > part[b].whole;
        return a_has != b_has ? a_has : part[a].rest > part[b].rest;
    });
    return order;
}

// A router that would get no slot keeps its own.
void keep_router_slot(std::vector<int> &counts, const std::vector<NodeWeight> &nodes)
{
    const std::size_t router = position_of(nodes, router_node);
    if (router == unlisted || counts[router] > 0)
        return;
    counts[router] = 1;
    const auto most = std::max_element(counts.begin(), counts.end());
    if (nodes[router].weight > 0)
        --*most;
}

}  // namespace

std::vector<int> fair_slot_counts(const SlotMap &map, const std::vector<NodeWeight> &nodes)
{
    const std::int64_t total =
        std::accumulate(nodes.begin(), nodes.end(), std::int64_t{0},
                        [](std::int64_t sum, const NodeWeight &each) { return sum + each.weight; });
    if (total <= 0)
        return {};
    const std::vector<Part> part = parts(nodes, total);
    std::vector<int> counts;
    counts.reserve(part.size());
    for (const Part &each : part)
        counts.push_back(each.whole);
    int left = shared_slots(nodes) - std::accumulate(counts.begin(), counts.end(), 0);
    for (const std::size_t each : order_of_rounding(part, counts_now(map, nodes)))
        if (left-- > 0)
            ++counts[each];
    keep_router_slot(counts, nodes);
    return counts;
}

std::vector<SlotMove> rebalance(const SlotMap &map, const std::vector<NodeWeight> &nodes)
{
    const std::vector<int> wanted = fair_slot_counts(map, nodes);
    if (wanted.empty())
        return {};
    const std::vector<int> now = counts_now(map, nodes);
    std::vector<int> missing(nodes.size());
    std::transform(wanted.begin(), wanted.end(), now.begin(), missing.begin(), std::minus<>());
    const std::vector<std::size_t> owner = owners(map, nodes);
    std::vector<SlotMove> moves;
    std::size_t to = 0;
    for (int slot = router_slot + 1; slot < slot_count; ++slot) {
        const std::size_t from = owner[static_cast<std::size_t>(slot)];
        if (from != unlisted && missing[from] >= 0)
            continue;
        while (to < missing.size() && missing[to] <= 0)
            ++to;
        if (to == missing.size())
            break;
        --missing[to];
        if (from != unlisted)
            ++missing[from];
        moves.push_back({slot, map[static_cast<std::size_t>(slot)], nodes[to].node});
    }
    return moves;
}

}  // namespace hipq::core
