// Computes exponential backoff. Accepts any settings, even nonsense, and always returns a delay
// between zero and the cap: no job must be lost to an overflow.
#include "core/retry/backoff.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hipq::core {

namespace {

constexpr int longest_schedule = 1000;

// Without jitter. Uses floating point, because there the power grows to infinity instead of
// overflowing.
double capped_delay(const RetryPolicy &policy, int retry_count)
{
    const double growth = std::pow(policy.multiplier, std::max(retry_count, 0));
    const double delay = static_cast<double>(policy.base) * growth;
    const auto cap = static_cast<double>(policy.max);
    return delay < cap ? delay : cap;  // NaN becomes the cap, too: waiting too long does no harm
}

}  // namespace

std::int64_t retry_delay(const RetryPolicy &policy, int retry_count, double random)
{
    if (policy.base <= 0 || policy.max <= 0)
        return 0;
    const double spread = policy.jitter * (2.0 * random - 1.0);
    if (!std::isfinite(spread))
        return policy.max;
    const auto cap = static_cast<double>(policy.max);
    const double delay = capped_delay(policy, retry_count) * (1.0 + spread);
    // Mirror below the cap what the jitter adds above it, so that many jobs at the cap do not retry
    // at the same moment.
    const double below = std::clamp(delay < cap ? delay : 2 * cap - delay, 0.0, cap);
    return below == cap ? policy.max
                        : std::llround(below);  // a double may be unable to represent the cap
}

std::int64_t granted_delay(std::int64_t asked, const RetryPolicy &policy, int retry_count,
                           int max_retries, double random)
{
    const std::int64_t least =
        retry_count < max_retries ? 0 : retry_delay(policy, retry_count, random);
    return std::max(asked, least);
}

std::vector<std::int64_t> retry_schedule(const RetryPolicy &policy, int max_retries)
{
    RetryPolicy exact = policy;
    exact.jitter = 0;
    std::vector<std::int64_t> delays(
        static_cast<std::size_t>(std::clamp(max_retries, 0, longest_schedule)));
    for (std::size_t i = 0; i < delays.size(); ++i)
        delays[i] = retry_delay(exact, static_cast<int>(i), 0.5);
    return delays;
}

std::int64_t loss_delay(std::int64_t losses)
{
    constexpr std::int64_t first_delay = 1'000'000;
    constexpr std::int64_t losses_without_delay = 2;
    constexpr std::int64_t most_doublings = most_uncharged_losses - losses_without_delay - 1;
    if (losses <= losses_without_delay)
        return 0;
    return first_delay << std::min(losses - losses_without_delay - 1, most_doublings);
}

}  // namespace hipq::core
