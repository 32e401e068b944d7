// The time between rounds: a minute for few objects, longer for many, so that the load stays the
// same.
#include "core/process/round.hpp"

#include <gtest/gtest.h>

namespace hipq::core {
namespace {

constexpr std::int64_t minute = 60'000'000;

TEST(Round, ComesEachMinuteForFewThings)
{
    for (const std::size_t things : {0, 1, 100})
        EXPECT_EQ(round_interval(things), minute);
}

TEST(Round, ComesLessOftenForMoreThings)
{
    EXPECT_EQ(round_interval(1'000), 10 * minute);
    EXPECT_EQ(round_interval(3'000), 30 * minute);
}

TEST(Round, ComesEachHourHoweverManyThere)
{
    EXPECT_EQ(round_interval(6'000), 60 * minute);
    EXPECT_EQ(round_interval(10'000), 60 * minute);
    EXPECT_EQ(round_interval(static_cast<std::size_t>(-1)), 60 * minute);
}

TEST(Round, IsDueWhenItsTimeHasPassed)
{
    EXPECT_FALSE(is_round_due(10, 1'000 * minute, 1'001 * minute - 1));
    EXPECT_TRUE(is_round_due(10, 1'000 * minute, 1'001 * minute));
    EXPECT_TRUE(is_round_due(10, 0, 1'000 * minute));
}

TEST(Round, IsDueWhenTheClockWasSetBack)
{
    EXPECT_TRUE(is_round_due(10, 1'000 * minute, 999 * minute));
}

}  // namespace
}  // namespace hipq::core
