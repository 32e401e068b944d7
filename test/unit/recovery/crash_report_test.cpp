// Which jobs a crash is charged to, which jobs run alone, and which are not affected.
#include "core/recovery/crash_report.hpp"

#include <gtest/gtest.h>

namespace hipq::core {
namespace {

FlightSlotRead slot(QuitMark mark, std::vector<FlightJob> jobs, std::uint32_t database = 5)
{
    return {mark, database, 1, 4711, 1'000, std::move(jobs)};
}

FlightLog log_of(std::vector<FlightSlotRead> slots, std::vector<CrashCase> cases = {})
{
    return {false, false, std::move(slots), std::move(cases)};
}

const CrashCase &find(const std::vector<CrashCase> &cases, std::int64_t id)
{
    for (const CrashCase &entry : cases)
        if (entry.job_id == id)
            return entry;
    static const CrashCase none{};
    ADD_FAILURE() << "no case of job " << id;
    return none;
}

struct Expected {
    int charge_due;
    int return_due;
    int runs_alone;
    int sightings;
};

void expect(const CrashCase &entry, Expected expected)
{
    EXPECT_EQ(entry.charge_due, expected.charge_due) << entry.job_id;
    EXPECT_EQ(entry.return_due, expected.return_due) << entry.job_id;
    EXPECT_EQ(entry.runs_alone, expected.runs_alone) << entry.job_id;
    EXPECT_EQ(entry.sightings, expected.sightings) << entry.job_id;
}

// The recovery is complete, and the server crashes again.
std::vector<CrashCase> done(std::vector<CrashCase> cases)
{
    for (CrashCase &entry : cases)
        entry = resolved(entry);
    std::erase_if(cases, [](const CrashCase &entry) { return !is_open(entry); });
    return cases;
}

// ---- how the server ended ----

TEST(CrashReport, APostmasterThatLivesOnSawACrash)
{
    EXPECT_EQ(end_of_life(log_of({}), true), EndOfLife::crash);
    FlightLog stopped = log_of({slot(QuitMark::stop, {{1, 1, 0}})});
    stopped.quit_for_stop = true;
    EXPECT_EQ(end_of_life(stopped, true), EndOfLife::crash);
}

TEST(CrashReport, MarksTellACrashFromAStop)
{
    FlightLog log = log_of({slot(QuitMark::none, {{1, 1, 0}})});
    EXPECT_EQ(end_of_life(log, false), EndOfLife::killed);
    log.quit_for_stop = true;
    EXPECT_EQ(end_of_life(log, false), EndOfLife::stop);
    log.quit_for_crash = true;  // a crash, and then a shutdown by the administrator
    EXPECT_EQ(end_of_life(log, false), EndOfLife::crash);
    EXPECT_EQ(end_of_life(log_of({slot(QuitMark::crash, {{1, 1, 0}})}), false), EndOfLife::crash);
    EXPECT_EQ(end_of_life(log_of({slot(QuitMark::stop, {{1, 1, 0}})}), false), EndOfLife::stop);
}

// ---- one crash ----

TEST(CrashReport, TheOnlyOneWithoutAMarkIsTheCulprit)
{
    const auto cases =
        judge(log_of({slot(QuitMark::crash, {{1, 1, 0}}), slot(QuitMark::none, {{2, 3, 0}}),
                      slot(QuitMark::crash, {{3, 1, 0}, {4, 1, 0}})}),
              EndOfLife::crash);
    ASSERT_EQ(cases.size(), 4U);
    EXPECT_EQ(cases.front().job_id, 2) << "the culprit comes first";
    EXPECT_EQ(cases.front().attempt, 3);
    EXPECT_EQ(cases.front().pid, 4711);
    EXPECT_EQ(cases.front().started, 1'000);
    expect(find(cases, 2), {1, 0, 1, 0});
    for (const std::int64_t bystander : {1, 3, 4})
        expect(find(cases, bystander), {0, 1, 0, 0});
}

TEST(CrashReport, SeveralWithoutAMarkAreSuspects)
{
    const auto cases =
        judge(log_of({slot(QuitMark::none, {{1, 1, 0}}), slot(QuitMark::none, {{2, 1, 0}}),
                      slot(QuitMark::crash, {{3, 1, 0}})}),
              EndOfLife::crash);
    expect(find(cases, 1), {0, 1, 1, 0});
    expect(find(cases, 2), {0, 1, 1, 0});
    expect(find(cases, 3), {0, 1, 0, 0});
}

TEST(CrashReport, ABatchIsManySuspects)
{
    const auto cases =
        judge(log_of({slot(QuitMark::none, {{1, 1, 0}, {2, 1, 0}, {3, 1, 0}})}), EndOfLife::crash);
    ASSERT_EQ(cases.size(), 3U);
    for (const CrashCase &entry : cases)
        expect(entry, {0, 1, 1, 0});
}

TEST(CrashReport, WithMarksOnAllNobodyIsCharged)
{
    const auto cases =
        judge(log_of({slot(QuitMark::crash, {{1, 1, 0}}), slot(QuitMark::crash, {{2, 1, 0}})}),
              EndOfLife::crash);
    expect(find(cases, 1), {0, 1, 0, 1});
    expect(find(cases, 2), {0, 1, 0, 1});
}

TEST(CrashReport, AStopIsNobodysFault)
{
    const auto cases =
        judge(log_of({slot(QuitMark::stop, {{1, 1, 0}}), slot(QuitMark::none, {{2, 1, 0}})}),
              EndOfLife::stop);
    expect(find(cases, 1), {0, 1, 0, 0});
    expect(find(cases, 2), {0, 1, 0, 0});
}

TEST(CrashReport, AKilledPostmasterIsNobodysFault)
{
    const auto cases = judge(log_of({slot(QuitMark::none, {{1, 1, 0}})}), EndOfLife::killed);
    expect(find(cases, 1), {0, 1, 0, 1});
}

TEST(CrashReport, NobodyAtWorkMeansNoCases)
{
    EXPECT_TRUE(judge(log_of({}), EndOfLife::crash).empty());
}

// After a crash in a retry handler the job waits; it did nothing itself.
TEST(CrashReport, ARetryHandlerIsChargedButTheJobDoesNotRunAlone)
{
    const auto cases = judge(log_of({slot(QuitMark::none, {{1, 0, 0}})}), EndOfLife::crash);
    expect(find(cases, 1), {1, 0, 0, 0});
    const auto suspects =
        judge(log_of({slot(QuitMark::none, {{1, 0, 0}}), slot(QuitMark::none, {{2, 1, 0}})}),
              EndOfLife::crash);
    expect(find(suspects, 1), {0, 1, 0, 0});
    expect(find(suspects, 2), {0, 1, 1, 0});
}

// ---- one crash after the other ----

TEST(CrashReport, TheSecondSightingMakesASuspect)
{
    const FlightLog first =
        log_of({slot(QuitMark::crash, {{1, 1, 0}}), slot(QuitMark::crash, {{2, 1, 0}})});
    auto cases = done(judge(first, EndOfLife::crash));
    ASSERT_EQ(cases.size(), 2U) << "both are remembered";
    cases = judge(
        log_of({slot(QuitMark::crash, {{1, 2, 0}}), slot(QuitMark::crash, {{3, 1, 0}})}, cases),
        EndOfLife::crash);
    expect(find(cases, 1), {0, 1, 1, 2});
    expect(find(cases, 2), {0, 0, 0, 1});
    expect(find(cases, 3), {0, 1, 0, 1});
    EXPECT_EQ(find(cases, 1).attempt, 2);
    for (int i = 0; i < 300; ++i)
        cases = judge(log_of({slot(QuitMark::crash, {{1, 2, 0}})}, done(cases)), EndOfLife::crash);
    expect(find(cases, 1), {0, 1, 1, 255});
}

TEST(CrashReport, ACrashWithACulpritIsNoSighting)
{
    auto cases = done(judge(log_of({slot(QuitMark::crash, {{1, 1, 0}})}), EndOfLife::crash));
    cases = judge(
        log_of({slot(QuitMark::crash, {{1, 2, 0}}), slot(QuitMark::none, {{2, 1, 0}})}, cases),
        EndOfLife::crash);
    expect(find(cases, 1), {0, 1, 0, 1});
    expect(find(cases, 2), {1, 0, 1, 0});
}

TEST(CrashReport, OneSuspectAfterTheOther)
{
    auto cases =
        done(judge(log_of({slot(QuitMark::none, {{1, 1, 0}}), slot(QuitMark::none, {{2, 1, 0}})}),
                   EndOfLife::crash));
    ASSERT_EQ(cases.size(), 2U);
    cases = judge(
        log_of({slot(QuitMark::none, {{2, 2, 0}}), slot(QuitMark::crash, {{3, 1, 0}})}, cases),
        EndOfLife::crash);
    expect(find(cases, 2), {1, 0, 1, 0});
    expect(find(cases, 1), {0, 0, 1, 0});
    expect(find(cases, 3), {0, 1, 0, 0});
}

// The server ends again before the charge is carried out: it stays one charge.
TEST(CrashReport, AnUnresolvedCaseStaysAsItIs)
{
    const auto before =
        judge(log_of({slot(QuitMark::none, {{1, 1, 0}}), slot(QuitMark::crash, {{2, 1, 0}})}),
              EndOfLife::crash);
    const auto after = judge(log_of({}, before), EndOfLife::killed);
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        EXPECT_EQ(after[i].job_id, before[i].job_id);
        expect(after[i], {before[i].charge_due, before[i].return_due, before[i].runs_alone,
                          before[i].sightings});
    }
    const auto forged =
        judge(log_of({slot(QuitMark::none, {{1, 9, 0}})}, before), EndOfLife::crash);
    EXPECT_EQ(find(forged, 1).attempt, 1) << "it cannot have run meanwhile";
}

TEST(CrashReport, ResolvedCasesAreForgottenUnlessSuspicionRemains)
{
    CrashCase entry{};
    entry.job_id = 1;
    EXPECT_FALSE(is_open(entry));
    entry.return_due = 1;
    EXPECT_TRUE(is_open(entry));
    EXPECT_FALSE(is_open(resolved(entry)));
    entry.runs_alone = 1;
    EXPECT_TRUE(is_open(resolved(entry)));
}

TEST(CrashReport, JobsOfDifferentDatabasesAreDifferentJobs)
{
    const auto cases =
        judge(log_of({slot(QuitMark::none, {{1, 1, 0}}, 5), slot(QuitMark::crash, {{1, 1, 0}}, 6)}),
              EndOfLife::crash);
    ASSERT_EQ(cases.size(), 2U);
    EXPECT_EQ(cases[0].database, 5U);
    expect(cases[0], {1, 0, 1, 0});
    expect(cases[1], {0, 1, 0, 0});
}

TEST(CrashReport, WhatMattersMostIsKept)
{
    std::vector<FlightSlotRead> slots{slot(QuitMark::none, {{999'999, 1, 0}})};
    for (int i = 0; i < 4; ++i) {
        std::vector<FlightJob> batch;
        for (std::int64_t id = 1; id <= static_cast<std::int64_t>(max_flight_jobs); ++id)
            batch.push_back({i * 10'000 + id, 1, 0});
        slots.push_back(slot(QuitMark::crash, batch));
    }
    const auto cases = judge(log_of(slots), EndOfLife::crash);
    ASSERT_EQ(cases.size(), 1 + 4 * max_flight_jobs);
    const FlightStamp stamp{1, boot_id_of("boot"), 0};
    const auto kept = read_flight_log(new_flight_log(stamp, 1, cases), stamp)->cases;
    ASSERT_EQ(kept.size(), max_crash_cases);
    EXPECT_EQ(kept.front().job_id, 999'999);
}

// ---- job types, and how fast they may run ----

TEST(CrashReport, TheTypeOfTheOnlyOneWithoutAMarkIsToBlame)
{
    const auto one =
        judge(log_of({slot(QuitMark::crash, {{1, 1, 0}}), slot(QuitMark::none, {{2, 1, 0}})}),
              EndOfLife::crash, 77);
    EXPECT_EQ(find(one, 2).crashed, 77);
    EXPECT_EQ(find(one, 1).crashed, 0);
    const auto batch =
        judge(log_of({slot(QuitMark::none, {{1, 1, 0}, {2, 1, 0}})}), EndOfLife::crash, 77);
    EXPECT_EQ(find(batch, 1).crashed, 77) << "a batch is of one type";
    EXPECT_EQ(find(batch, 2).crashed, 0) << "which is blamed once";
    const auto asking = judge(log_of({slot(QuitMark::none, {{1, 0, 0}})}), EndOfLife::crash, 77);
    EXPECT_EQ(find(asking, 1).crashed, 77) << "its retry handler counts";
}

TEST(CrashReport, SeveralOfOneQueueMayBeOfOneType)
{
    const auto cases =
        judge(log_of({slot(QuitMark::none, {{1, 1, 0}, {2, 1, 0}}),
                      slot(QuitMark::crash, {{3, 1, 0}}), slot(QuitMark::none, {{4, 1, 0}})}),
              EndOfLife::crash, 77);
    EXPECT_EQ(find(cases, 1).crashed, 77);
    EXPECT_EQ(find(cases, 2).crashed, 0);
    EXPECT_EQ(find(cases, 3).crashed, 0);
    EXPECT_EQ(find(cases, 4).crashed, 77);
}

TEST(CrashReport, SeveralQueuesAreToldFromOne)
{
    FlightSlotRead other = slot(QuitMark::none, {{2, 1, 0}});
    other.queue_id = 2;
    for (const auto &log :
         {log_of({slot(QuitMark::none, {{1, 1, 0}}), other}),
          log_of({slot(QuitMark::none, {{1, 1, 0}}, 5), slot(QuitMark::none, {{2, 1, 0}}, 6)})})
        for (const CrashCase &entry : judge(log, EndOfLife::crash, 77)) {
            EXPECT_EQ(entry.crashed, 77);
            EXPECT_EQ(entry.with_others, 1);
        }
    const auto one = judge(log_of({slot(QuitMark::none, {{1, 1, 0}})}), EndOfLife::crash, 77);
    EXPECT_EQ(find(one, 1).with_others, 0);
}

TEST(CrashReport, NoTypeIsToBlameForACrashOfSomebodyElse)
{
    for (const auto &log :
         {log_of({slot(QuitMark::crash, {{1, 1, 0}}), slot(QuitMark::crash, {{2, 1, 0}})}),
          log_of({})})
        for (const CrashCase &entry : judge(log, EndOfLife::crash, 77))
            EXPECT_EQ(entry.crashed, 0);
    EXPECT_EQ(
        find(judge(log_of({slot(QuitMark::none, {{1, 1, 0}})}), EndOfLife::killed, 77), 1).crashed,
        0);
}

TEST(CrashReport, ASuspectIsAnEarlierOneOnceItIsBackInLine)
{
    const auto cases =
        judge(log_of({slot(QuitMark::none, {{1, 1, 0}}), slot(QuitMark::none, {{2, 1, 0}}),
                      slot(QuitMark::crash, {{3, 1, 0}})}),
              EndOfLife::crash, 77);
    EXPECT_FALSE(is_earlier_suspect(find(cases, 1))) << "its crash is the one at hand";
    EXPECT_TRUE(is_earlier_suspect(resolved(find(cases, 1))));
    EXPECT_FALSE(is_earlier_suspect(resolved(find(cases, 3)))) << "it bore a mark";
    const auto log = log_of({slot(QuitMark::none, {{4, 1, 0}})});
    const auto again = judge(log_of(log.slots, judge(log, EndOfLife::killed)), EndOfLife::killed);
    EXPECT_FALSE(is_earlier_suspect(resolved(find(again, 4)))) << "it was only there";
}

TEST(CrashReport, BlameOutlivesASecondCrash)
{
    auto cases = judge(log_of({slot(QuitMark::none, {{1, 1, 0}})}), EndOfLife::crash, 77);
    cases = judge(log_of({slot(QuitMark::none, {{2, 1, 0}})}, cases), EndOfLife::crash, 88);
    EXPECT_EQ(find(cases, 1).crashed, 77);
    EXPECT_EQ(find(cases, 2).crashed, 88);
    CrashCase entry = resolved(find(cases, 1));
    EXPECT_TRUE(is_open(entry)) << "until the type has been blamed";
    entry.crashed = 0;
    entry.runs_alone = 0;
    EXPECT_FALSE(is_open(entry));
}

TEST(CrashReport, AStreakIsOfCrashesSoonOneAfterTheOther)
{
    FlightLog log = log_of({slot(QuitMark::none, {{1, 1, 0}})});
    for (std::int64_t i = 1; i <= 3; ++i) {
        log.streak = streak_after(log, EndOfLife::crash, i * 1'000'000);
        EXPECT_EQ(log.streak.count, i);
        EXPECT_EQ(log.streak.last, i * 1'000'000);
    }
    EXPECT_EQ(streak_after(log, EndOfLife::stop, 4'000'000).count, 3) << "a stop is none";
    EXPECT_EQ(streak_after(log, EndOfLife::crash, 3'000'000 + crash_window).count, 1) << "long ago";
    log.slots = {slot(QuitMark::crash, {{1, 1, 0}})};
    EXPECT_EQ(streak_after(log, EndOfLife::crash, 4'000'000).count, 3) << "somebody else's crash";
}

TEST(CrashReport, ThePauseDoublesToAMinute)
{
    EXPECT_EQ(suspect_pause({0, 0}, 1'000'000), 0);
    EXPECT_EQ(suspect_pause({5, 1}, 1'000'000), 1'000'000);
    EXPECT_EQ(suspect_pause({5, 2}, 1'000'000), 2'000'000);
    EXPECT_EQ(suspect_pause({5, 6}, 1'000'000), 32'000'000);
    EXPECT_EQ(suspect_pause({5, 7}, 1'000'000), longest_suspect_pause);
    EXPECT_EQ(suspect_pause({5, std::numeric_limits<std::int64_t>::max()}, 60'000'000),
              longest_suspect_pause);
    EXPECT_EQ(suspect_pause({5, 9}, 0), 0);
}

TEST(CrashReport, ATypeIsHeldWithSoManyCrashes)
{
    EXPECT_FALSE(is_held_for_crashes(1, 2));
    EXPECT_TRUE(is_held_for_crashes(2, 2));
    EXPECT_FALSE(is_held_for_crashes(1'000, 0)) << "0 holds none";
}

}  // namespace
}  // namespace hipq::core
