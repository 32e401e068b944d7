// Computes openings from the local days around a time, window by window. A window that opens on one
// day may close on the next.
#include "core/limits/openings.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

constexpr int week = 7;
constexpr std::int64_t first_weekday = 5;  // 2000-01-01 was a Saturday

// The longest opening that ends: windows repeat every week.
constexpr std::int64_t longest_opening = (week + 1) * microseconds_per_day;

using LocalDay = std::int64_t;  // days since 2000-01-01

LocalDay local_day(const Zone &zone, std::int64_t time)
{
    const std::int64_t local = time + zone.at(time).offset;
    return local / microseconds_per_day - (local % microseconds_per_day < 0 ? 1 : 0);
}

bool is_on(const TimeWindow &window, LocalDay date)
{
    const auto weekday = ((date + first_weekday) % week + week) % week;
    return (window.days >> weekday & 1) != 0;
}

// Returns the first moment at which the clock shows that local time or later.
std::int64_t first_moment(const Zone &zone, std::int64_t local)
{
    std::int64_t time = local - microseconds_per_day;  // no clock shows it earlier
    for (;;) {
        const Zone::Span span = zone.at(time);
        time = std::max(time, local - span.offset);
        if (time < span.end)
            return time;
        time = span.end;
    }
}

// The opening of a window on a day that the window includes.
Opening opening_of(const TimeWindow &window, const Zone &zone, LocalDay date)
{
    const std::int64_t length = (window.to - window.from) * microseconds_per_minute +
                                (window.to < window.from ? microseconds_per_day : 0);
    const std::int64_t local = date * microseconds_per_day + window.from * microseconds_per_minute;
    const std::int64_t from = first_moment(zone, local);
    const std::int64_t until = first_moment(zone, local + length);
    return {from, from < until ? until : from + length};
}

// Calls `use` with the openings of all windows on some local days around a time.
template <class Use>
void for_each_opening(const TimeWindows &windows, const Zone &zone, std::int64_t time,
                      int days_ahead, Use use)
{
    constexpr int days_back =
        2;  // one for windows over midnight, one for zones that change clocks over midnight
    const LocalDay today = local_day(zone, time);
    for (const TimeWindow &window : windows)
        for (LocalDay date = today - days_back; date <= today + days_ahead; ++date)
            if (is_on(window, date))
                use(opening_of(window, zone, date));
}

// Returns when the last of the windows open at that time closes; the time itself if none is open.
std::int64_t last_to_close(const TimeWindows &windows, const Zone &zone, std::int64_t time)
{
    std::int64_t latest = time;
    for_each_opening(windows, zone, time, 1, [&](const Opening &opening) {
        if (opening.from <= time)
            latest = std::max(latest, opening.until);
    });
    return latest;
}

// For windows that are open at that time: returns until when, across windows that follow each
// other.
std::int64_t closing_time(const TimeWindows &windows, const Zone &zone, std::int64_t time)
{
    std::int64_t until = time;
    for (;;) {
        const std::int64_t next = last_to_close(windows, zone, until);
        if (next == until)
            return until;
        if (next > time + longest_opening)
            return never;
        until = next;
    }
}

// For windows that are closed at that time.
std::int64_t opening_time(const TimeWindows &windows, const Zone &zone, std::int64_t time)
{
    std::int64_t first = never;
    for_each_opening(windows, zone, time, week + 1, [&](const Opening &opening) {
        if (opening.from > time)
            first = std::min(first, opening.from);
    });
    return first;
}

}  // namespace

Opening next_opening(const TimeWindows &windows, const Zone &zone, std::int64_t time)
{
    if (windows.empty())
        return {time, never};
    if (const std::int64_t until = closing_time(windows, zone, time); until > time)
        return {time, until};
    const std::int64_t from = opening_time(windows, zone, time);
    return {from, closing_time(windows, zone, from)};
}

}  // namespace hipq::core
