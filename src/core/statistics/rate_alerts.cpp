// Computes rates and compares them with their limits.
#include "core/statistics/rate_alerts.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

namespace hipq::core {

namespace {

std::uint64_t executions(const Totals &counted)
{
    return counted.first_runs + counted.repeated_runs;
}

std::uint64_t retries_ended(const Totals &counted)
{
    return counted.recovered + counted.lost;
}

std::optional<double> share(std::uint64_t part, std::uint64_t whole)
{
    if (whole == 0)
        return std::nullopt;
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent_text(double percent, int decimals)
{
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, percent);
    std::string text = buffer.data();
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
        text.pop_back();
    return text + " %";
}

bool is_enough(std::uint64_t number, const RateLimits &limits)
{
    return number > 0 && number >= static_cast<std::uint64_t>(std::max(limits.least, 0));
}

}  // namespace

std::optional<double> retry_rate(const Totals &counted)
{
    if (counted.first_runs == 0 && counted.repeated_runs > 0)
        return std::numeric_limits<double>::infinity();
    return share(counted.repeated_runs, counted.first_runs);
}

std::optional<double> retry_success_rate(const Totals &counted)
{
    return share(counted.recovered, retries_ended(counted));
}

std::optional<double> failure_rate(const Totals &counted)
{
    return share(counted.of(Ending::failed), counted.finished());
}

std::string percent_text(double percent, double limit)
{
    constexpr int most_decimals = 6;
    int decimals = 2;
    while (decimals < most_decimals &&
           percent_text(percent, decimals) == percent_text(limit, most_decimals))
        ++decimals;
    return percent_text(percent, decimals);
}

void add_rate_counts(RateCounts &sum, const Statistics &statistics, std::int64_t present)
{
    add(sum.hour, sum_of_minutes(statistics, present, hour));
    add(sum.recent, sum_of_minutes(statistics, present, recent_minutes));
    sum.dead_letters += std::max(sum_of_minutes(statistics, present, 1).dead_letters,
                                 sum_of_minutes(statistics, present - 1, 1).dead_letters);
}

std::vector<RateFinding> judge_rates(const RateCounts &counted, const RateLimits &limits)
{
    std::vector<RateFinding> findings;
    const Totals &hourly = counted.hour;
    if (limits.retry_rate >= 0 && is_enough(executions(hourly), limits) &&
        *retry_rate(hourly) > limits.retry_rate)
        findings.push_back({RateAlert::retry_rate, hourly.repeated_runs, hourly.first_runs,
                            limits.retry_rate, hour});
    if (is_enough(retries_ended(hourly), limits) &&
        *retry_success_rate(hourly) < limits.retry_success)
        findings.push_back({RateAlert::retry_success, hourly.recovered, retries_ended(hourly),
                            limits.retry_success, hour});
    if (is_enough(counted.recent.finished(), limits) &&
        *failure_rate(counted.recent) > limits.failures)
        findings.push_back({RateAlert::failures, counted.recent.of(Ending::failed),
                            counted.recent.finished(), limits.failures, recent_minutes});
    if (limits.dead_letters >= 0 &&
        counted.dead_letters > static_cast<std::uint64_t>(limits.dead_letters))
        findings.push_back({RateAlert::dead_letters, counted.dead_letters, 0,
                            static_cast<double>(limits.dead_letters), 1});
    return findings;
}

}  // namespace hipq::core
