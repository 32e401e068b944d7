// Cron expressions: valid and invalid ones, and their next times; years minute by minute.
#include "core/schedules/cron.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace hipq::core {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t epoch = 946'684'800;  // 2000-01-01 as Unix time

std::int64_t at(const std::string &text)
{
    std::tm tm{};
    if (::strptime(text.c_str(), "%Y-%m-%d %H:%M", &tm) == nullptr)
        ADD_FAILURE() << text;
    return (::timegm(&tm) - epoch) * second;
}

std::tm parts_of(std::int64_t time)
{
    const std::time_t unix_time = time / second + epoch;
    std::tm tm{};
    ::gmtime_r(&unix_time, &tm);
    return tm;
}

std::string text_of(std::int64_t time)
{
    const std::tm tm = parts_of(time);
    char text[20];
    std::strftime(text, sizeof(text), time % minute == 0 ? "%Y-%m-%d %H:%M" : "%Y-%m-%d %H:%M:%S",
                  &tm);
    return text;
}

class Utc final : public Zone {
public:
    Span at(std::int64_t) const override { return {0, never}; }
};

// UTC+1, with summer time in 2026 as in Central Europe.
class Summer final : public Zone {
public:
    Span at(std::int64_t time) const override
    {
        static const std::int64_t begin = core::at("2026-03-29 01:00");
        static const std::int64_t end = core::at("2026-10-25 01:00");
        if (time < begin)
            return {hour, begin};
        return time < end ? Span{2 * hour, end} : Span{hour, never};
    }
};

Cron read(const std::string &text)
{
    const auto parsed = parse_cron(text);
    if (const auto *problem = std::get_if<ParseProblem>(&parsed))
        ADD_FAILURE() << text << ": " << problem->message << " at " << problem->position;
    return std::holds_alternative<Cron>(parsed) ? std::get<Cron>(parsed) : Cron{};
}

// "2026-11-22 04:00, ...": the next runs, in UTC.
std::string runs(const std::string &text, const std::string &after, int count = 1,
                 const Zone &zone = Utc())
{
    const Cron cron = read(text);
    std::int64_t time = at(after);
    std::string list;
    for (int i = 0; i < count; ++i) {
        const auto next = next_run(cron, zone, time);
        if (!next.has_value())
            return list + "never";
        time = *next;
        list += (i > 0 ? ", " : "") + text_of(time);
    }
    return list;
}

std::string problem(const std::string &text)
{
    const auto parsed = parse_cron(text);
    const auto *found = std::get_if<ParseProblem>(&parsed);
    return found == nullptr ? "none" : std::to_string(found->position) + ": " + found->message;
}

TEST(Cron, MinutesAndHours)
{
    EXPECT_EQ(runs("* * * * *", "2026-11-22 04:30"), "2026-11-22 04:31");
    EXPECT_EQ(runs("0 3 * * *", "2026-11-22 03:00", 2), "2026-11-23 03:00, 2026-11-24 03:00");
    EXPECT_EQ(runs("0 3 * * *", "2026-11-22 02:59"), "2026-11-22 03:00");
    EXPECT_EQ(runs("*/20 * * * *", "2026-12-31 23:30", 3),
              "2026-12-31 23:40, 2027-01-01 00:00, 2027-01-01 00:20");
    EXPECT_EQ(runs("10-30/10,59 8-9 * * *", "2026-11-22 08:30", 3),
              "2026-11-22 08:59, 2026-11-22 09:10, 2026-11-22 09:20");
    EXPECT_EQ(runs("5,5,4 0 * * *", "2026-11-22 00:00", 2), "2026-11-22 00:04, 2026-11-22 00:05");
    EXPECT_EQ(runs("*/100 * * * *", "2026-11-22 04:30"), "2026-11-22 05:00");
}

TEST(Cron, StartsWithTheNextMinute)
{
    const Cron cron = read("* * * * *");
    EXPECT_EQ(next_run(cron, Utc(), at("2026-11-22 04:30") + 1), at("2026-11-22 04:31"));
    EXPECT_EQ(next_run(cron, Utc(), at("2026-11-22 04:31") - 1), at("2026-11-22 04:31"));
    EXPECT_EQ(next_run(cron, Utc(), at("1999-12-31 23:59")), at("2000-01-01 00:00"));
    EXPECT_EQ(runs("30 12 * * *", "1998-05-01 13:00"), "1998-05-02 12:30");
}

TEST(Cron, Names)
{
    EXPECT_EQ(runs("0 0 1 jan *", "2026-11-22 00:00"), "2027-01-01 00:00");
    EXPECT_EQ(runs("0 0 1 FEB-Apr *", "2026-11-22 00:00", 3),
              "2027-02-01 00:00, 2027-03-01 00:00, 2027-04-01 00:00");
    EXPECT_EQ(runs("0 9 * * mon-fri", "2026-11-20 09:00", 2), "2026-11-23 09:00, 2026-11-24 09:00");
    EXPECT_EQ(read("0 0 * * sun,Wed,sat"), read("0 0 * * 0,3,6"));
    EXPECT_EQ(read("0 0 * mar *"), read("0 0 * 3 *"));
}

TEST(Cron, SundayIsZeroAndSeven)
{
    EXPECT_EQ(read("0 0 * * 7"), read("0 0 * * 0"));
    EXPECT_EQ(read("0 0 * * 5-7"), read("0 0 * * 0,5,6"));
    EXPECT_EQ(runs("0 0 * * 7", "2026-11-22 00:00"), "2026-11-29 00:00");
    EXPECT_EQ(runs("0 0 * * */7", "2026-11-21 00:00"), "2026-11-22 00:00");
}

TEST(Cron, DayOfMonthOrDayOfWeek)
{
    // 2026-12-01 is a Tuesday. Both fields are restricted: one match is enough.
    EXPECT_EQ(runs("0 0 1,15 * fri", "2026-11-30 00:00", 4),
              "2026-12-01 00:00, 2026-12-04 00:00, 2026-12-11 00:00, 2026-12-15 00:00");
    // One field starts with a star: both must match.
    EXPECT_EQ(runs("0 0 1 * *", "2026-11-30 00:00", 2), "2026-12-01 00:00, 2027-01-01 00:00");
    EXPECT_EQ(runs("0 0 * * fri", "2026-11-30 00:00", 2), "2026-12-04 00:00, 2026-12-11 00:00");
    EXPECT_EQ(runs("0 0 */10 * fri", "2026-11-30 00:00", 2), "2026-12-11 00:00, 2027-01-01 00:00");
    EXPECT_EQ(runs("0 0 13 * */5", "2026-11-22 00:00", 2),
              "2026-12-13 00:00, 2027-06-13 00:00");  // Sundays and Fridays
}

TEST(Cron, LastDayOfTheMonth)
{
    EXPECT_EQ(runs("0 0 $ * *", "2027-12-31 00:00", 3),
              "2028-01-31 00:00, 2028-02-29 00:00, 2028-03-31 00:00");
    EXPECT_EQ(runs("0 0 $ feb *", "2026-11-22 00:00", 2), "2027-02-28 00:00, 2028-02-29 00:00");
    EXPECT_EQ(runs("0 0 $ * fri", "2026-11-22 00:00", 2), "2026-11-27 00:00, 2026-11-30 00:00");
}

TEST(Cron, RareAndImpossibleDates)
{
    EXPECT_EQ(runs("0 0 29 2 *", "2026-11-22 00:00", 2), "2028-02-29 00:00, 2032-02-29 00:00");
    EXPECT_EQ(runs("0 0 29 2 *", "2096-03-01 00:00"), "2104-02-29 00:00");
    EXPECT_EQ(runs("0 0 */28 2 0", "2026-11-22 00:00", 3),
              "2032-02-01 00:00, 2032-02-29 00:00, 2037-02-01 00:00");
    EXPECT_EQ(runs("0 0 30 2 *", "2026-11-22 00:00"), "never");
    EXPECT_EQ(runs("0 0 31 feb,apr,jun,sep,nov *", "2026-11-22 00:00"), "never");
    EXPECT_EQ(runs("0 0 31 2 mon", "2026-11-22 00:00"), "2027-02-01 00:00");
}

TEST(Cron, Seconds)
{
    EXPECT_EQ(read("30 seconds").seconds, 30);
    EXPECT_EQ(read(" 1 Second ").seconds, 1);
    EXPECT_EQ(next_run(read("59 SECONDS"), Utc(), 7), 7 + 59 * second);
    EXPECT_EQ(problem("0 seconds"), "1: seconds must be from 1 to 59");
    EXPECT_EQ(problem("60 seconds"), "1: seconds must be from 1 to 59");
    EXPECT_EQ(problem("99999999999 seconds"), "1: seconds must be from 1 to 59");
    EXPECT_EQ(problem("5 seconds ago"), "11: there is something after the end");
}

TEST(Cron, FieldOfSeconds)
{
    EXPECT_EQ(read("0 30 3 * * *").second_values, 1u);
    EXPECT_TRUE(read("0 30 3 * * *").has_second_field);
    EXPECT_FALSE(read("30 3 * * *").has_second_field);
    EXPECT_EQ(runs("*/20 59 23 * * *", "2026-12-31 23:58", 4),
              "2026-12-31 23:59, 2026-12-31 23:59:20, 2026-12-31 23:59:40, 2027-01-01 23:59");
    EXPECT_EQ(runs("5,59 0 0 1 1 *", "2026-11-22 00:00", 2),
              "2027-01-01 00:00:05, 2027-01-01 00:00:59");
}

TEST(Cron, StarsInTheTimeOfTheDay)
{
    for (const char *text : {"* 3 * * *", "0 * * * *", "*/5 3 * * *", "0 */2 * * *", "*,5 3 * * *",
                             "* 0 3 * * *", "@hourly"})
        EXPECT_FALSE(read(text).has_fixed_times) << text;
    for (const char *text :
         {"0 3 * * *", "0 0-23 * * *", "0 0-23/2 * * *", "5,* 3 * * *", "0 30 3 * * *", "@daily"})
        EXPECT_TRUE(read(text).has_fixed_times) << text;
}

TEST(Cron, Macros)
{
    EXPECT_EQ(read("@hourly"), read("0 * * * *"));
    EXPECT_EQ(read("@daily"), read("0 0 * * *"));
    EXPECT_EQ(read("@midnight"), read("@daily"));
    EXPECT_EQ(read("@weekly"), read("0 0 * * sun"));
    EXPECT_EQ(read("@monthly"), read("0 0 1 * *"));
    EXPECT_EQ(read(" @yearly "), read("0 0 1 1 *"));
    EXPECT_EQ(read("@annually"), read("@yearly"));
    EXPECT_EQ(without_macro(" @weekly\n"), "0 0 * * 0");
    EXPECT_EQ(without_macro(" 5 3 * * * "), "5 3 * * *");
    EXPECT_EQ(without_macro("@often"), "@often");
    EXPECT_EQ(problem("@reboot"), "1: nobody knows when @reboot comes");
    EXPECT_EQ(problem("@often"), "1: expected @hourly, @daily, @weekly, @monthly or @yearly");
    EXPECT_EQ(problem("@daily 3"), "8: there is something after the end");
}

TEST(Cron, WhenClocksAreChanged)
{
    // Central European: 02:00 is followed by 03:00 on 2026-03-29, 03:00 by 02:00 on 2026-10-25.
    EXPECT_EQ(runs("30 2 * * *", "2026-03-28 00:00", 2, Summer()),
              "2026-03-28 01:30, 2026-03-30 00:30");
    EXPECT_EQ(runs("30 3 * * *", "2026-03-28 12:00", 1, Summer()), "2026-03-29 01:30");
    EXPECT_EQ(runs("30 2 * * *", "2026-10-24 12:00", 3, Summer()),
              "2026-10-25 00:30, 2026-10-25 01:30, 2026-10-26 01:30");
    EXPECT_EQ(runs("0 0 29 3 *", "2026-01-01 00:00", 1, Summer()), "2026-03-28 23:00");
    EXPECT_EQ(runs("0 * * * *", "2026-03-28 23:30", 3, Summer()),
              "2026-03-29 00:00, 2026-03-29 01:00, 2026-03-29 02:00");
}

TEST(Cron, Problems)
{
    EXPECT_EQ(problem(""), "1: the minute is missing");
    EXPECT_EQ(problem("   "), "4: the minute is missing");
    EXPECT_EQ(problem("0 3"), "4: the day of month is missing");
    EXPECT_EQ(problem("0 3 * *"), "8: the day of week is missing");
    EXPECT_EQ(problem("0 3 * * * * *"), "11: there is something after the end");
    EXPECT_EQ(problem("0 3 * * * root"), "11: expected a day of week");
    EXPECT_EQ(problem("60 0 3 * * *"), "1: second must be from 0 to 59");
    EXPECT_EQ(problem("30 60 3 * * *"), "4: minute must be from 0 to 59");
    EXPECT_EQ(problem("60 * * * *"), "1: minute must be from 0 to 59");
    EXPECT_EQ(problem("-1 * * * *"), "1: expected a minute");
    EXPECT_EQ(problem("* 24 * * *"), "3: hour must be from 0 to 23");
    EXPECT_EQ(problem("* * 0 * *"), "5: day of month must be from 1 to 31");
    EXPECT_EQ(problem("* * 32 * *"), "5: day of month must be from 1 to 31");
    EXPECT_EQ(problem("* * * 13 *"), "7: month must be from 1 to 12");
    EXPECT_EQ(problem("* * * * 8"), "9: day of week must be from 0 to 7");
    EXPECT_EQ(problem("* * * * day"), "9: expected a day of week");
    EXPECT_EQ(problem("* * * january *"), "7: expected a month");
    EXPECT_EQ(problem("jan * * * *"), "1: expected a minute");
    EXPECT_EQ(problem("1,,2 * * * *"), "3: expected a minute");
    EXPECT_EQ(problem("1, * * * *"), "3: expected a minute");
    EXPECT_EQ(problem("1- * * * *"), "3: expected a minute");
    EXPECT_EQ(problem("30-10 * * * *"), "1: the range runs backwards");
    EXPECT_EQ(problem("* * * * fri-mon"), "9: the range runs backwards");
    EXPECT_EQ(problem("5/10 * * * *"), "2: a step needs a range before it, such as 5-59");
    EXPECT_EQ(problem("*/0 * * * *"), "3: a step must be from 1 to 1000");
    EXPECT_EQ(problem("*/x * * * *"), "3: a step must be from 1 to 1000");
    EXPECT_EQ(problem("*/99999999999 * * * *"), "3: a step must be from 1 to 1000");
    EXPECT_EQ(problem("*5 * * * *"), "2: expected a blank after the minute");
    EXPECT_EQ(problem("$ * * * *"), "1: expected a minute");
    EXPECT_EQ(problem("* * $/2 * *"), "6: expected a blank after the day of month");
    EXPECT_EQ(problem("* * $,1 * *"), "6: expected a blank after the day of month");
    EXPECT_EQ(problem("* * 1,$ * *"), "7: expected a day of month");
    EXPECT_EQ(problem("* * * * mon#2"), "12: expected a blank after the day of week");
    EXPECT_EQ(problem("99999999999 * * * *"), "1: minute must be from 0 to 59");
    EXPECT_EQ(problem("every day at 3"), "1: expected a minute");
}

TEST(Cron, BlanksBetweenFields)
{
    EXPECT_EQ(read("\t0  3\t*\n* *  "), read("0 3 * * *"));
}

// Whether the expression matches a minute, field by field.
bool comes_at(const Cron &cron, std::int64_t time)
{
    const std::tm tm = parts_of(time);
    const auto has = [](std::uint64_t values, int value) { return (values >> value & 1) != 0; };
    const bool is_last = parts_of(time + 24 * hour).tm_mday == 1;
    const bool in_month =
        has(cron.days_of_month, tm.tm_mday) || (cron.on_last_day_of_month && is_last);
    const bool in_week = has(cron.days_of_week, tm.tm_wday);
    return has(cron.minutes, tm.tm_min) && has(cron.hours, tm.tm_hour) &&
           has(cron.months, tm.tm_mon + 1) &&
           (cron.needs_both_days ? in_month && in_week : in_month || in_week);
}

TEST(Cron, AgreesWithAWalkMinuteByMinute)
{
    for (const char *text : {"*/7 3,15 * * *", "0 12 $ * *", "59 23 29-31 1,2,12 *",
                             "13 5 1-7 * mon", "0 0 */9 * 2-4", "30 6 13 * fri"}) {
        const Cron cron = read(text);
        std::int64_t expected = at("2027-12-30 00:00");
        for (int i = 0; i < 40; ++i) {
            const auto found = next_run(cron, Utc(), expected);
            do
                expected += minute;
            while (!comes_at(cron, expected));
            ASSERT_EQ(found, expected) << text << ": " << text_of(expected);
            if (expected > at("2028-06-01 00:00"))
                break;
        }
    }
}

}  // namespace
}  // namespace hipq::core
