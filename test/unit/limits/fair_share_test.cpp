// Shares by weight: simulated executors make the same calls as shared memory does.
#include "core/limits/fair_share.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

using namespace hipq::core;

namespace {

constexpr std::int64_t second = 1'000'000;

struct SimulatedQueue {
    std::int64_t weight;
    std::int64_t prefetched;  // the duration of one batch, at most twice as long
    bool has_jobs = true;
    bool known = true;  // whether the duration is known in advance
    QueueAccount account{0, -1};
    std::int64_t used = 0;
    std::int64_t last_turn = 0;
    std::int64_t longest_wait = 0;
};

struct SimulatedExecutor {
    std::int64_t free_at = 0;
    SimulatedQueue *queue = nullptr;
    std::int64_t began = 0;
    std::int64_t charged = 0;
};

struct Simulation {
    std::vector<SimulatedQueue> queues;
    std::vector<SimulatedExecutor> executors;
    QueueClock clock{0, 0};
    std::int64_t now = 0;
    std::mt19937_64 random{42};

    Simulation(std::vector<SimulatedQueue> with, std::size_t executor_count)
        : queues(std::move(with)), executors(executor_count)
    {
    }

    static void charge(SimulatedQueue &queue, std::int64_t time)
    {
        queue.account.used += virtual_time(time, queue.weight);
    }

    void begin(SimulatedExecutor &executor)
    {
        SimulatedQueue *first = nullptr;
        VirtualTime least = 0;
        for (SimulatedQueue &queue : queues)
            if (queue.has_jobs && (first == nullptr || standing(queue.account, clock) < least)) {
                first = &queue;
                least = standing(queue.account, clock);
            }
        for (SimulatedQueue &queue : queues)
            if (queue.has_jobs)
                take_part(queue.account, clock);
        end_look(clock, least);
        const std::int64_t takes = std::max<std::int64_t>(
            1,
            first->prefetched / 2 + static_cast<std::int64_t>(
                                        random() % static_cast<std::uint64_t>(first->prefetched)));
        executor = {now + takes, first, now, first->known ? first->prefetched : 10'000};
        charge(*first, executor.charged);
        first->longest_wait = std::max(first->longest_wait, now - first->last_turn);
    }

    void end(SimulatedExecutor &executor)
    {
        if (executor.queue == nullptr)
            return;
        const std::int64_t took = executor.free_at - executor.began;
        charge(*executor.queue, took - executor.charged);
        executor.queue->used += took;
        executor.queue->last_turn = executor.free_at;
    }

    void run(std::int64_t until)
    {
        while (now < until) {
            SimulatedExecutor &next = *std::min_element(
                executors.begin(), executors.end(),
                [](const auto &l, const auto &r) { return l.free_at < r.free_at; });
            now = std::max(now, next.free_at);
            end(next);
            begin(next);
        }
    }

    double share(std::size_t i) const
    {
        const auto all = std::accumulate(queues.begin(), queues.end(), 0.0,
                                         [](double sum, const SimulatedQueue &queue) {
                                             return sum + static_cast<double>(queue.used);
                                         });
        return static_cast<double>(queues[i].used) / all;
    }
};

}  // namespace

TEST(FairShare, IsByTimeNotByJobs)
{
    Simulation simulation({{1, 2'000}, {3, 200'000}}, 1);
    simulation.run(1'000 * second);
    EXPECT_NEAR(simulation.share(0), 0.25, 0.01);
}

TEST(FairShare, ConvergesForManyQueuesAndExecutors)
{
    for (const std::size_t executors : {1U, 2U, 5U}) {
        Simulation simulation({{100, 10'000}, {100, 50'000}, {200, 1'000}, {600, 10'000}},
                              executors);
        simulation.run(1'000 * second);
        EXPECT_NEAR(simulation.share(0), 0.1, 0.01);
        EXPECT_NEAR(simulation.share(1), 0.1, 0.01);
        EXPECT_NEAR(simulation.share(2), 0.2, 0.01);
        EXPECT_NEAR(simulation.share(3), 0.6, 0.01);
    }
}

TEST(FairShare, ConvergesWhereTimesAreNotKnownBefore)
{
    Simulation simulation({{1, 700'000, true, false}, {3, 3'000, true, false}}, 2);
    simulation.run(10'000 * second);
    EXPECT_NEAR(simulation.share(0), 0.25, 0.01);
}

// The bound in the documentation: the queue's last batch times the weight of the other queues over
// its own weight, plus one prefetched batch of each of them.
TEST(FairShare, TheLightestWaitsNoLongerThanTheBound)
{
    for (const std::size_t executors : {1U, 2U}) {
        Simulation simulation({{1, 10'000}, {1'000, 10'000}, {500, 30'000}}, executors);
        simulation.run(2'000 * second);
        const std::int64_t bound =
            2 * 10'000 * 1'500 / static_cast<std::int64_t>(executors) + 2 * (10'000 + 30'000);
        EXPECT_LE(simulation.queues[0].longest_wait, bound);
        EXPECT_GT(simulation.queues[0].longest_wait, bound / 8) << "and it has to wait";
        EXPECT_NEAR(simulation.share(0) * 1'501, 1, 0.1);
    }
}

TEST(FairShare, AnIdleQueueSavesUpNothing)
{
    Simulation simulation({{100, 10'000}, {100, 10'000}}, 1);
    simulation.queues[0].has_jobs = false;
    simulation.run(1'000 * second);
    EXPECT_EQ(simulation.queues[0].used, 0);
    simulation.queues[0].has_jobs = true;
    simulation.queues[1].used = 0;
    simulation.run(1'010 * second);
    EXPECT_NEAR(simulation.share(0), 0.5, 0.01) << "of the ten seconds since it has come back";
}

TEST(FairShare, WhoeverRanAloneOwesNothing)
{
    Simulation simulation({{100, 10'000}, {100, 10'000}}, 1);
    simulation.queues[0].has_jobs = false;
    simulation.run(1'000 * second);
    simulation.queues[1].has_jobs = false;
    simulation.queues[0].has_jobs = true;
    simulation.run(1'001 * second);
    simulation.queues[1].has_jobs = true;
    simulation.queues[0].used = simulation.queues[1].used = 0;
    simulation.run(1'011 * second);
    EXPECT_NEAR(simulation.share(0), 0.5, 0.01);
}

TEST(FairShare, AChangedWeightCountsFromThenOn)
{
    Simulation simulation({{100, 10'000}, {100, 10'000}}, 1);
    simulation.run(100 * second);
    simulation.queues[1].weight = 900;
    simulation.queues[0].used = simulation.queues[1].used = 0;
    simulation.run(200 * second);
    EXPECT_NEAR(simulation.share(0), 0.1, 0.01);
}

// ---- owners ----

TEST(Turn, IsShorterForTheLighter)
{
    EXPECT_EQ(turn(5 * second, 100, 100), 5 * second);
    EXPECT_EQ(turn(5 * second, 300, 100), 5 * second);
    EXPECT_EQ(turn(5 * second, 100, 500), second);
    EXPECT_EQ(turn(5 * second, 1, 1'000), least_turn);
    EXPECT_EQ(turn(10'000, 1, 1'000), 10'000) << "never longer than the quantum";
    EXPECT_EQ(turn(0, 1, 1'000), 0);
}

TEST(Turn, MakesCapacityForWhomItIsDueTo)
{
    const std::int64_t quantum = 5 * second;
    EXPECT_FALSE(gives_way({100, 100, 1}, 4 * second, {0, 100, 0}, quantum))
        << "in the middle of its turn";
    EXPECT_TRUE(gives_way({100, 100, 1}, 5 * second, {0, 100, 0}, quantum));
    EXPECT_FALSE(gives_way({100, 100, 1}, 5 * second, {100, 100, 0}, quantum))
        << "has used no more";
    const VirtualTime due = virtual_time(quantum, 100);
    EXPECT_FALSE(gives_way({due - 1, 100, 1}, 5 * second, {0, 100, 1}, quantum))
        << "who has one waits for a whole quantum";
    EXPECT_TRUE(gives_way({due, 100, 1}, 5 * second, {0, 100, 1}, quantum));
}

TEST(Turn, AnOwnerComesBackAmongThoseWhoHaveUsedLeast)
{
    OwnerAccount account{100, false};
    take_part(account, 5'000);
    EXPECT_EQ(account.used, 5'000);
    take_part(account, 9'000);
    EXPECT_EQ(account.used, 5'000) << "while it takes part it keeps what is due to it";
}

namespace {

struct SimulatedOwner {
    std::int64_t weight;
    OwnerAccount account{0, true};
    std::int64_t used = 0;
    std::int64_t last = 0;
    std::int64_t longest_wait = 0;
};

// All have endless work in batches of 10 ms.
void share_slots(std::vector<SimulatedOwner> &owners, std::size_t slot_count, std::int64_t quantum,
                 std::int64_t until)
{
    struct Slot {
        std::size_t owner;
        std::int64_t started;
    };
    constexpr std::int64_t prefetched = 10'000;
    std::vector<Slot> slots;
    const auto contender = [&](std::size_t owner) {
        const auto executors = std::count_if(slots.begin(), slots.end(),
                                             [&](const Slot &slot) { return slot.owner == owner; });
        return Contender{owners[owner].account.used, owners[owner].weight,
                         static_cast<int>(executors)};
    };
    for (std::int64_t now = 0; now < until; now += prefetched) {
        for (std::size_t i = 0; i < slots.size(); ++i) {
            bool leaves = false;
            for (std::size_t other = 0; other < owners.size(); ++other)
                leaves = leaves || (other != slots[i].owner &&
                                    gives_way(contender(slots[i].owner), now - slots[i].started,
                                              contender(other), quantum));
            if (leaves) {
                slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(i));
                break;
            }
        }
        while (slots.size() < slot_count) {
            std::size_t next = 0;
            for (std::size_t other = 1; other < owners.size(); ++other)
                if (claim(contender(other), quantum) < claim(contender(next), quantum))
                    next = other;
            slots.push_back({next, now});
        }
        for (const Slot &slot : slots) {
            SimulatedOwner &owner = owners[slot.owner];
            owner.account.used += virtual_time(prefetched, owner.weight);
            owner.used += prefetched;
            owner.longest_wait = std::max(owner.longest_wait, now - owner.last);
            owner.last = now;
        }
    }
}

}  // namespace

TEST(Turn, OwnersShareTheServerByWeight)
{
    for (const std::size_t slots : {1U, 2U, 3U, 4U}) {
        std::vector<SimulatedOwner> owners{{100}, {300}};
        share_slots(owners, slots, 5 * second, 2'000 * second);
        EXPECT_NEAR(static_cast<double>(owners[0].used) /
                        static_cast<double>(owners[0].used + owners[1].used),
                    0.25, 0.02)
            << slots;
    }
}

TEST(Turn, NobodyWaitsLongerThanTheOthersTurns)
{
    std::vector<SimulatedOwner> owners{{100}, {100}, {100}};
    share_slots(owners, 1, 5 * second, 1'000 * second);
    for (const SimulatedOwner &owner : owners)
        EXPECT_LE(owner.longest_wait, 2 * (5 * second + 20'000));
    std::vector<SimulatedOwner> unequal{{1}, {1'000}};
    share_slots(unequal, 1, 5 * second, 2'000 * second);
    EXPECT_LE(unequal[0].longest_wait, 1'000 * (least_turn + 20'000))
        << "its turn times the weight of the other over its own";
    EXPECT_GT(unequal[0].used, 0);
}

// ---- reserved slots ----

TEST(FairShare, PlacesAreKeptForOwnersWithoutExecutors)
{
    EXPECT_EQ(kept_places(1, 4, 0), 0) << "nobody is without";
    EXPECT_EQ(kept_places(1, 4, 3), 1);
    EXPECT_EQ(kept_places(2, 4, 1), 1) << "no more than there are such owners";
    EXPECT_EQ(kept_places(9, 4, 9), 3) << "one is left to all";
    EXPECT_EQ(kept_places(1, 1, 9), 0);
    EXPECT_EQ(kept_places(1, 0, 9), 0);
    EXPECT_EQ(kept_places(1, 4, -2), 0);
}

TEST(FairShare, OnlyWhoHasNoneMayTakeAKeptPlace)
{
    EXPECT_TRUE(may_have_another(2, 2, 4, 1));
    EXPECT_FALSE(may_have_another(3, 3, 4, 1));
    EXPECT_TRUE(may_have_another(0, 3, 4, 1));
    EXPECT_FALSE(may_have_another(0, 4, 4, 0));
    EXPECT_TRUE(may_have_another(3, 3, 4, 0));
}
