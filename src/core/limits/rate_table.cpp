// Implements the table of rates.
#include "core/limits/rate_table.hpp"

#include <utility>

namespace hipq::core {

namespace {

// A look for idle entries goes through the whole table.
constexpr std::int64_t room_interval = 50'000;  // us

}  // namespace

void RateTable::clear(std::int64_t now)
{
    if (head_ != nullptr) {
        head_->began = now;
        head_->has_begun = false;
        head_->refused_until = now;
    }
    table_.clear();
}

void RateTable::begin(std::int64_t now)
{
    if (!std::exchange(head_->has_begun, true))
        head_->began = now;
}

std::int32_t RateTable::find_or_make(const RateUse &use, int owner_share, std::int64_t now)
{
    std::int32_t entry = table_.find(use.name);
    if (entry != no_rate)
        return entry;
    if (head_ == nullptr || (use.owner == head_->refused_owner && now < head_->refused_until))
        return no_rate;
    entry = table_.make(use.name, use.owner, owner_share,
                        [&](std::int32_t i) { return window(i).is_idle(at(i).rate, now); });
    if (entry == no_rate) {
        head_->refused_owner = use.owner;
        head_->refused_until = now + room_interval;
        return no_rate;
    }
    at(entry).rate = use.rate;
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
    for (RateEntry &each : table_.all())
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
