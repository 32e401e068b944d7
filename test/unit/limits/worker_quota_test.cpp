// The capacity that workers of one role may have, while other roles take all they can.
#include "core/limits/worker_quota.hpp"

#include <gtest/gtest.h>

using namespace hipq::core;

namespace {

constexpr std::int64_t capacity = 4'096;

// Takes as much as it may, one after the other. Returns the number.
std::int64_t take_all(std::int64_t &all, std::int64_t own = 0)
{
    const std::int64_t before = own;
    for (; left_for_role(capacity, 75, {all, own}) > 0; ++own)
        ++all;
    return own - before;
}

TEST(WorkerQuota, one_role_leaves_a_quarter_and_what_is_kept)
{
    std::int64_t all = 0;
    EXPECT_EQ(take_all(all), (capacity - capacity / 8) * 3 / 4);
}

TEST(WorkerQuota, after_seven_greedy_roles_the_next_still_gets_its_reserve)
{
    std::int64_t all = 0;
    for (int role = 0; role < 7; ++role)
        EXPECT_GE(take_all(all), reserve_of_role(capacity)) << role;
    EXPECT_GE(left_for_role(capacity, 75, {all, 0}), reserve_of_role(capacity));
}

TEST(WorkerQuota, a_full_table_has_nothing_for_anybody)
{
    EXPECT_EQ(left_for_role(capacity, 75, {capacity, 0}), 0);
    EXPECT_EQ(left_for_role(capacity, 75, {capacity + 7, 0}), 0);
    EXPECT_EQ(left_for_role(capacity, whole_table, {capacity + 7, 0}), 0);
}

TEST(WorkerQuota, a_share_of_the_whole_is_no_bound)
{
    EXPECT_EQ(left_for_role(capacity, whole_table, {0, 0}), capacity);
    EXPECT_EQ(left_for_role(capacity, whole_table, {100, 100}), capacity - 100);
}

TEST(WorkerQuota, the_smallest_tables_have_one_place)
{
    EXPECT_EQ(left_for_role(1, 75, {0, 0}), 1);
    EXPECT_EQ(left_for_role(1, 75, {1, 1}), 0);
    EXPECT_EQ(left_for_role(2, 75, {1, 1}), 0) << "the other one is for the next role";
    EXPECT_EQ(left_for_role(2, 75, {1, 0}), 1);
}

}  // namespace
