// What a promoted standby receives, and what it must forget.
#include "core/shards/resync.hpp"

#include <gtest/gtest.h>

using namespace hipq::core;

TEST(Resync, sends_again_what_went_there_last)
{
    EXPECT_TRUE(is_sent_again(1, LastWord{1}));
    EXPECT_FALSE(is_sent_again(1, LastWord{2}));
    EXPECT_FALSE(is_sent_again(1, LastWord{0})) << "the router has taken it itself";
    EXPECT_FALSE(is_sent_again(1, LastWord{}));
}

TEST(Resync, makes_the_node_forget_what_has_left)
{
    EXPECT_TRUE(is_stale(1, LastWord{2}, false));
    EXPECT_TRUE(is_stale(1, LastWord{0}, false));
    EXPECT_FALSE(is_stale(1, LastWord{1}, false));
    EXPECT_FALSE(is_stale(1, LastWord{}, false)) << "it was enqueued there, and has stayed";
    EXPECT_TRUE(is_stale(1, LastWord{1}, true)) << "it comes again";
}

TEST(Resync, releases_keys_that_no_job_has)
{
    EXPECT_TRUE(must_release(true, false));
    EXPECT_FALSE(must_release(true, true));
    EXPECT_FALSE(must_release(false, false));
}

TEST(MessageName, tells_the_numbers_of_two_timelines_apart)
{
    EXPECT_NE((MessageName{1, 1, 57}), (MessageName{1, 2, 57}));
    EXPECT_NE((MessageName{1, 1, 57}), (MessageName{2, 1, 57}));
    EXPECT_EQ((MessageName{1, 1, 57}), (MessageName{1, 1, 57}));
}
