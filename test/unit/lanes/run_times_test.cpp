// The table of run times.
#include "core/lanes/run_times.hpp"

#include <gtest/gtest.h>

#include <array>

using namespace hipq::core;

TEST(RunTimes, AveragesEachKey)
{
    std::array<RunTime, 16> memory{};
    RunTimes times(memory);
    EXPECT_EQ(times.find(5), std::nullopt);
    EXPECT_FALSE(times.note(5, 800));
    EXPECT_FALSE(times.note(21, 10));  // the same entry
    EXPECT_FALSE(times.note(5, 1'600));
    EXPECT_EQ(times.find(5), 900);
    EXPECT_EQ(times.find(21), 10);
}

TEST(RunTimes, ForgetsWhenItIsFull)
{
    std::array<RunTime, 16> memory{};
    RunTimes times(memory);
    int replaced = 0;
    for (std::uint64_t key = 1; key <= 100; ++key)
        replaced += times.note(key, static_cast<std::int64_t>(key)) ? 1 : 0;
    EXPECT_EQ(replaced, 84);
    int known = 0;
    for (std::uint64_t key = 1; key <= 100; ++key) {
        if (const auto time = times.find(key)) {
            EXPECT_EQ(*time, static_cast<std::int64_t>(key)) << "never another key's";
            ++known;
        }
    }
    EXPECT_EQ(known, 16);
    EXPECT_EQ(times.find(100), 100) << "the latest is there";
}

TEST(RunTimes, AnOwnerPushesOutItsOwn)
{
    std::array<RunTime, 16> memory{};
    RunTimes times(memory);
    for (std::uint64_t key = 1; key <= 4; ++key)
        times.note(key, 10, 1);
    for (std::uint64_t key = 5; key <= 1'000; ++key)
        times.note(key, 10, 2);
    for (std::uint64_t key = 1; key <= 4; ++key)
        EXPECT_TRUE(times.find(key).has_value()) << "of another owner, who was there before";
}
