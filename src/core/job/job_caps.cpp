// Checks the caps of a queue, and words the messages about them.
#include "core/job/job_caps.hpp"

namespace hipq::core {

namespace {

Problem beyond(const std::string &what, const std::string &cap)
{
    return {Problem::Kind::invalid_value, what + " is more than the queue allows",
            "The cap is " + cap + "; the queue owner sets it with hipq.alter_queue()."};
}

}  // namespace

std::optional<Problem> check_timeout_cap(std::int64_t seconds, const JobCaps &caps)
{
    if (seconds <= caps.max_timeout)
        return std::nullopt;
    return beyond("timeout " + std::to_string(seconds),
                  "max_timeout = " + std::to_string(caps.max_timeout) + " (seconds)");
}

std::optional<Problem> check_priority_cap(std::int64_t priority, const JobCaps &caps)
{
    if (priority >= caps.highest_priority)
        return std::nullopt;
    return beyond("priority " + std::to_string(priority),
                  "highest_priority = " + std::to_string(caps.highest_priority) +
                      " (lower numbers are more urgent)");
}

std::optional<Problem> check_factor_cap(double factor, const JobCaps &caps)
{
    if (factor > 0 || caps.allows_free_jobs)
        return std::nullopt;
    return beyond("throttle_factor 0", "allow_free_jobs = false");
}

}  // namespace hipq::core
