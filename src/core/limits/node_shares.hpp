// This node's shares of the limits that several nodes share, as consulted when a job starts.
//
// core/shards/permits.hpp and its callers decide how large the shares are; this file enforces them.
// A limit whose share is not known yet has a share of 0, so no job starts under it. The table is a
// hash table over memory that its user provides, like the table of limiters (throttle.hpp), which
// consults it.
#pragma once

#include "core/limits/limiter_name.hpp"

#include <cstddef>
#include <span>

namespace hipq::core {

// Returns whether a job may start within a share. A job heavier than the limit runs alone, on a
// node that holds the whole limit.
constexpr bool share_admits(Weight share, bool has_all, Weight used, Weight weight)
{
    return weight == 0 || used + weight <= share || (has_all && used == 0);
}

struct NodeShare {
    LimiterName name;
    Weight share;       // that may run here
    Weight waiting;     // of the lightest job that found no capacity; 0: no job waits
    Weight refused;     // the same, over all jobs since the last look
    Weight peak;        // the most that ran since the last look
    bool has_all;       // the whole limit is here
    std::int32_t next;  // in its bucket, or in the list of free entries
};

struct NodeShareTableHead {
    std::int32_t free;
    std::int32_t used;
};

class NodeShareTable {
public:
    NodeShareTable() = default;  // without entries
    NodeShareTable(NodeShareTableHead *head, std::span<NodeShare> shares,
                   std::span<std::int32_t> buckets)
        : head_(head), shares_(shares), buckets_(buckets)
    {
    }

    void clear();

    // Costs nothing if no limit is shared.
    bool any() const { return head_ != nullptr && head_->used > 0; }
    // Null: there is no such entry. The pointer is valid until another entry is removed.
    NodeShare *find(const LimiterName &name) const;
    // The same, but adds a missing entry, with a share of 0: no job may run under it. Null: the
    // table is full.
    NodeShare *find_or_make(const LimiterName &name);
    void remove(const LimiterName &name);
    // All entries; those with queue 0 are free.
    std::span<NodeShare> all() const { return shares_; }

private:
    std::int32_t &bucket_of(const LimiterName &name) const;
    NodeShare &at(std::int32_t place) const { return shares_[static_cast<std::size_t>(place)]; }
    NodeShareTableHead *head_ = nullptr;
    std::span<NodeShare> shares_{};
    std::span<std::int32_t> buckets_{};
};

}  // namespace hipq::core
