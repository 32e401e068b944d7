// Fair quotas: owners fill a table as far as they may.
#include "core/limits/fair_quota.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

using namespace hipq::core;

namespace {

struct Owners {
    Quota quota;
    std::vector<std::int64_t> own;

    std::int64_t all() const { return std::accumulate(own.begin(), own.end(), std::int64_t{0}); }
    bool take(std::size_t owner)
    {
        if (!may_take_one(quota, {all(), own[owner]}))
            return false;
        ++own[owner];
        return true;
    }
    void take_all_it_can(std::size_t owner)
    {
        while (take(owner)) {
        }
    }
};

TEST(FairQuota, leaves_the_next_owner_a_share_of_what_is_left)
{
    Owners owners{{1'000, 75, 0}, {0, 0, 0}};
    for (std::size_t i = 0; i < owners.own.size(); ++i)
        owners.take_all_it_can(i);
    EXPECT_EQ(owners.own, (std::vector<std::int64_t>{750, 187, 47}));
    EXPECT_LT(owners.all(), 1'000);
}

TEST(FairQuota, lets_an_owner_have_its_reserve_in_any_case)
{
    Owners owners{{100, 75, 10}, {0, 0, 0, 0}};
    for (std::size_t i = 0; i < owners.own.size(); ++i)
        owners.take_all_it_can(i);
    EXPECT_EQ(owners.own, (std::vector<std::int64_t>{75, 18, 7, 0}));
    owners.own[0] = 70;
    owners.take_all_it_can(3);
    EXPECT_EQ(owners.own[3], 5) << "what is free, below its reserve";
}

TEST(FairQuota, gives_the_whole_table_where_no_bound_is_wanted)
{
    Owners owners{{100, whole_table, 0}, {0, 0}};
    owners.take_all_it_can(0);
    owners.take_all_it_can(1);
    EXPECT_EQ(owners.own, (std::vector<std::int64_t>{100, 0}));
}

TEST(FairQuota, gives_the_only_entry_to_whoever_has_a_reserve)
{
    EXPECT_FALSE(may_take_one({1, 75, 0}, {0, 0}));
    EXPECT_TRUE(may_take_one({1, 75, 1}, {0, 0}));
    EXPECT_FALSE(may_take_one({1, 75, 1}, {1, 0}));
}

TEST(FairQuota, says_how_many_more_an_owner_may_take)
{
    const Quota quota{1'000, 50, 10};
    EXPECT_EQ(left_for_owner(quota, {0, 0}), 500);
    EXPECT_EQ(left_for_owner(quota, {500, 500}), 0);
    EXPECT_EQ(left_for_owner(quota, {500, 0}), 250);
    EXPECT_EQ(left_for_owner(quota, {1'000, 0}), 0);
    EXPECT_EQ(left_for_owner(quota, {1'200, 1'200}), 0) << "the table was larger";
    EXPECT_EQ(most_for_one(quota), 500);
}

}  // namespace
