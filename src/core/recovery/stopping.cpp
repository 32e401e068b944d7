// Decides the steps in their order. Each is taken once, except cancellation, which is repeated.
#include "core/recovery/stopping.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

// A responsive process is gone within milliseconds; on a loaded machine it may take longer.
constexpr std::int64_t shortest_wait_for_end = 1'000'000;

StopStep after_termination(const Stopping &job, std::int64_t now, std::int64_t grace)
{
    const std::int64_t report_time = *job.terminated + std::max(grace, shortest_wait_for_end);
    if (job.is_reported)
        return {StopAction::wait, never};
    if (now < report_time)
        return {StopAction::wait, report_time};
    return {StopAction::report, never};
}

// The executor's own timer sends the cancellations for the deadline.
StopStep before_termination(const Stopping &job, std::int64_t now, std::int64_t terminate_time)
{
    if (!job.requested.has_value())
        return {StopAction::wait, terminate_time};
    const std::int64_t cancel_time = job.last_cancelled + cancel_interval;
    if (now < cancel_time)
        return {StopAction::wait, std::min(cancel_time, terminate_time)};
    return {StopAction::cancel, std::min(now + cancel_interval, terminate_time)};
}

}  // namespace

StopStep next_stop_step(const Stopping &job, std::int64_t now, std::int64_t grace)
{
    if (job.terminated.has_value())
        return after_termination(job, now, grace);
    const std::int64_t since = std::min(job.deadline, job.requested.value_or(never));
    if (now < since)
        return {StopAction::wait, never};
    const std::int64_t terminate_time = since + grace;
    if (now >= terminate_time)
        return {StopAction::terminate, now + std::max(grace, shortest_wait_for_end)};
    return before_termination(job, now, terminate_time);
}

}  // namespace hipq::core
