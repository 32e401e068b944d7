// A claimer's reading of a lane: what it looks at, and what it learns.
#pragma once

#include "core/lanes/lane.hpp"

#include <optional>

namespace hipq::core {

struct LaneReadingParts;

// From begin() to end() or cancel() the lane is its own; others only
// note() meanwhile.
//
// begin() first, then a new snapshot: what is not visible in it is noted after begin(), and so
// stands in the inbox of the next reader.
template <class Lane>
class LaneReading;

template <std::size_t pocket_count, std::size_t inbox_size>
class LaneReading<BasicLane<pocket_count, inbox_size>> {
public:
    using Lane = BasicLane<pocket_count, inbox_size>;

    // Nothing: somebody else reads it. `now` in microseconds.
    static std::optional<LaneReading> begin(Lane &lane, std::int32_t owner, std::int64_t now)
    {
        if (lane.owner != no_owner)
            return std::nullopt;
        lane.owner = owner;
        for (std::uint32_t i = 0; i < lane.inbox_count; ++i) {
            Pocket note = lane.inbox[i];
            lane.is_exhausted = lane.is_exhausted && note.range.last < lane.frontier;
            note.range.last = std::min(note.range.last, before(lane.frontier));
            if (note.throttle_key != 0)
                lane.pockets.add_to_its_like(note, now);
            else
                lane.pockets.add(note, now);
        }
        lane.inbox_count = 0;
        return LaneReading(lane, now);
    }

    // What to read now: first the pockets whose time has come, then all from the frontier on.
    // Nothing: all has been read, or what is left has to wait.
    std::optional<KeyRange> range() const
    {
        if (is_done_ || (at_frontier() && is_exhausted_))
            return std::nullopt;
        return at_frontier() ? KeyRange{frontier_, lane_end} : old_.entries[position_].range;
    }

    // What range() is there for: rows of this throttle key; 0: all.
    std::uint64_t throttle_key() const
    {
        return at_frontier() ? 0 : old_.entries[position_].throttle_key;
    }

    // Of the rows of range(), in their order: a row that cannot be claimed, or that is in this
    // claimer's hand from now on.
    void passed(LaneKey key) { read_until(after(key)); }
    // A row that somebody holds whom the registry does not know. It is looked at again at the time
    // given; the others go on. (Where there is no space for one more pocket two of them become
    // one, and what lies between is walked again: dearer, but nobody waits.)
    void held(LaneKey key, std::int64_t again_at)
    {
        kept_.add({{key, key}, again_at}, now_);
        read_until(after(key));
    }
    // Rows, one after the other, whose time windows open at that time. They cost nothing until
    // then.
    void closed(KeyRange rows, std::int64_t opens)
    {
        kept_.add_to_its_like({rows, opens}, now_);
        read_until(after(rows.last));
    }
    // A row whose throttle key is full. It is worth a look when there is capacity, or at that time.
    // In the pocket of that throttle key so are all that follow, unread.
    void full(LaneKey key, std::uint64_t throttle_key, std::int64_t again_at)
    {
        const bool is_its_pocket = this->throttle_key() == throttle_key;
        const LaneKey last = is_its_pocket ? old_.entries[position_].range.last : key;
        kept_.add_to_its_like({{key, last}, again_at, throttle_key}, now_);
        if (is_its_pocket)
            next_range();
        else
            read_until(after(key));
    }
    // This row and those after it in the range stay unread: it is not due, or enough has been
    // taken.
    void early(LaneKey key)
    {
        if (at_frontier()) {
            frontier_ = std::max(frontier_, key);
            stop();
            return;
        }
        keep({{key, old_.entries[position_].range.last}, key.time, throttle_key()});
        next_range();
    }
    // There is no further row in range().
    void exhausted()
    {
        if (!at_frontier()) {
            next_range();
            return;
        }
        is_exhausted_ = true;
        is_done_ = true;
    }
    // Enough has been read.
    void stop()
    {
        if (!at_frontier())
            keep_rest();
        is_done_ = true;
    }

    // Gives the lane back with what was learnt.
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
    // Gives it back as it was.
    static void cancel(Lane &lane) { lane.owner = no_owner; }

private:
    friend struct LaneReadingParts;  // tests compare states
    LaneReading(const Lane &lane, std::int64_t now)
        : old_(lane.pockets), frontier_(lane.frontier), now_(now), is_exhausted_(lane.is_exhausted)
    {
        skip_waiting();
    }

    bool at_frontier() const { return position_ >= old_.count; }

    // The last row that was read is before `key`.
    void read_until(LaneKey key)
    {
        if (at_frontier()) {
            frontier_ = std::max(frontier_, key);
            return;
        }
        KeyRange &range = old_.entries[position_].range;
        range.first = std::max(range.first, key);
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
};

}  // namespace hipq::core
