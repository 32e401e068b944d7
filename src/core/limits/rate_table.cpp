// Implements the table as a chained hash table with a list of free entries.
#include "core/limits/rate_table.hpp"

#include <utility>

namespace hipq::core {

void RateTable::clear(std::int64_t now)
{
    if (head_ == nullptr)
        return;  // without memory: tests of the other tables
    head_->used = 0;
    head_->began = now;
    head_->has_begun = false;
    head_->free = entries_.empty() ? no_rate : 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        entries_[i] = RateEntry{};
        entries_[i].next = i + 1 < entries_.size() ? static_cast<std::int32_t>(i + 1) : no_rate;
    }
    std::fill(buckets_.begin(), buckets_.end(), no_rate);
}

void RateTable::begin(std::int64_t now)
{
    if (!std::exchange(head_->has_begun, true))
        head_->began = now;
}

std::int32_t RateTable::find(const LimiterName &name) const
{
    if (entries_.empty())
        return no_rate;
    std::int32_t entry = bucket_of(name);
    while (entry != no_rate && at(entry).name != name)
        entry = at(entry).next;
    return entry;
}

bool RateTable::may_make(std::uint32_t owner, int owner_share) const
{
    const auto own = std::ranges::count_if(entries_, [&](const RateEntry &each) {
        return each.name.database != 0 && each.owner == owner;
    });
    return may_take_one(table_quota(std::ssize(entries_), owner_share), {head_->used, own});
}

void RateTable::make_room(std::int64_t now)
{
    for (std::int32_t i = 0; i < std::ssize(entries_); ++i)
        if (at(i).name.database != 0 && window(i).is_idle(at(i).rate, now))
            erase(i);
}

void RateTable::erase(std::int32_t entry)
{
    std::int32_t *link = &bucket_of(at(entry).name);
    while (*link != entry)
        link = &at(*link).next;
    *link = at(entry).next;
    at(entry) = RateEntry{};
    at(entry).next = head_->free;
    head_->free = entry;
    --head_->used;
}

std::int32_t RateTable::find_or_make(const RateUse &use, int owner_share, std::int64_t now)
{
    std::int32_t entry = find(use.name);
    if (entry != no_rate || entries_.empty())
        return entry;
    if (head_->free == no_rate || !may_make(use.owner, owner_share))
        make_room(now);
    if (head_->free == no_rate || !may_make(use.owner, owner_share))
        return no_rate;
    entry = head_->free;
    head_->free = at(entry).next;
    ++head_->used;
    std::int32_t &bucket = bucket_of(use.name);
    at(entry) = RateEntry{};
    at(entry).name = use.name;
    at(entry).owner = use.owner;
    at(entry).rate = use.rate;
    at(entry).next = bucket;
    bucket = entry;
    // Nothing is known of what was started before, here or on the primary.
    if (!needs_leases(use.rate) && now < head_->began + counted_for(use.rate))
        window(entry).record(use.rate,
                             use.rate.mode == RateMode::exact ? use.rate.weight : weight_unit,
                             head_->began);
    return entry;
}

RateTable::Answer RateTable::ask(std::int32_t entry, const Rate &rate, Weight weight,
                                 std::int64_t now) const
{
    const RateEntry &asked = at(entry);
    const std::int64_t turn = window(entry).turn(rate, weight, now);
    const bool has_lease =
        !needs_leases(rate) || weight == 0 || (asked.is_known && asked.leased >= weight);
    return {turn, turn <= now && !has_lease};
}

void RateTable::admit(std::int32_t entry, const Rate &rate, Weight weight)
{
    at(entry).rate = rate;
    at(entry).refused = 0;
    at(entry).leased -= std::min(at(entry).leased, weight);
    window(entry).admit(weight);
}

void RateTable::note_refused(std::int32_t entry, Weight weight)
{
    Weight &refused = at(entry).refused;
    refused = refused == 0 ? weight : std::min(refused, weight);
}

void RateTable::forget_refused(std::uint32_t database)
{
    for (RateEntry &each : entries_)
        if (each.name.database == database)
            each.refused = 0;
}

void RateTable::start(std::int32_t entry, Weight weight, std::int64_t now, bool is_first_call)
{
    const Rate &rate = at(entry).rate;
    window(entry).start(rate, weight, now + (is_first_call ? first_call_guard(rate.period) : 0));
}

bool RateTable::give_back(std::int32_t entry, Weight weight)
{
    window(entry).give_back(weight);
    return std::exchange(at(entry).refused, 0) != 0;
}

bool RateTable::begin_lease(std::int32_t entry, std::int64_t now)
{
    constexpr std::int64_t patience = microseconds_per_second;  // it may have failed
    if (at(entry).lease_begun > at(entry).lease_time && now < at(entry).lease_begun + patience)
        return false;
    at(entry).lease_begun = now;
    at(entry).leased = 0;
    return true;
}

void RateTable::grant(std::int32_t entry, Weight weight, std::int64_t time)
{
    if (time <= at(entry).lease_time)
        return;
    at(entry).leased = weight;
    at(entry).lease_time = time;
}

void RateTable::know(std::int32_t entry, const Rate &rate, std::span<const Starts> leases)
{
    if (std::exchange(at(entry).is_known, true))
        return;
    for (const Starts &lease : leases)
        window(entry).record(rate, lease.weight, lease.last);
}

}  // namespace hipq::core
