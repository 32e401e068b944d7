// A lane: the waiting jobs of one queue, type and priority in the order in which they run, as seen
// by claimers. It records where claimable rows may be, so that claimers do not scan unclaimable
// rows twice.
//
// Everything at or after the frontier is unread. Before it, claimable rows may be only in the
// pockets and in the inbox: a process that made a row claimable puts the row's key into the inbox
// when its transaction has ended. A superfluous key costs a look; a missing one would lose a job.
// So every way to save space makes ranges larger, never smaller. Rows that wait because of their
// throttle key are with the parked keys (parked_keys.hpp) instead.
//
// Invariant: each row that is committed, claimable and not held by any process is at or after the
// frontier, in a pocket, in the inbox or with the parked keys, or its transaction has not yet put
// its key there.
//
// Plain data, no pointers, no allocation, straight-line code, so that it can live in shared memory
// and be used where nothing may fail. The caller does the locking.
#pragma once

#include "core/lanes/parked_keys.hpp"

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
    LaneKeys keys{};

    bool operator==(const BasicLane &) const = default;

    // Rows in this range may have become claimable, or should be looked at from a time on. If the
    // inbox is full, its last entry grows.
    void note(KeyRange range, std::int64_t not_before = lane_start.time)
    {
        if (inbox_count < inbox_size)
            inbox[inbox_count++] = {range, not_before};
        else
            inbox[inbox_size - 1] = merged(inbox[inbox_size - 1], {range, not_before});
    }

    // Makes claimers read the whole lane again: rows may have become claimable without a note.
    void note_all() { note({lane_start, lane_end}); }

    // Makes deferred rows worth a look now: their times were computed with another zone, or another
    // clock. A process that reads the lane may still use the old times, so then the whole lane is
    // noted.
    void look_again()
    {
        const auto make_ready = [](Pocket &pocket) { pocket.not_before = lane_start.time; };
        std::for_each(pockets.entries.begin(), pockets.entries.begin() + pockets.count, make_ready);
        std::for_each(inbox.begin(), inbox.begin() + inbox_count, make_ready);
        if (owner != no_owner)
            note_all();
    }

    // Returns a key that no row precedes (by due time, then by id), except for those of parked
    // keys. lane_end: there is no row.
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
        std::int32_t parked_keys = 0;
    };
    Places places(std::int64_t now) const
    {
        Places result{0, lane_limit, is_exhausted ? lane_end : frontier};
        const auto add = [&](const Pocket &pocket) {
            if (pocket.range.first != pocket.range.last || result.from <= pocket.range.first)
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
    bool covers(LaneKey key) const
    {
        return frontier <= key || pockets.contain(key) ||
               std::any_of(inbox.begin(), inbox.begin() + inbox_count,
                           [&](const Pocket &note) { return note.range.contains(key); });
    }
};

using Lane = BasicLane<16, 32>;

}  // namespace hipq::core
