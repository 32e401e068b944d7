// Stopping: the steps, their order and their times.
#include "core/recovery/stopping.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hipq::core {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t grace = 5 * second;
constexpr std::int64_t deadline = 100 * second;

Stopping running_job()
{
    return {.deadline = deadline, .requested = std::nullopt, .last_cancelled = 0};
}

Stopping cancelled_job(std::int64_t since)
{
    return {.deadline = deadline, .requested = since, .last_cancelled = since};
}

// The course of a job that ignores all requests, if it is checked each time that it asks for:
// actions with times.
std::vector<std::pair<StopAction, std::int64_t>> course_of(Stopping job, std::int64_t start,
                                                           std::int64_t grace_period)
{
    std::vector<std::pair<StopAction, std::int64_t>> course;
    for (std::int64_t now = start; now != never;) {
        const StopStep step = next_stop_step(job, now, grace_period);
        if (step.action != StopAction::wait)
            course.emplace_back(step.action, now);
        if (step.action == StopAction::cancel)
            job.last_cancelled = now;
        if (step.action == StopAction::terminate)
            job.terminated = now;
        if (step.action == StopAction::report)
            job.is_reported = true;
        if (step.next <= now) {
            ADD_FAILURE() << "looks again without waiting";
            break;
        }
        now = step.next;
    }
    return course;
}

using Course = std::vector<std::pair<StopAction, std::int64_t>>;

TEST(Stopping, LeavesAJobAloneBeforeItsDeadline)
{
    const StopStep step = next_stop_step(running_job(), deadline - 1, grace);
    EXPECT_EQ(step.action, StopAction::wait);
    EXPECT_EQ(step.next, never);
}

TEST(Stopping, TerminatesAfterTheGraceAndThenReports)
{
    const Course expected{{StopAction::terminate, deadline + grace},
                          {StopAction::report, deadline + 2 * grace}};
    EXPECT_EQ(course_of(running_job(), deadline, grace), expected);
}

TEST(Stopping, CancelsARequestEachSecond)
{
    const Course expected{{StopAction::cancel, 11 * second},    {StopAction::cancel, 12 * second},
                          {StopAction::cancel, 13 * second},    {StopAction::cancel, 14 * second},
                          {StopAction::terminate, 15 * second}, {StopAction::report, 20 * second}};
    EXPECT_EQ(course_of(cancelled_job(10 * second), 10 * second, grace), expected);
}

TEST(Stopping, TheEarlierOfDeadlineAndRequestCounts)
{
    EXPECT_EQ(next_stop_step(cancelled_job(deadline + 4 * second), deadline + grace, grace).action,
              StopAction::terminate);
    EXPECT_EQ(next_stop_step(cancelled_job(deadline - 4 * second), deadline + second, grace).action,
              StopAction::terminate);
}

TEST(Stopping, WithoutGraceItTerminatesAtOnceAndStillWaitsForTheEnd)
{
    const Course expected{{StopAction::terminate, deadline},
                          {StopAction::report, deadline + second}};
    EXPECT_EQ(course_of(running_job(), deadline, 0), expected);
}

TEST(Stopping, ALateLookTakesOneStepAtATime)
{
    Stopping job = cancelled_job(10 * second);
    EXPECT_EQ(next_stop_step(job, 90 * second, grace).action, StopAction::terminate);
    job.terminated = 90 * second;
    EXPECT_EQ(next_stop_step(job, 91 * second, grace).action, StopAction::wait);
    EXPECT_EQ(next_stop_step(job, 99 * second, grace).action, StopAction::report);
    job.is_reported = true;
    EXPECT_EQ(next_stop_step(job, 200 * second, grace).action, StopAction::wait);
    EXPECT_EQ(next_stop_step(job, 200 * second, grace).next, never);
}

}  // namespace
}  // namespace hipq::core
