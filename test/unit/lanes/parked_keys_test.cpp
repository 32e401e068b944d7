// The parked keys: each operation, and random ones beside a table without a heap.
#include "core/lanes/parked_keys.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace {

using namespace hipq::core;

constexpr std::int64_t hour = 3'600'000'000;

LaneKey at(std::int64_t number)
{
    return {number, number};
}

LimiterName named(std::uint64_t key)
{
    return {1, 2, 3, key};
}

// A table, and the lanes that have parked keys.
struct Table {
    explicit Table(std::size_t size, std::size_t lane_count = 2)
        : entries(size), buckets(size), lanes(lane_count)
    {
        keys().clear();
    }
    ParkedKeys keys() { return {&head, entries, buckets}; }
    bool park(std::int32_t lane, std::uint64_t key, KeyRange range, std::int64_t not_before = hour)
    {
        return keys().park(lanes[static_cast<std::size_t>(lane)], lane, named(key), range,
                           not_before, [&] { return may_make; });
    }
    bool make_ready(std::int32_t lane, std::uint64_t key)
    {
        return keys().make_ready(lanes[static_cast<std::size_t>(lane)], lane, named(key));
    }
    bool covers(std::int32_t lane, std::uint64_t key, std::int64_t number)
    {
        return keys().covers(lane, named(key), at(number));
    }

    ParkedKeysHead head{};
    std::vector<ParkedKey> entries;
    std::vector<std::int32_t> buckets;
    std::vector<LaneKeys> lanes;
    bool may_make = true;
};

TEST(ParkedKeys, WaitUntilThereIsCapacity)
{
    Table table(4);
    ASSERT_TRUE(table.park(0, 7, {at(1), at(5)}));
    EXPECT_EQ(table.keys().next_due(table.lanes[0]).time, hour);
    EXPECT_FALSE(table.keys().take(table.lanes[0], 100).has_value());
    EXPECT_FALSE(table.make_ready(0, 8));
    EXPECT_FALSE(table.make_ready(1, 7)) << "another lane";
    EXPECT_TRUE(table.make_ready(0, 7));
    EXPECT_EQ(table.keys().next_due(table.lanes[0]), at(1));
    const auto taken = table.keys().take(table.lanes[0], 100);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->throttle_key, 7U);
    EXPECT_EQ(taken->range, (KeyRange{at(1), at(5)}));
}

TEST(ParkedKeys, GrowWithTheirRows)
{
    Table table(4);
    ASSERT_TRUE(table.park(0, 7, {at(3), at(5)}));
    ASSERT_TRUE(table.park(0, 7, {at(9), at(9)}));
    ASSERT_TRUE(table.park(0, 7, {at(2), at(2)}, hour / 2));
    EXPECT_EQ(table.keys().size(), 1U);
    EXPECT_TRUE(table.covers(0, 7, 2) && table.covers(0, 7, 9));
    EXPECT_FALSE(table.covers(0, 7, 10) || table.covers(0, 8, 5) || table.covers(1, 7, 5));
    EXPECT_EQ(table.keys().next_due(table.lanes[0]).time, hour / 2) << "the earlier time counts";
}

TEST(ParkedKeys, GiveTheirReaderTheFirstRowsFirst)
{
    Table table(8);
    for (const std::uint64_t key : {3U, 1U, 4U, 2U}) {
        const auto number = static_cast<std::int64_t>(key);
        ASSERT_TRUE(table.park(0, key, {at(number), at(number + 10)}));
        ASSERT_TRUE(table.make_ready(0, key));
    }
    EXPECT_EQ(table.keys().count_ready(table.lanes[0], 100), 4U);
    for (std::uint64_t key = 1; key <= 4; ++key) {
        const auto taken = table.keys().take(table.lanes[0], 100);
        ASSERT_TRUE(taken.has_value());
        EXPECT_EQ(taken->throttle_key, key);
        table.keys().put_back(table.lanes[0], {lane_end, lane_start}, 0);
    }
    EXPECT_EQ(table.keys().size(), 0U);
    EXPECT_EQ(table.lanes[0], LaneKeys{});
}

TEST(ParkedKeys, LetRowsOfOthersGoFirst)
{
    Table table(4);
    ASSERT_TRUE(table.park(0, 7, {at(5), at(6)}));
    ASSERT_TRUE(table.make_ready(0, 7));
    EXPECT_FALSE(table.keys().take(table.lanes[0], 100, at(4)).has_value());
    EXPECT_TRUE(table.keys().take(table.lanes[0], 100, at(5)).has_value());
}

TEST(ParkedKeys, KeepWhatTheReaderLeaves)
{
    Table table(4);
    ASSERT_TRUE(table.park(0, 7, {at(1), at(5)}));
    ASSERT_TRUE(table.make_ready(0, 7));
    ASSERT_TRUE(table.keys().take(table.lanes[0], 100).has_value());
    table.keys().put_back(table.lanes[0], {at(3), at(5)}, 2 * hour);
    EXPECT_FALSE(table.covers(0, 7, 2));
    EXPECT_TRUE(table.covers(0, 7, 3));
    EXPECT_EQ(table.keys().next_due(table.lanes[0]).time, 2 * hour);
}

TEST(ParkedKeys, ThatAreNotedWhileTheyAreReadAreLookedAtAgain)
{
    Table table(4);
    const auto take = [&] {
        ASSERT_TRUE(table.make_ready(0, 7));
        ASSERT_TRUE(table.keys().take(table.lanes[0], 100).has_value());
    };
    ASSERT_TRUE(table.park(0, 7, {at(3), at(5)}));
    take();
    ASSERT_TRUE(table.park(0, 7, {at(1), at(1)}));
    EXPECT_TRUE(table.covers(0, 7, 1) && table.covers(0, 7, 4));
    table.keys().put_back(table.lanes[0], {lane_end, lane_start}, hour);
    EXPECT_EQ(table.keys().next_due(table.lanes[0]), at(1)) << "rows are parked meanwhile";
    EXPECT_FALSE(table.covers(0, 7, 3));
    take();
    ASSERT_TRUE(table.make_ready(0, 7));
    table.keys().put_back(table.lanes[0], {at(1), at(1)}, hour);
    EXPECT_EQ(table.keys().next_due(table.lanes[0]), at(1)) << "there is capacity meanwhile";
    ASSERT_TRUE(table.keys().take(table.lanes[0], 100).has_value());
    table.keys().make_all_ready(table.lanes[0]);
    table.keys().put_back(table.lanes[0], {at(1), at(1)}, hour);
    EXPECT_EQ(table.keys().next_due(table.lanes[0]), at(1)) << "all are to be looked at";
}

TEST(ParkedKeys, LoseNothingIfTheReaderGivesUp)
{
    Table table(4);
    ASSERT_TRUE(table.park(0, 7, {at(3), at(5)}));
    ASSERT_TRUE(table.make_ready(0, 7));
    ASSERT_TRUE(table.keys().take(table.lanes[0], 100).has_value());
    ASSERT_TRUE(table.park(0, 7, {at(8), at(8)}));
    table.keys().give_back(table.lanes[0]);
    table.keys().give_back(table.lanes[0]);  // nothing is taken
    EXPECT_TRUE(table.covers(0, 7, 3) && table.covers(0, 7, 8));
    EXPECT_EQ(table.keys().next_due(table.lanes[0]), at(3));
}

TEST(ParkedKeys, AreAsManyAsThereIsRoomFor)
{
    Table table(2);
    table.may_make = false;
    EXPECT_FALSE(table.park(0, 1, {at(1), at(1)})) << "the owner has its share";
    table.may_make = true;
    EXPECT_TRUE(table.park(0, 1, {at(1), at(1)}));
    EXPECT_TRUE(table.park(1, 1, {at(1), at(1)})) << "the same key in another lane";
    EXPECT_FALSE(table.park(0, 2, {at(2), at(2)}));
    table.may_make = false;
    EXPECT_TRUE(table.park(0, 1, {at(3), at(3)})) << "it has an entry";
    table.keys().forget(table.lanes[0]);
    EXPECT_EQ(table.lanes[0], LaneKeys{});
    table.may_make = true;
    EXPECT_TRUE(table.park(0, 2, {at(2), at(2)})) << "its place is free again";
    Table none(0);
    EXPECT_FALSE(none.park(0, 1, {at(1), at(1)}));
    EXPECT_FALSE(none.make_ready(0, 1));
}

TEST(ParkedKeys, AreFoundInAllLanes)
{
    Table table(8, 3);
    for (const std::int32_t lane : {0, 2})
        ASSERT_TRUE(table.park(lane, 7, {at(1), at(1)}));
    ASSERT_TRUE(table.park(1, 8, {at(1), at(1)}));
    std::array<std::int32_t, 2> lanes{};
    ASSERT_EQ(table.keys().lanes_of(named(7), lanes), 2U);
    std::ranges::sort(lanes);
    EXPECT_EQ(lanes, (std::array<std::int32_t, 2>{0, 2}));
    EXPECT_EQ(table.keys().lanes_of(named(7), std::span(lanes).first(1)), 2U)
        << "more than there is space for";
    EXPECT_EQ(table.keys().lanes_of(named(9), lanes), 0U);
}

// ---- random operations, compared with a map ----

struct Waiting {
    KeyRange range;
    std::int64_t not_before;
    LaneKey due() const { return {std::max(range.first.time, not_before), range.first.id}; }
};

class Compared {
public:
    explicit Compared(std::uint64_t seed) : random_(seed) {}

    void step()
    {
        switch (number(5)) {
        case 0:
        case 1:
            park();
            break;
        case 2:
            make_ready();
            break;
        case 3:
            read();
            break;
        case 4:
            if (number(20) == 0)
                make_all_ready();
            break;
        default:
            if (number(50) == 0)
                forget();
        }
        compare();
    }

private:
    static constexpr std::int64_t now = 1'000;
    std::int64_t number(std::int64_t most)
    {
        return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
    }

    void park()
    {
        const auto key = static_cast<std::uint64_t>(number(40) + 1);
        const std::int64_t first = number(500);
        const KeyRange range{at(first), at(first + number(20))};
        const std::int64_t not_before = number(2'000);
        const auto found = map_.find(key);
        ASSERT_EQ(table_.park(0, key, range, not_before), found != map_.end() || map_.size() < 32);
        if (found != map_.end())
            found->second = {hull(found->second.range, range),
                             std::min(found->second.not_before, not_before)};
        else if (map_.size() < 32)
            map_[key] = {range, not_before};
    }
    void make_ready()
    {
        const auto key = static_cast<std::uint64_t>(number(40) + 1);
        const auto found = map_.find(key);
        ASSERT_EQ(table_.make_ready(0, key), found != map_.end());
        if (found != map_.end())
            found->second.not_before = lane_start.time;
    }
    void make_all_ready()
    {
        table_.keys().make_all_ready(table_.lanes[0]);
        for (auto &entry : map_)
            entry.second.not_before = lane_start.time;
    }
    void forget()
    {
        table_.keys().forget(table_.lanes[0]);
        map_.clear();
    }
    void read()
    {
        const LaneKey due = first_due();
        const auto taken = table_.keys().take(table_.lanes[0], now);
        ASSERT_EQ(taken.has_value(), due.time <= now);
        if (!taken.has_value())
            return;
        Waiting &entry = map_.at(taken->throttle_key);
        ASSERT_EQ(entry.range, taken->range);
        ASSERT_EQ(entry.due(), due);
        entry.range.first = at(entry.range.first.time + number(20));
        entry.not_before = number(2'000);
        table_.keys().put_back(table_.lanes[0], entry.range, entry.not_before);
        if (entry.range.is_empty())
            map_.erase(taken->throttle_key);
    }
    LaneKey first_due() const
    {
        LaneKey due = lane_end;
        for (const auto &entry : map_)
            due = std::min(due, entry.second.due());
        return due;
    }
    void compare()
    {
        ASSERT_EQ(table_.keys().size(), map_.size());
        ASSERT_EQ(table_.lanes[0].count, static_cast<std::int32_t>(map_.size()));
        ASSERT_EQ(table_.keys().next_due(table_.lanes[0]), first_due());
    }

    std::mt19937_64 random_;
    Table table_{32};
    std::map<std::uint64_t, Waiting> map_{};
};

TEST(ParkedKeys, AreThoseOfAMap)
{
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        Compared compared(seed);
        for (int i = 0; i < 5'000 && !testing::Test::HasFailure(); ++i)
            compared.step();
    }
}

}  // namespace
