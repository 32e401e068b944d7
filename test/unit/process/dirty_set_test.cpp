// The set of dirty queues: each added queue is taken, even if there is no room for it or other
// threads add at the same time.
#include "core/process/dirty_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace hipq::core {
namespace {

constexpr std::uint32_t database = 16'384;
constexpr std::uint32_t neighbour = 16'385;

using Set = DirtySet<64>;

// A scheduler that has checked all queues once.
std::uint64_t seen_by_now(Set &set)
{
    std::uint64_t seen = 0;
    set.take(database, seen);
    return seen;
}

TEST(DirtySet, GivesANewSchedulerAll)
{
    const auto set = std::make_unique<Set>();
    std::uint64_t seen = 0;
    EXPECT_TRUE(set->take(database, seen).is_all);
    EXPECT_FALSE(set->take(database, seen).is_all);
}

TEST(DirtySet, GivesEachQueueOnce)
{
    const auto set = std::make_unique<Set>();
    std::uint64_t seen = seen_by_now(*set);
    for (const int queue : {7, 3, 7, 7})
        set->add(database, queue);
    DirtyQueues dirty = set->take(database, seen);
    std::sort(dirty.queues.begin(), dirty.queues.end());
    EXPECT_FALSE(dirty.is_all);
    EXPECT_EQ(dirty.queues, (std::vector{3, 7}));
    EXPECT_TRUE(set->take(database, seen).queues.empty());
}

TEST(DirtySet, KeepsDatabasesApart)
{
    const auto set = std::make_unique<Set>();
    std::uint64_t seen = seen_by_now(*set);
    set->add(neighbour, 7);
    EXPECT_TRUE(set->take(database, seen).queues.empty());
    std::uint64_t seen_there = 1;
    EXPECT_EQ(set->take(neighbour, seen_there).queues, std::vector{7});
}

TEST(DirtySet, TakesQueueZeroForAll)
{
    const auto set = std::make_unique<Set>();
    std::uint64_t seen = seen_by_now(*set);
    set->add(database, 0);
    const DirtyQueues dirty = set->take(database, seen);
    EXPECT_TRUE(dirty.is_all);
    EXPECT_TRUE(dirty.queues.empty());
    EXPECT_FALSE(set->take(database, seen).is_all);
}

// Whichever entry was dropped, and whichever scheduler looks next.
TEST(DirtySet, TellsEverybodyToLookAtAllWhenItIsFull)
{
    const auto set = std::make_unique<Set>();
    std::uint64_t seen = seen_by_now(*set);
    std::uint64_t seen_there = seen;
    set->add(neighbour, 5);
    for (int queue = 1; queue <= 200; ++queue)
        set->add(database, queue);
    EXPECT_TRUE(set->take(database, seen).is_all);
    EXPECT_TRUE(set->take(neighbour, seen_there).is_all);
    set->add(database, 9);
    const DirtyQueues dirty = set->take(database, seen);
    EXPECT_FALSE(dirty.is_all);
    EXPECT_EQ(dirty.queues, std::vector{9});
}

TEST(DirtySet, ForgetsADatabase)
{
    const auto set = std::make_unique<Set>();
    std::uint64_t seen = seen_by_now(*set);
    set->add(database, 7);
    set->add(neighbour, 7);
    set->forget(database);
    EXPECT_TRUE(set->take(database, seen).queues.empty());
    std::uint64_t seen_there = seen;
    EXPECT_EQ(set->take(neighbour, seen_there).queues, std::vector{7});
}

// Each thread adds its queues repeatedly, and increments a counter before each add, as a commit
// changes a lane before it adds the queue. The threads that take read the counters afterwards: they
// must see the last value of each.
template <std::size_t size>
void add_while_one_takes()
{
    constexpr int producers = 3;
    constexpr int queues = 20;  // per thread
    constexpr int rounds = 2'000;
    const auto set = std::make_unique<DirtySet<size>>();
    std::vector<std::atomic<int>> happened(producers * queues + 1);
    std::vector<int> known(happened.size());
    std::uint64_t seen = 0;
    const auto look = [&] {
        const DirtyQueues dirty = set->take(database, seen);
        for (const int queue : dirty.queues)
            known[static_cast<std::size_t>(queue)] = happened[static_cast<std::size_t>(queue)];
        if (dirty.is_all)
            std::copy(happened.begin(), happened.end(), known.begin());
    };
    std::atomic<int> running = producers;
    std::vector<std::thread> threads;
    for (int producer = 0; producer < producers; ++producer)
        threads.emplace_back([&, producer] {
            for (int i = 0; i < rounds * queues; ++i) {
                const int queue = 1 + producer * queues + i % queues;
                happened[static_cast<std::size_t>(queue)].fetch_add(1, std::memory_order_relaxed);
                set->add(database, queue);
            }
            --running;
        });
    while (running > 0)
        look();
    for (std::thread &thread : threads)
        thread.join();
    look();
    for (std::size_t queue = 1; queue < known.size(); ++queue)
        EXPECT_EQ(known[queue], rounds) << "queue " << queue;
}

TEST(DirtySet, LosesNothingWhenManyAddWhileOneTakes)
{
    add_while_one_takes<1'024>();
}

TEST(DirtySet, LosesNothingWhenItOverflowsMeanwhile)
{
    add_while_one_takes<16>();
}

}  // namespace
}  // namespace hipq::core
