// The limit on attempts: at once, then per minute, for each key separately.
#include "sessions/rate_limit.hpp"

#include <gtest/gtest.h>

namespace hipq::web {

namespace {

using std::chrono::seconds;

const RateLimit::Clock::time_point began{};

TEST(RateLimit, allows_so_many_at_once_and_says_how_long_to_wait)
{
    RateLimit limit(3, 6);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(limit.take("ann", began), seconds(0));
    EXPECT_EQ(limit.take("ann", began), seconds(10));
    EXPECT_EQ(limit.take("ann", began + seconds(4)), seconds(6));
}

TEST(RateLimit, allows_one_more_after_that)
{
    RateLimit limit(1, 6);
    EXPECT_EQ(limit.take("ann", began), seconds(0));
    EXPECT_EQ(limit.take("ann", began + seconds(10)), seconds(0));
    EXPECT_EQ(limit.take("ann", began + seconds(10)), seconds(10));
}

TEST(RateLimit, keeps_keys_apart)
{
    RateLimit limit(1, 6);
    EXPECT_EQ(limit.take("ann", began), seconds(0));
    EXPECT_EQ(limit.take("bob", began), seconds(0));
}

TEST(RateLimit, gives_a_try_back_up_to_the_limit)
{
    RateLimit limit(1, 6);
    limit.take("ann", began);
    limit.give_back("ann");
    limit.give_back("ann");
    EXPECT_EQ(limit.take("ann", began), seconds(0));
    EXPECT_EQ(limit.take("ann", began), seconds(10));
}

TEST(RateLimit, lets_nobody_in_while_ten_thousand_names_are_tried)
{
    RateLimit limit(1, 6);
    for (int i = 0; i < 10'000; ++i)
        limit.take(std::to_string(i), began);
    EXPECT_EQ(limit.take("one more", began), seconds(60));
    EXPECT_EQ(limit.take("one more", began + seconds(11)), seconds(0));
}

}  // namespace

}  // namespace hipq::web
