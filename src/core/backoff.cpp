// The arithmetic of exponential backoff. Takes whatever the settings hold, nonsense included, and always gives a delay between
// zero and the cap: a job must not be lost to an overflow.
#include "backoff.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hipq::core {

namespace {

constexpr int longest_schedule = 1000;

// In floating point, because there the power grows to infinity instead of overflowing.
double uncapped_delay(const RetryPolicy &policy, int retry_count, double random)
{
    const double growth = std::pow(policy.multiplier, std::max(retry_count, 0));
    const double spread = 1.0 + policy.jitter * (2.0 * random - 1.0);
    return static_cast<double>(policy.base) * growth * spread;
}

}  // namespace

std::int64_t retry_delay(const RetryPolicy &policy, int retry_count, double random)
{
    if (policy.base <= 0 || policy.max <= 0)
        return 0;
    const double delay = uncapped_delay(policy, retry_count, random);
    if (!(delay < static_cast<double>(policy.max)))  // so that NaN, too, becomes the cap: waiting too long does no harm
        return policy.max;
    return std::llround(std::max(delay, 0.0));
}

std::vector<std::int64_t> retry_schedule(const RetryPolicy &policy, int max_retries)
{
    RetryPolicy exact = policy;
    exact.jitter = 0;
    std::vector<std::int64_t> delays(static_cast<std::size_t>(std::clamp(max_retries, 0, longest_schedule)));
    for (std::size_t i = 0; i < delays.size(); ++i)
        delays[i] = retry_delay(exact, static_cast<int>(i), 0.5);
    return delays;
}

std::int64_t loss_delay(std::int64_t losses)
{
    constexpr std::int64_t first_delay = 1'000'000;
    constexpr std::int64_t losses_without_delay = 2;
    constexpr std::int64_t most_doublings = 8;
    if (losses <= losses_without_delay)
        return 0;
    return first_delay << std::min(losses - losses_without_delay - 1, most_doublings);
}

}  // namespace hipq::core
