// The delays of redriven jobs, and invalid rates.
#include "core/retry/redrive.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hipq::core {
namespace {

TEST(RedriveRate, IsBetweenOneADayAndAMillionASecond)
{
    for (const double rate : {1.0 / 86'400, 0.5, 1.0, 1e6})
        EXPECT_FALSE(check_redrive_rate(rate).has_value()) << rate;
    for (const double rate : {0.0, -1.0, 1e-6, 1.1e6, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
        const auto problem = check_redrive_rate(rate);
        ASSERT_TRUE(problem.has_value()) << rate;
        EXPECT_EQ(problem->kind, Problem::Kind::invalid_value);
        EXPECT_EQ(problem->message, "rate is out of range");
    }
}

TEST(RedriveDelay, PutsOneJobBehindTheOther)
{
    EXPECT_EQ(redrive_delay(0, 2.0), 0);
    EXPECT_EQ(redrive_delay(1, 2.0), 500'000);
    EXPECT_EQ(redrive_delay(7, 2.0), 3'500'000);
    EXPECT_EQ(redrive_delay(1, 3.0), 333'333);
    EXPECT_EQ(redrive_delay(3, 3.0), 1'000'000);  // rounding errors do not accumulate
}

TEST(RedriveDelay, IsNothingWithoutARate)
{
    EXPECT_EQ(redrive_delay(0, std::nullopt), 0);
    EXPECT_EQ(redrive_delay(1'000'000, std::nullopt), 0);
}

TEST(RedriveDelay, OfTheLastJobAtTheLeastRateIsATime)
{
    EXPECT_EQ(redrive_delay(1'000'000, 1.0 / 86'400), std::int64_t{86'400} * 1'000'000 * 1'000'000);
}

}  // namespace
}  // namespace hipq::core
