// The caps of a queue, and the texts of its refusals.
#include "core/job/job_caps.hpp"

#include <gtest/gtest.h>

namespace hipq::core {
namespace {

TEST(JobCaps, WithoutCapsEverythingGoes)
{
    const JobCaps caps{};
    EXPECT_FALSE(check_timeout_cap(2'147'483'647, caps).has_value());
    EXPECT_FALSE(check_priority_cap(-32'768, caps).has_value());
    EXPECT_FALSE(check_factor_cap(0, caps).has_value());
}

TEST(JobCaps, TheCapItselfIsAllowed)
{
    const JobCaps caps{60, -5, false};
    EXPECT_FALSE(check_timeout_cap(60, caps).has_value());
    EXPECT_FALSE(check_priority_cap(-5, caps).has_value());
    EXPECT_FALSE(check_priority_cap(32'767, caps).has_value());
    EXPECT_FALSE(check_factor_cap(0.001, caps).has_value());
}

TEST(JobCaps, BeyondItIsRefusedByName)
{
    const JobCaps caps{60, -5, false};
    const auto timeout = check_timeout_cap(61, caps);
    ASSERT_TRUE(timeout.has_value());
    EXPECT_EQ(timeout->message, "timeout 61 is more than the queue allows");
    EXPECT_EQ(
        timeout->hint,
        "The cap is max_timeout = 60 (seconds); the queue owner sets it with hipq.alter_queue().");
    const auto priority = check_priority_cap(-6, caps);
    ASSERT_TRUE(priority.has_value());
    EXPECT_EQ(priority->message, "priority -6 is more than the queue allows");
    const auto factor = check_factor_cap(0, caps);
    ASSERT_TRUE(factor.has_value());
    EXPECT_EQ(factor->message, "throttle_factor 0 is more than the queue allows");
    for (const auto &problem : {timeout, priority, factor})
        EXPECT_EQ(problem->kind, Problem::Kind::invalid_value);
}

}  // namespace
}  // namespace hipq::core
