// How long a failed job waits before its next attempt.
#pragma once

#include <cstdint>
#include <vector>

namespace hipq::core {

// Times in microseconds. Jitter is a fraction: 0.2 spreads a delay by +/- 20 %.
struct RetryPolicy {
    std::int64_t base = 1'000'000;
    double multiplier = 2.0;
    std::int64_t max = 300'000'000;
    double jitter = 0.2;
};

// base * multiplier^retry_count * (1 +/- jitter): exponential backoff. What the jitter would add
// above max is subtracted from it. `random` is uniform in [0, 1); 0.5 means no jitter. Never
// negative, never overflows.
std::int64_t retry_delay(const RetryPolicy &policy, int retry_count, double random);

// Returns the delay of a job whose retry handler returned the delay `asked`. Once the job has used
// `max_retries` retries, the delay is at least retry_delay(). Never negative.
std::int64_t granted_delay(std::int64_t asked, const RetryPolicy &policy, int retry_count,
                           int max_retries, double random);

// Returns the delay of a job whose process ended `losses` times while running it: none after the
// first two losses, then 1 s, doubling. Each loss puts the job back uncharged, so a job that ends
// its own process would otherwise run in an endless loop.
std::int64_t loss_delay(std::int64_t losses);

// Returns whether one more loss is charged as an ordinary failure, which max_retries bounds. An
// operator who terminates executors at random does not hit one job this often, with these delays in
// between.
inline constexpr std::int64_t most_uncharged_losses = 10;
constexpr bool is_loss_charged(std::int64_t losses)
{
    return losses >= most_uncharged_losses;
}

// The delays before retries 1..max_retries without jitter (at most 1000 of them), for
// hipq.retry_schedule().
std::vector<std::int64_t> retry_schedule(const RetryPolicy &policy, int max_retries);

}  // namespace hipq::core
