// A lane: the waiting jobs of one queue, type and priority in the order in which they run, as
// claimers read it. It says where rows may stand that can be claimed, so that nobody walks twice
// over those that cannot.
//
// Everything at or after the frontier is unread. Before it only the pockets may hold such rows, and
// the inbox, where whoever has made a row claimable puts its key once its transaction has ended. A
// superfluous key costs a look; a missing one would lose a job. So every way to save space makes
// ranges larger, never smaller.
//
// Invariant: each row that is committed, can be claimed and is held by nobody stands at or after
// the frontier, in a pocket or in the inbox, or its transaction has not put its key there yet.
//
// Plain data, no pointers, no allocation; operations are straight-line code, so that it can live in
// shared memory and be called where nothing may fail. The caller sees to locking.
#pragma once

#include "core/lanes/pockets.hpp"

namespace hipq::core {

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

using Lane = BasicLane<16, 32>;

}  // namespace hipq::core
