// Orders the jobs of a graph, and finds a cycle if there is one.
#include "core/flow/graph.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>

namespace hipq::core {

namespace {

constexpr std::size_t longest_name = 255;  // bytes

using Places = std::unordered_map<std::string_view, std::size_t>;

Problem graph_problem(std::string message, std::string hint)
{
    return {Problem::Kind::invalid_value, std::move(message), std::move(hint)};
}

// Numbers are ids of jobs. An empty name counts as one.
bool is_number(const std::string &name)
{
    return name.find_first_not_of("0123456789") == std::string::npos;
}

std::optional<Problem> find_places(const std::vector<GraphNode> &nodes, Places &places)
{
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::string &name = nodes[i].name;
        if (is_number(name) || name.size() > longest_name)
            return graph_problem("job " + std::to_string(i + 1) + " of the graph has no valid name",
                                 "Give each job a name of 1 to 255 bytes that is not a number.");
        if (!places.emplace(name, i).second)
            return graph_problem("the graph has two jobs named \"" + name + "\"",
                                 "Give each job a name of its own.");
    }
    return std::nullopt;
}

std::optional<Problem> find_earlier(const std::vector<GraphNode> &nodes, const Places &places,
                                    GraphOrder &order)
{
    order.after.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        std::vector<std::size_t> &earlier = order.after[i];
        for (const std::string &name : nodes[i].after) {
            const auto found = places.find(name);
            if (found == places.end())
                return graph_problem(
                    "job \"" + nodes[i].name + "\" comes after \"" + name +
                        "\", which the graph does not have",
                    "Name jobs of the graph, or give the id of a job as a number.");
            earlier.push_back(found->second);
        }
        std::ranges::sort(earlier);
        earlier.erase(std::unique(earlier.begin(), earlier.end()), earlier.end());
    }
    return std::nullopt;
}

// Every node that is left comes after another one that is left, so going back leads to a cycle.
Problem cycle_of(const std::vector<GraphNode> &nodes, const GraphOrder &order,
                 const std::vector<std::size_t> &left)
{
    std::vector<std::size_t> path;
    std::vector<bool> is_on_path(nodes.size(), false);
    std::size_t at = 0;
    while (left[at] == 0)
        ++at;
    while (!is_on_path[at]) {
        is_on_path[at] = true;
        path.push_back(at);
        at = *std::ranges::find_if(order.after[at], [&](std::size_t i) { return left[i] > 0; });
    }
    std::string text = nodes[at].name;
    for (std::size_t i = path.size(); path[--i] != at;)
        text += " -> " + nodes[path[i]].name;
    return graph_problem("jobs of the graph come after each other: " + text + " -> " +
                             nodes[at].name,
                         "Take one of these dependencies out.");
}

}  // namespace

std::optional<Problem> order_graph(const std::vector<GraphNode> &nodes, GraphOrder &order)
{
    Places places;
    if (auto problem = find_places(nodes, places))
        return problem;
    if (auto problem = find_earlier(nodes, places, order))
        return problem;
    std::vector<std::vector<std::size_t>> later(nodes.size());
    std::vector<std::size_t> left(nodes.size());  // jobs before a node that are not in order yet
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        left[i] = order.after[i].size();
        for (const std::size_t earlier : order.after[i])
            later[earlier].push_back(i);
        if (left[i] == 0)
            ready.push(i);
    }
    while (!ready.empty()) {
        const std::size_t next = ready.top();
        ready.pop();
        order.order.push_back(next);
        for (const std::size_t i : later[next])
            if (--left[i] == 0)
                ready.push(i);
    }
    if (order.order.size() < nodes.size())
        return cycle_of(nodes, order, left);
    return std::nullopt;
}

}  // namespace hipq::core
