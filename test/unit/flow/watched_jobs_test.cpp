// Watched jobs: the filter and the list by themselves, and a model of the protocol in all orders of
// events, which finds the loss if a rule of it is broken.
#include "core/flow/watch_protocol.hpp"

#include "../shards/exploration.hpp"
#include "watch_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iostream>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace hipq::test;
using namespace hipq::core;

namespace {

constexpr std::uint32_t database = 16'384;
constexpr std::uint32_t neighbour = 16'385;

// ---- the filter ----

using SmallFilter = WatchedJobs<64>;  // crowded above 16 bits
using LargeFilter = WatchedJobs<std::size_t{1} << 22>;

// Adds jobs until so many bits are set; returns the jobs, one for each bit.
template <class Filter>
std::vector<std::int64_t> set_bits(Filter &filter, std::size_t bits)
{
    std::vector<std::int64_t> jobs;
    for (std::int64_t id = 1; jobs.size() < bits; ++id)
        if (!filter.may_have(database, id)) {
            filter.add(database, id);
            jobs.push_back(id);
        }
    return jobs;
}

TEST(WatchedJobs, AreNoneAtFirst)
{
    const auto filter = std::make_unique<SmallFilter>();
    EXPECT_TRUE(filter->is_empty());
    EXPECT_FALSE(filter->is_crowded());
    for (std::int64_t id = 0; id < 1'000; ++id)
        EXPECT_FALSE(filter->may_have(database, id));
}

TEST(WatchedJobs, EachAddedJobIsFound)
{
    const auto filter = std::make_unique<WatchedJobs<4'096>>();
    std::mt19937_64 random(41);
    std::vector<std::pair<std::uint32_t, std::int64_t>> added;
    for (int i = 0; i < 10'000; ++i) {
        const auto id = static_cast<std::int64_t>(random() >> (1 + random() % 63));
        added.emplace_back(static_cast<std::uint32_t>(random()), id);
        filter->add(added.back().first, id);
    }
    for (const auto &[of, id] : added)
        EXPECT_TRUE(filter->may_have(of, id)) << of << ", " << id;
    EXPECT_FALSE(filter->is_empty());
}

// Their ids are the same, as each database begins with 1.
TEST(WatchedJobs, DatabasesAreToldApart)
{
    const auto filter = std::make_unique<LargeFilter>();
    constexpr std::int64_t count = 10'000;
    for (std::int64_t id = 1; id <= count; ++id)
        filter->add(database, id);
    for (std::uint32_t other = neighbour; other < neighbour + 100; ++other) {
        int found = 0;
        for (std::int64_t id = 1; id <= count; ++id)
            found += filter->may_have(other, id) ? 1 : 0;
        EXPECT_LT(found, count / 4) << other;
    }
}

// Ids of jobs in other queues may lie between those that are watched.
TEST(WatchedJobs, OfFiveOthersOneSeemsToBeWatchedWhenThereAreAMillion)
{
    for (const std::int64_t step : {1, 2, 4'096}) {
        const auto filter = std::make_unique<LargeFilter>();
        constexpr std::int64_t count = 1'000'000;
        for (std::int64_t i = 0; i < count; ++i)
            filter->add(database, i * step);
        EXPECT_FALSE(filter->is_crowded()) << step;
        int found = 0;
        for (std::int64_t i = count; i < 2 * count; ++i)
            found += filter->may_have(database, i * step) ? 1 : 0;
        EXPECT_LT(found, count / 4) << step;
    }
}

TEST(WatchedJobs, AreCrowdedAboveAQuarterOfTheBits)
{
    const auto filter = std::make_unique<SmallFilter>();
    for (int i = 0; i < 100; ++i)
        filter->add(database, 1);
    EXPECT_FALSE(filter->is_crowded());
    set_bits(*filter, 15);
    EXPECT_FALSE(filter->is_crowded());
    set_bits(*filter, 1);
    EXPECT_TRUE(filter->is_crowded());
}

TEST(WatchedJobs, BeginAgainWithNone)
{
    const auto filter = std::make_unique<SmallFilter>();
    for (int round = 0; round < 3; ++round) {
        const std::vector<std::int64_t> jobs = set_bits(*filter, 20);
        const std::uint32_t generation = filter->generation();
        filter->begin_again([] {});
        EXPECT_NE(filter->generation(), generation);
        EXPECT_TRUE(filter->is_empty());
        EXPECT_FALSE(filter->is_crowded());
        for (const std::int64_t id : jobs)
            EXPECT_FALSE(filter->may_have(database, id));
    }
}

// A scheduler may look at all waits at once when it is told to.
TEST(WatchedJobs, ThatAreAddedWhenTheSchedulersAreToldStay)
{
    const auto filter = std::make_unique<SmallFilter>();
    set_bits(*filter, 20);
    const std::uint32_t generation = filter->generation();
    int calls = 0;
    filter->begin_again([&] {
        ++calls;
        EXPECT_NE(filter->generation(), generation);
        EXPECT_TRUE(filter->is_empty());
        filter->add(database, 7);
    });
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(filter->may_have(database, 7));
    EXPECT_FALSE(filter->is_empty());
    EXPECT_FALSE(filter->is_crowded());
}

TEST(WatchedJobs, NewWaitsAreCounted)
{
    const auto filter = std::make_unique<SmallFilter>();
    const std::uint32_t before = filter->new_waits();
    filter->add(database, 7);
    EXPECT_EQ(filter->new_waits(), before);
    filter->count_new_wait();
    EXPECT_NE(filter->new_waits(), before);
}

TEST(WatchedJobs, LooksAreCountedByJob)
{
    const auto filter = std::make_unique<LargeFilter>();
    const std::uint32_t before = filter->looks(database, 7);
    EXPECT_EQ(filter->count_looks(database, 7, 3), before);
    EXPECT_EQ(filter->looks(database, 7), before + 3);
    const std::uint32_t others = filter->looks(database, 8);
    EXPECT_EQ(filter->count_looks(database, 7, 1), before + 3);
    EXPECT_EQ(filter->looks(database, 8), others);
}

// Threads add jobs, one empties the filter over and over, and each thread adds its jobs again
// when it gets notice. In the end all are there, and the count agrees with the bits.
TEST(WatchedJobs, NoneIsLostWhileOthersBeginAgain)
{
    constexpr int rounds = 200;
    struct Adder {
        std::atomic<bool> was_told = false;
        std::atomic<int> rounds = 0;
    };
    const auto filter = std::make_unique<WatchedJobs<1'024>>();
    std::array<Adder, 2> adders;
    std::atomic<bool> is_done = false;
    const auto add_jobs = [&](std::size_t adder) {
        for (std::size_t i = 0; i < 10; ++i)
            filter->add(database, static_cast<std::int64_t>(adder * 10 + i));
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < adders.size(); ++i)
        threads.emplace_back([&, i] {
            add_jobs(i);
            while (!is_done)
                if (adders.at(i).was_told.exchange(false)) {
                    add_jobs(i);
                    ++adders.at(i).rounds;
                }
        });
    while (std::ranges::any_of(adders, [](const Adder &each) { return each.rounds < rounds; }))
        filter->begin_again([&] {
            for (Adder &each : adders)
                each.was_told = true;
        });
    is_done = true;
    for (std::thread &thread : threads)
        thread.join();
    for (std::size_t i = 0; i < adders.size(); ++i)
        if (adders.at(i).was_told)
            add_jobs(i);
    for (std::int64_t id = 0; id < 20; ++id)
        EXPECT_TRUE(filter->may_have(database, id)) << id;
    EXPECT_FALSE(filter->is_empty());
    filter->begin_again([] {});
    EXPECT_TRUE(filter->is_empty());
}

// ---- the list ----

using SmallList = ReportedEnds<4>;

std::vector<std::int64_t> taken(SmallList &list, std::uint32_t of)
{
    std::vector<std::int64_t> jobs;
    list.take(of, [&](std::int64_t id) { jobs.push_back(id); });
    return jobs;
}

TEST(ReportedEnds, AreTakenOnceInOrder)
{
    const auto list = std::make_unique<SmallList>();
    for (const std::int64_t id : {5, 3, 5})
        EXPECT_TRUE(list->add(database, id));
    EXPECT_EQ(taken(*list, database), (std::vector<std::int64_t>{5, 3, 5}));
    EXPECT_TRUE(taken(*list, database).empty());
}

TEST(ReportedEnds, AreTakenOfOneDatabase)
{
    const auto list = std::make_unique<SmallList>();
    list->add(neighbour, 1);
    list->add(database, 2);
    list->add(neighbour, 3);
    EXPECT_EQ(taken(*list, database), std::vector<std::int64_t>{2});
    list->add(database, 4);
    EXPECT_EQ(taken(*list, neighbour), (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(taken(*list, database), std::vector<std::int64_t>{4});
}

TEST(ReportedEnds, AreRefusedWhenThereIsNoRoom)
{
    const auto list = std::make_unique<SmallList>();
    for (std::int64_t id = 1; id <= 3; ++id)
        EXPECT_TRUE(list->add(neighbour, id));
    EXPECT_TRUE(list->add(database, 4));
    EXPECT_FALSE(list->add(database, 5));
    EXPECT_EQ(taken(*list, database), std::vector<std::int64_t>{4});
    EXPECT_TRUE(list->add(database, 6));
    EXPECT_FALSE(list->add(database, 7));
    EXPECT_EQ(taken(*list, database), std::vector<std::int64_t>{6});
    EXPECT_EQ(taken(*list, neighbour), (std::vector<std::int64_t>{1, 2, 3}));
}

// ---- the protocol ----

constexpr Bits first_job = 0b01;
constexpr Bits second_job = 0b10;
constexpr Bits both = 0b11;

// Transactions that make jobs wait for older ones, or for one that they make themselves.
constexpr WaiterSetting of_first{.jobs = first_job};
constexpr WaiterSetting of_second{.jobs = second_job};
constexpr WaiterSetting of_both{.jobs = both};
constexpr WaiterSetting of_own{.jobs = first_job, .makes = first_job};
constexpr WaiterSetting may_roll_back{.jobs = first_job, .rolls_back = true};
constexpr WaiterSetting may_be_prepared{.jobs = first_job, .is_prepared = true};
constexpr WaiterSetting restores_first{.jobs = first_job, .is_restore = true};
constexpr WaiterSetting restores_second{.jobs = second_job, .is_restore = true};
// Adds the first job before to the filter, and rolls back; or adds one that has the same bit.
constexpr WaiterSetting stranger{.adds = first_job, .commits = false, .rolls_back = true};
constexpr WaiterSetting no_one{};

constexpr WatchSetting one_job{.exits = 1, .crashes = 1};
constexpr WatchSetting own_job{.waiters{{of_own, no_one}}, .exits = 1, .crashes = 1};
constexpr WatchSetting rollback{.waiters{{may_roll_back, stranger}}};
constexpr WatchSetting prepared{.waiters{{may_be_prepared, no_one}}, .crashes = 1};
constexpr WatchSetting end_prepared{.end_prepared = first_job, .crashes = 1};
constexpr WatchSetting restored{.waiters{{restores_first, no_one}}, .renewals = 1};
constexpr WatchSetting two_restores{.before{first_job, first_job},
                                    .waiters{{restores_first, restores_second}},
                                    .walks_one_by_one = true};
constexpr WatchSetting renewed{.renewals = 1};
constexpr WatchSetting own_job_renewed{.waiters{{of_own, no_one}}, .renewals = 1};
constexpr WatchSetting no_room{
    .before{both, 0}, .policy = AfterPolicy::succeeded, .fail = both, .room = 1, .exits = 1};

constexpr WatchSetting fan_in{.before{both, 0}, .crashes = 1};
constexpr WatchSetting fan_in_with_own{.before{both, 0},
                                       .waiters{{{.jobs = first_job, .makes = second_job}, no_one}},
                                       .release = both};
constexpr WatchSetting fan_in_and_out{
    .before{both, both}, .waiters{{of_both, no_one}}, .crashes = 1};
constexpr WatchSetting fan_in_and_stranger{.before{both, 0}, .waiters{{of_first, stranger}}};
constexpr WatchSetting first_fails{.before{both, 0},
                                   .policy = AfterPolicy::succeeded,
                                   .never_end = second_job,
                                   .fail = first_job,
                                   .renewals = 1};
constexpr WatchSetting any_succeeds{
    .before{both, 0}, .policy = AfterPolicy::any, .never_end = second_job, .renewals = 1};
constexpr WatchSetting any_of_two{.before{both, 0}, .policy = AfterPolicy::any, .crashes = 1};

constexpr WatchSetting released{.release = first_job, .crashes = 1};
constexpr WatchSetting released_for_two{
    .before{first_job, first_job}, .waiters{{of_first, of_second}}, .release = first_job};
constexpr WatchSetting released_prepared{
    .waiters{{may_be_prepared, stranger}}, .release = first_job, .crashes = 1};
constexpr WatchSetting released_from_both{.before{both, 0}, .release = both};
constexpr WatchSetting key{.release = both, .waits_for_key = true, .crashes = 1};

constexpr std::array<WaiterSetting, most_waiters> no_waiters{{no_one, no_one}};
constexpr WatchSetting few{.before{both, 0}, .release = both, .has_few_before = true, .crashes = 1};
constexpr WatchSetting few_renewed{.before{both, 0},
                                   .waiters = no_waiters,
                                   .waiting = first_job,
                                   .release = both,
                                   .has_few_before = true,
                                   .renewals = 1};
constexpr WatchSetting few_for_two{.before{both, both},
                                   .waiters = no_waiters,
                                   .waiting = both,
                                   .release = both,
                                   .has_few_before = true,
                                   .crashes = 1};
constexpr Bits third_job = 0b100;
constexpr Bits all_three = 0b111;
constexpr WatchSetting three{.before{all_three, 0},
                             .waiters = no_waiters,
                             .present = all_three,
                             .waiting = first_job,
                             .release = all_three,
                             .has_few_before = true};
constexpr WatchSetting three_of_which_one_releases{.before{all_three, 0},
                                                   .waiters = no_waiters,
                                                   .present = all_three,
                                                   .waiting = first_job,
                                                   .release = third_job,
                                                   .has_few_before = true};
// The report of the new wait names the last job.
constexpr WatchSetting new_three{
    .before{all_three, 0}, .present = all_three, .release = third_job, .has_few_before = true};
constexpr WatchSetting three_of_which_two_release{.before{all_three, 0},
                                                  .waiters = no_waiters,
                                                  .present = all_three,
                                                  .waiting = first_job,
                                                  .release = both,
                                                  .has_few_before = true};
constexpr WatchSetting few_of_own{.before{both, 0},
                                  .waiters{{{.jobs = first_job, .makes = second_job}, no_one}},
                                  .release = both,
                                  .has_few_before = true};
constexpr WatchSetting few_of_which_one_releases{
    .before{both, 0}, .release = first_job, .has_few_before = true};
constexpr WatchSetting few_of_which_one_fails{.before{both, 0},
                                              .policy = AfterPolicy::succeeded,
                                              .fail = second_job,
                                              .release = first_job,
                                              .has_few_before = true};
constexpr WatchSetting few_prepared{
    .before{both, 0}, .waiters{{may_be_prepared, no_one}}, .release = both, .has_few_before = true};

void expect_sound(const WatchSetting &setting)
{
    const Findings findings = explore(WatchModel(setting));
    EXPECT_EQ(findings.fault, "") << told(findings);
    EXPECT_GT(findings.ends, 0U);
    std::cout << findings.states << " states, " << findings.steps << " steps\n";
}

void expect_loss(const WatchSetting &setting, const WatchRules &rules)
{
    const Findings findings = explore(WatchModel(setting, rules));
    EXPECT_EQ(findings.fault, "a job waits for ever") << told(findings);
}

}  // namespace

TEST(WatchModel, NoJobWaitsForEverOrStartsTooEarly)
{
    expect_sound(one_job);
    expect_sound(own_job);
}

TEST(WatchModel, NorIfTransactionsRollBackOrArePrepared)
{
    expect_sound(rollback);
    expect_sound(prepared);
    expect_sound(end_prepared);
}

TEST(WatchModel, NorAfterARestore)
{
    expect_sound(restored);
    expect_sound(two_restores);
}

TEST(WatchModel, NorWhenTheFilterIsEmptiedOrTheListIsFull)
{
    expect_sound(renewed);
    expect_sound(own_job_renewed);
    expect_sound(no_room);
}

TEST(WatchModel, NorWithSeveralJobsBefore)
{
    expect_sound(fan_in);
    expect_sound(fan_in_with_own);
    expect_sound(fan_in_and_out);
    expect_sound(fan_in_and_stranger);
    expect_sound(first_fails);
    expect_sound(any_succeeds);
    expect_sound(any_of_two);
}

TEST(WatchModel, NorIfEndsReleaseJobs)
{
    expect_sound(released);
    expect_sound(released_for_two);
    expect_sound(released_prepared);
    expect_sound(released_from_both);
    expect_sound(key);
}

TEST(WatchModel, NorIfEndsAreNotReportedAsLongAsOtherJobsAreUnfinished)
{
    expect_sound(few);
    expect_sound(few_renewed);
    expect_sound(few_for_two);
    expect_sound(three);
    expect_sound(three_of_which_one_releases);
    expect_sound(three_of_which_two_release);
    expect_sound(few_of_own);
    expect_sound(few_of_which_one_releases);
    expect_sound(few_of_which_one_fails);
    expect_sound(few_prepared);
}

// ---- broken rules ----

TEST(BrokenWatch, LosesAJobIfTheWaiterDoesNotReport)
{
    expect_loss(one_job, {.waiter_reports = false});
    expect_loss(prepared, {.prepared_is_reported = false});
}

TEST(BrokenWatch, LosesAJobIfTheEndLooksBeforeItsCommit)
{
    expect_loss(one_job, {.finisher_looks_after_commit = false});
}

TEST(BrokenWatch, LosesAJobIfAFailureThatIsNotWatchedIsNotReported)
{
    expect_loss(first_fails, {.failures_are_reported = false});
}

TEST(BrokenWatch, LosesAJobIfAnEndThatHasReleasedJobsIsNeverReported)
{
    expect_loss(released, {.released_end_is_silent = true});
    expect_loss(released_for_two, {.released_end_is_silent = true});
}

TEST(BrokenWatch, LosesAJobIfLooksAreNotCounted)
{
    expect_loss(few_renewed, {.ends_count_looks = false});
    expect_loss(few_renewed, {.scheduler_counts_looks = false});
    expect_loss(new_three, {.scheduler_counts_many = false});
}

TEST(BrokenWatch, LosesAJobIfAnEndReadsTheTablesBeforeTheNumberOfLooks)
{
    expect_loss(few, {.end_reads_count_first = false});
}

TEST(BrokenWatch, LosesAJobIfTheSchedulerDoesNotReadAgain)
{
    expect_loss(one_job, {.scheduler_reads_again = false});
    expect_loss(fan_in, {.scheduler_reads_again = false});
    expect_loss(any_of_two, {.reads_again_if_none_is_left = false});
}

// Another transaction may have set it, or the scheduler itself for another job, since it has read.
TEST(BrokenWatch, LosesAJobIfTheSchedulerTrustsABitThatItFinds)
{
    expect_loss(fan_in_and_stranger, {.found_bit_is_old = true});
    expect_loss(fan_in_and_out, {.found_bit_is_old = true});
}

TEST(BrokenWatch, LosesAJobIfTheSchedulerDoesNotReportTheNewRowOfAFollower)
{
    expect_loss(key, {.new_row_is_reported = false});
}

TEST(BrokenWatch, LosesAJobIfASchedulerDoesNotWalkAfterItsStart)
{
    expect_loss(one_job, {.start_walks = false});
    expect_loss(one_job, {.scheduler_marks_work = false});
}

TEST(BrokenWatch, LosesAJobIfTheSchedulersAreNotTold)
{
    expect_loss(renewed, {.renewal{Renewal::clear_first, Renewal::clear_second,
                                   Renewal::change_generation, Renewal::end}});
}

TEST(BrokenWatch, LosesAJobIfTheSchedulersAreToldTooEarly)
{
    expect_loss(renewed, {.renewal{Renewal::change_generation, Renewal::tell, Renewal::clear_first,
                                   Renewal::clear_second, Renewal::end}});
}

TEST(BrokenWatch, LosesAJobIfTheGenerationChangesBeforeTheBits)
{
    expect_loss(own_job_renewed, {.renewal{Renewal::change_generation, Renewal::clear_first,
                                           Renewal::clear_second, Renewal::tell, Renewal::end}});
    expect_loss(own_job_renewed, {.renewal{Renewal::clear_first, Renewal::clear_second,
                                           Renewal::tell, Renewal::end}});
}

TEST(BrokenWatch, LosesAJobIfTheFilterSeemsToBeEmptyAndIsNot)
{
    expect_loss(rollback, {.count_follows_bit = true});
    expect_loss(renewed,
                {.clearing_subtracts = false,
                 .renewal{Renewal::clear_first, Renewal::clear_second, Renewal::reset_count,
                          Renewal::change_generation, Renewal::tell, Renewal::end}});
}

TEST(BrokenWatch, StartsAJobTooEarlyIfAReportCountsAsAnEnd)
{
    const Findings findings = explore(WatchModel(one_job, {.report_is_an_end = true}));
    EXPECT_EQ(findings.fault, "a job starts too early") << told(findings);
}
