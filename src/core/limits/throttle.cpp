// Implements the table as a chained hash table with a list of free limiters.
#include "core/limits/throttle.hpp"

#include <utility>

namespace hipq::core {

std::int32_t &LimiterTable::bucket_of(const LimiterName &name) const
{
    return buckets_[hash_of(name) % buckets_.size()];
}

void LimiterTable::clear()
{
    head_->used = 0;
    head_->free = limiters_.empty() ? no_limiter : 0;
    for (std::size_t i = 0; i < limiters_.size(); ++i) {
        limiters_[i] = Limiter{};
        limiters_[i].next =
            i + 1 < limiters_.size() ? static_cast<std::int32_t>(i + 1) : no_limiter;
    }
    std::fill(buckets_.begin(), buckets_.end(), no_limiter);
    shares_.clear();
}

std::int32_t LimiterTable::find(const LimiterName &name) const
{
    for (std::int32_t limiter = bucket_of(name); limiter != no_limiter; limiter = at(limiter).next)
        if (at(limiter).name == name)
            return limiter;
    return no_limiter;
}

std::int32_t LimiterTable::make(const LimiterName &name)
{
    const std::int32_t limiter = head_->free;
    if (limiter == no_limiter)
        return no_limiter;
    head_->free = at(limiter).next;
    ++head_->used;
    std::int32_t &bucket = bucket_of(name);
    at(limiter) = Limiter{name, 0, 0, no_weight_limit, 0, bucket};
    bucket = limiter;
    return limiter;
}

void LimiterTable::erase(std::int32_t limiter)
{
    std::int32_t *link = &bucket_of(at(limiter).name);
    while (*link != limiter)
        link = &at(*link).next;
    *link = at(limiter).next;
    at(limiter) = Limiter{};
    at(limiter).next = head_->free;
    head_->free = limiter;
    --head_->used;
}

std::int32_t LimiterTable::enter(const LimiterName &name, Weight weight)
{
    std::int32_t limiter = find(name);
    if (limiter == no_limiter)
        limiter = make(name);
    if (limiter == no_limiter)
        return no_limiter;
    at(limiter).used += weight;
    ++at(limiter).jobs;
    if (NodeShare *share = shares_.find(name))
        share->peak = std::max(share->peak, at(limiter).used);
    return limiter;
}

bool LimiterTable::leave(std::int32_t limiter, Weight weight)
{
    Limiter &left = at(limiter);
    left.used -= weight;
    --left.jobs;
    const bool has_waited = left.waiting != 0 && has_capacity(left.used, left.waiting, left.limit);
    if (has_waited)
        left.waiting = 0;
    NodeShare *share = shares_.find(left.name);
    const bool is_let_in = share != nullptr && let_in(*share);
    if (left.jobs == 0)
        erase(limiter);
    return has_waited || is_let_in;
}

Weight LimiterTable::used_by(const LimiterName &name) const
{
    const std::int32_t limiter = find(name);
    return limiter == no_limiter ? 0 : at(limiter).used;
}

bool LimiterTable::let_in(NodeShare &share) const
{
    const bool has_room = share.waiting != 0 && share_admits(share.share, share.has_all,
                                                             used_by(share.name), share.waiting);
    if (has_room)
        share.waiting = 0;
    return has_room;
}

namespace {

// Returns the lighter of two waiting weights; 0 means that no job waits.
void add_waiting(Weight &waiting, Weight weight)
{
    waiting = waiting == 0 ? weight : std::min(waiting, weight);
}

}  // namespace

bool LimiterTable::admits(const LimiterName &name, Weight weight, Weight limit, bool is_shared)
{
    const bool is_limited = is_shared && limit >= weight_unit;
    if (NodeShare *share = is_limited ? shares_.find_or_make(name) : shares_.find(name)) {
        if (share_admits(share->share, share->has_all, used_by(name), weight))
            return true;
        add_waiting(share->waiting, weight);
        add_waiting(share->refused, weight);
        return false;
    }
    if (is_limited && weight > 0)
        return false;  // no entry free to record its share: no job may run
    const std::int32_t limiter = find(name);
    if (limiter == no_limiter || has_capacity(at(limiter).used, weight, limit))
        return true;
    add_waiting(at(limiter).waiting, weight);
    at(limiter).limit = limit;
    return false;
}

bool LimiterTable::is_awaited(const LimiterName &name) const
{
    if (const NodeShare *share = shares_.find(name))
        return share->waiting != 0;
    const std::int32_t limiter = find(name);
    return limiter != no_limiter && at(limiter).waiting != 0;
}

bool LimiterTable::forget_waiting(std::uint32_t database)
{
    bool any = false;
    for (Limiter &limiter : limiters_)
        if (limiter.name.database == database)
            any = std::exchange(limiter.waiting, 0) != 0 || any;
    if (shares_.any())
        for (NodeShare &share : shares_.all())
            if (share.name.database == database)
                any = std::exchange(share.waiting, 0) != 0 || any;
    return any;
}

}  // namespace hipq::core
