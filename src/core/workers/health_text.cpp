// Finds the criterion by which a worker is unhealthy; the one that overrides others comes first.
#include "core/workers/health_text.hpp"

#include <algorithm>
#include <cmath>

#include "core/text/length_text.hpp"

namespace hipq::core {

namespace {

std::string silence_text(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now)
{
    const std::int64_t since = stale_from(worker, limits) - 1 - limits.heartbeat_timeout;
    return (worker.is_bound ? "has not answered for " : "was not heard of for ") +
           length_text(now - since) + " (hipq.heartbeat_timeout is " +
           length_text(limits.heartbeat_timeout) + ")";
}

std::string rate_text(double rate, const HealthLimits &limits)
{
    return "has failed in " + std::to_string(std::llround(rate)) +
           " % of its last executions (hipq.unhealthy_failure_rate is " +
           std::to_string(std::llround(limits.unhealthy_failure_rate)) + ")";
}

std::string depth_text(const WorkerRecord &worker, int depth, const HealthLimits &limits)
{
    const std::string limit =
        worker.most_held > limits.unhealthy_depth
            ? "all that it may hold"
            : "hipq.unhealthy_depth is " + std::to_string(limits.unhealthy_depth);
    return "has not accepted " + std::to_string(depth) + " jobs (" + limit + ")";
}

}  // namespace

std::string cause_text(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now)
{
    if (worker.is_gone)
        return "has ended";
    if (is_stale(worker, limits, now))
        return silence_text(worker, limits, now);
    if (worker.report.status == Health::unhealthy)
        return "calls itself unhealthy";
    const HealthSummary seen = summarize(worker, limits, now);
    if (seen.counts.consecutive_failures >= limits.unhealthy_failures)
        return "has failed " + std::to_string(seen.counts.consecutive_failures) +
               " times in a row (hipq.unhealthy_failures is " +
               std::to_string(limits.unhealthy_failures) + ")";
    if (seen.failure_rate.value_or(-1) >= limits.unhealthy_failure_rate)
        return rate_text(*seen.failure_rate, limits);
    return depth_text(worker, seen.queue_depth, limits);
}

}  // namespace hipq::core
