// Rates: exact and smooth, their table, and how the table of jobs in flight admits jobs under them.
#include "core/lanes/job_table.hpp"
#include "core/limits/rate_text.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

using namespace hipq::core;

namespace {

constexpr std::int64_t second = microseconds_per_second;
constexpr Weight one = weight_unit;

struct Window {
    RateRecord state{};
    std::vector<Starts> starts;
    RateWindow window;
    explicit Window(std::size_t places = starts_per_rate) : starts(places), window(state, starts) {}

    void start(const Rate &rate, Weight weight, std::int64_t now)
    {
        window.admit(weight);
        window.start(rate, weight, now);
    }
};

Rate exact(Weight weight, std::int64_t period)
{
    return {weight, period, RateMode::exact};
}
Rate smooth(Weight weight, std::int64_t period)
{
    return {weight, period, RateMode::smooth};
}

// The greatest weight that started in any period, by the times of the starts.
Weight most_in_period(const std::vector<Starts> &started, std::int64_t period)
{
    Weight most = 0;
    Weight sum = 0;
    std::size_t first = 0;
    for (const Starts &start : started) {
        sum += start.weight;
        for (; started[first].last + period <= start.last; ++first)
            sum -= started[first].weight;
        most = std::max(most, sum);
    }
    return most;
}

std::string text_of(std::string_view text)
{
    const auto parsed = parse_rate(text);
    const auto *problem = std::get_if<ParseProblem>(&parsed);
    return problem == nullptr ? canonical(std::get<Rate>(parsed))
                              : std::to_string(problem->position) + ": " + problem->message;
}

}  // namespace

TEST(Rate, ExactLetsTheLimitStartAtOnceAndTheRestAPeriodLater)
{
    const Rate rate = exact(3 * one, 10 * second);
    Window each;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(each.window.turn(rate, one, 100), 100);
        each.start(rate, one, 100);
    }
    const std::int64_t turn = 100 + 10 * second + rate_guard(10 * second);
    EXPECT_EQ(each.window.turn(rate, one, 200), turn);
    EXPECT_EQ(each.window.left(rate, 200), 0);
    EXPECT_EQ(each.window.turn(rate, one, turn), turn);
    EXPECT_EQ(each.window.left(rate, turn), 3 * one);
}

TEST(Rate, ExactKeepsTheTimeOfEachStart)
{
    const Rate rate = exact(3 * one, 10 * second);
    Window each;
    for (const std::int64_t time : {0, 1, 5})
        each.start(rate, one, time * second);
    const std::int64_t counted = counted_for(rate);
    EXPECT_EQ(each.window.turn(rate, one, 6 * second), counted);
    EXPECT_EQ(each.window.turn(rate, 2 * one, 6 * second), second + counted);
    EXPECT_EQ(each.window.turn(rate, 3 * one, 6 * second), 5 * second + counted);
}

TEST(Rate, AJobHeavierThanTheLimitStartsWhenNoOtherStartCounts)
{
    const Rate rate = exact(3 * one, second);
    Window each;
    EXPECT_EQ(each.window.turn(rate, 5 * one, 0), 0);
    each.start(rate, one, 0);
    EXPECT_EQ(each.window.turn(rate, 5 * one, 1), counted_for(rate));
}

TEST(Rate, AJobOfWeightZeroNeedsNoTurn)
{
    const Rate rate = exact(one, second);
    Window each;
    each.start(rate, one, 0);
    EXPECT_EQ(each.window.turn(rate, 0, 1), 1);
    EXPECT_EQ(each.window.turn({}, one, 1), 1);
}

TEST(Rate, APendingJobCountsAsIfItStartedNow)
{
    const Rate rate = exact(one, second);
    Window each;
    each.window.admit(one);
    EXPECT_EQ(each.window.turn(rate, one, 70 * second), 70 * second + counted_for(rate));
    each.window.give_back(one);
    EXPECT_EQ(each.window.turn(rate, one, 70 * second), 70 * second);
    EXPECT_TRUE(each.window.is_idle(rate, 70 * second));
}

TEST(Rate, AnotherLimitOrPeriodCountsTheStartsThatWere)
{
    Window each;
    for (int i = 0; i < 10; ++i)
        each.start(exact(10 * one, second), one, i);
    EXPECT_EQ(each.window.left(exact(15 * one, second), 20), 5 * one);
    EXPECT_EQ(each.window.left(exact(5 * one, second), 20), 0);
    EXPECT_EQ(each.window.left(exact(10 * one, 3'600 * second), 60 * second), 0);
    EXPECT_EQ(each.window.turn(smooth(3'600 * one, 3'600 * second), one, 20), 9 + second);
}

TEST(Rate, SmoothSpacesTheStarts)
{
    const Rate rate = smooth(10 * one, second);
    Window each;
    std::int64_t now = 50 * second;
    each.start(rate, one, now);
    for (int i = 0; i < 100; ++i) {
        const std::int64_t turn = each.window.turn(rate, one, now);
        EXPECT_LE(turn, now + 100'000);
        EXPECT_GE(turn, now + 100'000 - smooth_tolerance);
        now = turn + i % 3 * 4'000;  // late by up to 8 ms, which is made up for
        each.start(rate, one, now);
    }
    EXPECT_LE(now, 50 * second + 100 * 100'000 + 8'000);
    EXPECT_EQ(each.window.left(rate, now), 0);
}

TEST(Rate, SmoothDoesNotSaveUpStarts)
{
    const Rate rate = smooth(10 * one, second);
    Window each;
    each.start(rate, one, 0);
    each.start(rate, one, 50 * second);
    EXPECT_GE(each.window.turn(rate, one, 50 * second), 50 * second + 100'000 - smooth_tolerance);
}

TEST(Rate, FastSmoothRatesAdmitWhatTheToleranceHolds)
{
    const Rate rate = smooth(5'000 * one, second);
    Window each;
    const Weight left = each.window.left(rate, second);
    EXPECT_GE(left, 50 * one);
    EXPECT_LE(left, 51 * one);
}

namespace {

// Jobs wait all the time. Each starts a while after its admission, or never.
class BusyRate {
public:
    BusyRate(const Rate &rate, std::uint64_t seed, bool is_weighted)
        : rate_(rate), random_(seed), is_weighted_(is_weighted),
          longest_stall_(any(1, std::max<std::int64_t>(rate.period / 50, 2)))
    {
    }

    std::vector<Starts> run(std::int64_t end)
    {
        Weight weight = next_weight();
        for (std::int64_t now = 0; now < end;) {
            const std::int64_t turn = each_.window.turn(rate_, weight, now);
            if (turn <= now) {
                admit(weight, now);
                weight = next_weight();
                continue;
            }
            now = pending_.empty() ? turn : std::min(turn, std::max(now, pending_.front().last));
            while (!pending_.empty() && pending_.front().last <= now)
                start(now);
        }
        return started_;
    }

private:
    std::int64_t any(std::int64_t from, std::int64_t to)
    {
        return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
    }
    Weight next_weight() { return is_weighted_ ? any(1, std::min(3 * one, rate_.weight)) : one; }
    void admit(Weight weight, std::int64_t now)
    {
        each_.window.admit(weight);
        if (any(0, 9) == 0)
            each_.window.give_back(weight);
        else
            pending_.push_back({now + any(0, longest_stall_), weight});
    }
    void start(std::int64_t now)
    {
        each_.window.start(rate_, pending_.front().weight, now);
        started_.push_back({now, pending_.front().weight});
        pending_.pop_front();
    }

    Rate rate_;
    std::mt19937_64 random_;
    bool is_weighted_;
    std::int64_t longest_stall_;
    Window each_{};
    std::deque<Starts> pending_{};
    std::vector<Starts> started_{};
};

}  // namespace

TEST(Rate, IsNeverExceeded)
{
    std::mt19937_64 random(42);
    const auto any = [&](std::int64_t from, std::int64_t to) {
        return std::uniform_int_distribution<std::int64_t>(from, to)(random);
    };
    std::size_t starts = 0;
    for (int round = 0; round < 100; ++round) {
        const Rate rate = exact(any(1, round % 2 == 0 ? 60 : 5'000) * one, any(1, 100) * second);
        const auto started = BusyRate(rate, any(0, 1'000'000), round % 3 == 0).run(8 * rate.period);
        starts += started.size();
        ASSERT_LE(most_in_period(started, rate.period + rate_guard(rate.period) - 1), rate.weight)
            << canonical(rate);
    }
    EXPECT_GT(starts, 500'000U);
}

// Handlers as fast as the rate allows: the loss is that of the guard and of places.
TEST(Rate, UsesNearlyAllOfTheLimit)
{
    for (const Weight limit : {1, 2, 7, 64, 65, 100, 1'000, 10'000}) {
        for (const std::int64_t period : {second, 60 * second}) {
            for (const bool is_paced : {false, true}) {
                const Rate rate = exact(limit * one, period);
                Window each;
                std::int64_t now = 0;
                Weight sum = 0;
                const std::int64_t pace = is_paced ? period / (2 * limit) : 1;
                while (now < 20 * period) {
                    now = each.window.turn(rate, one, now);
                    each.start(rate, one, now);
                    sum += one;
                    now += pace;
                }
                EXPECT_GE(static_cast<double>(sum), 0.985 * static_cast<double>(20 * limit * one))
                    << canonical(rate) << (is_paced ? ", paced" : "");
            }
        }
    }
}

TEST(Rate, Text)
{
    EXPECT_EQ(text_of("100/min"), "100/min");
    EXPECT_EQ(text_of(" 5 per second "), "5/s");
    EXPECT_EQ(text_of("2.50/10 s"), "2.5/10 s");
    EXPECT_EQ(text_of("1000/24 hours"), "1000/day");
    EXPECT_EQ(text_of("7/90 minutes"), "7/90 min");
    EXPECT_EQ(text_of("1/31 days"), "1/31 day");
    EXPECT_EQ(text_of(""), "1: expected a number such as 100");
    EXPECT_EQ(text_of("100"), "4: expected \"/\" and a unit of time, such as 100/min");
    EXPECT_EQ(text_of("100/fortnight"), "5: expected a unit of time: s, min, h or day");
    EXPECT_EQ(text_of("0.5/s"), "4: the number must be from 1 to 999999.999");
    EXPECT_EQ(text_of("1000000/s"), "8: the number must be from 1 to 999999.999");
    EXPECT_EQ(text_of("1/0 s"), "6: the period must be from 1 second to 31 days");
    EXPECT_EQ(text_of("1/32 d"), "7: the period must be from 1 second to 31 days");
    EXPECT_EQ(text_of("1/s x"), "5: expected the end of the text");
    EXPECT_EQ(text_of("1.2345/s"), "7: expected a number such as 100");
    EXPECT_EQ(text_of("-1/s"), "1: expected a number such as 100");
    EXPECT_EQ(parse_rate_mode("smooth"), RateMode::smooth);
    EXPECT_EQ(parse_rate_mode("even"), std::nullopt);
}

// ---- the table, and jobs in flight ----

namespace {

struct RateMemory {
    JobTableHead head{};
    LimiterTableHead limiter_head{};
    RateTableHead rate_head{};
    std::vector<JobEntry> entries;
    std::vector<std::int32_t> buckets;
    std::vector<HolderList> holders;
    std::vector<Limiter> limiters;
    std::vector<std::int32_t> limiter_buckets;
    std::vector<RateEntry> rates;
    std::vector<Starts> starts;
    std::vector<std::int32_t> rate_buckets;
    RateTableHead key_rate_head{};
    std::vector<RateEntry> key_rates{2};
    std::vector<Starts> key_starts{2 * starts_per_key};
    std::vector<std::int32_t> key_rate_buckets{0, 0};
    JobTable table;

    explicit RateMemory(std::size_t rate_capacity = 100, std::int64_t started = -1'000 * second)
        : entries(100), buckets(16), holders(8), limiters(100), limiter_buckets(8),
          rates(rate_capacity), starts(rate_capacity * starts_per_rate), rate_buckets(8),
          table(&head, entries, buckets, holders,
                LimiterTable(&limiter_head, limiters, limiter_buckets),
                RateTable(&rate_head, rates, starts, rate_buckets), {},
                RateTable(&key_rate_head, key_rates, key_starts, key_rate_buckets))
    {
        table.clear(started);
    }

    std::int32_t insert(std::int64_t id)
    {
        JobEntry entry{};
        entry.job_id = id;
        entry.database = 1;
        entry.queue_id = 1;
        return table.insert(entry);
    }
    Capacity take(std::int32_t entry, const WeightLimits &limits, std::int64_t now,
                  Weight weight = one, std::uint64_t type = 7, std::uint64_t key = 0)
    {
        return table.take_capacity(entry, {weight, type, key}, limits, now);
    }
};

WeightLimits rate_of_type(const Rate &rate)
{
    WeightLimits limits{0, 0, 0};
    limits.rates.type = rate;
    return limits;
}

}  // namespace

TEST(RateTable, AJobThatDoesNotStartGivesItsPlaceBack)
{
    RateMemory memory;
    const WeightLimits limits = rate_of_type(exact(one, second));
    const std::int32_t first = memory.insert(1);
    const std::int32_t second_job = memory.insert(2);
    EXPECT_EQ(memory.take(first, limits, 0), Capacity::taken);
    EXPECT_EQ(memory.take(second_job, limits, 0), Capacity::rate_used);
    memory.table.erase(first);
    EXPECT_TRUE(memory.table.take_freed_capacity().any);
    EXPECT_EQ(memory.take(second_job, limits, 0), Capacity::taken);
    memory.table.start(second_job, 10);
    memory.table.erase(second_job);
    EXPECT_FALSE(memory.table.take_freed_capacity().any);
    EXPECT_EQ(memory.take(memory.insert(3), limits, 20), Capacity::rate_used);
    EXPECT_EQ(memory.take(memory.table.find(1, 3), limits, 10 + counted_for(limits.rates.type)),
              Capacity::taken);
}

TEST(RateTable, QueueAndTypeBothAdmit)
{
    RateMemory memory;
    WeightLimits limits = rate_of_type(exact(2 * one, second));
    limits.rates.queue = exact(3 * one, second);
    EXPECT_EQ(memory.take(memory.insert(1), limits, 0, one, 7), Capacity::taken);
    EXPECT_EQ(memory.take(memory.insert(2), limits, 0, one, 7), Capacity::taken);
    EXPECT_EQ(memory.take(memory.insert(3), limits, 0, one, 7), Capacity::rate_used);
    EXPECT_EQ(memory.take(memory.insert(4), limits, 0, one, 8), Capacity::taken);
    EXPECT_EQ(memory.take(memory.insert(5), limits, 0, one, 8), Capacity::rate_used);
    EXPECT_EQ(memory.take(memory.insert(6), limits, 0, 0, 8), Capacity::taken);
}

TEST(RateTable, AStartedJobStartsAgainWithAnotherTurn)
{
    RateMemory memory;
    const WeightLimits limits = rate_of_type(exact(2 * one, second));
    const std::int32_t job = memory.insert(1);
    ASSERT_EQ(memory.take(job, limits, 0), Capacity::taken);
    memory.table.start(job, 0);
    EXPECT_TRUE(memory.table.admit_again(job, 1));
    memory.table.start(job, 1);
    EXPECT_FALSE(memory.table.admit_again(job, 2));
    EXPECT_TRUE(memory.table.admit_again(job, 1 + counted_for(limits.rates.type)));
}

TEST(RateTable, KnowsWhichRatesAdmittedAJob)
{
    RateMemory memory;
    const WeightLimits limits = rate_of_type(exact(3 * one, second));
    const std::int32_t job = memory.insert(1);
    ASSERT_EQ(memory.take(job, limits, 0), Capacity::taken);
    EXPECT_TRUE(memory.table.admission_of(job).suffices(limits.rates, 0));
    StartRates more = limits.rates;
    more.queue = exact(one, second);
    EXPECT_FALSE(memory.table.admission_of(job).suffices(more, 0));
    const std::int32_t unrated = memory.insert(2);
    ASSERT_EQ(memory.take(unrated, {0, 0, 0}, 0), Capacity::taken);
    memory.table.weigh(unrated, {one, 7, 0});
    EXPECT_FALSE(memory.table.admission_of(unrated).suffices(limits.rates, 0));
}

TEST(RateTable, CountsEachThrottleKeyByItself)
{
    RateMemory memory;
    WeightLimits limits{0, 0, 0};
    limits.rates.key = exact(one, second);
    const std::int32_t first = memory.insert(1);
    EXPECT_EQ(memory.take(first, limits, 0, one, 7, 5), Capacity::taken);
    EXPECT_EQ(memory.take(memory.insert(2), limits, 0, one, 7, 5), Capacity::key_rate_used);
    EXPECT_EQ(memory.take(memory.insert(3), limits, 0, one, 7, 0), Capacity::taken) << "no key";
    EXPECT_EQ(memory.take(memory.insert(4), limits, 0, one, 7, 6), Capacity::taken);
    EXPECT_EQ(memory.take(memory.insert(5), limits, 0, one, 7, 8), Capacity::key_rate_used)
        << "there is no room for a third key";
    EXPECT_TRUE(memory.table.admission_of(first).suffices(limits.rates, 5));
    memory.table.erase(first);
    const FreedCapacity freed = memory.table.take_freed_capacity();
    ASSERT_EQ(freed.key_count, 1U);
    EXPECT_EQ(freed.keys[0].key, 5U) << "its turn is free again";
    EXPECT_EQ(memory.take(memory.table.find(1, 2), limits, 0, one, 7, 5), Capacity::taken);
}

TEST(RateTable, LooksForRoomNotTooOften)
{
    RateMemory memory;
    WeightLimits limits{0, 0, 0};
    limits.rates.key = exact(one, second);
    for (const std::int64_t id : {1, 2}) {
        const std::int32_t job = memory.insert(id);
        ASSERT_EQ(memory.take(job, limits, 0, one, 7, static_cast<std::uint64_t>(id)),
                  Capacity::taken);
        memory.table.start(job, 0);
        memory.table.erase(job);
    }
    const std::int64_t end = counted_for(limits.rates.key);
    const std::int32_t third = memory.insert(3);
    EXPECT_EQ(memory.take(third, limits, end - 1, one, 7, 3), Capacity::key_rate_used);
    EXPECT_EQ(memory.take(third, limits, end + 1, one, 7, 3), Capacity::key_rate_used);
    EXPECT_EQ(memory.take(third, limits, end + second, one, 7, 3), Capacity::taken);
}

TEST(RateTable, CountsShortPeriodsAsUsedUpWhenTheServerStarts)
{
    RateMemory memory(10, 5 * second);
    const WeightLimits limits = rate_of_type(exact(3 * one, second));
    EXPECT_EQ(memory.take(memory.insert(1), limits, 5 * second), Capacity::rate_used);
    EXPECT_EQ(
        memory.take(memory.table.find(1, 1), limits, 5 * second + counted_for(limits.rates.type)),
        Capacity::taken);
}

TEST(RateTable, CountsShortPeriodsAsUsedUpWhenTheServerIsPromoted)
{
    RateMemory memory(10, 0);
    const WeightLimits limits = rate_of_type(exact(3 * one, second));
    memory.table.rates().begin(9 * second);
    memory.table.rates().begin(20 * second);  // the process that calls it has started again
    const std::int64_t end = 9 * second + counted_for(limits.rates.type);
    EXPECT_EQ(memory.take(memory.insert(1), limits, end - 1), Capacity::rate_used);
    EXPECT_EQ(memory.take(memory.table.find(1, 1), limits, end), Capacity::taken);
}

TEST(RateTable, LongPeriodsNeedALease)
{
    RateMemory memory(10, 0);
    const WeightLimits limits = rate_of_type(exact(40 * one, 60 * second));
    ASSERT_TRUE(needs_leases(limits.rates.type));
    const std::int32_t job = memory.insert(1);
    EXPECT_EQ(memory.take(job, limits, 1), Capacity::rate_used);
    RateTable &rates = memory.table.rates();
    const std::int32_t rate = rates.find({1, 1, 7, 0});
    EXPECT_TRUE(rates.ask(rate, limits.rates.type, one, 1).needs_lease);
    const std::array<Starts, 2> leases{{{-30 * second, 2 * one}, {1, 36 * one}}};
    rates.know(rate, limits.rates.type, leases);
    EXPECT_TRUE(rates.ask(rate, limits.rates.type, one, 1).needs_lease);
    rates.grant(rate, lease_of(limits.rates.type, one), 1);
    rates.grant(rate, 0, 0);  // an earlier one comes too late
    EXPECT_EQ(memory.take(job, limits, 1), Capacity::taken);
    EXPECT_EQ(memory.take(memory.insert(2), limits, 1), Capacity::taken);
    EXPECT_EQ(memory.take(memory.insert(3), limits, 1), Capacity::rate_used);
    EXPECT_FALSE(rates.ask(rate, limits.rates.type, one, 1).needs_lease);  // the limit is used up
    EXPECT_EQ(rates.ask(rate, limits.rates.type, one, 1).turn,
              -30 * second + counted_for(limits.rates.type));
}

TEST(RateTable, KeepsRoomForOtherOwners)
{
    RateMemory memory(64);
    RateTable &rates = memory.table.rates();
    int made = 0;
    for (std::uint64_t type = 1; type <= 64; ++type)
        made += rates.find_or_make({{1, 1, type, 0}, 5, exact(one, second)}, 75, 0) != no_rate;
    EXPECT_EQ(made, 64);  // none is in use: each makes room for the next
    for (std::uint64_t type = 1; type <= 64; ++type) {
        const std::int32_t rate =
            rates.find_or_make({{1, 2, type, 0}, 5, exact(one, second)}, 75, 0);
        if (rate == no_rate)
            continue;
        rates.admit(rate, exact(one, second), one);
        ++made;
    }
    EXPECT_EQ(made - 64, 48);
    EXPECT_NE(rates.find_or_make({{1, 3, 1, 0}, 6, exact(one, second)}, 75, 0), no_rate);
}
