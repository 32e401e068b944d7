// Looks at the limits and rates of throttle keys while a lane is read, and parks full keys.
#include "claim/full_keys.hpp"

#include "claim/take_jobs.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/lanes/capacity.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/alerts.hpp"

namespace hipq::claim {

FullKeys::FullKeys(Claimer &claimer, const Lane &lane, pg::Time now)
    : claimer_(claimer), lane_(lane), now_(now), type_(core::name_hash(lane.head.job_type))
{
    if (const catalog::JobType *type = lane.queue->find_job_type(lane.head.job_type)) {
        limit_ = type->throttle_limit_per_key;
        rate_ = type->rate_per_key;
    }
}

bool FullKeys::admits(core::Weight weight, std::uint64_t throttle_key)
{
    if (throttle_key == 0 || (!is_limited() && !rate_.is_set()))
        return true;
    return !contains(throttle_key) && has_turn(weight, throttle_key) &&
           has_capacity(weight, throttle_key);
}

bool FullKeys::has_turn(core::Weight weight, std::uint64_t throttle_key)
{
    if (!rate_.is_set() || weight == 0)
        return true;
    const core::RateUse use{
        {MyDatabaseId, lane_.queue->id, type_, throttle_key}, lane_.queue->owner, rate_};
    const lanes::RateLook look = lanes::look_at_key_rate(use, weight);
    if (look.has_room && look.wait <= 0 && !look.needs_lease)
        return true;
    if (!look.has_room)
        memory::raise_alert(memory::Alert::keys_full);
    else if (look.wait <= 0)
        claimer_.keys_without_lease.push_back(use);
    const std::int64_t least = look.has_room ? lease_delay : core::crowded_hold;
    keys_.try_emplace(throttle_key, Key{now_ + std::max(look.wait, least)});
    return false;
}

bool FullKeys::has_capacity(core::Weight weight, std::uint64_t throttle_key)
{
    if (!is_limited())
        return true;
    const bool is_shared = lane_.queue->shares_limits();
    if (fits_in_batch(weight, throttle_key) &&
        lanes::has_key_capacity(lane_.queue->id, {weight, type_, throttle_key}, limit_, is_shared))
        return true;
    if (is_shared)
        databases::ask_for_shares(MyDatabaseId);
    keys_.try_emplace(throttle_key, Key{now_ + longest_wait_for_capacity});
    return false;
}

// The jobs of a batch run at once.
bool FullKeys::fits_in_batch(core::Weight weight, std::uint64_t throttle_key)
{
    if (claimer_.prefetched.batch_size == 1)
        return true;
    core::Weight &taken = in_batch_[throttle_key];
    const bool fits = core::has_capacity(taken, weight, limit_);
    taken += fits ? weight : 0;
    return fits;
}

bool FullKeys::are_known_to_have(std::uint64_t throttle_key)
{
    if (!is_limited())
        return false;
    if (lanes::waits_for_capacity(lane_.queue->id, type_, throttle_key))
        keys_.try_emplace(throttle_key, Key{now_ + longest_wait_for_capacity});
    return contains(throttle_key);
}

void FullKeys::pass_over(const LaneRow &row)
{
    core::KeyRange &rows = keys_.at(row.throttle_key).rows;
    const core::KeyRange only{row.key, row.key};
    rows = rows.is_empty() ? only : core::hull(rows, only);
    ++passed_over_;
}

void FullKeys::park(lanes::LaneReading &reading) const
{
    const pg::Time soon = now_ + core::crowded_hold + passed_over_ * core::crowded_hold_per_row;
    for (const auto &[throttle_key, key] : keys_)
        if (!key.rows.is_empty() && !lanes::park_key(lane_.ref, key.rows, throttle_key, key.again))
            reading.crowded(key.rows, soon.value);
}

void FullKeys::stand() const
{
    if (!is_limited())
        return;
    for (const auto &entry : keys_)
        lanes::stands_full(lane_.queue->id, type_, entry.first);
}

}  // namespace hipq::claim
