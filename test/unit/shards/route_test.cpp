// Which key determines a job's node, and which node it is.
#include "core/shards/route.hpp"

#include <gtest/gtest.h>

#include <array>

using namespace hipq::core;

namespace {

constexpr Placement by_shard_key{};
constexpr Placement unique_everywhere{UniqueScope::everywhere, ThrottleMode::permits};
constexpr Placement at_home{UniqueScope::shard_key, ThrottleMode::home};
constexpr Placement at_home_and_unique{UniqueScope::everywhere, ThrottleMode::home};

constexpr PlacedJob keyed_of_tenant{"mail", "tenant-1", "welcome", "ann", 7};
constexpr PlacedJob of_tenant{"mail", "tenant-1", "welcome", "NONE", 7};
constexpr PlacedJob keyed{"mail", "NONE", "welcome", "ann", 7};
constexpr PlacedJob plain{"mail", "NONE", "welcome", "NONE", 7};

SlotMap map_of(int node)
{
    SlotMap map;
    map.fill(static_cast<std::int16_t>(node));
    map[router_slot] = router_node;
    return map;
}

}  // namespace

TEST(PlacementKey, is_the_shard_key_if_there_is_one)
{
    EXPECT_EQ(placement_key(by_shard_key, keyed_of_tenant), "tenant-1");
    EXPECT_EQ(placement_key(by_shard_key, of_tenant), "tenant-1");
}

TEST(PlacementKey, is_type_and_key_without_a_shard_key)
{
    EXPECT_EQ(placement_key(by_shard_key, keyed), "welcome\x1f"
                                                  "ann");
    EXPECT_EQ(slot_of(placement_key(by_shard_key, keyed)), 421) << "as in docs/reference/slots.md";
}

TEST(PlacementKey, is_the_sequence_number_without_any_key)
{
    EXPECT_EQ(placement_key(by_shard_key, plain), "7");
    EXPECT_EQ(placement_key(unique_everywhere, plain), "7");
}

TEST(PlacementKey, is_type_and_key_where_these_are_unique_in_the_whole_queue)
{
    EXPECT_EQ(placement_key(unique_everywhere, keyed_of_tenant), "welcome\x1f"
                                                                 "ann");
    EXPECT_EQ(placement_key(unique_everywhere, of_tenant), "tenant-1") << "no key, so not unique";
}

TEST(PlacementKey, is_the_queue_where_its_jobs_stay_together)
{
    for (const Placement &placement : {at_home, at_home_and_unique})
        for (const PlacedJob &job : {keyed_of_tenant, of_tenant, keyed, plain})
            EXPECT_EQ(placement_key(placement, job), "mail");
}

TEST(UniqueScope, has_two_names)
{
    EXPECT_EQ(parse_unique_scope("global"), UniqueScope::everywhere);
    EXPECT_EQ(parse_unique_scope("shard_key"), UniqueScope::shard_key);
    for (const char *other : {"", "NONE", "queue", "GLOBAL", "shard_key "})
        EXPECT_FALSE(parse_unique_scope(other).has_value()) << other;
}

TEST(KeyScope, is_the_shard_key_or_the_whole_queue)
{
    EXPECT_EQ(key_scope(UniqueScope::shard_key, "tenant-1"), "tenant-1");
    EXPECT_EQ(key_scope(UniqueScope::shard_key, "NONE"), "NONE");
    EXPECT_EQ(key_scope(UniqueScope::everywhere, "tenant-1"), "NONE");
}

// Otherwise two nodes could have one such job each.
TEST(KeyScope, puts_jobs_that_may_not_be_two_into_one_slot)
{
    constexpr std::array placements{by_shard_key, unique_everywhere, at_home, at_home_and_unique};
    constexpr std::array shard_keys{"NONE", "", "tenant-1", "tenant-2", "ann", "welcome"};
    constexpr std::array keys{"ann", "bob", "tenant-1"};
    for (const Placement &placement : placements)
        for (const char *key : keys)
            for (const char *first : shard_keys)
                for (const char *second : shard_keys) {
                    if (key_scope(placement.unique_scope, first) !=
                        key_scope(placement.unique_scope, second))
                        continue;
                    EXPECT_EQ(placement_key(placement, {"mail", first, "welcome", key, 7}),
                              placement_key(placement, {"mail", second, "welcome", key, 8}))
                        << first << ' ' << second;
                }
}

TEST(Route, leads_from_the_router_to_the_shard)
{
    EXPECT_EQ(route(map_of(3), router_node, 5), (Route{Way::shard, 3}));
    EXPECT_EQ(route(map_of(3), router_node, router_slot), (Route{Way::own, router_node}));
}

TEST(Route, leads_from_a_shard_to_the_router)
{
    EXPECT_EQ(route(map_of(3), 3, 5), (Route{Way::own, 3}));
    EXPECT_EQ(route(map_of(3), 2, 5), (Route{Way::router, router_node}));
    EXPECT_EQ(route(map_of(3), 3, router_slot), (Route{Way::router, router_node}));
}

TEST(Route, is_unknown_by_a_damaged_map)
{
    EXPECT_EQ(route(map_of(-1), router_node, 5).way, Way::unknown);
    EXPECT_EQ(route(map_of(node_count), 2, 5).way, Way::unknown);
}

TEST(SlotMap, is_sound_if_nodes_are_within_bounds_and_the_router_has_its_slot)
{
    EXPECT_TRUE(is_sound(map_of(3)));
    EXPECT_TRUE(is_sound(map_of(node_count - 1)));
    EXPECT_FALSE(is_sound(map_of(node_count)));
    EXPECT_FALSE(is_sound(map_of(-1)));
    SlotMap map = map_of(3);
    map[router_slot] = 3;
    EXPECT_FALSE(is_sound(map));
}
