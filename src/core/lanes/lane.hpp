// A lane: the waiting jobs of one queue, type and priority in the order in which they run, as seen
// by claimers. It records where claimable rows may be, so that claimers do not scan unclaimable
// rows twice.
//
// Everything at or after the frontier is unread. Before it, claimable rows may be only in the
// pockets and in the inbox: a process that made a row claimable puts the row's key into the inbox
// when its transaction has ended. A superfluous key costs a look; a missing one would lose a job.
// So every way to save space makes ranges larger, never smaller.
//
// Invariant: each row that is committed, claimable and not held by any process is at or after the
// frontier, in a pocket or in the inbox, or its transaction has not yet put its key there.
//
// Plain data, no pointers, no allocation, straight-line code, so that it can live in shared memory
// and be used where nothing may fail. The caller does the locking.
#pragma once

#include "core/lanes/pockets.hpp"

namespace hipq::core {

inline constexpr std::int32_t no_owner = -1;

// What a row in a lane says of the attempt that would be its next.
struct NextAttempt {
    std::int32_t number = 0;     // 0: not known
    std::int32_t queue_ttl = 0;  // seconds for a worker to accept it; 0: as its type says
};

// Identifies a lane in shared memory, until its entry is reused for another lane.
struct LaneRef {
    std::int32_t index = -1;
    std::uint32_t generation = 0;
    constexpr bool is_known() const { return index >= 0; }
};

template <std::size_t pocket_count, std::size_t inbox_size>
struct BasicLane {
    static constexpr std::size_t pocket_limit = pocket_count;

    LaneKey frontier = lane_start;  // lane_start: cold, nothing is known
    bool is_exhausted = false;      // all rows at or after the frontier are in the inbox, too
    Pockets<pocket_count> pockets{};
    std::array<Pocket, inbox_size> inbox{};
    std::uint32_t inbox_count = 0;
    std::int32_t owner = no_owner;  // the process that reads the lane

    bool operator==(const BasicLane &) const = default;

    // Rows in this range may have become claimable, or should be looked at from a time on. If the
    // inbox is full, its last entry grows.
    void note(KeyRange range, std::int64_t not_before = lane_start.time)
    {
        put_in_inbox({range, not_before});
    }

    // The same for a row whose throttle key is full: look at it when there is capacity
    // (make_capacity()), or at that time.
    void note_full(LaneKey key, std::uint64_t throttle_key, std::int64_t not_before)
    {
        put_in_inbox({{key, key}, not_before, throttle_key});
    }

    // Reports that a throttle key has capacity; 0: any key may have. Returns whether any row waited
    // for it. A process that reads the lane may put back the pockets with which it began, so they
    // are put into the inbox too. For keys that the reader itself finds full, it must check the
    // capacity again at its end.
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

    // Makes claimers read the whole lane again: rows may have become claimable without a note.
    void note_all() { note({lane_start, lane_end}); }

    // Makes deferred rows worth a look now: their times were computed with another zone, or another
    // clock. A process that reads the lane may still use the old times, so then the whole lane is
    // noted.
    void look_again()
    {
        make_ready([](const Pocket &) { return true; });
        if (owner != no_owner)
            note_all();
    }

    // Returns a key that no row precedes (by due time, then by id). lane_end: there is no row.
    LaneKey next_due() const
    {
        LaneKey due = is_exhausted ? lane_end : frontier;
        for (std::uint32_t i = 0; i < pockets.count; ++i)
            due = std::min(due, pockets.entries[i].due());
        for (std::uint32_t i = 0; i < inbox_count; ++i)
            due = std::min(due, inbox[i].due());
        return due;
    }

    // Where claimable rows may be: at single keys before the frontier, listed one by one (so that a
    // row that was committed late does not make claimers scan all the removed rows after it), and
    // from one key onwards.
    struct Places {
        std::size_t single_keys;  // ready at `now`
        std::int64_t
            next_key_due;  // when the next of the other keys is due; lane_limit: there is none
        LaneKey from;      // lane_end: none
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

    // Returns whether claimers will look at a row with that key.
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

using Lane = BasicLane<16, 32>;

}  // namespace hipq::core
