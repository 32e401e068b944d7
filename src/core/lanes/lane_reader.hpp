// A claimer's reading of a lane: what to look at, and what it learned.
#pragma once

#include "core/lanes/lane.hpp"

#include <optional>

namespace hipq::core {

struct LaneReadingParts;

// From begin() to end() or cancel() the lane belongs to the claimer; other processes only call
// note() meanwhile.
//
// Call begin() first, then take a new snapshot. A row that the snapshot does not show is then noted
// after begin(), and so is in the inbox for the next reader.
template <class Lane>
class LaneReading;

template <std::size_t pocket_count, std::size_t inbox_size>
class LaneReading<BasicLane<pocket_count, inbox_size>> {
public:
    using Lane = BasicLane<pocket_count, inbox_size>;

    // Nothing: another process reads the lane. `now` in microseconds.
    static std::optional<LaneReading> begin(Lane &lane, std::int32_t owner, std::int64_t now)
    {
        if (lane.owner != no_owner)
            return std::nullopt;
        lane.owner = owner;
        for (std::uint32_t i = 0; i < lane.inbox_count; ++i) {
            Pocket note = lane.inbox[i];
            lane.is_exhausted = lane.is_exhausted && note.range.last < lane.frontier;
            note.range.last = std::min(note.range.last, before(lane.frontier));
            lane.pockets.add(note, now);
        }
        lane.inbox_count = 0;
        return LaneReading(lane, now);
    }

    // The rows of a parked key (parked_keys.hpp) are read next, until end_key(), which returns what
    // is left of the range, and when to look at it. If must_end() says so, the reading has to end
    // before another key is read, together with the return of that rest: what it learned of single
    // rows of the key is stored by end().
    void begin_key(KeyRange range) { key_ = {true, {range, lane_start.time}}; }
    bool reads_key() const { return key_.is_read; }
    bool must_end() const { return key_.has_set_aside; }
    Pocket end_key()
    {
        key_.is_read = false;
        return key_.rest;
    }

    // Returns what to read next: first the pockets whose time has come, then everything from the
    // frontier on. Nothing: all is read, or the rest has to wait.
    std::optional<KeyRange> range() const
    {
        if (is_done_)
            return std::nullopt;
        if (reads_key())
            return key_.is_done || key_.rest.range.is_empty() ? std::nullopt
                                                              : std::optional(key_.rest.range);
        if (at_frontier() && is_exhausted_)
            return std::nullopt;
        return at_frontier() ? KeyRange{frontier_, lane_end} : old_.entries[position_].range;
    }

    // Call these for the rows of range(), in order. passed(): the row cannot be claimed, or this
    // claimer has it now.
    void passed(LaneKey key) { read_until(after(key)); }
    // A row is held by a process that the registry does not know. It is looked at again at the
    // given time; other rows go on. (If there is no space for one more pocket, two of them become
    // one, and the rows between are read again: slower, but no row waits.)
    void held(LaneKey key, std::int64_t again_at)
    {
        kept_.add({{key, key}, again_at}, now_);
        key_.has_set_aside = reads_key();
        read_until(after(key));
    }
    // Consecutive rows whose time windows open at that time. They cost nothing until then.
    void closed(KeyRange rows, std::int64_t opens)
    {
        kept_.add_to_its_like({rows, opens}, now_);
        key_.has_set_aside = reads_key();
        read_until(after(rows.last));
    }
    // The parked key that is read is full. The row and all later rows of the range stay unread, and
    // wait for capacity, or until that time.
    void full(LaneKey key, std::int64_t again_at) { end_key_range(key, again_at); }
    // Rows of a throttle key that waits, for which there is no room among the parked keys.
    void crowded(KeyRange rows, std::int64_t again_at) { kept_.add({rows, again_at}, now_); }
    // This row and the later rows of the range stay unread: it is not due, or enough has been
    // taken.
    void early(LaneKey key)
    {
        if (reads_key()) {
            end_key_range(key, key.time);
            return;
        }
        if (at_frontier()) {
            frontier_ = std::max(frontier_, key);
            stop();
            return;
        }
        keep({{key, old_.entries[position_].range.last}, key.time});
        next_range();
    }
    // range() has no further row.
    void exhausted()
    {
        if (reads_key()) {
            end_key_range(lane_end, lane_limit);
            return;
        }
        if (!at_frontier()) {
            next_range();
            return;
        }
        is_exhausted_ = true;
        is_done_ = true;
    }
    // Whether the claimer has read enough, or all that there is.
    bool is_done() const { return is_done_; }
    // The claimer has read enough.
    void stop()
    {
        if (!at_frontier())
            keep_rest();
        is_done_ = true;
    }

    // Releases the lane and stores what was learned.
    void end(Lane &lane)
    {
        if (!is_done_)
            stop();
        lane.pockets = {};
        for (std::uint32_t i = 0; i < kept_.count; ++i)
            lane.pockets.add(kept_.entries[i], now_);
        lane.frontier = frontier_;
        lane.is_exhausted = is_exhausted_;
        lane.owner = no_owner;
    }
    // Releases the lane unchanged.
    static void cancel(Lane &lane) { lane.owner = no_owner; }

private:
    friend struct LaneReadingParts;  // tests compare states
    LaneReading(const Lane &lane, std::int64_t now)
        : old_(lane.pockets), frontier_(lane.frontier), now_(now), is_exhausted_(lane.is_exhausted)
    {
        skip_waiting();
    }

    bool at_frontier() const { return position_ >= old_.count; }

    // The last row read is before `key`.
    void read_until(LaneKey key)
    {
        if (reads_key()) {
            key_.rest.range.first = std::max(key_.rest.range.first, key);
            return;
        }
        if (at_frontier()) {
            frontier_ = std::max(frontier_, key);
            return;
        }
        KeyRange &range = old_.entries[position_].range;
        range.first = std::max(range.first, key);
    }
    void end_key_range(LaneKey first, std::int64_t again_at)
    {
        read_until(first);
        key_.rest.not_before = again_at;
        key_.is_done = true;
    }
    void next_range()
    {
        ++position_;
        skip_waiting();
    }
    void skip_waiting()
    {
        for (; !at_frontier() && !old_.entries[position_].is_ready(now_); ++position_)
            keep(old_.entries[position_]);
    }
    void keep_rest()
    {
        for (; !at_frontier(); ++position_)
            keep(old_.entries[position_]);
    }
    void keep(const Pocket &pocket)
    {
        if (pocket.holds_many(now_))
            kept_.add_to_its_like(pocket, now_);
        else
            kept_.add(pocket, now_);
    }

    Pockets<pocket_count> old_;
    Pockets<pocket_count> kept_{};
    LaneKey frontier_;
    std::int64_t now_;
    std::uint32_t position_ = 0;
    bool is_exhausted_;
    bool is_done_ = false;
    struct Key {
        bool is_read = false;
        Pocket rest{};
        bool is_done = false;  // as much is read as is to be
        bool has_set_aside = false;
    } key_{};
};

}  // namespace hipq::core
