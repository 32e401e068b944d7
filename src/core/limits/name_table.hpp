// A hash table of entries that each belong to a queue or a job type, over memory that its user
// provides, so that it can live in shared memory.
//
// An entry is made when it is first needed, within the share of its owner. If there is no room, the
// entries that its user calls idle are removed first. Plain data and straight-line code; the caller
// does the locking.
#pragma once

#include "core/limits/fair_quota.hpp"
#include "core/limits/limiter_name.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace hipq::core {

inline constexpr std::int32_t no_named = -1;

struct NameTableHead {
    std::int32_t free;
    std::int32_t used;
};

// The first members of each entry.
struct NamedEntry {
    LimiterName name;     // database 0: free
    std::uint32_t owner;  // of the queue
    std::int32_t next;    // in its bucket, or in the list of free entries
};

// Entry: derived from NamedEntry.
template <class Entry>
class NameTable {
public:
    NameTable() = default;
    NameTable(NameTableHead *head, std::span<Entry> entries, std::span<std::int32_t> buckets)
        : head_(head), entries_(entries), buckets_(buckets)
    {
    }

    void clear()
    {
        if (entries_.empty())
            return;
        head_->used = 0;
        head_->free = 0;
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            entries_[i] = Entry{};
            entries_[i].next =
                i + 1 < entries_.size() ? static_cast<std::int32_t>(i + 1) : no_named;
        }
        std::ranges::fill(buckets_, no_named);
    }

    std::int32_t find(const LimiterName &name) const
    {
        if (entries_.empty())
            return no_named;
        std::int32_t entry = bucket_of(name);
        while (entry != no_named && at(entry).name != name)
            entry = at(entry).next;
        return entry;
    }

    // Makes an entry that is not there yet, all zero but for its name and owner. no_named: there is
    // no room, or not for this owner. is_idle(entry): it may be removed.
    template <class IsIdle>
    std::int32_t make(const LimiterName &name, std::uint32_t owner, int owner_share,
                      const IsIdle &is_idle)
    {
        if (entries_.empty())
            return no_named;
        if (!may_make(owner, owner_share))
            remove_if(is_idle);
        if (!may_make(owner, owner_share))
            return no_named;
        const std::int32_t entry = head_->free;
        head_->free = at(entry).next;
        ++head_->used;
        std::int32_t &bucket = bucket_of(name);
        at(entry) = Entry{};
        at(entry).name = name;
        at(entry).owner = owner;
        at(entry).next = bucket;
        bucket = entry;
        return entry;
    }

    Entry &at(std::int32_t entry) const { return entries_[static_cast<std::size_t>(entry)]; }
    std::span<Entry> all() const { return entries_; }
    std::size_t size() const
    {
        return entries_.empty() ? 0 : static_cast<std::size_t>(head_->used);
    }

private:
    std::int32_t &bucket_of(const LimiterName &name) const
    {
        return buckets_[hash_of(name) % buckets_.size()];
    }
    bool may_make(std::uint32_t owner, int owner_share) const
    {
        const auto own = std::ranges::count_if(entries_, [&](const Entry &each) {
            return each.name.database != 0 && each.owner == owner;
        });
        return head_->free != no_named &&
               may_take_one(table_quota(std::ssize(entries_), owner_share), {head_->used, own});
    }
    template <class IsIdle>
    void remove_if(const IsIdle &is_idle)
    {
        for (std::int32_t i = 0; i < std::ssize(entries_); ++i)
            if (at(i).name.database != 0 && is_idle(i))
                erase(i);
    }
    void erase(std::int32_t entry)
    {
        std::int32_t *link = &bucket_of(at(entry).name);
        while (*link != entry)
            link = &at(*link).next;
        *link = at(entry).next;
        at(entry) = Entry{};
        at(entry).next = head_->free;
        head_->free = entry;
        --head_->used;
    }
    NameTableHead *head_ = nullptr;
    std::span<Entry> entries_{};
    std::span<std::int32_t> buckets_{};
};

}  // namespace hipq::core
