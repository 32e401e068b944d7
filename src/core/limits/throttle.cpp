// A chained hash table with a list of free limiters.
#include "throttle.hpp"

#include <utility>

namespace hipq::core {

std::int32_t &LimiterTable::bucket_of(const LimiterName &name) const
{
    std::uint64_t hash = name.type ^ (name.key * 0x9e3779b97f4a7c15U);
    hash ^= (std::uint64_t{name.database} << 32) | static_cast<std::uint32_t>(name.queue_id);
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9U;
    hash ^= hash >> 32;
    return buckets_[hash % buckets_.size()];
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
    if (left.jobs == 0)
        erase(limiter);
    return has_waited;
}

bool LimiterTable::admits(const LimiterName &name, Weight weight, Weight limit)
{
    const std::int32_t limiter = find(name);
    if (limiter == no_limiter || has_capacity(at(limiter).used, weight, limit))
        return true;
    Weight &waiting = at(limiter).waiting;
    waiting = waiting == 0 ? weight : std::min(waiting, weight);
    at(limiter).limit = limit;
    return false;
}

bool LimiterTable::is_awaited(const LimiterName &name) const
{
    const std::int32_t limiter = find(name);
    return limiter != no_limiter && at(limiter).waiting != 0;
}

bool LimiterTable::forget_waiting(std::uint32_t database)
{
    bool any = false;
    for (Limiter &limiter : limiters_)
        if (limiter.name.database == database)
            any = std::exchange(limiter.waiting, 0) != 0 || any;
    return any;
}

}  // namespace hipq::core
