// Runs that hipq tells: counts, ends of searches, jitter, and what becomes of missed runs.
#include "core/schedules/schedule_times.hpp"
#include "zones.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hipq::core {
namespace {

constexpr std::int64_t one_day = microseconds_per_day;

Cron cron_of(const std::string &text)
{
    const auto parsed = parse_cron(text);
    return std::holds_alternative<Cron>(parsed) ? std::get<Cron>(parsed) : Cron{};
}

// Runs from one UTC time to another, ends excluded and included.
std::vector<std::int64_t> own_runs(const std::string &text, const std::string &zone,
                                   std::int64_t from, std::int64_t until)
{
    const Cron cron = cron_of(text);
    std::vector<std::int64_t> runs;
    for (auto run = next_own_run(cron, zone_of(zone), from); run.has_value() && *run <= until;
         run = next_own_run(cron, zone_of(zone), *run))
        runs.push_back(*run);
    return runs;
}

TEST(OwnRuns, AreCountedOnDaysWhenClocksChange)
{
    const std::int64_t spring = time_of("2026-03-28 22:59");  // in Berlin, a minute before the day
    const std::int64_t autumn = time_of("2026-10-24 21:59");
    const std::int64_t short_day = 23 * microseconds_per_hour;
    const std::int64_t long_day = 25 * microseconds_per_hour;
    const auto count = [](const char *text, std::int64_t from, std::int64_t length) {
        return own_runs(text, "Berlin", from, from + length).size();
    };
    EXPECT_EQ(count("0 * * * *", spring, short_day), 23u);
    EXPECT_EQ(count("0 * * * *", autumn, long_day), 25u);
    EXPECT_EQ(count("* * * * *", spring, short_day), 23u * 60);
    EXPECT_EQ(count("* * * * *", autumn, long_day), 25u * 60);
    EXPECT_EQ(count("0 0-23 * * *", spring, short_day), 23u);  // 02:00 is 03:00
    EXPECT_EQ(count("0 0-23 * * *", autumn, long_day), 24u);
    EXPECT_EQ(count("30 0-23 * * *", spring, short_day), 24u);
    EXPECT_EQ(count("*/30 2 * * *", spring, short_day), 0u);
    EXPECT_EQ(count("*/30 2 * * *", autumn, long_day), 4u);
    EXPECT_EQ(count("30 seconds", spring, short_day), 23u * 120);
}

TEST(OwnRuns, OfFixedTimesComeOnceADay)
{
    for (const char *zone : {"Berlin", "New_York", "Lord_Howe"})
        for (int start = 0; start < 24 * 60; start += 30) {
            const std::string text =
                std::to_string(start % 60) + " " + std::to_string(start / 60) + " * * *";
            const std::int64_t from = time_of("2026-01-01 12:00");
            ASSERT_EQ(own_runs(text, zone, from, from + 365 * one_day).size(), 365u)
                << zone << " " << text;
        }
}

TEST(OwnRuns, InSecondsAreMultiples)
{
    const std::int64_t from = time_of("2026-11-22 04:30:07");
    EXPECT_EQ(own_runs("30 seconds", "UTC", from, from + 60 * microseconds_per_second),
              (std::vector{time_of("2026-11-22 04:30:30"), time_of("2026-11-22 04:31:00")}));
    const Cron seven = cron_of("7 seconds");
    const auto first = next_own_run(seven, zone_of("UTC"), from);
    EXPECT_EQ(next_own_run(seven, zone_of("UTC"), from + 1), first);
    EXPECT_EQ(next_own_run(seven, zone_of("UTC"), *first), *first + 7 * microseconds_per_second);
}

TEST(OwnRuns, HaveNoEndOrNone)
{
    EXPECT_EQ(next_own_run(cron_of("0 0 30 2 *"), zone_of("Berlin"), time_of("2026-01-01 00:00")),
              std::nullopt);
    EXPECT_EQ(next_own_run(cron_of("0 12 29 2 *"), zone_of("UTC"), time_of("2096-03-01 00:00")),
              time_of("2104-02-29 12:00"));
    EXPECT_TRUE(last_own_runs(cron_of("0 0 30 2 *"), zone_of("Berlin"), 0, one_day, 5).empty());
}

TEST(OwnRuns, LastOnesAreTheEndOfAll)
{
    const std::int64_t until = time_of("2026-10-26 12:00:30");
    for (const char *text : {"30 2 * * *", "0 * * * *", "*/7 2,3 * * *", "0 0 1 * *",
                             "*/15 0 3 * * *", "0 0 29 2 *", "45 seconds"})
        for (const std::int64_t days : {0, 1, 3, 400})
            for (const std::size_t most : {1u, 2u, 50u}) {
                const std::int64_t after = until - days * one_day;
                std::vector<std::int64_t> expected = own_runs(text, "Berlin", after, until);
                if (expected.size() > most)
                    expected.erase(expected.begin(),
                                   expected.end() - static_cast<std::ptrdiff_t>(most));
                ASSERT_EQ(last_own_runs(cron_of(text), zone_of("Berlin"), after, until, most),
                          expected)
                    << text << ", " << days << " days, " << most;
            }
}

TEST(Jitter, IsTheSameAtEachCallAndSpread)
{
    const std::int64_t jitter = 10 * microseconds_per_minute;
    std::set<std::int64_t> seconds;
    for (std::int64_t run = 0; run < 1'000 * microseconds_per_hour; run += microseconds_per_hour) {
        const std::int64_t offset = jitter_of(7, run, never, jitter);
        EXPECT_EQ(jitter_of(7, run, never, jitter), offset);
        EXPECT_GE(offset, 0);
        EXPECT_LT(offset, jitter);
        seconds.insert(offset / microseconds_per_second);
    }
    EXPECT_GT(seconds.size(), 400u);  // of 600
    EXPECT_NE(jitter_of(7, 0, never, jitter), jitter_of(8, 0, never, jitter));
}

TEST(Jitter, EndsBeforeTheNextRun)
{
    for (std::int64_t run = 0; run < 1'000 * microseconds_per_minute;
         run += microseconds_per_minute) {
        const std::int64_t next = run + microseconds_per_minute;
        EXPECT_LT(jitter_of(1, run, next, one_day), microseconds_per_minute);
    }
    EXPECT_EQ(jitter_of(1, 5, never, 0), 0);
}

// ---- missed runs ----

// The runs that are planned, as hours of a day on which hourly runs are due from 1 o'clock on.
std::string planned(Missed missed, const std::string &now, std::int64_t within = one_day,
                    const std::string &first = "2026-06-01 01:00")
{
    const Cron cron = cron_of("0 * * * *");
    const Plan plan =
        plan_runs({cron, zone_of("UTC"), 1, 0, time_of(first)}, missed, within, time_of(now));
    std::string text;
    for (const std::int64_t run : plan.runs)
        text += local_text(zone_of("UTC"), run, "2026").substr(6, 5) + " ";
    return text + "of " + local_text(zone_of("UTC"), plan.last_due, "2026").substr(6, 5) +
           (plan.has_too_many ? ", too many" : "");
}

TEST(MissedRuns, OnTime)
{
    for (const Missed missed : {Missed::once, Missed::skip, Missed::all}) {
        EXPECT_EQ(planned(missed, "2026-06-01 01:00"), "01:00 of 01:00");
        EXPECT_EQ(planned(missed, "2026-06-01 01:01"), "01:00 of 01:00");
        EXPECT_EQ(planned(missed, "2026-06-01 01:00:30", 1), "01:00 of 01:00");
    }
}

TEST(MissedRuns, ByPolicy)
{
    EXPECT_EQ(planned(Missed::once, "2026-06-01 04:30"), "04:00 of 04:00");
    EXPECT_EQ(planned(Missed::skip, "2026-06-01 04:30"), "of 04:00");
    EXPECT_EQ(planned(Missed::all, "2026-06-01 04:30"), "01:00 02:00 03:00 04:00 of 04:00");
    EXPECT_EQ(planned(Missed::once, "2026-06-01 04:00:10"), "04:00 of 04:00");
    EXPECT_EQ(planned(Missed::skip, "2026-06-01 04:00:10"), "04:00 of 04:00");
    EXPECT_EQ(planned(Missed::skip, "2026-06-01 04:01:01"), "of 04:00");
}

TEST(MissedRuns, TooOldOnesAreLeftOut)
{
    const std::int64_t two_hours = 2 * microseconds_per_hour;
    EXPECT_EQ(planned(Missed::all, "2026-06-01 04:30", two_hours), "03:00 04:00 of 04:00");
    EXPECT_EQ(planned(Missed::once, "2026-06-01 04:30", microseconds_per_minute), "of 04:00");
    EXPECT_EQ(planned(Missed::all, "2026-06-01 04:00", microseconds_per_second), "04:00 of 04:00");
}

TEST(MissedRuns, AreAThousandAtMost)
{
    const Cron cron = cron_of("* * * * *");
    const DueRuns due{cron, zone_of("UTC"), 1, 0, time_of("2026-06-01 00:00")};
    const std::int64_t now = time_of("2026-06-01 16:40");
    const Plan plan = plan_runs(due, Missed::all, one_day, now);
    EXPECT_EQ(plan.runs.size(), most_missed_runs);
    EXPECT_EQ(plan.runs.front(), time_of("2026-06-01 00:01"));
    EXPECT_EQ(plan.runs.back(), now);
    EXPECT_TRUE(plan.has_too_many);
    EXPECT_FALSE(plan_runs(due, Missed::all, one_day, now - microseconds_per_minute).has_too_many);
}

TEST(MissedRuns, EndWithTheSchedule)
{
    const Cron cron = cron_of("0 * * * *");
    const DueRuns due{
        cron, zone_of("UTC"), 1, 0, time_of("2026-06-01 01:00"), time_of("2026-06-01 02:00")};
    const Plan plan = plan_runs(due, Missed::all, one_day, time_of("2026-06-01 04:00"));
    EXPECT_EQ(plan.last_due, time_of("2026-06-01 02:00"));
    EXPECT_EQ(plan.runs.size(), 2u);
}

TEST(MissedRuns, WithJitterWaitForTheirMoment)
{
    const Cron cron = cron_of("0 * * * *");
    const std::int64_t jitter = microseconds_per_hour;
    const std::int64_t first = time_of("2026-06-01 01:00");
    const std::int64_t second_run = first + microseconds_per_hour;
    const DueRuns due{cron, zone_of("UTC"), 1, jitter, first};
    const std::int64_t start =
        second_run + jitter_of(1, second_run, second_run + microseconds_per_hour, jitter);
    EXPECT_EQ(plan_runs(due, Missed::once, one_day, start - 1).last_due, first);
    EXPECT_EQ(plan_runs(due, Missed::once, one_day, start).last_due, second_run);
    EXPECT_EQ(plan_runs(due, Missed::skip, one_day, start).runs, std::vector{second_run});
}

// The first run was planned by an expression that has been changed since.
TEST(MissedRuns, OfAnotherExpression)
{
    EXPECT_EQ(planned(Missed::once, "2026-06-01 01:31", one_day, "2026-06-01 01:30"),
              "01:30 of 01:30");
}

TEST(MissedRuns, Names)
{
    for (const Missed missed : {Missed::once, Missed::skip, Missed::all})
        EXPECT_EQ(parse_missed(name(missed)), missed);
    EXPECT_EQ(parse_missed("never"), std::nullopt);
    for (const Overlap overlap : {Overlap::skip, Overlap::after, Overlap::allow})
        EXPECT_EQ(parse_overlap(name(overlap)), overlap);
    EXPECT_EQ(parse_overlap(""), std::nullopt);
}

}  // namespace
}  // namespace hipq::core
