// A lane: the waiting jobs of one queue, type and priority in the order in which they run, as
// claimers read it. It says where rows may stand that can be claimed, so that nobody walks twice
// over those that cannot.
//
// Everything at or after the frontier is unread. Before it only the pockets may hold such rows, and
// the inbox, where whoever has made a row claimable puts its key once its transaction has ended. A
// superfluous key costs a look; a missing one would lose a job. So every way to save capacity makes
// ranges larger, never smaller.
//
// Invariant: each row that is committed, can be claimed and is held by nobody stands at or after
// the frontier, in a pocket or in the inbox, or its transaction has not put its key there yet.
//
// Plain data, no pointers, no allocation; operations are straight-line code, so that it can live in
// shared memory and be called where nothing may fail. The caller sees to locking.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace hipq::core {

// Where a row stands: by scheduled_run_time (microseconds), then id.
struct LaneKey {
    std::int64_t time;
    std::int64_t id;
    auto operator<=>(const LaneKey &) const =
        default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a null pointer
};
inline constexpr std::int64_t lane_limit = std::numeric_limits<std::int64_t>::max();
inline constexpr LaneKey lane_start{std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::min()};
inline constexpr LaneKey lane_end{lane_limit, lane_limit};

// Its neighbours; ids are far from the limits.
constexpr LaneKey after(LaneKey key)
{
    return key == lane_end ? key : LaneKey{key.time, key.id + 1};
}
constexpr LaneKey before(LaneKey key)
{
    return key == lane_start ? key : LaneKey{key.time, key.id - 1};
}

// Both ends belong to it.
struct KeyRange {
    LaneKey first;
    LaneKey last;
    bool operator==(const KeyRange &) const = default;
    constexpr bool is_empty() const { return last < first; }
    constexpr bool contains(LaneKey key) const { return first <= key && key <= last; }
};
constexpr KeyRange hull(KeyRange left, KeyRange right)
{
    return {std::min(left.first, right.first), std::max(left.last, right.last)};
}

// No row is put off for longer than this (microseconds), unless its time windows are closed.
inline constexpr std::int64_t longest_hold = 10'000'000;

// When too many throttle keys are full, those that share a pocket are looked at again after this.
inline constexpr std::int64_t crowded_hold = 100'000;

// Keys that may be claimable, not to be looked at before a time (microseconds), or before there is
// capacity under a throttle key. Between the rows of that throttle key others may stand; they have
// places of their own.
struct Pocket {
    KeyRange range;
    std::int64_t not_before;
    std::uint64_t throttle_key =
        0;  // of the rows it is there for, throttle_key_hash(); 0: all in its range
    bool operator==(const Pocket &) const = default;

    // Nothing in it comes before.
    constexpr LaneKey due() const
    {
        return {std::max(range.first.time, not_before), range.first.id};
    }
    constexpr bool is_ready(std::int64_t now) const { return not_before <= now; }
    constexpr bool is_for(LaneKey key, std::uint64_t key_of_row) const
    {
        return range.contains(key) && (throttle_key == 0 || throttle_key == key_of_row);
    }
    // Its rows are outside their time windows, or their throttle key is full: there may be very
    // many.
    constexpr bool holds_many(std::int64_t now) const
    {
        return throttle_key != 0 || not_before > now + longest_hold;
    }
    // Whether it waits for the same as another one.
    constexpr bool is_like(const Pocket &other) const
    {
        return throttle_key == other.throttle_key &&
               (throttle_key != 0 || not_before == other.not_before);
    }
};

// One for both.
constexpr Pocket merged(const Pocket &left, const Pocket &right, std::int64_t now)
{
    const KeyRange range = hull(left.range, right.range);
    const std::int64_t earlier = std::min(left.not_before, right.not_before);
    if (left.throttle_key == right.throttle_key)
        return {range, earlier, left.throttle_key};
    return {range,
            std::min(earlier,
                     now + crowded_hold)};  // nobody says when there is capacity for all of them
}

// Pockets in the order of their keys. When there is no capacity the two nearest become one, but
// rather not if rows that wait for their time window, or for capacity, would be looked at too
// early.
template <std::size_t size>
struct Pockets {
    std::array<Pocket, size> entries{};
    std::uint32_t count = 0;
    bool operator==(const Pockets &) const = default;

    void add(Pocket pocket, std::int64_t now)
    {
        if (pocket.range.is_empty())
            return;
        if (count < size) {
            insert(pocket);
            return;
        }
        // One more than there is capacity for: it and its neighbours are weighed together.
        std::array<Pocket, size + 1> all{};
        std::copy_n(entries.begin(), size, all.begin());
        all[size] = pocket;
        std::sort(all.begin(), all.end(),
                  [](const Pocket &l, const Pocket &r) { return l.range.first < r.range.first; });
        std::size_t nearest = 0;
        for (std::size_t i = 1; i < size; ++i)
            if (cost(all[i], all[i + 1], now) < cost(all[nearest], all[nearest + 1], now))
                nearest = i;
        all[nearest] = merged(all[nearest], all[nearest + 1], now);
        std::copy(all.begin() + static_cast<std::ptrdiff_t>(nearest) + 2, all.end(),
                  all.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
        std::copy_n(all.begin(), size, entries.begin());
    }

    // The same, but all that wait for one opening, or for capacity under one throttle key, share a
    // pocket, whatever lies between them.
    void add_to_its_like(Pocket pocket, std::int64_t now)
    {
        for (std::uint32_t i = 0; i < count && !pocket.range.is_empty(); ++i) {
            if (!entries[i].is_like(pocket))
                continue;
            pocket = merged(pocket, entries[i], now);
            std::copy(entries.begin() + i + 1, entries.begin() + count, entries.begin() + i);
            --count;
            break;
        }
        add(pocket, now);
    }

    bool are_for(LaneKey key, std::uint64_t throttle_key) const
    {
        return std::any_of(entries.begin(), entries.begin() + count,
                           [&](const Pocket &pocket) { return pocket.is_for(key, throttle_key); });
    }

private:
    void insert(Pocket pocket)
    {
        std::uint32_t at = count;
        for (; at > 0 && pocket.range.first < entries[at - 1].range.first; --at)
            entries[at] = entries[at - 1];
        entries[at] = pocket;
        ++count;
    }
    // Of making them one: whether rows would be looked at long before their opening, and what else
    // would be walked over.
    struct Cost {
        bool looks_too_early;
        std::uint64_t gap;
        auto operator<=>(const Cost &) const = default;  // NOLINT(modernize-use-nullptr): as above
    };
    static Cost cost(const Pocket &left, const Pocket &right, std::int64_t now)
    {
        return {(left.holds_many(now) || right.holds_many(now)) && !left.is_like(right),
                gap(left, right)};
    }
    // In time; ids only part rows of one time.
    static std::uint64_t gap(const Pocket &left, const Pocket &right)
    {
        return right.range.first.time <= left.range.last.time
                   ? 0
                   : static_cast<std::uint64_t>(right.range.first.time) -
                         static_cast<std::uint64_t>(left.range.last.time);
    }
};

inline constexpr std::int32_t no_owner = -1;

// Names a lane among others in shared memory, until that one's place is given to another.
struct LaneRef {
    std::int32_t index = -1;
    std::uint32_t generation = 0;
    constexpr bool is_known() const { return index >= 0; }
};

template <std::size_t pocket_count, std::size_t inbox_size>
struct BasicLane {
    static constexpr std::size_t pocket_limit = pocket_count;

    LaneKey frontier = lane_start;  // lane_start: cold, nothing is known
    bool is_exhausted = false;  // at or after the frontier are only rows that are in the inbox too
    Pockets<pocket_count> pockets{};
    std::array<Pocket, inbox_size> inbox{};
    std::uint32_t inbox_count = 0;
    std::int32_t owner = no_owner;  // who reads it

    bool operator==(const BasicLane &) const = default;

    // Rows in this range may have become claimable, or will be worth a look at a time. When the
    // inbox is full the last entry grows.
    void note(KeyRange range, std::int64_t not_before = lane_start.time)
    {
        put_in_inbox({range, not_before});
    }

    // The same of a row whose throttle key is full: it is worth a look when there is capacity
    // (make_capacity()), or at that time.
    void note_full(LaneKey key, std::uint64_t throttle_key, std::int64_t not_before)
    {
        put_in_inbox({{key, key}, not_before, throttle_key});
    }

    // There is capacity under a throttle key; 0: there may be under any. Returns whether anything
    // has waited for it. Whoever reads the lane may keep what waited when he began; what he himself
    // finds full he has to ask about again when he has ended.
    bool make_capacity(std::uint64_t throttle_key)
    {
        const auto is_meant = [&](const Pocket &pocket) {
            return pocket.throttle_key != 0 &&
                   (throttle_key == 0 || pocket.throttle_key == throttle_key);
        };
        const bool any = make_ready(is_meant);
        for (std::uint32_t i = 0; i < pockets.count && owner != no_owner; ++i)
            if (is_meant(pockets.entries[i]))
                put_in_inbox(pockets.entries[i]);
        return any;
    }

    // All of it has to be read again: rows may have become claimable of which nobody says anything.
    void note_all() { note({lane_start, lane_end}); }

    // What is put off is worth a look now: it was reckoned with another zone, or another clock.
    // Whoever reads the lane may still reckon like that.
    void look_again()
    {
        make_ready([](const Pocket &) { return true; });
        if (owner != no_owner)
            note_all();
    }

    // No row comes before this key: is due earlier or, at the same time, has a lower id. lane_end:
    // there is none.
    LaneKey next_due() const
    {
        LaneKey due = is_exhausted ? lane_end : frontier;
        for (std::uint32_t i = 0; i < pockets.count; ++i)
            due = std::min(due, pockets.entries[i].due());
        for (std::uint32_t i = 0; i < inbox_count; ++i)
            due = std::min(due, inbox[i].due());
        return due;
    }

    // Where rows may stand that can be claimed: at single keys before the frontier, which are told
    // one by one (so that nobody walks from a row that was committed late over all that is gone),
    // and from a key on.
    struct Places {
        std::size_t single_keys;    // that are ready at `now`
        std::int64_t next_key_due;  // when the next of the others is; lane_limit: there is none
        LaneKey from;               // lane_end: none
    };
    Places places(std::int64_t now) const
    {
        Places result{0, lane_limit, is_exhausted ? lane_end : frontier};
        const auto add = [&](const Pocket &pocket) {
            if (pocket.throttle_key != 0 && !pocket.is_ready(now))
                result.next_key_due = std::min(result.next_key_due, pocket.due().time);
            else if (pocket.range.first != pocket.range.last || result.from <= pocket.range.first)
                result.from = std::min(result.from, pocket.range.first);
            else if (pocket.is_ready(now) && pocket.range.first.time <= now)
                ++result.single_keys;
            else
                result.next_key_due = std::min(result.next_key_due, pocket.due().time);
        };
        std::for_each(pockets.entries.begin(), pockets.entries.begin() + pockets.count, add);
        std::for_each(inbox.begin(), inbox.begin() + inbox_count, add);
        return result;
    }

    // Whether a row with that key is where claimers will look.
    bool covers(LaneKey key, std::uint64_t throttle_key = 0) const
    {
        return frontier <= key || pockets.are_for(key, throttle_key) ||
               std::any_of(inbox.begin(), inbox.begin() + inbox_count,
                           [&](const Pocket &note) { return note.is_for(key, throttle_key); });
    }

private:
    void put_in_inbox(const Pocket &pocket)
    {
        const auto end = inbox.begin() + inbox_count;
        const auto like = std::find_if(inbox.begin(), end, [&](const Pocket &note) {
            return note.throttle_key == pocket.throttle_key && pocket.throttle_key != 0;
        });
        if (like != end)
            *like = merged(*like, pocket, lane_start.time);
        else if (inbox_count < inbox_size)
            inbox[inbox_count++] = pocket;
        else
            inbox[inbox_size - 1] = merged(inbox[inbox_size - 1], pocket, lane_start.time);
    }
    template <class Predicate>
    bool make_ready(const Predicate &is_meant)
    {
        bool any = false;
        const auto make = [&](Pocket &pocket) {
            if (!is_meant(pocket))
                return;
            pocket.not_before = lane_start.time;
            any = true;
        };
        std::for_each(pockets.entries.begin(), pockets.entries.begin() + pockets.count, make);
        std::for_each(inbox.begin(), inbox.begin() + inbox_count, make);
        return any;
    }
};

struct LaneReadingParts;

// A claimer's reading of a lane. From begin() to end() or cancel() the lane is its own; others only
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
    // given; the others go on. (Where there is no capacity for one more pocket two of them become
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

using Lane = BasicLane<16, 32>;

}  // namespace hipq::core
