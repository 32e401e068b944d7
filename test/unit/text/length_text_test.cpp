// Durations in readable form.
#include "core/text/length_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hipq::core {
namespace {

TEST(LengthText, TellsTheTwoLargestUnits)
{
    constexpr std::int64_t s = 1'000'000;
    EXPECT_EQ(length_text(0), "0 s");
    EXPECT_EQ(length_text(-5 * s), "0 s");
    EXPECT_EQ(length_text(1), "1 s");
    EXPECT_EQ(length_text(s), "1 s");
    EXPECT_EQ(length_text(s + 1), "2 s");
    EXPECT_EQ(length_text(59 * s), "59 s");
    EXPECT_EQ(length_text(59 * s + 1), "1 min");
    EXPECT_EQ(length_text(130 * s), "2 min 10 s");
    EXPECT_EQ(length_text(3'600 * s), "1 h");
    EXPECT_EQ(length_text(3'659 * s), "1 h");
    EXPECT_EQ(length_text(3'660 * s), "1 h 1 min");
    EXPECT_EQ(length_text(86'400 * s), "1 day");
    EXPECT_EQ(length_text(86'400 * s + 3'599 * s), "1 day");
    EXPECT_EQ(length_text(3 * 86'400 * s + 4 * 3'600 * s), "3 days 4 h");
    EXPECT_EQ(length_text(std::numeric_limits<std::int64_t>::max()), "106751991 days 4 h");
}

TEST(LengthText, OnlyATextWithAUnitIsALength)
{
    for (const char *length : {"2 hours", "PT2H", "1 day 02:00:00", "5min", "-1 MON", "2 decades"})
        EXPECT_TRUE(names_unit(length)) << length;
    for (const char *other : {"", "300", "18:00", "2026-12", "24.12.", "24 dec", "24 DEC 18:00"})
        EXPECT_FALSE(names_unit(other)) << other;
}

}  // namespace
}  // namespace hipq::core
