// Rebalancing: each node's part, the fewest moves, draining.
#include "core/shards/rebalance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

using namespace hipq::core;

namespace {

// The router has all slots.
SlotMap new_map()
{
    return SlotMap{};
}

void carry_out(SlotMap &map, const std::vector<SlotMove> &moves)
{
    for (const SlotMove &move : moves) {
        ASSERT_EQ(map.at(static_cast<std::size_t>(move.slot)), move.from);
        ASSERT_NE(move.from, move.to);
        map.at(static_cast<std::size_t>(move.slot)) = static_cast<std::int16_t>(move.to);
    }
}

SlotMap rebalanced(SlotMap map, const std::vector<NodeWeight> &nodes)
{
    carry_out(map, rebalance(map, nodes));
    return map;
}

int slots_of(const SlotMap &map, int node)
{
    return static_cast<int>(std::count(map.begin(), map.end(), node));
}

std::vector<int> counts(const SlotMap &map, const std::vector<NodeWeight> &nodes)
{
    std::vector<int> result;
    for (const NodeWeight &each : nodes)
        result.push_back(slots_of(map, each.node));
    return result;
}

}  // namespace

TEST(Rebalance, gives_each_node_its_part)
{
    EXPECT_EQ(counts(rebalanced(new_map(), {{0, 1}, {1, 1}}), {{0, 1}, {1, 1}}),
              (std::vector<int>{2'048, 2'048}));
    const std::vector<NodeWeight> unlike{{1, 100}, {2, 200}, {3, 100}};
    const std::vector<int> parts = counts(rebalanced(new_map(), unlike), unlike);
    EXPECT_EQ(parts[1], 2'047) << "a half of those that move, rounded to whole slots";
    EXPECT_EQ(parts[0] + parts[2], 2'048);
}

TEST(Rebalance, never_moves_the_slot_of_the_router)
{
    const std::vector<NodeWeight> nodes{{0, 0}, {1, 1}};
    const SlotMap map = rebalanced(new_map(), nodes);
    EXPECT_TRUE(is_sound(map));
    EXPECT_EQ(slots_of(map, router_node), 1);
    EXPECT_TRUE(is_sound(rebalanced(new_map(), {{1, 1}, {2, 1}}))) << "a router that is not named";
    const std::vector<NodeWeight> light{{0, 1}, {1, 1'000'000}};
    EXPECT_EQ(counts(rebalanced(new_map(), light), light), (std::vector<int>{1, 4'095}));
}

TEST(Rebalance, changes_nothing_where_all_have_their_part)
{
    const std::vector<NodeWeight> nodes{{0, 1}, {1, 1}, {2, 1}};
    EXPECT_TRUE(rebalance(rebalanced(new_map(), nodes), nodes).empty());
    EXPECT_TRUE(rebalance(new_map(), {}).empty());
    EXPECT_TRUE(rebalance(new_map(), {{1, 0}}).empty()) << "nobody to move to";
}

TEST(Rebalance, takes_for_a_new_node_only_what_it_gets)
{
    const SlotMap before = rebalanced(new_map(), {{0, 0}, {1, 1}, {2, 1}, {3, 1}});
    const std::vector<SlotMove> moves = rebalance(before, {{0, 0}, {1, 1}, {2, 1}, {3, 1}, {4, 1}});
    EXPECT_EQ(moves.size(), 1'023U);
    EXPECT_TRUE(
        std::all_of(moves.begin(), moves.end(), [](const SlotMove &each) { return each.to == 4; }));
}

TEST(Rebalance, drains_a_node)
{
    const SlotMap before = rebalanced(new_map(), {{0, 0}, {1, 1}, {2, 1}, {3, 1}});
    const std::vector<SlotMove> moves = rebalance(before, {{0, 0}, {1, 1}, {2, 0}, {3, 1}});
    EXPECT_EQ(moves.size(), static_cast<std::size_t>(slots_of(before, 2)));
    EXPECT_TRUE(std::all_of(moves.begin(), moves.end(),
                            [](const SlotMove &each) { return each.from == 2; }));
    EXPECT_EQ(rebalance(before, {{0, 0}, {1, 1}, {3, 1}}), moves) << "or one that is not named";
}

TEST(Rebalance, rounds_in_favour_of_who_has_the_slot)
{
    const SlotMap before = rebalanced(new_map(), {{0, 1}, {1, 1}, {2, 1}});
    for (const auto &nodes : {std::vector<NodeWeight>{{0, 1}, {1, 1}, {2, 1}},
                              std::vector<NodeWeight>{{2, 1}, {1, 1}, {0, 1}}})
        EXPECT_TRUE(rebalance(before, nodes).empty());
}

TEST(Rebalance, moves_as_little_as_can_be_from_any_map_to_any_weights)
{
    std::mt19937 random{20261126};
    for (int round = 0; round < 200; ++round) {
        SlotMap map = new_map();
        for (int slot = 1; slot < slot_count; ++slot)
            map.at(static_cast<std::size_t>(slot)) = static_cast<std::int16_t>(random() % 7);
        std::vector<NodeWeight> nodes;
        for (int node = 0; node < 6; ++node)
            nodes.push_back({node, static_cast<std::int64_t>(random() % 5)});
        const std::int64_t total = std::accumulate(
            nodes.begin(), nodes.end(), std::int64_t{0},
            [](std::int64_t sum, const NodeWeight &each) { return sum + each.weight; });
        if (total == 0)
            continue;
        const std::vector<SlotMove> moves = rebalance(map, nodes);
        const SlotMap after = rebalanced(map, nodes);
        ASSERT_TRUE(is_sound(after));
        int least = slots_of(map, 6);
        for (const NodeWeight &each : nodes) {
            const double shared = slot_count - (nodes[0].weight == 0 ? 1 : 0);
            const double part =
                shared * static_cast<double>(each.weight) / static_cast<double>(total);
            const int kept = each.node == 0 && each.weight == 0 ? 1 : 0;
            ASSERT_LT(std::abs(slots_of(after, each.node) - kept - part), 1);
            least += std::max(slots_of(map, each.node) - slots_of(after, each.node), 0);
        }
        ASSERT_EQ(moves.size(), static_cast<std::size_t>(least)) << "nobody gets what it gives";
    }
}
