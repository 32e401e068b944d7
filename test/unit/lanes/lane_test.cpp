// The lane: its operations one by one, and a model of claimers and producers that explores every
// order of their steps.
#include "core/lanes/lane_reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

// The state of a reading, as bytes that can be compared.
struct hipq::core::LaneReadingParts {
    // Seven bits in each byte; the highest bit says that more bytes follow.
    static void put(std::string &text, std::int64_t number)
    {
        auto rest = static_cast<std::uint64_t>(number);
        for (; rest >= 128; rest >>= 7)
            text += static_cast<char>(rest | 128);
        text += static_cast<char>(rest);
    }
    template <class Reading>
    static void put_reading(std::string &text, const Reading &reading)
    {
        for (const auto *pockets : {&reading.old_, &reading.kept_}) {
            put(text, pockets->count);
            for (std::uint32_t i = 0; i < pockets->count; ++i) {
                put(text, pockets->entries[i].range.first.id);
                put(text, pockets->entries[i].range.last.id);
            }
        }
        put(text, reading.frontier_.id);
        put(text, reading.position_);
        put(text, reading.key_.rest.range.first.id);
        put(text, reading.key_.rest.range.last.id);
        put(text, reading.key_.rest.not_before > 0 ? 1 : 0);
        put(text, (reading.key_.is_read ? 1 : 0) + (reading.key_.is_done ? 2 : 0) +
                      (reading.key_.has_set_aside ? 4 : 0));
        put(text, (reading.is_exhausted_ ? 1 : 0) + (reading.is_done_ ? 2 : 0));
    }
};

namespace {

using namespace hipq::core;

// ---- operations ----

using SmallLane = BasicLane<2, 2>;
using SmallReading = LaneReading<SmallLane>;

LaneKey at(std::int64_t number)
{
    return {number, number};
}
KeyRange only(std::int64_t number)
{
    return {at(number), at(number)};
}

TEST(Lane, IsReadByOneAtATime)
{
    SmallLane lane;
    auto reading = SmallReading::begin(lane, 1, 0);
    ASSERT_TRUE(reading.has_value());
    EXPECT_FALSE(SmallReading::begin(lane, 2, 0).has_value());
    reading->end(lane);
    EXPECT_TRUE(SmallReading::begin(lane, 2, 0).has_value());
}

TEST(Lane, ColdIsReadFromItsStart)
{
    SmallLane lane;
    auto reading = SmallReading::begin(lane, 1, 0);
    EXPECT_EQ(reading->range(), (KeyRange{lane_start, lane_end}));
    reading->passed(at(5));
    reading->exhausted();
    EXPECT_FALSE(reading->range().has_value());
    reading->end(lane);
    EXPECT_EQ(lane.frontier, after(at(5)));
}

TEST(Lane, WhatIsNotedBeforeTheFrontierIsReadFirst)
{
    SmallLane lane;
    lane.frontier = at(10);
    lane.note(only(3));
    lane.note({at(8), at(20)});
    auto reading = SmallReading::begin(lane, 1, 0);
    EXPECT_EQ(reading->range(), only(3));
    reading->exhausted();
    EXPECT_EQ(reading->range(), (KeyRange{at(8), before(at(10))}));
    reading->exhausted();
    EXPECT_EQ(reading->range(), (KeyRange{at(10), lane_end}));
    reading->end(lane);
    EXPECT_EQ(lane.pockets.count, 0U);
    EXPECT_EQ(lane.frontier, at(10));
}

TEST(Lane, WhatIsNotedAfterItNeedsNoPocket)
{
    SmallLane lane;
    lane.frontier = at(10);
    lane.note(only(12));
    auto reading = SmallReading::begin(lane, 1, 0);
    EXPECT_EQ(reading->range(), (KeyRange{at(10), lane_end}));
}

TEST(Lane, WhatIsNotedDuringAReadingIsForTheNext)
{
    SmallLane lane;
    lane.frontier = at(10);
    auto reading = SmallReading::begin(lane, 1, 0);
    lane.note(only(3));
    reading->end(lane);
    EXPECT_TRUE(lane.covers(at(3)));
    EXPECT_EQ(SmallReading::begin(lane, 1, 0)->range(), only(3));
}

TEST(Lane, CancelledReadingLosesNothing)
{
    SmallLane lane;
    lane.frontier = at(10);
    lane.note(only(3));
    auto reading = SmallReading::begin(lane, 1, 0);
    reading->passed(at(3));
    SmallReading::cancel(lane);
    EXPECT_EQ(SmallReading::begin(lane, 2, 0)->range(), only(3));
}

TEST(Lane, HeldRowWaitsInAPocketOfItsOwn)
{
    SmallLane lane;
    auto reading = SmallReading::begin(lane, 1, 0);
    reading->passed(at(1));
    reading->held(at(2), 100);
    reading->passed(at(3));
    reading->end(lane);
    EXPECT_EQ(lane.frontier, after(at(3)));
    EXPECT_EQ(SmallReading::begin(lane, 1, 99)->range(), (KeyRange{after(at(3)), lane_end}));
    SmallReading::cancel(lane);
    EXPECT_EQ(SmallReading::begin(lane, 1, 100)->range(), only(2));
}

TEST(Lane, HeldRowsForWhichThereIsNoCapacityShareAPocket)
{
    SmallLane lane;
    auto reading = SmallReading::begin(lane, 1, 0);
    for (const int number : {1, 5, 6, 20})
        reading->held(at(number), 100);
    reading->end(lane);
    EXPECT_EQ(lane.frontier, after(at(20)));
    EXPECT_EQ(lane.pockets.count, 2U);
    for (const int number : {1, 5, 6, 20})
        EXPECT_TRUE(lane.covers(at(number))) << number;
}

TEST(Lane, FrontierStopsBeforeTheFirstRowThatIsNotDue)
{
    SmallLane lane;
    auto reading = SmallReading::begin(lane, 1, 5);
    reading->passed(at(5));
    reading->early(at(9));
    EXPECT_FALSE(reading->range().has_value());
    reading->end(lane);
    EXPECT_EQ(lane.frontier, at(9));
}

TEST(Lane, RowOfAPocketThatIsNotDueWaitsThere)
{
    SmallLane lane;
    lane.frontier = at(50);
    lane.note({at(3), at(9)});
    auto reading = SmallReading::begin(lane, 1, 5);
    reading->passed(at(3));
    reading->early(at(7));
    reading->end(lane);
    EXPECT_TRUE(lane.covers(at(7)));
    EXPECT_EQ(SmallReading::begin(lane, 1, 6)->range(), (KeyRange{at(50), lane_end}));
    SmallReading::cancel(lane);
    EXPECT_EQ(SmallReading::begin(lane, 1, 7)->range(), (KeyRange{at(7), at(9)}));
}

TEST(Lane, EndedEarlyItKeepsWhatWasNotRead)
{
    SmallLane lane;
    lane.frontier = at(50);
    lane.note({at(3), at(9)});
    lane.note(only(20));
    auto reading = SmallReading::begin(lane, 1, 0);
    reading->passed(at(3));
    reading->end(lane);
    EXPECT_FALSE(lane.covers(at(3)));
    EXPECT_TRUE(lane.covers(at(4)) && lane.covers(at(9)) && lane.covers(at(20)));
}

TEST(Lane, FullInboxGrowsItsLastEntry)
{
    SmallLane lane;
    lane.frontier = at(100);
    for (const int number : {5, 30, 10, 70})
        lane.note(only(number));
    for (const int number : {5, 10, 30, 70})
        EXPECT_TRUE(lane.covers(at(number))) << number;
}

TEST(Lane, FullPocketsMergeTheNearest)
{
    Pockets<2> pockets;
    pockets.add({only(10), 7}, 0);
    pockets.add({only(50), 8}, 0);
    pockets.add({only(12), 9}, 0);
    ASSERT_EQ(pockets.count, 2U);
    EXPECT_EQ(pockets.entries[0], (Pocket{{at(10), at(12)}, 7}));
    EXPECT_EQ(pockets.entries[1], (Pocket{only(50), 8}));
}

TEST(Lane, IsReadAgainAsAWholeWhenNothingIsKnown)
{
    SmallLane lane;
    lane.frontier = at(10);
    lane.is_exhausted = true;
    auto reading = SmallReading::begin(lane, 1, 0);
    lane.note_all();  // also of the job being read
    reading->end(lane);
    EXPECT_TRUE(lane.covers(at(3)));
    EXPECT_TRUE(lane.covers(at(30)));
    EXPECT_EQ(lane.next_due(), lane_start);
    reading = SmallReading::begin(lane, 1, 0);
    EXPECT_EQ(reading->range(), (KeyRange{lane_start, before(at(10))}));
    reading->exhausted();
    EXPECT_EQ(reading->range(), (KeyRange{at(10), lane_end}));
}

TEST(Lane, TellsWhenTheNextRowIsDue)
{
    SmallLane lane;
    auto reading = SmallReading::begin(lane, 1, 0);
    reading->passed(at(5));
    reading->early(at(9));
    reading->end(lane);
    EXPECT_EQ(lane.next_due(), at(9));
    reading = SmallReading::begin(lane, 1, 9);
    reading->passed(at(9));
    reading->exhausted();
    reading->end(lane);
    EXPECT_EQ(lane.next_due(), lane_end);
    lane.note(only(7));
    EXPECT_EQ(lane.next_due(), at(7));
    lane.note(only(6), 100);
    EXPECT_EQ(lane.next_due(), at(7));
}

// A row at or after the frontier is in no pocket; its absence must not mean that the lane is
// exhausted.
TEST(Lane, IsNotExhaustedWhenSomethingCameAfterTheFrontier)
{
    SmallLane lane;
    lane.frontier = at(10);
    lane.is_exhausted = true;
    lane.note(only(12));
    SmallReading::begin(lane, 1, 0);
    SmallReading::cancel(lane);
    EXPECT_EQ(lane.next_due(), at(10));
}

// ---- rows outside their time windows ----

constexpr std::int64_t hour = 3'600'000'000;

// Reads the rows from `first` to `last`, which all wait for the same time window to open.
void read_closed(SmallLane &lane, std::int64_t first, std::int64_t last, std::int64_t opens,
                 std::int64_t now)
{
    auto reading = SmallReading::begin(lane, 1, now);
    ASSERT_TRUE(reading->range().has_value() && reading->range()->contains(at(first)));
    reading->closed({at(first), at(last)}, opens);
    while (reading->range().has_value())
        reading->exhausted();
    reading->end(lane);
}

TEST(LaneWindows, ClosedRowsAreReadAgainWhenTheyOpen)
{
    SmallLane lane;
    read_closed(lane, 1, 90, hour, 100);
    EXPECT_EQ(lane.frontier, after(at(90)));
    EXPECT_EQ(lane.next_due(), (LaneKey{hour, 1}));
    EXPECT_TRUE(lane.covers(at(1)) && lane.covers(at(90)));
    EXPECT_FALSE(SmallReading::begin(lane, 1, hour - 1)->range().has_value());
    SmallReading::cancel(lane);
    EXPECT_EQ(SmallReading::begin(lane, 1, hour)->range(), (KeyRange{at(1), at(90)}));
}

TEST(LaneWindows, RowsThatWaitForOneOpeningShareAPocket)
{
    SmallLane lane;
    auto reading = SmallReading::begin(lane, 1, 100);
    for (int number = 1; number < 100; number += 3) {
        reading->closed({at(number), at(number)}, hour);
        reading->closed({at(number + 1), at(number + 1)}, 2 * hour);
        reading->passed(at(number + 2));
    }
    reading->end(lane);
    ASSERT_EQ(lane.pockets.count, 2U);
    EXPECT_EQ(lane.pockets.entries[0], (Pocket{{at(1), at(97)}, hour}));
    EXPECT_EQ(lane.pockets.entries[1], (Pocket{{at(2), at(98)}, 2 * hour}));
}

TEST(LaneWindows, LaterRowsJoinThePocket)
{
    SmallLane lane;
    read_closed(lane, 1, 10, hour, 100);
    lane.note(only(12));
    read_closed(lane, 12, 12, hour, 100);
    lane.note(only(5));  // another process has changed that job
    auto reading = SmallReading::begin(lane, 1, 100);
    EXPECT_EQ(reading->range(), only(5));
    reading->closed(only(5), hour);
    reading->exhausted();
    reading->exhausted();
    reading->end(lane);
    ASSERT_EQ(lane.pockets.count, 1U);
    EXPECT_EQ(lane.pockets.entries[0], (Pocket{{at(1), at(12)}, hour}));
}

TEST(LaneWindows, NotesForWhichThereIsNoCapacityDoNotHaveClosedRowsReadAgain)
{
    SmallLane lane;
    read_closed(lane, 1, 100, hour, 200);
    lane.note(only(20));
    lane.note(only(60));
    auto reading = SmallReading::begin(lane, 1, 200);
    EXPECT_EQ(reading->range(), (KeyRange{at(20), at(60)}));
    reading->exhausted();
    EXPECT_FALSE(reading->range().has_value() && reading->range()->contains(at(1)));
}

TEST(LaneWindows, AnOpeningIsReadInPieces)
{
    SmallLane lane;
    read_closed(lane, 1, 100, hour, 200);
    auto reading = SmallReading::begin(lane, 1, hour);
    reading->passed(at(1));
    reading->closed({at(2), at(4)}, 2 * hour);
    reading->passed(at(5));
    reading->end(lane);
    EXPECT_EQ(lane.next_due(), (LaneKey{hour, 6}));
    EXPECT_TRUE(lane.covers(at(2)) && lane.covers(at(4)) && lane.covers(at(100)));
    EXPECT_EQ(SmallReading::begin(lane, 1, hour)->range(), (KeyRange{after(at(5)), at(100)}));
}

TEST(LaneWindows, AreReckonedAnewWhenTheZoneOrTheClockIsAnother)
{
    SmallLane lane;
    read_closed(lane, 1, 100, hour, 200);
    lane.note(only(200), 500);
    lane.look_again();
    EXPECT_EQ(lane.next_due(), at(1));
    auto reading = SmallReading::begin(lane, 1, 200);
    EXPECT_EQ(reading->range(), (KeyRange{at(1), at(100)}));
    lane.look_again();  // the reader may have decided by the old state
    reading->closed({at(1), at(100)}, hour);
    reading->end(lane);
    EXPECT_LE(lane.next_due(), at(1));
}

// ---- the rows of a parked key ----

SmallReading reading_of_key(SmallLane &lane, KeyRange range)
{
    auto reading = SmallReading::begin(lane, 1, 100);
    reading->begin_key(range);
    return *reading;
}

TEST(LaneKey, IsReadBeforeTheRest)
{
    SmallLane lane;
    lane.frontier = at(100);
    SmallReading reading = reading_of_key(lane, {at(1), at(50)});
    EXPECT_EQ(reading.range(), (KeyRange{at(1), at(50)}));
    reading.passed(at(3));
    EXPECT_EQ(reading.range(), (KeyRange{after(at(3)), at(50)}));
    reading.exhausted();
    EXPECT_FALSE(reading.range().has_value());
    EXPECT_TRUE(reading.end_key().range.is_empty());
    EXPECT_EQ(reading.range(), (KeyRange{at(100), lane_end}));
}

TEST(LaneKey, ThatIsFullIsNotReadFurther)
{
    SmallLane lane;
    SmallReading reading = reading_of_key(lane, {at(1), at(50)});
    reading.passed(at(1));
    reading.full(at(2), hour);
    EXPECT_FALSE(reading.range().has_value());
    EXPECT_EQ(reading.end_key(), (Pocket{{at(2), at(50)}, hour}));
}

TEST(LaneKey, KeepsItsRestWhenEnoughHasBeenTaken)
{
    SmallLane lane;
    SmallReading reading = reading_of_key(lane, {at(1), at(50)});
    reading.passed(at(1));
    reading.early(at(2));
    reading.stop();
    EXPECT_TRUE(reading.is_done());
    EXPECT_FALSE(reading.range().has_value());
    EXPECT_EQ(reading.end_key(), (Pocket{{at(2), at(50)}, 2}));
}

TEST(LaneKey, LeavesSingleRowsInTheLane)
{
    SmallLane lane;
    lane.frontier = at(100);
    SmallReading reading = reading_of_key(lane, {at(1), at(50)});
    EXPECT_FALSE(reading.must_end());
    reading.held(at(1), 200);
    EXPECT_TRUE(reading.must_end());
    reading.closed({at(2), at(3)}, hour);
    EXPECT_EQ(reading.end_key(), (Pocket{{after(at(3)), at(50)}, lane_start.time}));
    reading.end(lane);
    ASSERT_EQ(lane.pockets.count, 2U);
    EXPECT_EQ(lane.pockets.entries[0], (Pocket{only(1), 200}));
    EXPECT_EQ(lane.pockets.entries[1], (Pocket{{at(2), at(3)}, hour}));
}

TEST(LaneKey, WithoutRoomLeavesItsRowsInTheLane)
{
    SmallLane lane;
    lane.frontier = at(100);
    auto reading = SmallReading::begin(lane, 1, 100);
    reading->crowded({at(1), at(10)}, 200);
    reading->end(lane);
    EXPECT_EQ(lane.pockets.entries[0], (Pocket{{at(1), at(10)}, 200}));
}

// ---- the model ----
//
// Three rows have the keys 1 to 3. Producers insert, commit or abort, and then call note() in a
// separate step; between any two steps of one process all other processes may run. A claimer takes
// one job in each reading.
//
// Where the throttle counts, rows 1 and 2 have a throttle key under which only one of them may be
// in flight. A claimer that finds the key full records that capacity is awaited. A claimer that
// gives the row back clears this, and frees the capacity in a separate step. A claimer that has
// passed over a full row parks its key before the reading ends, if there is room, and checks
// afterwards whether capacity is still awaited: each in a separate step.

constexpr std::uint64_t tenant = 7;
constexpr LimiterName tenant_name{1, 1, 1, tenant};
constexpr KeyRange no_rows{lane_end, lane_start};

constexpr int row_count = 3;
constexpr std::int64_t never = 1'000'000'000;  // for the duration of the model

constexpr bool has_throttle_key(int row)
{
    return row == 1 || row == 2;
}

enum class RowState : char { none, inserted, claimable, locked, claimed, done };

struct Producer {
    enum class Kind : char { commits, aborts, savepoint } kind;
    int row;
    int other_row = 0;  // with a savepoint: the row that is committed
    int step = 0;
};

template <class Lane>
struct Claimer {
    int step = 0;
    int rounds;
    int row = 0;  // in flight
    unsigned snapshot = 0;
    std::optional<LaneReading<Lane>> reading{};
    int last_seen = 0;             // in the range being read
    bool is_key_new = false;       // that it reads; it has to check whether the key is full
    KeyRange full_rows = no_rows;  // passed over, to be parked
    int ending = -1;               // parks; then takes that row, or none
    bool has_left_full = false;    // a row with a full throttle key; checks whether it is awaited
    bool has_freed_capacity = false;  // must still announce it
};

template <class Lane>
struct Model {
    Lane lane{};
    std::array<RowState, row_count + 1> rows{};
    std::array<bool, row_count + 1> is_pending{};  // its note() is still to come
    std::array<bool, row_count + 1>
        is_in_flight{};  // will run again, but its last claimer still has it
    std::vector<Producer> producers{};
    std::vector<Claimer<Lane>> claimers{};
    std::array<ParkedKey, 1> parked{};
    std::array<std::int32_t, 1> buckets{no_key};
    ParkedKeysHead head{no_key, 0, 0};
    bool has_room = true;
    bool is_throttled = false;
    bool is_awaited = false;  // capacity of the throttle key
    int stranger = 0;  // steps of a process that locks row 3 and unlocks it without a note; 2: done

    ParkedKeys keys() { return {&head, parked, buckets}; }
    ParkedKeys keys() const { return const_cast<Model &>(*this).keys(); }
    void put_back_key(LaneReading<Lane> &reading)
    {
        if (!reading.reads_key())
            return;
        const Pocket rest = reading.end_key();
        keys().put_back(lane.keys, rest.range, rest.not_before);
    }
    bool read_next_key(LaneReading<Lane> &reading)
    {
        if (reading.must_end())
            return false;
        put_back_key(reading);
        const auto next = reading.range();
        const auto taken =
            keys().take(lane.keys, row_count, next.has_value() ? next->first : lane_end);
        if (taken.has_value())
            reading.begin_key(taken->range);
        return taken.has_value();
    }

    // Variable length, so that no number is a prefix of another one.
    void put(std::string &text, std::int64_t number) const { LaneReadingParts::put(text, number); }
    void put(std::string &text, const Pockets<Lane::pocket_limit> &pockets) const
    {
        put(text, pockets.count);
        for (std::uint32_t i = 0; i < pockets.count; ++i)
            for (const std::int64_t number :
                 {pockets.entries[i].range.first.id, pockets.entries[i].range.last.id})
                put(text, number);
        for (std::uint32_t i = 0; i < pockets.count; ++i)
            put_wait(text, pockets.entries[i]);
    }
    // Only the kind of wait matters.
    void put_wait(std::string &text, const Pocket &pocket) const
    {
        put(text, pocket.not_before > 0 ? 1 : 0);
    }
    std::string fingerprint() const
    {
        std::string text;
        put(text, lane.frontier.id);
        put(text, lane.is_exhausted ? 1 : 0);
        put(text, lane.owner + 1);
        put(text, lane.pockets);
        put(text, lane.inbox_count);
        for (std::uint32_t i = 0; i < lane.inbox_count; ++i) {
            put(text, lane.inbox[i].range.first.id);
            put(text, lane.inbox[i].range.last.id);
            put_wait(text, lane.inbox[i]);
        }
        for (int row = 1; row <= row_count; ++row)
            text += static_cast<char>('a' + static_cast<int>(rows[row]) +
                                      (is_pending[row] ? 10 : 0) + (is_in_flight[row] ? 20 : 0));
        for (const Producer &producer : producers)
            put(text, producer.step);
        for (const auto &claimer : claimers) {
            for (const int number :
                 {claimer.step, claimer.rounds, claimer.row, static_cast<int>(claimer.snapshot),
                  claimer.last_seen, claimer.ending + 1, claimer.is_key_new ? 1 : 0,
                  static_cast<int>(claimer.full_rows.first.id % 10),
                  static_cast<int>(claimer.full_rows.last.id % 10),
                  (claimer.has_left_full ? 1 : 0) + (claimer.has_freed_capacity ? 2 : 0)})
                put(text, number);
            put(text, claimer.reading.has_value() ? 1 : 0);
            if (claimer.reading.has_value())
                LaneReadingParts::put_reading(text, *claimer.reading);
        }
        const ParkedKey &key = parked[0];
        put(text, lane.keys.count + (lane.keys.taken != no_key ? 2 : 0));
        for (const std::int64_t number :
             {key.range.first.id, key.range.last.id, key.noted.first.id, key.noted.last.id,
              std::int64_t{key.was_noted}, std::int64_t{key.not_before > 0}})
            put(text, number);
        put(text, is_awaited ? 1 : 0);
        put(text, stranger);
        return text;
    }

    std::uint64_t throttle_key_of(int row) const
    {
        return is_throttled && has_throttle_key(row) ? tenant : 0;
    }
    // A claimer has another row of this throttle key in flight.
    bool is_full(int row) const
    {
        return throttle_key_of(row) != 0 &&
               std::any_of(claimers.begin(), claimers.end(), [&](const Claimer<Lane> &claimer) {
                   return claimer.row != 0 && claimer.row != row &&
                          throttle_key_of(claimer.row) != 0;
               });
    }
    // Some process will certainly announce, or see, free capacity.
    bool capacity_will_be_seen() const
    {
        return is_awaited ||
               std::any_of(claimers.begin(), claimers.end(), [](const Claimer<Lane> &claimer) {
                   return claimer.has_left_full || claimer.has_freed_capacity;
               });
    }
    bool is_found(int row) const
    {
        const bool is_in_key = throttle_key_of(row) != 0 && keys().covers(0, tenant_name, at(row));
        if (!lane.covers(at(row)) && !is_in_key)
            return false;
        const LaneKey latest = is_throttled ? LaneKey{crowded_hold, lane_limit} : at(row);
        const LaneKey due = std::min(lane.next_due(), keys().next_due(lane.keys));
        return due <= latest || lane.keys.taken != no_key ||
               (throttle_key_of(row) != 0 && capacity_will_be_seen());
    }

    bool is_safe() const
    {
        for (int row = 1; row <= row_count; ++row)
            if ((rows[row] == RowState::claimable || rows[row] == RowState::locked) &&
                !is_pending[row] && !is_found(row))
                return false;
        return true;
    }
};

template <class Lane>
class Explorer {
public:
    explicit Explorer(Model<Lane> start) { explore(std::move(start)); }
    std::size_t states() const { return seen_.size(); }
    std::size_t unsafe() const { return unsafe_; }
    std::size_t stuck() const
    {
        return stuck_;
    }  // ends with a claimable row left, and with claimers left

private:
    using State = Model<Lane>;

    void explore(State start)
    {
        std::vector<State> open{std::move(start)};
        while (!open.empty()) {
            const State state = std::move(open.back());
            open.pop_back();
            if (!seen_.insert(state.fingerprint()).second)
                continue;
            unsafe_ += state.is_safe() ? 0 : 1;
            const std::size_t before = open.size();
            for (std::size_t i = 0; i < state.producers.size(); ++i)
                step_producer(state, i, open);
            for (std::size_t i = 0; i < state.claimers.size(); ++i)
                step_claimer(state, i, open);
            step_stranger(state, open);
            if (open.size() == before)
                check_end(state);
        }
    }

    void step_producer(const State &state, std::size_t index, std::vector<State> &open)
    {
        State next = state;
        Producer &producer = next.producers[index];
        const bool rolls_back = producer.kind != Producer::Kind::commits;
        const auto end_row = [&](int row, bool commits) {
            next.rows[row] = commits ? RowState::claimable : RowState::none;
            next.is_pending[row] = true;
        };
        const auto note = [&](int row) {
            next.lane.note(only(row));
            next.is_pending[row] = false;
        };
        switch (producer.step++) {
        case 0:
            next.rows[producer.row] = RowState::inserted;
            break;
        case 1:
            end_row(producer.row, !rolls_back);
            break;
        case 2:
            note(producer.row);
            if (producer.kind == Producer::Kind::savepoint)
                break;
            producer.step = 6;
            break;
        case 3:
            next.rows[producer.other_row] = RowState::inserted;
            break;
        case 4:
            end_row(producer.other_row, true);
            break;
        case 5:
            note(producer.other_row);
            break;
        default:
            return;
        }
        open.push_back(std::move(next));
    }

    void step_claimer(const State &state, std::size_t index, std::vector<State> &open)
    {
        State next = state;
        Claimer<Lane> &claimer = next.claimers[index];
        if (announce_freed_capacity(next, claimer)) {
            open.push_back(std::move(next));
            return;
        }
        switch (claimer.step) {
        case 0:
            if (claimer.rounds == 0)
                return;
            claimer.reading =
                LaneReading<Lane>::begin(next.lane, static_cast<std::int32_t>(index), 0);
            if (!claimer.reading.has_value())
                return;
            claimer.step = 1;
            break;
        case 1:
            claimer.snapshot = visible(next);
            claimer.step = 2;
            claimer.last_seen = 0;
            open.push_back(given_back(state, index));  // or the claimer fails here
            break;
        case 2:
            read_on(next, claimer);
            break;
        default:  // a job is in flight
            if (state.claimers[index].step == 3) {
                open.push_back(given_up(state, index, 4));
                open.push_back(given_up(state, index, 5));
            }
            if (claimer.step == 5) {
                next.lane.note(only(claimer.row));
                next.is_pending[claimer.row] = false;
                claimer.step = 6;
                break;
            }
            if (claimer.step == 6) {
                next.is_in_flight[claimer.row] = false;
            } else if (claimer.step == 4) {
                next.lane.note(only(claimer.row));
                next.is_pending[claimer.row] = false;
            } else {
                next.rows[claimer.row] = RowState::done;
            }
            if (next.throttle_key_of(claimer.row) != 0)
                claimer.has_freed_capacity = std::exchange(next.is_awaited, false);
            claimer.row = 0;
            claimer.step = 0;
            --claimer.rounds;
        }
        open.push_back(std::move(next));
    }

    // After the end of the reading: full rows that were left must be in the lane. Returns false if
    // there is nothing to announce.
    static bool announce_freed_capacity(State &state, Claimer<Lane> &claimer)
    {
        if (claimer.reading.has_value() || (!claimer.has_freed_capacity && !claimer.has_left_full))
            return false;
        if (claimer.has_freed_capacity || !state.is_awaited)
            state.keys().make_ready(state.lane.keys, 0, tenant_name);
        claimer.has_freed_capacity = claimer.has_left_full = false;
        return true;
    }

    static State given_back(State state, std::size_t index)
    {
        state.keys().give_back(state.lane.keys);
        LaneReading<Lane>::cancel(state.lane);
        state.claimers[index].reading.reset();
        state.claimers[index].full_rows = no_rows;
        state.claimers[index].step = 0;
        --state.claimers[index].rounds;
        return state;
    }

    // The row is claimable again, and a separate step notes it (4). Or it was resolved at once for
    // a retry, that transaction notes it (5), and it leaves the prefetched batch later without
    // another note (6).
    static State given_up(State state, std::size_t index, int step)
    {
        Claimer<Lane> &claimer = state.claimers[index];
        state.rows[claimer.row] = RowState::claimable;
        state.is_pending[claimer.row] = true;
        state.is_in_flight[claimer.row] = step == 5;
        claimer.step = step;
        return state;
    }

    static unsigned visible(const State &state)
    {
        unsigned rows = 0;
        for (int row = 1; row <= row_count; ++row)
            if (state.rows[row] != RowState::none && state.rows[row] != RowState::inserted)
                rows |= 1U << row;
        return rows;
    }

    // Reads one row, or the end of the range.
    static void read_on(State &state, Claimer<Lane> &claimer)
    {
        LaneReading<Lane> &reading = *claimer.reading;
        if (claimer.ending >= 0) {
            end_reading(state, claimer);
            return;
        }
        if (state.is_throttled && !reading.is_done() &&
            (!reading.reads_key() || !reading.range().has_value()) &&
            state.read_next_key(reading)) {
            claimer.is_key_new = true;
            claimer.last_seen = 0;
            return;
        }
        const auto range = reading.range();
        if (!range.has_value()) {
            finish(state, claimer, 0);
            return;
        }
        if (std::exchange(claimer.is_key_new, false) && state.is_awaited) {
            claimer.has_left_full = true;
            reading.full(range->first, never);
            return;
        }
        const auto is_read = [&](int row) {
            return (claimer.snapshot & 1U << row) != 0 && range->contains(at(row)) &&
                   (!reading.reads_key() || state.throttle_key_of(row) != 0);
        };
        int row = claimer.last_seen + 1;
        while (row <= row_count && !is_read(row))
            ++row;
        if (row > row_count) {
            claimer.last_seen = 0;
            reading.exhausted();
            return;
        }
        claimer.last_seen = row;
        if (state.rows[row] == RowState::locked || state.is_in_flight[row]) {
            reading.held(at(row), 0);
        } else if (state.rows[row] == RowState::claimable && state.is_full(row)) {
            state.is_awaited = true;
            claimer.has_left_full = true;
            if (reading.reads_key()) {
                claimer.last_seen = 0;  // this ends the range
                reading.full(at(row), never);
            } else {
                claimer.full_rows =
                    claimer.full_rows.is_empty() ? only(row) : hull(claimer.full_rows, only(row));
                reading.passed(at(row));
            }
        } else {
            reading.passed(at(row));
            if (state.rows[row] == RowState::claimable)
                finish(state, claimer, row);
        }
    }

    // The row is reserved at once. Rows that were passed over are parked first, then the reading
    // ends.
    static void finish(State &state, Claimer<Lane> &claimer, int row)
    {
        claimer.row = row;
        claimer.ending = row;
        if (row != 0)
            state.rows[row] = RowState::claimed;
        if (claimer.full_rows.is_empty())
            end_reading(state, claimer);
    }

    static void end_reading(State &state, Claimer<Lane> &claimer)
    {
        if (!claimer.full_rows.is_empty()) {
            if (!state.keys().park(state.lane.keys, 0, tenant_name, claimer.full_rows, never,
                                   [&] { return state.has_room; }))
                claimer.reading->crowded(claimer.full_rows, crowded_hold);
            claimer.full_rows = no_rows;
            return;
        }
        state.put_back_key(*claimer.reading);
        claimer.reading->end(state.lane);
        claimer.reading.reset();
        claimer.snapshot = 0;
        claimer.last_seen = 0;
        claimer.is_key_new = false;
        claimer.step = std::exchange(claimer.ending, -1) == 0 ? 0 : 3;
        if (claimer.step == 0)
            --claimer.rounds;
    }

    void step_stranger(const State &state, std::vector<State> &open)
    {
        if (state.stranger == 0 && state.rows[row_count] == RowState::claimable) {
            State next = state;
            next.rows[row_count] = RowState::locked;
            next.stranger = 1;
            open.push_back(std::move(next));
        }
        if (state.stranger == 1) {
            State next = state;
            next.rows[row_count] = RowState::claimable;
            next.stranger = 2;
            open.push_back(std::move(next));
        }
    }

    // A claimer that reads now finds what is left.
    void check_end(State state)
    {
        for (int round = 0; round < 2 * row_count; ++round) {
            const std::int64_t now = state.is_throttled ? crowded_hold : 0;
            Claimer<Lane> claimer{2, 1, 0, visible(state),
                                  LaneReading<Lane>::begin(state.lane, 9, now)};
            if (!claimer.reading.has_value())
                break;
            while (claimer.step == 2)
                read_on(state, claimer);
        }
        for (int row = 1; row <= row_count; ++row)
            stuck_ += state.rows[row] == RowState::claimable ? 1 : 0;
    }

    std::unordered_set<std::string> seen_{};
    std::size_t unsafe_ = 0;
    std::size_t stuck_ = 0;
};

template <class Lane>
void check(std::vector<Producer> producers, int stranger, bool is_throttled = false,
           bool has_room = true)
{
    Model<Lane> start;
    start.rows.fill(RowState::none);
    start.rows[row_count] = RowState::claimable;
    start.producers = std::move(producers);
    start.claimers = {{0, 2}, {0, 2}};
    start.stranger = stranger;
    start.is_throttled = is_throttled;
    start.has_room = has_room;
    const Explorer<Lane> explorer(start);
    testing::Test::RecordProperty("states", static_cast<int>(explorer.states()));
    EXPECT_GT(explorer.states(), 1'000U);
    EXPECT_EQ(explorer.unsafe(), 0U);
    EXPECT_EQ(explorer.stuck(), 0U);
}

template <class Lane>
class LaneModel : public testing::Test {
};
using Sizes = testing::Types<BasicLane<1, 1>, BasicLane<1, 2>, BasicLane<2, 1>, Lane>;
TYPED_TEST_SUITE(LaneModel, Sizes);

using Kind = Producer::Kind;

TYPED_TEST(LaneModel, LosesNothingWithTwoProducers)
{
    check<TypeParam>({{Kind::commits, 2}, {Kind::commits, 1}}, 2);
}

TYPED_TEST(LaneModel, LosesNothingWithAStranger)
{
    check<TypeParam>({{Kind::commits, 2}, {Kind::commits, 1}}, 0);
}

TYPED_TEST(LaneModel, LosesNothingWithAborts)
{
    check<TypeParam>({{Kind::aborts, 2}, {Kind::commits, 1}}, 0);
}

TYPED_TEST(LaneModel, LosesNothingWithSavepoints)
{
    check<TypeParam>({{Kind::savepoint, 2, 1}}, 0);
}

TYPED_TEST(LaneModel, LosesNothingUnderAThrottle)
{
    check<TypeParam>({{Kind::commits, 2}, {Kind::commits, 1}}, 2, true);
}

TYPED_TEST(LaneModel, LosesNothingWithoutRoomToParkKeys)
{
    check<TypeParam>({{Kind::commits, 2}, {Kind::commits, 1}}, 2, true, false);
}

}  // namespace

TEST(Lane, TellsSingleKeysApartFromWhereTheOthersBegin)
{
    Lane lane;
    lane.frontier = {100, 1};
    lane.note({{10, 5}, {10, 5}});         // committed late
    lane.note({{20, 6}, {20, 6}}, 1'000);  // postponed
    const Lane::Places places = lane.places(500);
    EXPECT_EQ(places.single_keys, 1U);
    EXPECT_EQ(places.next_key_due, 1'000);
    EXPECT_EQ(places.from, (LaneKey{100, 1}));
    lane.note({{30, 1}, {40, 1}});
    EXPECT_EQ(lane.places(500).from, (LaneKey{30, 1}));
    lane.is_exhausted = true;
    lane.note({{600, 1}, {600, 1}});
    EXPECT_EQ(lane.places(500).from, (LaneKey{30, 1}));
}

TEST(Lane, HasNowhereToLookWhenAllHasBeenRead)
{
    Lane lane;
    lane.frontier = {100, 1};
    lane.is_exhausted = true;
    EXPECT_EQ(lane.places(500).from, lane_end);
    lane.note({{600, 1}, {600, 1}});
    EXPECT_EQ(lane.places(500).next_key_due, 600);
}
