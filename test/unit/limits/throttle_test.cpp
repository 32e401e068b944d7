// Limiters, and how the table of jobs in flight counts running jobs.
#include "core/lanes/job_table.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

using namespace hipq::core;

namespace {

constexpr Weight one = weight_unit;

struct Memory {
    JobTableHead head{};
    LimiterTableHead limiter_head{};
    std::vector<JobEntry> entries;
    std::vector<std::int32_t> buckets;
    std::vector<HolderList> holders;
    std::vector<Limiter> limiters;
    std::vector<std::int32_t> limiter_buckets;
    JobTable table;

    explicit Memory(std::size_t capacity, std::size_t limiter_capacity = 100)
        : entries(capacity), buckets(16), holders(64), limiters(limiter_capacity),
          limiter_buckets(8), table(&head, entries, buckets, holders,
                                    LimiterTable(&limiter_head, limiters, limiter_buckets))
    {
        table.clear();
    }

    std::int32_t insert(std::int64_t id, std::int32_t holder = 0)
    {
        JobEntry entry{};
        entry.job_id = id;
        entry.database = 1;
        entry.queue_id = 1;
        entry.holder = holder;
        return table.insert(entry);
    }
    Weight used(std::uint64_t type = 0, std::uint64_t key = 0)
    {
        const std::int32_t limiter = table.limiters().find({1, 1, type, key});
        return limiter == no_limiter ? 0 : table.limiters()[limiter].used;
    }
};

WeightLimits limit_of_queue(Weight limit)
{
    return {limit, no_weight_limit, no_weight_limit};
}

}  // namespace

TEST(Throttle, HasCapacityUpToTheLimit)
{
    EXPECT_TRUE(has_capacity(2 * one, one, 3 * one));
    EXPECT_FALSE(has_capacity(2 * one, one + 1, 3 * one));
    EXPECT_FALSE(has_capacity(3 * one, 1, 3 * one));
}

TEST(Throttle, TakesALimitBelowOneForNone)
{
    EXPECT_TRUE(has_capacity(1'000 * one, one, no_weight_limit));
    EXPECT_TRUE(has_capacity(1'000 * one, one, 999));
}

TEST(Throttle, LetsWhatWeighsNothingPass)
{
    EXPECT_TRUE(has_capacity(5 * one, 0, one));
}

TEST(Throttle, LetsAJobHeavierThanTheLimitRunAlone)
{
    EXPECT_TRUE(has_capacity(0, 9 * one, 2 * one));
    EXPECT_FALSE(has_capacity(1, 9 * one, 2 * one));
    EXPECT_FALSE(has_capacity(9 * one, one, 2 * one)) << "and nothing beside it";
}

TEST(Throttle, TellsWhichLimitStandsAgainstAJob)
{
    Memory memory(10);
    const WeightLimits limits{3 * one, 2 * one, one};
    EXPECT_EQ(memory.table.take_capacity(memory.insert(1), {one, 7, 8}, limits), Capacity::taken);
    EXPECT_EQ(memory.table.take_capacity(memory.insert(2), {one, 7, 8}, limits),
              Capacity::key_full);
    EXPECT_EQ(memory.table.take_capacity(memory.insert(3), {one, 7, 9}, limits), Capacity::taken);
    EXPECT_EQ(memory.table.take_capacity(memory.insert(4), {one, 7, 0}, limits),
              Capacity::type_full);
    EXPECT_EQ(memory.table.take_capacity(memory.insert(5), {one, 6, 0}, limits), Capacity::taken);
    EXPECT_EQ(memory.table.take_capacity(memory.insert(6), {one, 6, 0}, limits),
              Capacity::queue_full);
    EXPECT_EQ(memory.used(), 3 * one);
    EXPECT_EQ(memory.used(7), 2 * one);
    EXPECT_EQ(memory.used(7, 8), one);
}

TEST(Throttle, TellsWhoWaitsWhenThereIsCapacity)
{
    Memory memory(10);
    const auto limits = limit_of_queue(3 * one);
    const std::int32_t light = memory.insert(1);
    const std::int32_t heavy = memory.insert(2);
    memory.table.take_capacity(light, {one, 7, 0}, limits);
    memory.table.take_capacity(heavy, {2 * one, 7, 0}, limits);
    EXPECT_EQ(memory.table.take_capacity(memory.insert(3), {2 * one, 7, 0}, limits),
              Capacity::queue_full);
    EXPECT_TRUE(memory.table.limiters().is_awaited({1, 1, 0, 0}));
    memory.table.erase(light);
    EXPECT_FALSE(memory.table.take_freed_capacity().any) << "not enough for it";
    memory.table.erase(heavy);
    EXPECT_TRUE(memory.table.take_freed_capacity().any);
    EXPECT_FALSE(memory.table.limiters().is_awaited({1, 1, 0, 0}));
    EXPECT_EQ(memory.table.limiters().size(), 0U);
}

TEST(Throttle, NamesTheKeysThatHaveCapacity)
{
    Memory memory(40);
    const WeightLimits limits{no_weight_limit, no_weight_limit, one};
    std::vector<std::int32_t> running;
    for (std::uint64_t key = 1; key <= 6; ++key) {
        running.push_back(memory.insert(static_cast<int>(key)));
        memory.table.take_capacity(running.back(), {one, 7, key}, limits);
        EXPECT_EQ(memory.table.take_capacity(memory.insert(static_cast<int>(10 + key)),
                                             {one, 7, key}, limits),
                  Capacity::key_full);
    }
    memory.table.erase(running[0]);
    const FreedCapacity made = memory.table.take_freed_capacity();
    ASSERT_EQ(made.key_count, 1U);
    EXPECT_EQ(made.keys[0], (LimiterName{1, 1, 7, 1}));
    EXPECT_FALSE(memory.table.take_freed_capacity().any);
    for (std::size_t i = 1; i < running.size(); ++i)
        memory.table.erase(running[i]);
    EXPECT_GT(memory.table.take_freed_capacity().key_count, FreedCapacity::most_keys)
        << "there are more than it names";
}

TEST(Throttle, RemembersTheLightestThatWaits)
{
    Memory memory(10);
    const auto limits = limit_of_queue(4 * one);
    const std::int32_t first = memory.insert(1);
    memory.table.take_capacity(first, {one, 7, 0}, limits);
    memory.table.take_capacity(memory.insert(2), {3 * one, 7, 0}, limits);
    EXPECT_EQ(memory.table.take_capacity(memory.insert(3), {one, 7, 0}, limits),
              Capacity::queue_full);
    EXPECT_EQ(memory.table.take_capacity(memory.insert(4), {4 * one, 7, 0}, limits),
              Capacity::queue_full);
    memory.table.erase(first);
    EXPECT_TRUE(memory.table.take_freed_capacity().any)
        << "the light one has capacity, if the heavy one has not";
}

TEST(Throttle, CountsAJobOnceAndWithItsLastWeight)
{
    Memory memory(10);
    const std::int32_t entry = memory.insert(1);
    memory.table.take_capacity(entry, {one, 7, 8}, limit_of_queue(5 * one));
    memory.table.take_capacity(entry, {one, 7, 8}, limit_of_queue(5 * one));
    EXPECT_EQ(memory.used(), one);
    memory.table.weigh(entry, {4 * one, 7, 9});
    EXPECT_EQ(memory.used(), 4 * one);
    EXPECT_EQ(memory.used(7, 8), 0);
    EXPECT_EQ(memory.used(7, 9), 4 * one);
}

TEST(Throttle, CountsNothingWithoutCapacityForAGauge)
{
    Memory memory(10, 2);
    const std::int32_t entry = memory.insert(1);
    memory.table.weigh(entry, {one, 7, 8});
    EXPECT_EQ(memory.used(7, 8), 0);
    memory.table.erase(entry);
    EXPECT_EQ(memory.table.limiters().size(), 0U);
}

namespace {

// 32 claimers of one queue whose limits change; a second, trivial count of what they run.
struct Crowd {
    struct Running {
        std::int32_t entry;
        Load load;
    };
    static constexpr std::uint32_t claimers = 32;
    static constexpr std::size_t most = 8;  // jobs per claimer
    std::mt19937 random{20261122};
    Memory memory{claimers * most, 200};
    std::vector<std::vector<Running>> running{claimers};
    WeightLimits limits{10 * one, 5 * one, 2 * one};
    std::int64_t last_id = 0;
    int starts = 0;

    std::size_t below(std::size_t end) { return random() % end; }

    Weight sum(const std::function<bool(const Load &)> &belongs) const
    {
        Weight result = 0;
        for (const auto &own : running)
            for (const Running &each : own)
                result += belongs(each.load) ? each.load.weight : 0;
        return result;
    }
    Weight sum_of_queue() const
    {
        return sum([](const Load &) { return true; });
    }
    Weight sum_of_type(std::uint64_t type) const
    {
        return sum([&](const Load &load) { return load.type == type; });
    }
    Weight sum_of_key(std::uint64_t type, std::uint64_t key) const
    {
        return sum([&](const Load &load) { return load.type == type && load.key == key; });
    }

    bool fits(const Load &load) const
    {
        const auto is_within = [&](Weight used, Weight limit) {
            return limit < one || load.weight == 0 ||
                   used + load.weight <= std::max(limit, used == 0 ? load.weight : 0);
        };
        return is_within(sum_of_queue(), limits.queue) &&
               is_within(sum_of_type(load.type), limits.type) &&
               (load.key == 0 || is_within(sum_of_key(load.type, load.key), limits.key));
    }

    void start(std::vector<Running> &own)
    {
        const Load load{static_cast<Weight>(below(5) * 700), 1 + below(3), below(6)};
        const std::int32_t entry = memory.insert(++last_id);
        const bool expected = fits(load);
        ASSERT_EQ(memory.table.take_capacity(entry, load, limits) == Capacity::taken, expected);
        if (!expected) {
            memory.table.erase(entry);
            return;
        }
        ++starts;
        own.push_back({entry, load});
    }
    void finish(std::vector<Running> &own)
    {
        const std::size_t at = below(own.size());
        memory.table.erase(own[at].entry);
        own[at] = own.back();
        own.pop_back();
    }
    // Its slot releases everything that it held.
    void kill(std::vector<Running> &own)
    {
        while (!own.empty())
            finish(own);
    }
    void step()
    {
        auto &own = running[below(claimers)];
        if (below(100'000) == 0)
            limits = {static_cast<Weight>(below(20)) * one, static_cast<Weight>(below(10)) * one,
                      static_cast<Weight>(below(5)) * one};
        if (below(1'000) == 0)
            kill(own);
        else if (own.size() == most || (!own.empty() && below(2) == 0))
            finish(own);
        else
            start(own);
    }
};

}  // namespace

TEST(Throttle, NeverExceedsALimitAndNeverLeaks)
{
    Crowd crowd;
    while (crowd.starts < 1'000'000 && !testing::Test::HasFatalFailure()) {
        crowd.step();
        ASSERT_EQ(crowd.memory.used(), crowd.sum_of_queue());
    }
    for (auto &own : crowd.running)
        crowd.kill(own);
    EXPECT_EQ(crowd.memory.table.size(), 0U);
    EXPECT_EQ(crowd.memory.table.limiters().size(), 0U);
}
