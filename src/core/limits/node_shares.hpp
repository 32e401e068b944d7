// This node's shares of limits that several nodes keep together, as those see them who start jobs.
//
// How large they are says core/shards/permits.hpp, and who calls that; here they are obeyed. A
// limit whose share is not known yet has none, so nothing starts under it. A hash table over memory
// that its user provides, as the limiters (throttle.hpp), which ask it.
#pragma once

#include "core/limits/limiter_name.hpp"

#include <cstddef>
#include <span>

namespace hipq::core {

// Whether a job may start within a share. One that is heavier than the limit runs alone, on a node
// that has all of the limit.
constexpr bool share_admits(Weight share, bool has_all, Weight used, Weight weight)
{
    return weight == 0 || used + weight <= share || (has_all && used == 0);
}

struct NodeShare {
    LimiterName name;
    Weight share;       // what may run here
    Weight waiting;     // of the lightest that found no capacity; 0: nobody waits
    Weight refused;     // the same, of all since the last look
    Weight peak;        // the most that has run since the last look
    bool has_all;       // of the limit
    std::int32_t next;  // in its bucket, or in the list of free places
};

struct NodeShareTableHead {
    std::int32_t free;
    std::int32_t used;
};

class NodeShareTable {
public:
    NodeShareTable() = default;  // without places
    NodeShareTable(NodeShareTableHead *head, std::span<NodeShare> shares,
                   std::span<std::int32_t> buckets)
        : head_(head), shares_(shares), buckets_(buckets)
    {
    }

    // Makes everything empty.
    void clear();

    // Costs nothing where no limit is shared.
    bool any() const { return head_ != nullptr && head_->used > 0; }
    // Null: it is not there. A pointer is good until another one is removed.
    NodeShare *find(const LimiterName &name) const;
    // The same; if it is not there, it is from now on, and nothing may run. Null: there is no
    // place.
    NodeShare *find_or_make(const LimiterName &name);
    void remove(const LimiterName &name);
    // All places; those with queue 0 are free.
    std::span<NodeShare> all() const { return shares_; }

private:
    std::int32_t &bucket_of(const LimiterName &name) const;
    NodeShare &at(std::int32_t place) const { return shares_[static_cast<std::size_t>(place)]; }
    NodeShareTableHead *head_ = nullptr;
    std::span<NodeShare> shares_{};
    std::span<std::int32_t> buckets_{};
};

}  // namespace hipq::core
