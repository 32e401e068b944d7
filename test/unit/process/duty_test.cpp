// How long a failed duty rests; and each duty has a name.
#include "core/process/duty.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hipq::core {
namespace {

TEST(DutyRest, FromALockIsLessThanASecondHoweverOftenItWasTried)
{
    for (const int times : {1, 2, 100, 1'000'000})
        EXPECT_EQ(rest_after(Trouble::locked, times), 500'000);
}

TEST(DutyRest, FromAnErrorDoublesUpToAMinute)
{
    EXPECT_EQ(rest_after(Trouble::failed, 1), 1'000'000);
    EXPECT_EQ(rest_after(Trouble::failed, 2), 2'000'000);
    EXPECT_EQ(rest_after(Trouble::failed, 6), 32'000'000);
    EXPECT_EQ(rest_after(Trouble::failed, 7), 60'000'000);
    EXPECT_EQ(rest_after(Trouble::failed, 1'000'000), 60'000'000);
    EXPECT_EQ(rest_after(Trouble::failed, 0), 1'000'000);
}

TEST(DutyName, IsThereForEach)
{
    std::set<std::string_view> names;
    for (auto duty = static_cast<int>(Duty::line); duty <= static_cast<int>(Duty::letters); ++duty)
        names.insert(name(static_cast<Duty>(duty)));
    EXPECT_EQ(names.size(), static_cast<std::size_t>(Duty::letters) + 1);
    EXPECT_FALSE(names.contains(""));
}

}  // namespace
}  // namespace hipq::core
