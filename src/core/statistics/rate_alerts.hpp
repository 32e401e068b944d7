// When the counts of a queue deserve an operator's attention.
#pragma once

#include <string>
#include <vector>

#include "core/statistics/statistics.hpp"

namespace hipq::core {

enum class RateAlert : unsigned char { retry_rate, retry_success, failures, dead_letters };

// Percentages, and dead letters per minute. A rate of fewer than `least` events is ignored as
// chance.
struct RateLimits {
    double retry_rate = 20;  // executions that were retries, relative to those that were not, over
                             // the hour: alert if higher; -1: never
    double retry_success = 70;  // retries that succeeded, over the hour: alert if lower
    double failures = 50;       // failed among finished jobs, over five minutes: alert if higher
    int dead_letters = 10;      // in one minute: alert if higher
    int least = 20;
};

inline constexpr int hour = minutes_kept;
inline constexpr int recent_minutes = 5;

struct RateFinding {
    RateAlert alert;
    std::uint64_t times;  // the count that is too high or too low
    std::uint64_t
        of;  // the total it belongs to; retry rate: the count it is compared with; dead letters: 0
    double limit;
    int minutes;  // length of the period
    double percent() const
    {
        return 100.0 * static_cast<double>(times) / static_cast<double>(of);
    }  // infinite if `of` is 0
};

// Percentages; nothing if nothing was counted. The retry rate compares executions that were retries
// with those that were not: it may exceed 100, and is infinite if there were only retries.
std::optional<double> retry_rate(const Totals &counted);
std::optional<double> retry_success_rate(const Totals &counted);
std::optional<double> failure_rate(const Totals &counted);

// "69.57 %": with at most two decimals, or as many more as are needed to tell it from its limit.
std::string percent_text(double percent, double limit);

// The counts of the last hour, of the last five minutes, and dead letters of the current or the
// previous minute, whichever had more.
struct RateCounts {
    Totals hour;
    Totals recent;
    std::uint64_t dead_letters;
};

// Adds the counts of one type to those of other types of its queue.
void add_rate_counts(RateCounts &sum, const Statistics &statistics, std::int64_t present);

std::vector<RateFinding> judge_rates(const RateCounts &counted, const RateLimits &limits);

}  // namespace hipq::core
