// Rate limits for repeated actions.
#include "core/statistics/rate_limit.hpp"

#include <gtest/gtest.h>

using namespace hipq::core;

namespace {

constexpr RateLimit limit{100, 5};

int do_all(RateState &state, std::int64_t now)
{
    int count = 0;
    while (may_do_now(state, limit, now))
        ++count;
    return count;
}

TEST(RateLimit, allows_a_burst_and_then_one_an_interval)
{
    RateState state{};
    EXPECT_EQ(do_all(state, 1'000), 5);
    EXPECT_EQ(do_all(state, 1'099), 0);
    EXPECT_EQ(do_all(state, 1'100), 1);
    EXPECT_EQ(do_all(state, 1'350), 2);
    EXPECT_EQ(do_all(state, 1'399), 0);
    EXPECT_EQ(do_all(state, 1'400), 1) << "what is refused costs nothing";
    EXPECT_EQ(do_all(state, 9'000), 5) << "and nobody saves up more than a burst";
}

TEST(RateLimit, forgives_a_clock_that_was_set_back)
{
    RateState state{};
    EXPECT_EQ(do_all(state, 1'000'000), 5);
    EXPECT_EQ(do_all(state, 1'000), 0);
    EXPECT_EQ(do_all(state, 1'500), 0) << "the state stays as it was";
    state = {1'500};
    EXPECT_EQ(do_all(state, 1'000), 0);
    EXPECT_EQ(do_all(state, 1'100), 1);
}

}  // namespace
