// Backoff: the formula, its cap, and extreme settings.
#include "core/retry/backoff.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace hipq::core {
namespace {

constexpr double no_jitter = 0.5;
constexpr double nearly_one = 0x1.fffffffffffffp-1;
constexpr int last_retry = std::numeric_limits<int>::max();
constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

TEST(Backoff, DoublesUntilTheCap)
{
    const RetryPolicy policy{};
    EXPECT_EQ(retry_delay(policy, 0, no_jitter), 1'000'000);
    EXPECT_EQ(retry_delay(policy, 1, no_jitter), 2'000'000);
    EXPECT_EQ(retry_delay(policy, 2, no_jitter), 4'000'000);
    EXPECT_EQ(retry_delay(policy, 8, no_jitter), 256'000'000);
    EXPECT_EQ(retry_delay(policy, 9, no_jitter), 300'000'000);
    EXPECT_EQ(retry_delay(policy, 10, no_jitter), 300'000'000);
}

TEST(Backoff, RoundsInsteadOfCutting)
{
    EXPECT_EQ(retry_delay({.base = 1'000'000, .multiplier = 1.1}, 1, no_jitter), 1'100'000);
    EXPECT_EQ(retry_delay({.base = 1'000'000, .multiplier = 1.7}, 3, no_jitter), 4'913'000);
}

TEST(Backoff, MultiplierOfOneIsAConstantDelay)
{
    for (int retry_count : {0, 1, 50, last_retry})
        EXPECT_EQ(retry_delay({.base = 7, .multiplier = 1.0}, retry_count, no_jitter), 7);
}

TEST(Backoff, JitterSpreadsBothWays)
{
    const RetryPolicy policy{
        .base = 1'000'000, .multiplier = 2.0, .max = 300'000'000, .jitter = 0.2};
    EXPECT_EQ(retry_delay(policy, 1, 0.0), 1'600'000);
    EXPECT_EQ(retry_delay(policy, 1, 0.25), 1'800'000);
    EXPECT_EQ(retry_delay(policy, 1, 0.75), 2'200'000);
    EXPECT_EQ(retry_delay(policy, 1, nearly_one), 2'400'000);
}

TEST(Backoff, JitterSpreadsBelowTheCap)
{
    const RetryPolicy policy{
        .base = 1'000'000, .multiplier = 2.0, .max = 300'000'000, .jitter = 0.2};
    EXPECT_EQ(retry_delay(policy, 20, 0.0), 240'000'000);
    EXPECT_EQ(retry_delay(policy, 20, 0.25), 270'000'000);
    EXPECT_EQ(retry_delay(policy, 20, no_jitter), 300'000'000);
    EXPECT_EQ(retry_delay(policy, 20, 0.75), 270'000'000);
    EXPECT_EQ(retry_delay(policy, 20, nearly_one), 240'000'000);
    // 256 s plus jitter exceeds the cap of 300 s: the result is as far below the cap.
    EXPECT_EQ(retry_delay(policy, 8, nearly_one), 292'800'000);
    EXPECT_EQ(retry_delay(policy, 8, 0.0), 204'800'000);
    // The cap is applied first.
    EXPECT_EQ(retry_delay({.jitter = 0.5}, 9, 0.0), 150'000'000);
    EXPECT_EQ(retry_delay({.jitter = 1}, 9, nearly_one), 0);
}

TEST(Backoff, IsNeverAboveTheCapAndRarelyAtIt)
{
    const RetryPolicy policy{
        .base = 1'000'000, .multiplier = 2.0, .max = 300'000'000, .jitter = 0.2};
    int at_the_cap = 0;
    for (int i = 0; i < 400; ++i) {
        const std::int64_t delay = retry_delay(policy, 12, i / 400.0);
        EXPECT_LE(delay, policy.max);
        EXPECT_GE(delay, 240'000'000);
        at_the_cap += delay == policy.max ? 1 : 0;
    }
    EXPECT_EQ(at_the_cap, 1);
}

TEST(Backoff, NoOverflowAtTheLastRetry)
{
    EXPECT_EQ(retry_delay({}, last_retry, no_jitter), 300'000'000);
    EXPECT_EQ(
        retry_delay({.base = longest, .multiplier = 1e300, .max = longest}, last_retry, no_jitter),
        longest);
    EXPECT_EQ(retry_delay({.base = longest, .multiplier = 1.0, .max = longest}, 0, no_jitter),
              longest);
    EXPECT_EQ(retry_delay({.base = 1, .multiplier = 2.0, .max = longest}, 63, no_jitter), longest);
    EXPECT_EQ(retry_delay({.base = 1, .multiplier = 2.0, .max = longest}, 62, no_jitter),
              std::int64_t{1} << 62);
}

TEST(Backoff, ShrinkingMultiplierEndsAtZero)
{
    EXPECT_EQ(retry_delay({.base = 1'000'000, .multiplier = 0.5}, 1, no_jitter), 500'000);
    EXPECT_EQ(retry_delay({.base = 1'000'000, .multiplier = 0.5}, last_retry, no_jitter), 0);
    EXPECT_EQ(retry_delay({.base = 1'000'000, .multiplier = 0.0}, 0, no_jitter), 1'000'000);
    EXPECT_EQ(retry_delay({.base = 1'000'000, .multiplier = 0.0}, 1, no_jitter), 0);
}

TEST(Backoff, NonsenseGivesZeroOrTheCap)
{
    EXPECT_EQ(retry_delay({.base = 0, .multiplier = infinity}, last_retry, no_jitter), 0);
    EXPECT_EQ(retry_delay({.base = -5}, 3, no_jitter), 0);
    EXPECT_EQ(retry_delay({.max = 0}, 3, no_jitter), 0);
    EXPECT_EQ(retry_delay({.max = -1}, 3, no_jitter), 0);
    EXPECT_EQ(retry_delay({.multiplier = infinity}, 3, no_jitter), 300'000'000);
    EXPECT_EQ(retry_delay({.multiplier = not_a_number}, 3, no_jitter), 300'000'000);
    EXPECT_EQ(retry_delay({.jitter = not_a_number}, 3, no_jitter), 300'000'000);
    EXPECT_EQ(retry_delay({.jitter = infinity}, 3, no_jitter), 300'000'000);
    EXPECT_EQ(retry_delay({.jitter = infinity}, 3, 0.0), 300'000'000);
    EXPECT_EQ(retry_delay({.jitter = 3.0}, 3, 0.0), 0);
    EXPECT_EQ(retry_delay({}, 3, not_a_number), 300'000'000);
    EXPECT_EQ(retry_delay({.multiplier = -2.0}, 3, no_jitter), 0);
    EXPECT_EQ(retry_delay({}, -4, no_jitter), 1'000'000);
}

TEST(Backoff, AlwaysBetweenZeroAndTheCap)
{
    std::mt19937_64 random{20261121};
    const std::int64_t times[]{
        0, 1, -1, 1000, 1'000'000, longest, longest - 1, (std::int64_t{1} << 53) + 1, -longest - 1};
    const double numbers[]{0,     -0.0,   0.2, 1,      2,        1.5,       1e18,
                           1e308, 5e-324, -1,  -1e308, infinity, -infinity, not_a_number};
    const int counts[]{
        0, 1, 2, 10, 63, 64, 1023, 1024, last_retry, -1, std::numeric_limits<int>::min()};
    const auto pick = [&](const auto &values) { return values[random() % std::size(values)]; };
    for (int i = 0; i < 200'000; ++i) {
        const RetryPolicy policy{.base = pick(times),
                                 .multiplier = pick(numbers),
                                 .max = pick(times),
                                 .jitter = pick(numbers)};
        const std::int64_t delay =
            retry_delay(policy, pick(counts), std::uniform_real_distribution{0.0, 1.0}(random));
        ASSERT_GE(delay, 0);
        ASSERT_LE(delay, std::max<std::int64_t>(policy.max, 0));
    }
}

TEST(Backoff, ScheduleListsTheDelaysWithoutJitter)
{
    const std::vector<std::int64_t> expected{1'000'000, 2'000'000, 4'000'000, 8'000'000};
    EXPECT_EQ(retry_schedule({}, 4), expected);
    EXPECT_EQ(retry_schedule({.jitter = not_a_number}, 4), expected);
}

TEST(Backoff, ScheduleHasBounds)
{
    EXPECT_TRUE(retry_schedule({}, 0).empty());
    EXPECT_TRUE(retry_schedule({}, -1).empty());
    EXPECT_TRUE(retry_schedule({}, std::numeric_limits<int>::min()).empty());
    EXPECT_EQ(retry_schedule({}, 1000).size(), 1000U);
    EXPECT_EQ(retry_schedule({}, last_retry).size(), 1000U);
    EXPECT_EQ(retry_schedule({}, last_retry).back(), 300'000'000);
}

TEST(Backoff, AJobThatCostsItsProcessAgainAndAgainWaits)
{
    EXPECT_EQ(loss_delay(0), 0);
    EXPECT_EQ(loss_delay(1), 0);
    EXPECT_EQ(loss_delay(2), 0);
    EXPECT_EQ(loss_delay(3), 1'000'000);
    EXPECT_EQ(loss_delay(4), 2'000'000);
    EXPECT_EQ(loss_delay(10), 128'000'000);
    EXPECT_EQ(loss_delay(11), 128'000'000);
    EXPECT_EQ(loss_delay(longest), 128'000'000);
}

TEST(Backoff, AJobIsChargedForTheEleventhProcessThatItCosts)
{
    EXPECT_FALSE(is_loss_charged(9));
    EXPECT_TRUE(is_loss_charged(10));
    EXPECT_TRUE(is_loss_charged(longest));
}

TEST(Backoff, RetryHandlersHaveTheirWayUpToMaxRetries)
{
    const RetryPolicy policy{};
    EXPECT_EQ(granted_delay(0, policy, 0, 3, no_jitter), 0);
    EXPECT_EQ(granted_delay(-5, policy, 2, 3, no_jitter), 0);
    EXPECT_EQ(granted_delay(20'000, policy, 2, 3, no_jitter), 20'000);
    EXPECT_EQ(granted_delay(0, policy, 3, 3, no_jitter), 8'000'000);
    EXPECT_EQ(granted_delay(-longest, policy, 0, 0, no_jitter), 1'000'000);
    EXPECT_EQ(granted_delay(7'999'999, policy, 3, 3, no_jitter), 8'000'000);
    EXPECT_EQ(granted_delay(8'000'001, policy, 3, 3, no_jitter), 8'000'001);
    EXPECT_EQ(granted_delay(longest, policy, 3, 3, no_jitter), longest);
}

}  // namespace
}  // namespace hipq::core
