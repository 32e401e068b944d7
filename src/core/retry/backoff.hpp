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

// base * multiplier^retry_count * (1 +/- jitter): exponential backoff; what the jitter would carry
// over max is as far below it. `random` is uniform in [0, 1); 0.5 means no jitter. Never negative,
// never overflows.
std::int64_t retry_delay(const RetryPolicy &policy, int retry_count, double random);

// How long a job waits whose retry handler asks for `asked`: that, but from the retry after the
// first `max_retries` on never less than retry_delay(). Never negative.
std::int64_t granted_delay(std::int64_t asked, const RetryPolicy &policy, int retry_count,
                           int max_retries, double random);

// How long a job waits that cost its process `losses` times: nothing after the first two, then 1 s
// and doubling. It is put back uncharged each time; one that ends its own process would run in a
// circle otherwise.
std::int64_t loss_delay(std::int64_t losses);

// Whether one more loss is a failure like others, which max_retries bounds. Somebody who ends
// executors by chance does not meet one job so often, with these delays between.
inline constexpr std::int64_t most_uncharged_losses = 10;
constexpr bool is_loss_charged(std::int64_t losses)
{
    return losses >= most_uncharged_losses;
}

// The delays before retries 1..max_retries without jitter (at most 1000 of them), for
// hipq.retry_schedule().
std::vector<std::int64_t> retry_schedule(const RetryPolicy &policy, int max_retries);

}  // namespace hipq::core
