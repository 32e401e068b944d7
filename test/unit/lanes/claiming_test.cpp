// How jobs are claimed, and how many at a time.
#include "core/lanes/claiming.hpp"

#include <gtest/gtest.h>

using namespace hipq::core;

TEST(Claiming, KnowsItsRules)
{
    EXPECT_EQ(parse_claim_rule("auto"), ClaimRule::automatic);
    EXPECT_EQ(parse_claim_rule("lock"), ClaimRule::lock);
    EXPECT_EQ(parse_claim_rule("record"), ClaimRule::record);
    EXPECT_EQ(parse_claim_rule("Lock"), std::nullopt);
    EXPECT_EQ(parse_claim_rule(""), std::nullopt);
}

TEST(Claiming, FollowsTheRuleOfTheType)
{
    EXPECT_EQ(claim_mode(ClaimRule::lock, false, std::nullopt), ClaimMode::lock);
    EXPECT_EQ(claim_mode(ClaimRule::record, false, 1), ClaimMode::record);
}

TEST(Claiming, LocksWhatIsShortAndRecordsTheRest)
{
    EXPECT_EQ(claim_mode(ClaimRule::automatic, false, std::nullopt), ClaimMode::record)
        << "never seen";
    EXPECT_EQ(claim_mode(ClaimRule::automatic, false, 49'999), ClaimMode::lock);
    EXPECT_EQ(claim_mode(ClaimRule::automatic, false, 50'000), ClaimMode::record);
}

TEST(Claiming, RecordsWhateverMayCommit)
{
    EXPECT_EQ(claim_mode(ClaimRule::lock, true, 1), ClaimMode::record);
    EXPECT_EQ(claim_mode(ClaimRule::automatic, true, 1), ClaimMode::record);
}

TEST(Claiming, TakesTenMillisecondsOfWork)
{
    EXPECT_EQ(prefetch_size(std::nullopt, 1, 100), 1U);
    EXPECT_EQ(prefetch_size(10, 1, 2'000), 1'000U);
    EXPECT_EQ(prefetch_size(1'000, 1, 100), 10U);
    EXPECT_EQ(prefetch_size(20'000, 1, 100), 1U);
    EXPECT_EQ(prefetch_size(0, 1, 100), 100U);
}

TEST(Claiming, TakesABatchAtLeast)
{
    EXPECT_EQ(prefetch_size(std::nullopt, 50, 100), 50U);
    EXPECT_EQ(prefetch_size(20'000, 50, 100), 50U);
    EXPECT_EQ(prefetch_size(20'000, 500, 100), 100U);
    EXPECT_EQ(prefetch_size(700, 10, 100), 10U) << "14 jobs would be a batch and a small one";
    EXPECT_EQ(prefetch_size(10, 300, 1'000), 900U);
}

TEST(Claiming, AveragesRunTimes)
{
    EXPECT_EQ(average_run_time(std::nullopt, 800), 800);
    EXPECT_EQ(average_run_time(800, 1'600), 900);
    EXPECT_EQ(average_run_time(900, 0), 788);
    EXPECT_GE(average_run_time(1, 0), 1);
    std::int64_t average = 1;
    for (int i = 0; i < 50; ++i)
        average = average_run_time(average, 100'000);
    EXPECT_GT(average, 90'000);
}
