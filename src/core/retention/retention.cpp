// Computes the calendar of leaves: their length, which are missing, which may be dropped. The
// caller creates, attaches and drops them.
//
// Sums of times saturate: an infinite retention, or a time at the end of the range, yields a
// distant bound, not a wrong one.
#include "core/retention/retention.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/time.hpp"

namespace hipq::core {

namespace {

constexpr int periods_per_retention = 4;
constexpr int periods_ahead = 2;

constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t earliest = std::numeric_limits<std::int64_t>::min();

std::int64_t saturating_add(std::int64_t a, std::int64_t b)
{
    std::int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? latest : earliest;
}

std::int64_t unit_for(std::int64_t retention)
{
    if (retention > periods_per_retention * microseconds_per_day)
        return microseconds_per_day;
    return retention > periods_per_retention * microseconds_per_hour ? microseconds_per_hour
                                                                     : microseconds_per_minute;
}

std::int64_t divide_rounding_up(std::int64_t a, std::int64_t b)
{
    return a / b + (a % b > 0 ? 1 : 0);
}

// The remainder is never negative, so that times before the epoch fall into the period that starts
// before them.
std::int64_t offset_in_period(std::int64_t time, std::int64_t length)
{
    const std::int64_t remainder = time % length;
    return remainder < 0 ? remainder + length : remainder;
}

void append_padded(std::string &text, int number, std::size_t width)
{
    const std::string digits = std::to_string(number);
    text.append(width - std::min(width, digits.size()), '0').append(digits);
}

}  // namespace

std::int64_t period_length(std::int64_t retention)
{
    const std::int64_t unit = unit_for(retention);
    const std::int64_t quarter =
        divide_rounding_up(std::max<std::int64_t>(retention, 1), periods_per_retention);
    return divide_rounding_up(quarter, unit) * unit;
}

Period period_of(std::int64_t time, std::int64_t length)
{
    const std::int64_t start = saturating_add(time, -offset_in_period(time, length));
    return {start, saturating_add(start, length)};
}

std::vector<Period> missing_periods(std::int64_t now, std::int64_t length,
                                    std::optional<std::int64_t> covered_until)
{
    std::vector<Period> missing;
    Period period = period_of(now, length);
    for (int i = 0; i <= periods_ahead; ++i) {
        const Period rest{std::max(period.start, covered_until.value_or(earliest)), period.end};
        if (rest.start < rest.end)
            missing.push_back(rest);
        period = {period.end, saturating_add(period.end, length)};
    }
    return missing;
}

bool is_due(const Period &period, std::int64_t now, std::int64_t retention)
{
    return saturating_add(period.end, retention) <= now;
}

std::string leaf_suffix(const Period &period)
{
    namespace chrono = std::chrono;
    const chrono::sys_time<chrono::microseconds> start{chrono::microseconds{period.start}};
    const auto midnight = chrono::floor<chrono::days>(start);
    const chrono::year_month_day date{midnight};
    const chrono::hh_mm_ss time{start - midnight};

    std::string suffix = "p";
    append_padded(suffix, static_cast<int>(date.year()), 4);
    append_padded(suffix, static_cast<int>(static_cast<unsigned>(date.month())), 2);
    append_padded(suffix, static_cast<int>(static_cast<unsigned>(date.day())), 2);
    if (start == midnight)
        return suffix;
    append_padded(suffix, static_cast<int>(time.hours().count()), 2);
    if (start != chrono::floor<chrono::hours>(start))
        append_padded(suffix, static_cast<int>(time.minutes().count()), 2);
    return suffix;
}

}  // namespace hipq::core
