// Parked keys: the throttle keys whose jobs in a lane must wait, in a table that all lanes share.
//
// A reader of a lane that finds a job whose key is full passes over it and parks the key: from then
// on all rows of that key in a range of the lane belong to its entry. So a backlog is read once,
// however many keys wait, and a key that does not wait has no entry. An entry is ready when there
// is capacity under its key, or at a time. The entries of a lane are a heap, so that the reader
// gets the one whose rows come first.
//
// Invariant: each row that a reader passed over because of its key is in the range of that key's
// entry. Ranges only grow, until a reader has taken the entry and puts back what is left of it.
//
// Plain data, no pointers, no allocation, straight-line code, so that it can live in shared memory.
// The caller does the locking: what belongs to one lane needs its lock, the table needs one, too.
#pragma once

#include "core/lanes/pockets.hpp"
#include "core/limits/fair_quota.hpp"
#include "core/limits/limiter_name.hpp"

#include <optional>
#include <span>

namespace hipq::core {

inline constexpr std::int32_t no_key = -1;

// When there is no room to park a key, its rows are looked at again after this, in microseconds:
// at the least, and for each row that a reader had to pass over.
inline constexpr std::int64_t crowded_hold = 100'000;
inline constexpr std::int64_t crowded_hold_per_row = 10;

// The parked keys of a lane; a part of the lane.
struct LaneKeys {
    std::int32_t first = no_key;  // the root of the heap
    std::int32_t taken = no_key;  // the one whose rows the reader of the lane looks at
    std::int32_t count = 0;
    bool operator==(const LaneKeys &) const = default;
};

struct ParkedKey {
    LimiterName name;  // of the throttle key; key 0: the entry is free
    std::int32_t lane;
    bool was_noted;  // since a reader took it: it is to be looked at again
    KeyRange range;
    KeyRange noted;           // parked since a reader took it
    std::int64_t not_before;  // microseconds
    std::int32_t next;        // in its bucket, or in the list of free entries
    // In the heap: the first of the entries below, the next beside it, and the one before that, or
    // above.
    std::int32_t child;
    std::int32_t sibling;
    std::int32_t previous;

    // No row that is worth a look comes before this key.
    constexpr LaneKey due() const
    {
        return {std::max(range.first.time, not_before), range.first.id};
    }
};

struct ParkedKeysHead {
    std::int32_t free;
    std::int32_t used;
    std::int32_t touched;  // entries that were ever in use, which are the first ones
};

class ParkedKeys {
public:
    ParkedKeys(ParkedKeysHead *head, std::span<ParkedKey> entries, std::span<std::int32_t> buckets)
        : head_(head), entries_(entries), buckets_(buckets)
    {
    }

    void clear();
    std::size_t size() const { return static_cast<std::size_t>(head_->used); }
    std::size_t capacity() const { return entries_.size(); }

    // Rows of the key in the range wait until there is capacity (make_ready()), or until that time.
    // If the key is parked already, the earlier time counts. Returns false if there is no entry for
    // it and no room: `may_make` tells whether one more may be made.
    template <class MayMake>
    [[nodiscard]] bool park(LaneKeys &lane, std::int32_t number, const LimiterName &name,
                            KeyRange range, std::int64_t not_before, const MayMake &may_make)
    {
        std::int32_t entry = find(number, name);
        if (entry == no_key && size() < capacity() && may_make())
            entry = make(lane, number, name);
        if (entry != no_key)
            extend(lane, entry, range, not_before);
        return entry != no_key;
    }

    // There is capacity under a key. Returns whether the lane has parked it.
    bool make_ready(LaneKeys &lane, std::int32_t number, const LimiterName &name);
    // The same for all keys of the lane.
    void make_all_ready(LaneKeys &lane);
    // The numbers of the lanes that have parked the key: fills `lanes`, and returns how many there
    // are, which may be more.
    std::size_t lanes_of(const LimiterName &name, std::span<std::int32_t> lanes) const;

    // No row of the parked keys is worth a look before this key; lane_end: none is.
    LaneKey next_due(const LaneKeys &lane) const;
    // How many keys are ready: at least, up to a few.
    std::size_t count_ready(const LaneKeys &lane, std::int64_t now) const;
    bool covers(std::int32_t number, const LimiterName &name, LaneKey key) const;

    // For the reader of the lane, which has at most one entry at a time. take() gives it the one
    // whose rows come first, if it is ready, and these come before a key. put_back() ends that:
    // what is left of the range, which may be empty, waits until that time. give_back() changes
    // nothing.
    struct Taken {
        std::uint64_t throttle_key;
        KeyRange range;
    };
    std::optional<Taken> take(LaneKeys &lane, std::int64_t now, LaneKey before = lane_end);
    void put_back(LaneKeys &lane, KeyRange rest, std::int64_t not_before);
    void give_back(LaneKeys &lane);

    // Removes all entries of the lane.
    void forget(LaneKeys &lane);

private:
    ParkedKey &at(std::int32_t entry) const { return entries_[static_cast<std::size_t>(entry)]; }
    std::int32_t &bucket_of(const LimiterName &name) const
    {
        return buckets_[hash_of(name) % buckets_.size()];
    }
    std::int32_t find(std::int32_t number, const LimiterName &name) const;
    std::int32_t make(LaneKeys &lane, std::int32_t number, const LimiterName &name);
    void extend(LaneKeys &lane, std::int32_t entry, KeyRange range, std::int64_t not_before);
    void erase(LaneKeys &lane, std::int32_t entry);

    // The heap: a pairing heap (Fredman, Sedgewick, Sleator, Tarjan, 1986).
    std::int32_t meld(std::int32_t left, std::int32_t right) const;
    std::int32_t meld_siblings(std::int32_t first) const;
    void push(LaneKeys &lane, std::int32_t entry) const;
    void remove(LaneKeys &lane, std::int32_t entry) const;
    std::int32_t take_apart(std::int32_t &rest) const;

    ParkedKeysHead *head_;
    std::span<ParkedKey> entries_;
    std::span<std::int32_t> buckets_;
};

}  // namespace hipq::core
