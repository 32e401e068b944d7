// A chained hash table with a list of free gauges.
#include "throttle.hpp"

#include <utility>

namespace hipq::core {

std::int32_t &GaugeTable::bucket_of(const GaugeName &name) const
{
    std::uint64_t hash = name.type ^ (name.key * 0x9e3779b97f4a7c15U);
    hash ^= (std::uint64_t{name.database} << 32) | static_cast<std::uint32_t>(name.queue_id);
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9U;
    hash ^= hash >> 32;
    return buckets_[hash % buckets_.size()];
}

void GaugeTable::clear()
{
    head_->used = 0;
    head_->free = gauges_.empty() ? no_gauge : 0;
    for (std::size_t i = 0; i < gauges_.size(); ++i) {
        gauges_[i] = Gauge{};
        gauges_[i].next = i + 1 < gauges_.size() ? static_cast<std::int32_t>(i + 1) : no_gauge;
    }
    std::fill(buckets_.begin(), buckets_.end(), no_gauge);
}

std::int32_t GaugeTable::find(const GaugeName &name) const
{
    for (std::int32_t gauge = bucket_of(name); gauge != no_gauge; gauge = at(gauge).next)
        if (at(gauge).name == name)
            return gauge;
    return no_gauge;
}

std::int32_t GaugeTable::make(const GaugeName &name)
{
    const std::int32_t gauge = head_->free;
    if (gauge == no_gauge)
        return no_gauge;
    head_->free = at(gauge).next;
    ++head_->used;
    std::int32_t &bucket = bucket_of(name);
    at(gauge) = Gauge{name, 0, 0, no_weight_limit, 0, bucket};
    bucket = gauge;
    return gauge;
}

void GaugeTable::erase(std::int32_t gauge)
{
    std::int32_t *link = &bucket_of(at(gauge).name);
    while (*link != gauge)
        link = &at(*link).next;
    *link = at(gauge).next;
    at(gauge) = Gauge{};
    at(gauge).next = head_->free;
    head_->free = gauge;
    --head_->used;
}

std::int32_t GaugeTable::enter(const GaugeName &name, Weight weight)
{
    std::int32_t gauge = find(name);
    if (gauge == no_gauge)
        gauge = make(name);
    if (gauge == no_gauge)
        return no_gauge;
    at(gauge).used += weight;
    ++at(gauge).jobs;
    return gauge;
}

bool GaugeTable::leave(std::int32_t gauge, Weight weight)
{
    Gauge &left = at(gauge);
    left.used -= weight;
    --left.jobs;
    const bool has_waited = left.waiting != 0 && has_room(left.used, left.waiting, left.limit);
    if (has_waited)
        left.waiting = 0;
    if (left.jobs == 0)
        erase(gauge);
    return has_waited;
}

bool GaugeTable::admits(const GaugeName &name, Weight weight, Weight limit)
{
    const std::int32_t gauge = find(name);
    if (gauge == no_gauge || has_room(at(gauge).used, weight, limit))
        return true;
    Weight &waiting = at(gauge).waiting;
    waiting = waiting == 0 ? weight : std::min(waiting, weight);
    at(gauge).limit = limit;
    return false;
}

bool GaugeTable::is_awaited(const GaugeName &name) const
{
    const std::int32_t gauge = find(name);
    return gauge != no_gauge && at(gauge).waiting != 0;
}

bool GaugeTable::forget_waiting(std::uint32_t database)
{
    bool any = false;
    for (Gauge &gauge : gauges_)
        if (gauge.name.database == database)
            any = std::exchange(gauge.waiting, 0) != 0 || any;
    return any;
}

}  // namespace hipq::core
