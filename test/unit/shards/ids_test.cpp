// Job ids in sharded instances: parts, bounds, ids without a node.
#include "core/shards/ids.hpp"

#include <gtest/gtest.h>

#include <limits>

using namespace hipq::core;

TEST(Ids, have_their_parts_in_the_documented_bits)
{
    EXPECT_EQ(compose_id({0, 0, 1}), 1);
    constexpr std::int64_t first_sequence = (std::int64_t{1} << 41) + (std::int64_t{1} << 22);
    EXPECT_EQ(compose_id({0, 1, 1}), first_sequence + (1 << 12));
    EXPECT_EQ(compose_id({1, 0, 1}), first_sequence + 1);
    EXPECT_EQ(compose_id({4'095, 1'023, 1}), first_sequence + (1 << 22) - 1);
    EXPECT_EQ(compose_id({5, 3, 2}), first_sequence + (1 << 22) + (3 << 12) + 5);
    EXPECT_EQ(compose_id({4095, 1023, largest_sequence}), std::numeric_limits<std::int64_t>::max());
}

TEST(Ids, come_apart_as_they_were_composed)
{
    for (const int slot : {0, 1, 2'047, 2'048, 4'095})
        for (const int node : {0, 1, 511, 512, 1'023})
            for (const std::int64_t sequence :
                 {std::int64_t{1}, std::int64_t{12'345}, largest_sequence}) {
                const JobId parts{slot, node, sequence};
                const auto id = compose_id(parts);
                ASSERT_TRUE(id.has_value());
                EXPECT_GT(*id, 0);
                EXPECT_EQ(decompose_id(*id), parts);
            }
}

TEST(Ids, are_refused_out_of_bounds)
{
    EXPECT_EQ(compose_id({-1, 0, 1}), std::nullopt);
    EXPECT_EQ(compose_id({slot_count, 0, 1}), std::nullopt);
    EXPECT_EQ(compose_id({0, -1, 1}), std::nullopt);
    EXPECT_EQ(compose_id({0, node_count, 1}), std::nullopt);
    EXPECT_EQ(compose_id({0, 0, 0}), std::nullopt);
    EXPECT_EQ(compose_id({0, 0, largest_sequence + 1}), std::nullopt) << "used up";
}

TEST(Ids, that_no_job_has_do_not_come_apart)
{
    EXPECT_EQ(decompose_id(0), std::nullopt);
    EXPECT_EQ(decompose_id(-1), std::nullopt);
    EXPECT_EQ(decompose_id(std::numeric_limits<std::int64_t>::min()), std::nullopt);
    EXPECT_EQ(decompose_id(first_id), std::nullopt) << "a sequence of 0";
    EXPECT_EQ(decompose_id(first_id + (1 << 22) - 1), std::nullopt) << "a sequence of 0";
}

TEST(Ids, of_one_node_grow)
{
    for (const std::int64_t sequence : {std::int64_t{1}, std::int64_t{999}, largest_sequence - 1})
        EXPECT_LT(compose_id({4'095, 1, sequence}).value(),
                  compose_id({1, 1, sequence + 1}).value());
}

TEST(Ids, of_before_are_those_of_the_router)
{
    EXPECT_EQ(decompose_id(4'711), (JobId{router_slot, router_node, 4'711}));
    EXPECT_TRUE(is_plain_id(4'711));
    EXPECT_TRUE(is_plain_id(first_id - 1));
    EXPECT_EQ(decompose_id(first_id - 1), (JobId{router_slot, router_node, first_id - 1}));
    EXPECT_FALSE(is_plain_id(first_id));
    EXPECT_FALSE(is_plain_id(compose_id({0, 1, 1}).value()));
    EXPECT_FALSE(is_plain_id(compose_id({1, 0, 1}).value()));
    EXPECT_FALSE(is_plain_id(0));
    EXPECT_EQ(compose_id({0, 0, 4'711}), 4'711);
}

TEST(Ids, leave_a_gap_behind_a_promotion)
{
    EXPECT_EQ(sequence_after_promotion(5), 5 + promotion_gap);
    EXPECT_EQ(sequence_after_promotion(largest_sequence - promotion_gap), largest_sequence);
    EXPECT_EQ(sequence_after_promotion(largest_sequence - promotion_gap + 1), std::nullopt);
    EXPECT_EQ(sequence_after_promotion(-1), std::nullopt);
}
