// Looks at rates, and records starts.
//
// The rates are part of the table of jobs in flight, under its lock. The clock is read under the
// lock, so that starts are recorded in the order of their times.
#include "shared/lanes/rates.hpp"

#include "pg/clock.hpp"
#include "settings.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/own_holder.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

namespace {

// These functions need the lock; all but the first one exclusively.
const core::RateTable &rates_for(const core::JobTable &table, const core::LimiterName &name)
{
    return name.key == 0 ? table.rates() : table.key_rates();
}
core::RateTable &rates_for(core::JobTable &table, const core::LimiterName &name)
{
    return name.key == 0 ? table.rates() : table.key_rates();
}
std::int32_t find_or_make(core::RateTable &rates, const core::RateUse &use)
{
    return rates.find_or_make(use, settings::max_owner_share, pg::steady_now());
}

RateLook look_at(core::JobTable &table, const core::RateUse &use, core::Weight least)
{
    core::RateTable &rates = rates_for(table, use.name);
    const std::int32_t entry = find_or_make(rates, use);
    if (entry == core::no_rate)
        return {0, 0, false, false};
    const std::int64_t now = pg::steady_now();
    const core::Weight weight = std::max<core::Weight>({rates[entry].refused, least, 1});
    const core::RateTable::Answer answer = rates.ask(entry, use.rate, weight, now);
    const core::Weight left = rates.window(entry).left(use.rate, now);
    return {answer.turn - now,
            core::needs_leases(use.rate) ? std::min(left, rates[entry].leased) : left,
            answer.needs_lease};
}

}  // namespace

void begin_rates() noexcept
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    table.rates().begin(pg::steady_now());
    table.key_rates().begin(pg::steady_now());
}

RateLook look_at_rate(const core::RateUse &use)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    return look_at(table, use, 0);
}

RateLook look_at_key_rate(const core::RateUse &use, core::Weight weight)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    const RateLook look = look_at(table, use, weight);
    if (look.has_room && (look.wait > 0 || look.needs_lease)) {
        core::RateTable &rates = table.key_rates();
        rates.note_refused(rates.find(use.name), weight);
    }
    return look;
}

void note_start(std::int64_t job_id, bool is_first_call) noexcept
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    const std::int32_t entry = table.find(MyDatabaseId, job_id);
    if (entry != core::no_entry && table.at(entry).holder == memory::own_holder())
        table.start(entry, pg::steady_now(), is_first_call);
}

bool admit_again(std::int64_t job_id) noexcept
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    const std::int32_t entry = table.find(MyDatabaseId, job_id);
    return entry == core::no_entry || table.admit_again(entry, pg::steady_now());
}

std::optional<BegunLease> begin_lease(const core::RateUse &use)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    core::RateTable &rates = rates_for(table, use.name);
    const std::int32_t entry = find_or_make(rates, use);
    if (entry == core::no_rate || !rates.begin_lease(entry, pg::steady_now()))
        return std::nullopt;
    const core::RateEntry &rate = rates[entry];
    if (!rate.is_known)
        return BegunLease{0, 0};
    return BegunLease{core::lease_of(use.rate, std::max(rate.refused, core::weight_unit)),
                      rate.state.pending};
}

void grant_lease(const Lease &lease) noexcept
{
    {
        const InFlightLock lock(LW_EXCLUSIVE);
        core::JobTable table = jobs_in_flight();
        core::RateTable &rates = rates_for(table, lease.use.name);
        const std::int32_t entry = find_or_make(rates, lease.use);
        if (entry == core::no_rate)
            return;
        rates.know(entry, lease.use.rate, lease.earlier);
        rates.grant(entry, lease.weight, lease.time);
    }
    if (lease.use.name.key != 0)
        make_capacity(lease.use.name);
}

std::vector<NamedUsage> list_rates()
{
    std::vector<NamedUsage> result;
    if (!memory::is_loaded())
        return result;
    result.reserve(jobs_in_flight().rates().all().size());  // allocate before taking the lock
    const InFlightLock lock(LW_SHARED);
    const core::JobTable table = jobs_in_flight();
    const std::int64_t now = pg::steady_now();
    for (std::size_t i = 0; i < table.rates().all().size(); ++i) {
        const core::RateEntry &entry = table.rates().all()[i];
        if (entry.name.database != MyDatabaseId)
            continue;
        const core::RateWindow window = table.rates().window(static_cast<std::int32_t>(i));
        result.push_back({entry.name,
                          {window.used(entry.rate, now),
                           window.turn(entry.rate, core::weight_unit, now) - now}});
    }
    return result;
}

RateUsage usage_of_rate(const core::LimiterName &name, const core::Rate &rate, core::Weight weight)
{
    if (!memory::is_loaded())
        return {};
    const InFlightLock lock(LW_SHARED);
    const core::JobTable table = jobs_in_flight();
    const core::RateTable &rates = rates_for(table, name);
    const std::int32_t entry = rates.find(name);
    if (entry == core::no_rate)
        return {};
    const std::int64_t now = pg::steady_now();
    const core::RateWindow window = rates.window(entry);
    return {window.used(rate, now), window.turn(rate, weight, now) - now};
}

}  // namespace hipq::lanes
