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
    std::int32_t touched;  // entries that were ever in use, which are the first ones
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
        *head_ = {no_named, 0, 0};
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
        const std::int32_t entry = head_->free == no_named ? head_->touched++ : head_->free;
        if (head_->free == entry)
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
    std::span<Entry> all() const
    {
        return entries_.first(entries_.empty() ? 0 : static_cast<std::size_t>(head_->touched));
    }
    std::size_t size() const
    {
        return entries_.empty() ? 0 : static_cast<std::size_t>(head_->used);
    }

private:
    std::int32_t &bucket_of(const LimiterName &name) const
    {
        return buckets_[hash_of(name) % buckets_.size()];
    }
    // Counts the entries of the owner only if that may matter.
    bool may_make(std::uint32_t owner, int owner_share) const
    {
        const Quota quota = table_quota(std::ssize(entries_), owner_share);
        if (head_->used < most_for_one(quota))
            return true;
        const auto own = std::ranges::count_if(all(), [&](const Entry &each) {
            return each.name.database != 0 && each.owner == owner;
        });
        return may_take_one(quota, {head_->used, own});
    }
    template <class IsIdle>
    void remove_if(const IsIdle &is_idle)
    {
        for (std::int32_t i = 0; i < head_->touched; ++i)
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
