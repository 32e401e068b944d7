// Breakers: their transitions, their table, and how the table of jobs in flight starts jobs under
// them.
#include "core/lanes/job_table.hpp"
#include "core/limits/breaker_text.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace hipq::core;

namespace {

constexpr std::int64_t one_second = microseconds_per_second;
constexpr BreakerRule half_of_four{50, 4, 60 * one_second, 30 * one_second};

struct OneBreaker {
    BreakerRecord record{};
    Breaker breaker{record};
    std::int64_t now = 1'000 * one_second;

    bool end(std::uint32_t generation, bool has_failed)
    {
        return breaker.end(half_of_four, generation, has_failed, now);
    }
    // A job starts and ends. Returns whether the breaker has changed.
    bool run(bool has_failed) { return end(breaker.admit(half_of_four), has_failed); }
    void trip()
    {
        for (int i = 0; i < half_of_four.attempts; ++i)
            run(true);
    }
    Breaker::Answer ask() const { return breaker.ask(half_of_four, now); }
};

std::string breaker_text_of(std::string_view text)
{
    const auto parsed = parse_breaker(text);
    const auto *problem = std::get_if<ParseProblem>(&parsed);
    return problem == nullptr ? canonical(std::get<BreakerRule>(parsed))
                              : std::to_string(problem->position) + ": " + problem->message;
}

}  // namespace

using Answer = Breaker::Answer;

TEST(Breaker, OpensWhenEnoughAttemptsFailed)
{
    OneBreaker one;
    EXPECT_FALSE(one.run(true));
    EXPECT_FALSE(one.run(true));
    EXPECT_FALSE(one.run(true));
    EXPECT_EQ(one.ask(), Answer::any);
    EXPECT_TRUE(one.run(true));
    EXPECT_EQ(one.ask(), Answer::none);
    EXPECT_EQ(one.record.opening.until, one.now + half_of_four.open);
    EXPECT_EQ(one.record.opening.cause, BreakerCause::attempts);
    EXPECT_EQ(one.record.opening.counted.ended, 4);
    EXPECT_EQ(one.record.opening.counted.failed, 4);
}

TEST(Breaker, StaysClosedBelowItsShare)
{
    OneBreaker one;
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(one.run(i % 3 == 2));
        one.now += one_second;
    }
}

TEST(Breaker, AlsoASuccessCompletesTheAttempts)
{
    OneBreaker one;
    one.run(true);
    one.run(true);
    one.run(false);
    EXPECT_TRUE(one.run(false));
    EXPECT_EQ(one.record.opening.counted.failed, 2);
}

TEST(Breaker, ForgetsWhatIsOlderThanTheWindow)
{
    OneBreaker one;
    one.run(true);
    one.run(true);
    one.run(true);
    one.now += half_of_four.window * 15 / 16 - one_second;
    EXPECT_EQ(one.breaker.counted(half_of_four, one.now).ended, 3);
    one.now += half_of_four.window / 16 + one_second;
    EXPECT_EQ(one.breaker.counted(half_of_four, one.now).ended, 0);
    EXPECT_FALSE(one.run(true));
    EXPECT_EQ(one.ask(), Answer::any);
}

TEST(Breaker, CountsNoEndTwiceWhenTheWindowWrapsAround)
{
    OneBreaker one;
    for (int i = 0; i < 100; ++i) {
        one.run(false);
        one.now += half_of_four.window / 16;
        EXPECT_LE(one.breaker.counted(half_of_four, one.now).ended, 16);
    }
    EXPECT_EQ(one.breaker.counted(half_of_four, one.now).ended, 15);
}

TEST(Breaker, LetsOneJobTryWhenItsTimeHasPassed)
{
    OneBreaker one;
    one.trip();
    one.now += half_of_four.open - 1;
    EXPECT_EQ(one.ask(), Answer::none);
    one.now += 1;
    EXPECT_EQ(one.ask(), Answer::one);
    one.breaker.admit(half_of_four);
    EXPECT_EQ(one.record.state, BreakerState::half_open);
    EXPECT_EQ(one.ask(), Answer::none);
}

TEST(Breaker, ClosesWhenTheProbeSucceeds)
{
    OneBreaker one;
    one.trip();
    one.now += half_of_four.open;
    EXPECT_TRUE(one.run(false));
    EXPECT_EQ(one.ask(), Answer::any);
    EXPECT_EQ(one.breaker.counted(half_of_four, one.now).ended, 0);
    EXPECT_FALSE(one.run(true));
}

TEST(Breaker, OpensAgainWhenTheProbeFails)
{
    OneBreaker one;
    one.trip();
    one.now += half_of_four.open;
    EXPECT_TRUE(one.run(true));
    EXPECT_EQ(one.ask(), Answer::none);
    EXPECT_EQ(one.record.opening.cause, BreakerCause::probe);
    EXPECT_EQ(one.record.opening.since, one.now);
    EXPECT_EQ(one.record.opening.until, one.now + half_of_four.open);
}

TEST(Breaker, AnotherJobTriesWhenTheProbeIsGone)
{
    OneBreaker one;
    one.trip();
    one.now += half_of_four.open;
    const std::uint32_t first = one.breaker.admit(half_of_four);
    EXPECT_TRUE(one.breaker.give_back(first));
    EXPECT_EQ(one.ask(), Answer::one);
    const std::uint32_t next = one.breaker.admit(half_of_four);
    EXPECT_FALSE(one.breaker.give_back(first));
    EXPECT_FALSE(one.end(first, true));
    EXPECT_EQ(one.record.state, BreakerState::half_open);
    EXPECT_TRUE(one.end(next, false));
    EXPECT_EQ(one.record.state, BreakerState::closed);
}

TEST(Breaker, IgnoresEndsOfJobsThatStartedBeforeItChanged)
{
    OneBreaker one;
    const std::uint32_t old = one.breaker.admit(half_of_four);
    one.trip();
    EXPECT_FALSE(one.end(old, false));
    EXPECT_EQ(one.record.state, BreakerState::open);
    one.now += half_of_four.open;
    const std::uint32_t probe = one.breaker.admit(half_of_four);
    EXPECT_FALSE(one.end(old, false));
    EXPECT_EQ(one.record.state, BreakerState::half_open);
    EXPECT_TRUE(one.end(probe, false));
    EXPECT_FALSE(one.end(old, true));
    EXPECT_EQ(one.breaker.counted(half_of_four, one.now).ended, 0);
}

TEST(Breaker, IgnoresAProbeThatEndsAfterAUserChangedIt)
{
    for (const bool opens : {false, true})
        for (const bool has_failed : {false, true}) {
            OneBreaker one;
            one.trip();
            one.now += half_of_four.open;
            const std::uint32_t probe = one.breaker.admit(half_of_four);
            if (opens)
                one.breaker.open({one.now, never, BreakerCause::row, {}});
            else
                one.breaker.close();
            EXPECT_FALSE(one.end(probe, has_failed));
            EXPECT_EQ(one.ask(), opens ? Answer::none : Answer::any);
        }
}

TEST(Breaker, WithoutARuleItClosesWhenItsTimeHasPassed)
{
    OneBreaker one;
    one.breaker.open({one.now, one.now + one_second, BreakerCause::row, {}});
    EXPECT_EQ(one.breaker.ask({}, one.now), Answer::none);
    one.now += one_second;
    EXPECT_EQ(one.breaker.ask({}, one.now), Answer::any);
    const std::uint32_t generation = one.breaker.admit({});
    EXPECT_EQ(one.record.state, BreakerState::closed);
    EXPECT_FALSE(one.breaker.end({}, generation, true, one.now));
}

TEST(Breaker, WithoutARuleTheEndOfTheProbeClosesIt)
{
    for (const bool has_failed : {false, true}) {
        OneBreaker one;
        one.trip();
        one.now += half_of_four.open;
        const std::uint32_t probe = one.breaker.admit(half_of_four);
        EXPECT_TRUE(one.breaker.end({}, probe, has_failed, one.now));
        EXPECT_EQ(one.ask(), Answer::any);  // also under a new rule
    }
}

TEST(Breaker, OpenedForEverItLetsNoJobTry)
{
    OneBreaker one;
    one.breaker.open({one.now, never, BreakerCause::row, {}});
    one.now += 1'000 * microseconds_per_day;
    EXPECT_EQ(one.ask(), Answer::none);
    one.breaker.close();
    EXPECT_EQ(one.ask(), Answer::any);
}

TEST(Breaker, Text)
{
    EXPECT_EQ(breaker_text_of("50% of 20 in 1 min, open 30 s"), "50% of 20 in 1 min, open 30 s");
    EXPECT_EQ(breaker_text_of(" 100 %of 1 in minute,open 90 seconds "),
              "100% of 1 in 1 min, open 90 s");
    EXPECT_EQ(breaker_text_of("1% of 1000000 in 24 hours, open 31 days"),
              "1% of 1000000 in 1 day, open 31 day");
    EXPECT_EQ(breaker_text_of(""), "1: expected a percentage such as 50%");
    EXPECT_EQ(breaker_text_of("0% of 2 in 1 s, open 1 s"),
              "2: the percentage must be from 1 to 100");
    EXPECT_EQ(breaker_text_of("101%"), "4: the percentage must be from 1 to 100");
    EXPECT_EQ(breaker_text_of("50 of 20"), "4: expected \"% of\" and a number of attempts");
    EXPECT_EQ(breaker_text_of("50% of 0"), "9: the number of attempts must be from 1 to 1000000");
    EXPECT_EQ(breaker_text_of("50% of 20"), "10: expected \"in\" and a time, such as in 1 min");
    EXPECT_EQ(breaker_text_of("50% of 20 in 1 parsec"),
              "16: expected a unit of time: s, min, h or day");
    EXPECT_EQ(breaker_text_of("50% of 20 in 32 d, open 1 s"),
              "18: the time must be from 1 second to 31 days");
    EXPECT_EQ(breaker_text_of("50% of 20 in 1 s"),
              "17: expected \", open\" and a time, such as open 30 s");
    EXPECT_EQ(breaker_text_of("50% of 20 in 1 s, open 1 s!"), "27: expected the end of the text");
}

// ---- the table, and jobs in flight ----

namespace {

struct BreakerMemory {
    JobTableHead head{};
    LimiterTableHead limiter_head{};
    NameTableHead breaker_head{};
    std::vector<JobEntry> entries;
    std::vector<std::int32_t> buckets;
    std::vector<HolderList> holders;
    std::vector<Limiter> limiters;
    std::vector<std::int32_t> limiter_buckets;
    std::vector<BreakerEntry> breakers;
    std::vector<std::int32_t> breaker_buckets;
    JobTable table;
    WeightLimits limits{0, 0, 0};
    std::int64_t now = 1'000 * one_second;

    explicit BreakerMemory(std::size_t capacity = 8)
        : entries(100), buckets(16), holders(8), limiters(100), limiter_buckets(8),
          breakers(capacity), breaker_buckets(8),
          table(&head, entries, buckets, holders,
                LimiterTable(&limiter_head, limiters, limiter_buckets), {},
                BreakerTable(&breaker_head, breakers, breaker_buckets))
    {
        table.clear();
        limits.breaker.rule = half_of_four;
    }

    std::int32_t insert(std::int64_t id)
    {
        JobEntry entry{};
        entry.job_id = id;
        entry.database = 1;
        entry.queue_id = 1;
        return table.insert(entry);
    }
    Capacity take(std::int32_t entry, std::uint64_t type = 7)
    {
        return table.take_capacity(entry, {weight_unit, type, 0}, limits, now);
    }
    // Runs a job. Returns whether it was taken.
    bool run(std::int64_t id, bool has_failed)
    {
        const std::int32_t entry = insert(id);
        const bool is_taken = take(entry) == Capacity::taken;
        if (is_taken)
            table.conclude(entry, has_failed, now);
        table.erase(entry);
        return is_taken;
    }
    void trip()
    {
        for (int i = 0; i < half_of_four.attempts; ++i)
            run(900 + i, true);
    }
    const BreakerEntry &breaker() const { return breakers[0]; }
};

}  // namespace

TEST(BreakerTable, RefusesJobsWhileItIsOpenAndTakesOneProbe)
{
    BreakerMemory memory;
    memory.trip();
    const std::int32_t first = memory.insert(1);
    const std::int32_t second_job = memory.insert(2);
    EXPECT_EQ(memory.take(first), Capacity::breaker_open);
    memory.now += half_of_four.open;
    EXPECT_EQ(memory.take(first), Capacity::taken);
    EXPECT_EQ(memory.take(second_job), Capacity::breaker_open);
    EXPECT_TRUE(memory.table.conclude(first, false, memory.now));
    EXPECT_TRUE(memory.table.take_freed_capacity().any);
    EXPECT_EQ(memory.take(second_job), Capacity::taken);
}

TEST(BreakerTable, AProbeThatIsErasedMakesRoomForAnother)
{
    BreakerMemory memory;
    memory.trip();
    memory.now += half_of_four.open;
    const std::int32_t first = memory.insert(1);
    const std::int32_t second_job = memory.insert(2);
    EXPECT_EQ(memory.take(first), Capacity::taken);
    EXPECT_EQ(memory.take(second_job), Capacity::breaker_open);
    memory.table.erase(first);
    EXPECT_TRUE(memory.table.take_freed_capacity().any);
    EXPECT_EQ(memory.take(second_job), Capacity::taken);
}

TEST(BreakerTable, AnAttemptCountsOnce)
{
    BreakerMemory memory;
    const std::int32_t job = memory.insert(1);
    EXPECT_EQ(memory.take(job), Capacity::taken);
    EXPECT_FALSE(memory.table.conclude(job, true, memory.now));
    EXPECT_FALSE(memory.table.conclude(job, true, memory.now));
    memory.table.erase(job);
    EXPECT_EQ(memory.breaker().jobs, 0);
    BreakerRecord record = memory.breaker().record;
    EXPECT_EQ(Breaker(record).counted(half_of_four, memory.now).ended, 1);
}

TEST(BreakerTable, OtherTypesAreNotConcerned)
{
    BreakerMemory memory;
    memory.trip();
    const std::int32_t job = memory.insert(1);
    EXPECT_EQ(memory.take(job, 8), Capacity::taken);
}

TEST(BreakerTable, AJobThatItAdmittedBeforeItOpenedMayNotStartAgain)
{
    BreakerMemory memory;
    const std::int32_t job = memory.insert(1);
    EXPECT_EQ(memory.take(job), Capacity::taken);
    EXPECT_TRUE(memory.table.admission_of(job).by_breaker);
    EXPECT_TRUE(memory.table.admit_again(job, memory.now));
    memory.trip();
    EXPECT_FALSE(memory.table.admission_of(job).by_breaker);
    EXPECT_FALSE(memory.table.admit_again(job, memory.now));
}

TEST(BreakerTable, AnotherRuleCountsAnew)
{
    BreakerMemory memory;
    for (int i = 0; i < 3; ++i)
        memory.run(i + 1, true);
    memory.limits.breaker.rule.window *= 2;
    memory.run(4, true);
    EXPECT_EQ(memory.breaker().record.state, BreakerState::closed);
}

TEST(BreakerTable, ALongerWindowForgetsOldAttempts)
{
    BreakerMemory memory;
    memory.run(1, true);
    memory.limits.breaker.rule.window *= 10;
    for (int i = 0; i < 3; ++i)
        memory.run(i + 2, true);
    memory.now += 2 * memory.limits.breaker.rule.window;
    memory.run(5, true);
    EXPECT_EQ(memory.breaker().record.state, BreakerState::closed);
}

TEST(BreakerTable, ANewEntryLearnsFromTheRow)
{
    BreakerMemory memory;
    memory.limits.breaker.row = {5, memory.now - one_second, memory.now + one_second};
    EXPECT_FALSE(memory.run(1, false));
    EXPECT_FALSE(memory.table.breakers().is_unsaved(0));
    memory.now += one_second;
    EXPECT_TRUE(memory.run(1, false));
    EXPECT_EQ(memory.breaker().change, 6);
    EXPECT_TRUE(memory.table.breakers().is_unsaved(0));
    EXPECT_TRUE(memory.run(2, false));  // the row of change 5 is an old one now
    memory.table.breakers().note_saved(0, 6);
    EXPECT_FALSE(memory.table.breakers().is_unsaved(0));
}

TEST(BreakerTable, AnOrderComesAfterAllOtherChanges)
{
    BreakerMemory memory;
    memory.run(1, false);
    const BreakerRow row{memory.breaker().change + 1, memory.now, never};
    memory.trip();  // after the row was written, before its commit
    memory.table.order(0, {BreakerState::open, row}, memory.now);
    EXPECT_EQ(memory.breaker().record.opening.until, never);
    EXPECT_EQ(memory.breaker().change, row.change + 1);
    EXPECT_TRUE(memory.table.breakers().is_unsaved(0));
    memory.table.order(0, {BreakerState::closed, {row.change + 2, 0, 0}}, memory.now);
    EXPECT_FALSE(memory.table.breakers().is_unsaved(0));
    EXPECT_TRUE(memory.run(2, false));
}

TEST(BreakerTable, AnOrderTellsRefusedJobs)
{
    BreakerMemory memory;
    memory.trip();
    EXPECT_FALSE(memory.run(1, false));
    (void)memory.table.take_freed_capacity();
    memory.table.order(0, {BreakerState::closed, {9, 0, 0}}, memory.now);
    EXPECT_TRUE(memory.table.take_freed_capacity().any);
}

TEST(BreakerTable, WithoutARuleOnlyAnOrderOpensIt)
{
    BreakerMemory memory;
    memory.limits.breaker.rule = {};
    memory.limits.breaker.row = {1, memory.now, memory.now + one_second};
    EXPECT_FALSE(memory.run(1, true));
    memory.now += one_second;
    for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(memory.run(i + 1, true));
    EXPECT_EQ(memory.breaker().change, 2);
}

TEST(BreakerTable, MakesRoomOnlyOfWhatItsRowBringsBack)
{
    BreakerMemory memory(1);
    memory.trip();
    EXPECT_EQ(memory.take(memory.insert(1), 8), Capacity::breaker_open);  // no room
    memory.now += 2 * microseconds_per_minute;
    EXPECT_EQ(memory.take(memory.insert(2), 8), Capacity::breaker_open);  // its row is not written
    memory.table.breakers().note_saved(0, memory.breaker().change);
    EXPECT_EQ(memory.take(memory.insert(3), 8), Capacity::taken);
}
