// Counters of jobs: durations, minutes, entries, and when rates are too high or too low.
#include "core/statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "core/statistics/rate_alerts.hpp"

namespace hipq::core {
namespace {

const JobEvent success{Ending::succeeded, std::nullopt, false, 0, 100, 200};
const JobEvent retry{Ending::retried, Reason::timeout, false, 0, 100, 200};
const JobEvent recovery{Ending::succeeded, Reason::timeout, false, 1, 100, 200};
const JobEvent failure{Ending::failed, Reason::validation_error, true, 0, 100, 200};
const JobEvent loss{Ending::failed, Reason::timeout, true, 3, 100, 200};

// Events with these waits, in microseconds.
Totals waited(const std::vector<std::int64_t> &waits)
{
    const auto statistics = std::make_unique<Statistics>();
    for (const std::int64_t wait : waits)
        count(*statistics, {Ending::succeeded, std::nullopt, false, 0, wait, 10}, 7);
    return statistics->totals;
}

TEST(Statistics, HistogramsAreShownByExactBounds)
{
    const Totals totals = waited({0, 1'023, 1'024, 1'025, 2'047, std::int64_t{1} << 40});
    const std::vector<Shown> bounds = shown(totals.waits);
    ASSERT_EQ(bounds.size(), 23U);
    EXPECT_EQ(bounds[0].bound, 1'024);
    EXPECT_EQ(bounds[0].below, 2U);
    EXPECT_EQ(bounds[1].bound, 2'048);
    EXPECT_EQ(bounds[1].below, 5U);
    EXPECT_EQ(bounds.back().below, 5U);
    EXPECT_EQ(number_in(totals.waits), 6U);
}

TEST(Statistics, DurationsAreSummedUp)
{
    EXPECT_EQ(waited({100, 0, 250}).wait_sum, 350U);
    EXPECT_EQ(waited({100, 0, 250}).run_sum, 30U);
    Totals sum = waited({1});
    add(sum, waited({2}));
    EXPECT_EQ(sum.wait_sum, 3U);
}

TEST(Statistics, BucketsFollowEachOther)
{
    for (std::size_t bucket = 0; bucket + 1 < bucket_count; ++bucket) {
        ASSERT_LT(bucket_floor(bucket), bucket_floor(bucket + 1));
        EXPECT_EQ(bucket_of(bucket_floor(bucket)), bucket);
        EXPECT_EQ(bucket_of(bucket_floor(bucket + 1) - 1), bucket);
    }
    EXPECT_EQ(bucket_of(-5), 0U);
    EXPECT_EQ(bucket_of(INT64_MAX), bucket_count - 1);
}

TEST(Statistics, PercentilesAreNearTheTruth)
{
    Histogram histogram{};
    EXPECT_EQ(percentile(histogram, 0.5), std::nullopt);
    for (std::int64_t microseconds = 1; microseconds <= 100'000; ++microseconds)
        ++histogram[bucket_of(microseconds)];
    for (const double share : {0.1, 0.5, 0.9, 0.99})
        EXPECT_NEAR(*percentile(histogram, share), share * 100'000, share * 100'000 * 0.35)
            << share;
    EXPECT_LE(*percentile(histogram, 0.5), *percentile(histogram, 0.9));
    EXPECT_GT(*percentile(histogram, 0), 0);
    EXPECT_LE(*percentile(histogram, 1), 131'072);
}

TEST(Statistics, OneLongDurationIsTheUpperEnd)
{
    Histogram histogram{};
    histogram[bucket_of(100)] = 99;
    histogram[bucket_of(INT64_MAX)] = 1;
    EXPECT_LT(*percentile(histogram, 0.5), 150);
    EXPECT_LT(*percentile(histogram, 0.99), 150);
    EXPECT_GE(*percentile(histogram, 1), static_cast<double>(bucket_floor(bucket_count - 1)));
}

class Minutes : public testing::Test {
protected:
    Totals sum(std::int64_t present, int length = minutes_kept) const
    {
        return sum_of_minutes(*statistics, present, length);
    }
    std::unique_ptr<Statistics> statistics = std::make_unique<Statistics>();
};

TEST_F(Minutes, CountEachKindOfEnd)
{
    for (const JobEvent &event : {success, retry, retry, recovery, failure, loss})
        count(*statistics, event, 1'000);
    for (const Totals &totals : {statistics->totals, sum(1'000)}) {
        EXPECT_EQ(totals.of(Ending::succeeded), 2U);
        EXPECT_EQ(totals.of(Ending::retried), 2U);
        EXPECT_EQ(totals.of(Ending::failed), 2U);
        EXPECT_EQ(totals.failures[static_cast<std::size_t>(Reason::timeout)], 3U);
        EXPECT_EQ(totals.retries[static_cast<std::size_t>(Reason::timeout)], 2U);
        EXPECT_EQ(totals.recoveries[static_cast<std::size_t>(Reason::timeout)], 1U);
        EXPECT_EQ(totals.failures[static_cast<std::size_t>(Reason::validation_error)], 1U);
        EXPECT_EQ(totals.recovered, 1U);
        EXPECT_EQ(totals.lost, 1U);
        EXPECT_EQ(totals.retries_used, 4U);
        EXPECT_EQ(totals.dead_letters, 2U);
        EXPECT_EQ(totals.waits[bucket_of(100)], 6U);
        EXPECT_EQ(totals.runs[bucket_of(200)], 6U);
    }
}

// Eight retries save five of six jobs.
TEST_F(Minutes, RetriesSucceedOrFailEachByItself)
{
    const JobEvent second_retry{Ending::retried, Reason::timeout, false, 1, 100, 200};
    const JobEvent unaccepted{Ending::retried, Reason::queue_timeout, false, 2, 100};
    for (const JobEvent &event : {retry, retry, retry, retry, retry, retry, recovery, recovery,
                                  recovery, recovery, second_retry, unaccepted, loss, recovery})
        count(*statistics, event, 1'000);
    EXPECT_DOUBLE_EQ(*retry_success_rate(statistics->totals), 62.5);
    EXPECT_DOUBLE_EQ(*retry_success_rate(sum(1'000)), 62.5);
}

TEST_F(Minutes, ExecutionsAreFirstOnesOrRetries)
{
    for (const JobEvent &event : {success, retry, failure, recovery, loss,
                                  JobEvent{Ending::retried, Reason::timeout, false, 1, 100, 200}})
        count(*statistics, event, 1'000);
    count(*statistics, {Ending::put_back, Reason::snoozed, false, 1, 100, 200}, 1'000);
    count(*statistics, {Ending::cancelled, Reason::cancelled, false, 1, 100, 200}, 1'000);
    count(*statistics, {Ending::retried, Reason::queue_timeout, false, 1, 100}, 1'000);
    count(*statistics, {Ending::failed, Reason::worker_unavailable}, 1'000);
    for (const Totals &totals : {statistics->totals, sum(1'000)}) {
        EXPECT_EQ(totals.first_runs, 3U);
        EXPECT_EQ(totals.repeated_runs, 3U);
    }
    EXPECT_DOUBLE_EQ(*retry_rate(statistics->totals), 100);
}

TEST_F(Minutes, RetriesByHandHaveASuccessRateOfTheirOwn)
{
    constexpr auto manual = static_cast<std::size_t>(Reason::manual_retry);
    constexpr auto timeout = static_cast<std::size_t>(Reason::timeout);
    count(*statistics, {Ending::succeeded, Reason::manual_retry, false, 0, 100, 200, true}, 1'000);
    count(*statistics, {Ending::retried, Reason::timeout, false, 0, 100, 200, true}, 1'000);
    count(*statistics, {Ending::succeeded, Reason::timeout, false, 1, 100, 200, true}, 1'000);
    count(*statistics, {Ending::succeeded, std::nullopt, false, 0, 100, 200, true}, 1'000);
    count(*statistics, {Ending::failed, Reason::timeout, true, 0, 100, 200, true}, 1'000);
    count(*statistics, {Ending::cancelled, Reason::cancelled, false, 0, 100, 200, true}, 1'000);
    for (const Totals &totals : {statistics->totals, sum(1'000)}) {
        EXPECT_EQ(totals.retries[manual], 4U);
        EXPECT_EQ(totals.recoveries[manual], 3U);
        EXPECT_EQ(totals.failures[manual], 0U);
        EXPECT_EQ(totals.retries[timeout], 1U);
        EXPECT_EQ(totals.recoveries[timeout], 1U);
        EXPECT_EQ(totals.recovered, 3U);
        EXPECT_EQ(totals.lost, 2U);
    }
}

// Its history may have been removed.
TEST_F(Minutes, ARetryForWhoKnowsWhatIsARetry)
{
    count(*statistics, {Ending::succeeded, std::nullopt, false, 1, 100, 200}, 1'000);
    EXPECT_EQ(sum(1'000).recovered, 1U);
    EXPECT_EQ(sum(1'000).recoveries, (std::array<std::uint64_t, reason_count>{}));
}

TEST(Statistics, RetriesFallIntoClasses)
{
    const auto class_of = [](std::int32_t retries) {
        return retry_classes[retry_class_of(retries)].name;
    };
    for (const auto &[retries, expected] : {std::pair{0, "0"},
                                            {1, "1"},
                                            {2, "2"},
                                            {3, "3-5"},
                                            {5, "3-5"},
                                            {6, "6-10"},
                                            {10, "6-10"},
                                            {11, "11+"},
                                            {INT32_MAX, "11+"},
                                            {-1, "0"}})
        EXPECT_EQ(class_of(retries), expected) << retries;
}

TEST_F(Minutes, RetriesAreThoseOfFinishedJobs)
{
    for (const JobEvent &event : {success, success, retry, recovery, loss,
                                  JobEvent{Ending::cancelled, Reason::cancelled, false, 2}})
        count(*statistics, event, 1'000);
    using Jobs = std::array<std::uint64_t, retry_classes.size()>;
    EXPECT_EQ(sum(1'000).finished_by_retries, (Jobs{2, 1, 0, 1, 0, 0}));
    EXPECT_EQ(sum(1'060).finished_by_retries, Jobs{}) << "an hour later";
    EXPECT_EQ(statistics->totals.finished_by_retries, (Jobs{2, 1, 0, 1, 0, 0}));
}

TEST_F(Minutes, WhatDidNotStartHasNoTimes)
{
    count(*statistics, {Ending::expired, Reason::expired}, 1);
    EXPECT_EQ(sum(1).of(Ending::expired), 1U);
    EXPECT_EQ(percentile(sum(1).waits, 0.5), std::nullopt);
}

TEST_F(Minutes, AnHourPasses)
{
    for (std::int64_t minute = 0; minute < 200; ++minute)
        count(*statistics, success, minute);
    EXPECT_EQ(sum(199).of(Ending::succeeded), 60U);
    EXPECT_EQ(sum(199, 5).of(Ending::succeeded), 5U);
    EXPECT_EQ(sum(199, 1).of(Ending::succeeded), 1U);
    EXPECT_EQ(sum(229).of(Ending::succeeded), 30U);
    EXPECT_EQ(sum(259).of(Ending::succeeded), 0U);
    EXPECT_EQ(statistics->totals.of(Ending::succeeded), 200U);
}

TEST_F(Minutes, ClockIsSetBackAndForth)
{
    count(*statistics, success, 1'000);
    count(*statistics, success, 400);
    EXPECT_EQ(sum(400).of(Ending::succeeded), 1U) << "the minute ahead does not count";
    EXPECT_EQ(sum(1'000).of(Ending::succeeded), 0U)
        << "its place was needed: 400 and 1000 share it";
    count(*statistics, success, 401);
    count(*statistics, success, 1'002);
    EXPECT_EQ(sum(401).of(Ending::succeeded), 2U);
    EXPECT_EQ(sum(1'002).of(Ending::succeeded), 1U);
    count(*statistics, success, -61);
    EXPECT_EQ(sum(-61).of(Ending::succeeded), 1U);
    EXPECT_EQ(statistics->totals.of(Ending::succeeded), 5U) << "totals lose nothing";
}

TEST(Statistics, MinutesBeforeTheEpochAreWhole)
{
    EXPECT_EQ(minute_of(0), 0);
    EXPECT_EQ(minute_of(microseconds_per_minute - 1), 0);
    EXPECT_EQ(minute_of(-1), -1);
    EXPECT_EQ(minute_of(-microseconds_per_minute), -1);
}

TEST(Statistics, PlacesAreGivenToThoseInUse)
{
    std::array<StatisticsPlace, 3> places{};
    EXPECT_EQ(find_place(places, 7), std::nullopt);
    EXPECT_EQ(choose_place(places, 1, 100, 100), 0U);
    places = {{{7, 100, 1}, {8, 20, 1}, {9, 99, 1}}};
    EXPECT_EQ(find_place(places, 9), 2U);
    EXPECT_EQ(choose_place(places, 1, 100, 79), std::nullopt) << "each was in use within the hour";
    EXPECT_EQ(choose_place(places, 1, 100, 80), 1U);
    EXPECT_EQ(choose_place({}, 1, 100, 80), std::nullopt);
}

TEST(Statistics, AnOwnerWithItsShareGetsThePlacesOfItsOwnIdleTypes)
{
    std::vector<StatisticsPlace> places(100);
    for (std::size_t i = 0; i < 75; ++i)
        places[i] = {i + 1, 100, 1};
    EXPECT_EQ(choose_place(places, 1, 75, 100), std::nullopt);
    EXPECT_EQ(choose_place(places, 2, 75, 100), 75U);
    EXPECT_EQ(choose_place(places, 1, 100, 100), 75U);
    places[50].latest = 10;
    EXPECT_EQ(choose_place(places, 1, 75, 100), 50U);
}

// ---- alerts ----

RateCounts counted(std::initializer_list<std::pair<JobEvent, int>> events)
{
    auto statistics = std::make_unique<Statistics>();
    for (const auto &[event, times] : events)
        for (int i = 0; i < times; ++i)
            count(*statistics, event, 1'000);
    RateCounts sum{};
    add_rate_counts(sum, *statistics, 1'000);
    return sum;
}

std::vector<RateAlert> alerts(const RateCounts &counts, const RateLimits &limits = {})
{
    std::vector<RateAlert> result;
    for (const RateFinding &finding : judge_rates(counts, limits))
        result.push_back(finding.alert);
    return result;
}

using Alerts = std::vector<RateAlert>;

TEST(RateAlerts, NothingIsNoReason)
{
    EXPECT_EQ(alerts(RateCounts{}), Alerts{});
    EXPECT_EQ(alerts(RateCounts{}, {.least = 0}), Alerts{});
}

// Retries are compared with first executions.
TEST(RateAlerts, RetryRateAboveItsLimit)
{
    EXPECT_EQ(alerts(counted({{success, 100}, {recovery, 20}})), Alerts{});
    EXPECT_EQ(alerts(counted({{success, 100}, {recovery, 21}})), Alerts{RateAlert::retry_rate});
    EXPECT_EQ(alerts(counted({{success, 79}, {retry, 21}, {recovery, 20}})), Alerts{})
        << "what is retried was a first execution";
    EXPECT_EQ(alerts(counted({{success, 79}, {retry, 21}, {recovery, 21}})),
              Alerts{RateAlert::retry_rate});
    EXPECT_EQ(alerts(counted({{success, 9}, {recovery, 10}})), Alerts{}) << "too few to tell";
    EXPECT_EQ(alerts(counted({{success, 9}, {recovery, 11}})), Alerts{RateAlert::retry_rate});
    EXPECT_EQ(alerts(counted({{success, 9}, {recovery, 99}}), {.retry_rate = -1}), Alerts{});
    const auto findings = judge_rates(counted({{success, 60}, {recovery, 30}}), {});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].times, 30U);
    EXPECT_EQ(findings[0].of, 60U);
    EXPECT_DOUBLE_EQ(findings[0].percent(), 50);
}

TEST(RateAlerts, NothingButRetriesIsBeyondEachLimit)
{
    EXPECT_EQ(alerts(counted({{recovery, 30}}), {.retry_rate = 10'000}),
              Alerts{RateAlert::retry_rate});
    EXPECT_TRUE(std::isinf(*retry_rate(counted({{recovery, 1}}).hour)));
    EXPECT_EQ(retry_rate(counted({}).hour), std::nullopt);
    EXPECT_EQ(retry_rate(counted({{success, 1}}).hour), 0.0);
}

TEST(RateAlerts, RetrySuccessBelowItsLimit)
{
    const RateLimits no_dead_letters{.dead_letters = 1'000};
    EXPECT_EQ(alerts(counted({{success, 1'000}, {recovery, 70}, {loss, 30}}), no_dead_letters),
              Alerts{});
    EXPECT_EQ(alerts(counted({{success, 1'000}, {recovery, 69}, {loss, 31}}), no_dead_letters),
              Alerts{RateAlert::retry_success});
    const JobEvent again{Ending::retried, Reason::timeout, false, 1, 100, 200};
    EXPECT_EQ(alerts(counted({{success, 1'000}, {recovery, 70}, {loss, 30}, {again, 1}}),
                     no_dead_letters),
              Alerts{RateAlert::retry_success});
}

TEST(RateAlerts, FailuresOfLate)
{
    const RateLimits no_dead_letters{.dead_letters = 1'000};
    EXPECT_EQ(alerts(counted({{success, 50}, {failure, 50}}), no_dead_letters), Alerts{});
    EXPECT_EQ(alerts(counted({{success, 49}, {failure, 51}}), no_dead_letters),
              Alerts{RateAlert::failures});
    EXPECT_EQ(
        alerts(counted({{success, 49}, {failure, 51}}), {.failures = 100, .dead_letters = 1'000}),
        Alerts{});
}

TEST(RateAlerts, DeadLettersInAMinute)
{
    EXPECT_EQ(alerts(counted({{success, 100}, {failure, 10}})), Alerts{});
    EXPECT_EQ(alerts(counted({{success, 100}, {failure, 11}})), Alerts{RateAlert::dead_letters});
    auto statistics = std::make_unique<Statistics>();
    for (int i = 0; i < 11; ++i)
        count(*statistics, failure, 999);
    RateCounts sum{};
    add_rate_counts(sum, *statistics, 1'000);
    EXPECT_EQ(sum.dead_letters, 11U) << "the minute before counts while the present one is young";
    sum = {};
    add_rate_counts(sum, *statistics, 1'001);
    EXPECT_EQ(sum.dead_letters, 0U);
}

TEST(RateAlerts, TellAPercentageFromItsLimit)
{
    EXPECT_EQ(percent_text(100.0 * 16 / 23, 70), "69.57 %");
    EXPECT_EQ(percent_text(25, 20), "25 %");
    EXPECT_EQ(percent_text(69.9996, 70), "69.9996 %");
    EXPECT_EQ(percent_text(70, 70), "70 %");
    EXPECT_EQ(percent_text(0, 20), "0 %");
}

}  // namespace

}  // namespace hipq::core
