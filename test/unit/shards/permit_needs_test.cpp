// How much of a shared limit a node needs, and shares as seen by the processes that start jobs.
#include "core/shards/permit_needs.hpp"

#include "core/lanes/job_table.hpp"

#include "weights.hpp"

#include <gtest/gtest.h>

using namespace hipq::core;
using hipq::test::one;

namespace {

PermitNeed after(PermitDemand &demand, const PermitUse &use, std::int64_t time)
{
    note_use(demand, use, time);
    return need_of(demand, use.running);
}

}  // namespace

TEST(PermitNeeds, AreWhatRunsWhereNobodyWaits)
{
    PermitDemand demand;
    const PermitNeed need = after(demand, {2 * one, 3 * one, 0}, 1'000'000);
    EXPECT_EQ(need.running, 2 * one);
    EXPECT_EQ(need.want, 3 * one);
    EXPECT_EQ(need.unit, 0);
}

TEST(PermitNeeds, AreTwiceThatWhereSomebodyWasRefused)
{
    PermitDemand demand;
    EXPECT_EQ(after(demand, {0, 0, one}, 1'000'000).want, one);
    const PermitNeed need = after(demand, {4 * one, 4 * one, 2 * one}, 1'010'000);
    EXPECT_EQ(need.want, 9 * one);
    EXPECT_EQ(need.unit, one);
}

TEST(PermitNeeds, AreForgottenAfterAWhile)
{
    PermitDemand demand;
    note_use(demand, {one, 5 * one, one}, 1'000'000);
    EXPECT_EQ(after(demand, {0, one, 0}, 1'000'000 + permit_memory).want, 11 * one);
    EXPECT_EQ(after(demand, {0, 0, 0}, 1'000'000 + 2 * permit_memory).want, one);
    EXPECT_EQ(after(demand, {0, 0, 0}, 1'000'000 + 3 * permit_memory).want, 0);
}

TEST(PermitNeeds, OfLongAgoAreNoneAfterOneLook)
{
    PermitDemand demand;
    note_use(demand, {one, 5 * one, one}, 1'000'000);
    const PermitNeed need = after(demand, {0, 0, 0}, 1'000'000 + 2 * permit_memory);
    EXPECT_EQ(need.want, 0);
    EXPECT_EQ(need.unit, 0);
}

TEST(PermitNeeds, DoNotOutliveAClockThatIsPutBack)
{
    PermitDemand demand;
    note_use(demand, {one, 5 * one, one}, 1'000'000);
    EXPECT_EQ(after(demand, {0, one, 0}, 500'000).want, one);
}

TEST(PermitNeeds, NothingStartsInWhatIsToBeGivenUp)
{
    PermitShare share;
    share.share = 5 * one;
    share.target = 3 * one;
    EXPECT_EQ(usable_share(share), 3 * one);
    share.target = 8 * one;
    EXPECT_EQ(usable_share(share), 5 * one);
}

namespace {

struct SharedMemory {
    LimiterTableHead head{};
    NodeShareTableHead share_head{};
    std::vector<Limiter> limiters;
    std::vector<std::int32_t> buckets;
    std::vector<NodeShare> shares;
    std::vector<std::int32_t> share_buckets;
    LimiterTable table;

    explicit SharedMemory(std::size_t share_capacity = 4)
        : limiters(10), buckets(4), shares(share_capacity), share_buckets(2),
          table(&head, limiters, buckets, {&share_head, shares, share_buckets})
    {
        table.clear();
    }
};

constexpr LimiterName queue{1, 1, 0, 0};

}  // namespace

TEST(NodeShares, LetNothingStartBeforeTheyAreKnown)
{
    SharedMemory memory;
    EXPECT_FALSE(memory.table.admits(queue, one, 5 * one, true));
    EXPECT_TRUE(memory.table.is_awaited(queue));
    EXPECT_TRUE(memory.table.admits(queue, 0, 5 * one, true));
}

TEST(NodeShares, StandForTheLimit)
{
    SharedMemory memory;
    memory.table.shares().find_or_make(queue)->share = 2 * one;
    EXPECT_TRUE(memory.table.admits(queue, 2 * one, 5 * one, true));
    EXPECT_FALSE(memory.table.admits(queue, 3 * one, 5 * one, true));
    const std::int32_t limiter = memory.table.enter(queue, one);
    EXPECT_FALSE(memory.table.admits(queue, 2 * one, 5 * one, true));
    EXPECT_TRUE(memory.table.leave(limiter, one));
    EXPECT_FALSE(memory.table.is_awaited(queue));
}

TEST(NodeShares, AreObeyedByThoseWhoDoNotKnowOfThem)
{
    SharedMemory memory;
    memory.table.shares().find_or_make(queue)->share = one;
    EXPECT_FALSE(memory.table.admits(queue, 2 * one, 5 * one));
    EXPECT_FALSE(memory.table.admits(queue, 2 * one, no_weight_limit));
}

TEST(NodeShares, LetAHeavierJobRunAloneWhereAllOfTheLimitIs)
{
    SharedMemory memory;
    NodeShare *share = memory.table.shares().find_or_make(queue);
    share->share = 2 * one;
    EXPECT_FALSE(memory.table.admits(queue, 3 * one, 2 * one, true));
    share->has_all = true;
    EXPECT_TRUE(memory.table.let_in(*share));
    EXPECT_TRUE(memory.table.admits(queue, 3 * one, 2 * one, true));
    memory.table.enter(queue, one);
    EXPECT_FALSE(memory.table.admits(queue, 3 * one, 2 * one, true));
}

TEST(NodeShares, RememberTheMostAndWhoWasRefused)
{
    SharedMemory memory;
    NodeShare *share = memory.table.shares().find_or_make(queue);
    share->share = 3 * one;
    const std::int32_t limiter = memory.table.enter(queue, 3 * one);
    EXPECT_FALSE(memory.table.admits(queue, 2 * one, 5 * one, true));
    EXPECT_FALSE(memory.table.admits(queue, one, 5 * one, true));
    memory.table.leave(limiter, 3 * one);
    EXPECT_EQ(share->peak, 3 * one);
    EXPECT_EQ(share->refused, one);
    EXPECT_EQ(share->waiting, 0);
}

TEST(NodeShares, AreFoundAmongOthersUntilRemoved)
{
    SharedMemory memory;
    for (std::int32_t id = 1; id <= 4; ++id)
        memory.table.shares().find_or_make({1, id, 0, 0})->share = id * one;
    EXPECT_EQ(memory.table.shares().find_or_make({1, 5, 0, 0}), nullptr);
    EXPECT_FALSE(memory.table.admits({1, 5, 0, 0}, one, one, true));
    memory.table.shares().remove({1, 2, 0, 0});
    EXPECT_EQ(memory.table.shares().find({1, 2, 0, 0}), nullptr);
    for (const std::int32_t id : {1, 3, 4})
        EXPECT_EQ(memory.table.shares().find({1, id, 0, 0})->share, id * one);
    EXPECT_NE(memory.table.shares().find_or_make({1, 5, 0, 0}), nullptr);
}
