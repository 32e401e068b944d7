// When what is counted of a queue is worth an operator's attention.
#pragma once

#include <string>
#include <vector>

#include "core/statistics/statistics.hpp"

namespace hipq::core {

enum class RateAlert : unsigned char { retry_rate, retry_success, failures, dead_letters };

// In percent, and dead letters a minute. A share of fewer than `least` is chance.
struct RateLimits {
    double retry_rate = 20;     // of executions that were retries to those that were not, over the
                                // hour: more is too much; -1: never
    double retry_success = 70;  // of retries that succeeded, over the hour: less is too little
    double failures =
        50;  // of jobs that failed among those that finished, over five minutes: more is too much
    int dead_letters = 10;  // more in one minute is too much
    int least = 20;
};

inline constexpr int hour = minutes_kept;
inline constexpr int recent_minutes = 5;

struct RateFinding {
    RateAlert alert;
    std::uint64_t times;  // what was too much, or too little
    std::uint64_t of;     // among so many; retry rate: beside so many; dead letters: 0
    double limit;
    int minutes;  // in which it was counted
    double percent() const
    {
        return 100.0 * static_cast<double>(times) / static_cast<double>(of);
    }  // to nothing: infinite
};

// In percent; nothing of nothing. Executions that were retries are set against those that were not:
// it may exceed 100, and is infinite where there was nothing but retries.
std::optional<double> retry_rate(const Totals &counted);
std::optional<double> retry_success_rate(const Totals &counted);
std::optional<double> failure_rate(const Totals &counted);

// "69.57 %": with two decimals at most, and as many more as it takes to tell it from its limit.
std::string percent_text(double percent, double limit);

// What counts of the last hour, of the last five minutes, and of the worse of the present minute
// and the one before.
struct RateCounts {
    Totals hour;
    Totals recent;
    std::uint64_t dead_letters;
};

// Adds what was counted of one type to that of others of its queue.
void add_rate_counts(RateCounts &sum, const Statistics &statistics, std::int64_t present);

std::vector<RateFinding> judge_rates(const RateCounts &counted, const RateLimits &limits);

}  // namespace hipq::core
