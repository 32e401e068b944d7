// Which nodes are queried about a job, and in which order.
#include "core/shards/search.hpp"

#include "core/shards/ids.hpp"

#include <gtest/gtest.h>

using namespace hipq::core;

namespace {

constexpr int slot = 17;
constexpr std::array<int, 4> shards{1, 2, 3, 4};

SlotPlace owned_by(int owner)
{
    return {1, owner, {}};
}
SlotPlace moving(int from, int to)
{
    return {2, to, from};
}

std::int64_t id_of(int of_slot, int born_on)
{
    return compose_id({of_slot, born_on, 5}).value();
}

using Nodes = std::vector<int>;

}  // namespace

TEST(SearchPlan, asks_the_owner_of_the_slot_first)
{
    EXPECT_EQ(search_plan(id_of(slot, router_node), 0, owned_by(3), shards).ask,
              (Nodes{3, 1, 2, 4}));
}

TEST(SearchPlan, asks_the_node_that_the_slot_leaves_and_that_of_birth_next)
{
    EXPECT_EQ(search_plan(id_of(slot, 4), 0, moving(2, 3), shards).ask, (Nodes{3, 2, 4, 1}));
}

TEST(SearchPlan, asks_each_node_once)
{
    EXPECT_EQ(search_plan(id_of(slot, 3), 0, moving(3, 3), shards).ask, (Nodes{3, 1, 2, 4}));
}

TEST(SearchPlan, waits_for_all_it_asks)
{
    const SearchPlan plan = search_plan(id_of(slot, router_node), 0, owned_by(3), shards);
    EXPECT_EQ(plan.receivers, plan.ask) << "a late transaction may have sent it by an older map";
    EXPECT_EQ(plan.senders, plan.ask) << "so it comes back from there";
}

TEST(SearchPlan, asks_nobody_for_a_job_of_the_router)
{
    EXPECT_EQ(search_plan(7, 0, owned_by(3), shards), SearchPlan{}) << "a plain id";
    EXPECT_EQ(search_plan(id_of(router_slot, router_node), 0, owned_by(3), shards), SearchPlan{});
    EXPECT_EQ(search_plan(id_of(router_slot, 2), 0, owned_by(3), shards), (SearchPlan{{}, {}, {2}}))
        << "one that was enqueued on a shard may be on its way";
}

TEST(SearchPlan, asks_only_nodes_that_are_there)
{
    EXPECT_EQ(search_plan(id_of(slot, 9), 0, moving(7, 8), shards).ask, (Nodes{1, 2, 3, 4}));
    EXPECT_EQ(search_plan(id_of(slot, 0), 0, owned_by(0), {}), SearchPlan{});
}

TEST(SearchPlan, of_a_shard_asks_the_router)
{
    EXPECT_EQ(search_plan(id_of(slot, 2), 2, owned_by(3), {}), (SearchPlan{{router_node}, {}, {}}));
    EXPECT_EQ(search_plan(7, 2, owned_by(3), {}), (SearchPlan{{router_node}, {}, {}}));
}

TEST(SearchPlan, asks_nobody_for_what_is_no_id)
{
    for (const std::int64_t id : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 41})
        EXPECT_EQ(search_plan(id, 0, owned_by(3), shards), SearchPlan{}) << id;
}
