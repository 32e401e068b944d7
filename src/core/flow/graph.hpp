// The order of the jobs of a graph: each behind the jobs that it comes after.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/job/validate.hpp"

namespace hipq::core {

struct GraphNode {
    std::string name;
    std::vector<std::string> after;  // names of other nodes
};

struct GraphOrder {
    // Places in the list of nodes. Of nodes that could come next, the first in the list comes
    // first.
    std::vector<std::size_t> order{};
    // For each node of the list, the places of those that it comes after; none twice.
    std::vector<std::vector<std::size_t>> after{};
};

// Returns the problem of a graph that has none: a name that is missing, is a number or occurs
// twice, a node that comes after an unknown one or itself, or a cycle, with its path. Else fills in
// `order`.
std::optional<Problem> order_graph(const std::vector<GraphNode> &nodes, GraphOrder &order);

}  // namespace hipq::core
