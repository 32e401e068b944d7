// When a live leaf is vacuumed.
#include "core/retention/vacuuming.hpp"

#include <gtest/gtest.h>

namespace {

using namespace hipq::core;

constexpr std::int64_t second = 1'000'000;

TEST(Vacuuming, TakesTenThousandDeadRows)
{
    EXPECT_EQ(vacuum_need({0, 9'999}, {}, 7, second), VacuumNeed::none);
    EXPECT_EQ(vacuum_need({0, 10'000}, {}, 7, second), VacuumNeed::now);
}

TEST(Vacuuming, TakesAFifthOfALargeLeaf)
{
    EXPECT_EQ(vacuum_need({1'000'000, 199'999}, {}, 7, second), VacuumNeed::none);
    EXPECT_EQ(vacuum_need({1'000'000, 200'000}, {}, 7, second), VacuumNeed::now);
}

TEST(Vacuuming, IsInVainAsLongAsTheOldSnapshotIsThere)
{
    const LastVacuum last{10 * second, 1, 7};
    EXPECT_EQ(vacuum_need({0, 50'000}, last, 7, 1'000 * second), VacuumNeed::blocked);
    EXPECT_EQ(vacuum_need({0, 50'000}, last, 8, 1'000 * second), VacuumNeed::now);
}

TEST(Vacuuming, PausesASecondAndNineTimesItsDuration)
{
    const LastVacuum quick{10 * second, 1'000, 7};
    EXPECT_EQ(vacuum_need({0, 50'000}, quick, 8, 11 * second - 1), VacuumNeed::later);
    EXPECT_EQ(vacuum_need({0, 50'000}, quick, 8, 11 * second), VacuumNeed::now);
    const LastVacuum slow{10 * second, 2 * second, 7};
    EXPECT_EQ(vacuum_need({0, 50'000}, slow, 8, 28 * second - 1), VacuumNeed::later);
    EXPECT_EQ(vacuum_need({0, 50'000}, slow, 8, 28 * second), VacuumNeed::now);
}

TEST(Vacuuming, DoesNotWaitForAClockThatWasSetBack)
{
    EXPECT_EQ(vacuum_need({0, 50'000}, {100 * second, 1, 7}, 8, 50 * second), VacuumNeed::now);
}

}  // namespace
