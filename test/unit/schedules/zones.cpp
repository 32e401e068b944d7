// Computes the clock changes of zones for tests.
#include "zones.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>

namespace hipq::core {

namespace {

constexpr int first_year = 2026;
constexpr int last_year = 2040;
constexpr std::int64_t unix_epoch = 946'684'800;  // 2000-01-01 as Unix time

std::int64_t sunday_of(int year, unsigned month, unsigned number)
{
    using namespace std::chrono;
    const year_month in_month = std::chrono::year{year} / std::chrono::month{month};
    const sys_days day =
        number == 0 ? sys_days{in_month / Sunday[last]} : sys_days{in_month / Sunday[number]};
    return (day - sys_days{std::chrono::year{2000} / 1 / 1}).count() * microseconds_per_day;
}

std::tm parts_at(std::int64_t time)
{
    const std::time_t unix_time = time / microseconds_per_second + unix_epoch;
    std::tm tm{};
    ::gmtime_r(&unix_time, &tm);
    return tm;
}

std::string formatted(const std::tm &tm, const char *format)
{
    std::array<char, 32> text{};
    const std::size_t length = std::strftime(text.data(), text.size(), format, &tm);
    return {text.data(), length};
}

constexpr std::int64_t one_hour = microseconds_per_hour;
constexpr std::int64_t half = one_hour / 2;

std::map<std::string, TestZone> make_zones()
{
    std::map<std::string, TestZone> zones;
    zones.emplace("UTC", TestZone(0, {}));
    // The last Sundays of March and October, 01:00 UTC.
    zones.emplace("Berlin", TestZone(one_hour, {{3, 0, one_hour, 2 * one_hour},
                                                {10, 0, one_hour, one_hour}}));
    // 02:00 on the second Sunday of March, and on the first one of November.
    zones.emplace("New_York", TestZone(-5 * one_hour, {{3, 2, 7 * one_hour, -4 * one_hour},
                                                       {11, 1, 6 * one_hour, -5 * one_hour}}));
    // Half an one_hour at 02:00 on the first Sundays of April and October.
    zones.emplace("Lord_Howe",
                  TestZone(11 * one_hour, {{4, 1, -9 * one_hour, 10 * one_hour + half},
                                           {10, 1, -8 * one_hour - half, 11 * one_hour}}));
    // At midnight, as long as Brazil changed its clocks.
    zones.emplace("Sao_Paulo", TestZone(-2 * one_hour, {},
                                        {{"2018-02-18 02:00", -3 * one_hour},
                                         {"2018-11-04 03:00", -2 * one_hour},
                                         {"2019-02-17 02:00", -3 * one_hour}}));
    // Back in the month of Ramadan.
    zones.emplace(
        "Casablanca",
        TestZone(one_hour, {}, {{"2026-02-15 02:00", 0}, {"2026-03-22 02:00", one_hour}}));
    // Crossed the date line, in summer time.
    zones.emplace("Apia", TestZone(-10 * one_hour, {},
                                   {{"2011-12-30 10:00", 14 * one_hour},
                                    {"2012-03-31 14:00", 13 * one_hour}}));
    return zones;
}

}  // namespace

TestZone::TestZone(std::int64_t first_offset, const std::vector<YearlyChange> &yearly,
                   const std::vector<SingleChange> &single)
    : first_offset_(first_offset)
{
    for (const SingleChange &change : single)
        changes_.push_back({time_of(change.time), change.offset});
    for (int year = first_year; year <= last_year; ++year)
        for (const YearlyChange &change : yearly)
            changes_.push_back(
                {sunday_of(year, change.month, change.sunday) + change.time, change.offset});
}

Zone::Span TestZone::at(std::int64_t time) const
{
    std::int64_t offset = first_offset_;
    for (const Change &change : changes_) {
        if (time < change.time)
            return {offset, change.time};
        offset = change.offset;
    }
    return {offset, never};
}

const Zone &zone_of(const std::string &name)
{
    static const std::map<std::string, TestZone> zones = make_zones();
    return zones.at(name);
}

std::int64_t time_of(const std::string &text)
{
    std::tm tm{};
    const bool has_seconds = std::ranges::count(text, ':') == 2;
    if (::strptime(text.c_str(), has_seconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &tm) ==
        nullptr)
        ADD_FAILURE() << text;
    return (::timegm(&tm) - unix_epoch) * microseconds_per_second;
}

std::string local_text(const Zone &zone, std::int64_t time, const std::string &year)
{
    const std::int64_t offset = zone.at(time).offset;
    const std::tm tm = parts_at(time + offset);
    std::string text = formatted(tm, tm.tm_sec == 0 ? "%Y-%m-%d %H:%M" : "%Y-%m-%d %H:%M:%S");
    if (text.starts_with(year + "-"))
        text.erase(0, year.size() + 1);
    const std::int64_t minutes = offset / microseconds_per_minute;
    text += (minutes < 0 ? "-" : "+") + std::to_string(std::abs(minutes) / 60);
    return text + (minutes % 60 == 0 ? "" : ".5");
}

}  // namespace hipq::core
