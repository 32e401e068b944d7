// Implements the table as a chained hash table with a list of free entries.
#include "core/limits/node_shares.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

constexpr std::int32_t no_place = -1;

}  // namespace

std::int32_t &NodeShareTable::bucket_of(const LimiterName &name) const
{
    return buckets_[hash_of(name) % buckets_.size()];
}

void NodeShareTable::clear()
{
    if (head_ == nullptr)
        return;
    head_->used = 0;
    head_->free = shares_.empty() ? no_place : 0;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        shares_[i] = NodeShare{};
        shares_[i].next = i + 1 < shares_.size() ? static_cast<std::int32_t>(i + 1) : no_place;
    }
    std::fill(buckets_.begin(), buckets_.end(), no_place);
}

NodeShare *NodeShareTable::find(const LimiterName &name) const
{
    if (!any())
        return nullptr;
    for (std::int32_t place = bucket_of(name); place != no_place; place = at(place).next)
        if (at(place).name == name)
            return &at(place);
    return nullptr;
}

NodeShare *NodeShareTable::find_or_make(const LimiterName &name)
{
    if (NodeShare *known = find(name))
        return known;
    if (head_ == nullptr || head_->free == no_place)
        return nullptr;
    const std::int32_t place = head_->free;
    head_->free = at(place).next;
    ++head_->used;
    std::int32_t &bucket = bucket_of(name);
    at(place) = NodeShare{name, 0, 0, 0, 0, false, bucket};
    bucket = place;
    return &at(place);
}

void NodeShareTable::remove(const LimiterName &name)
{
    if (!any())
        return;
    std::int32_t *link = &bucket_of(name);
    while (*link != no_place && at(*link).name != name)
        link = &at(*link).next;
    if (*link == no_place)
        return;
    const std::int32_t place = *link;
    *link = at(place).next;
    at(place) = NodeShare{};
    at(place).next = head_->free;
    head_->free = place;
    --head_->used;
}

}  // namespace hipq::core
