// Looks at rates, and records starts.
//
// The rates are part of the table of jobs in flight, under its lock. The clock is read under the
// lock, so that starts are recorded in the order of their times.
#include "shared/lanes/rates.hpp"

#include "pg/clock.hpp"
#include "settings.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/own_holder.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

namespace {

// Needs the lock, exclusively.
std::int32_t find_or_make(core::JobTable &table, const core::RateUse &use)
{
    return table.rates().find_or_make(use, settings::max_owner_share, pg::steady_now());
}

}  // namespace

void begin_rates() noexcept
{
    const InFlightLock lock(LW_EXCLUSIVE);
    jobs_in_flight().rates().begin(pg::steady_now());
}

RateLook look_at_rate(const core::RateUse &use)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    const std::int32_t entry = find_or_make(table, use);
    if (entry == core::no_rate)
        return {0, 0, false, false};
    const std::int64_t now = pg::steady_now();
    const core::RateTable &rates = table.rates();
    const core::Weight weight = std::max<core::Weight>(rates[entry].refused, 1);
    const core::RateTable::Answer answer = rates.ask(entry, use.rate, weight, now);
    const core::Weight left = rates.window(entry).left(use.rate, now);
    return {answer.turn - now,
            core::needs_leases(use.rate) ? std::min(left, rates[entry].leased) : left,
            answer.needs_lease};
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
    const std::int32_t entry = find_or_make(table, use);
    if (entry == core::no_rate || !table.rates().begin_lease(entry, pg::steady_now()))
        return std::nullopt;
    const core::RateEntry &rate = table.rates()[entry];
    if (!rate.is_known)
        return BegunLease{0, 0};
    return BegunLease{core::lease_of(use.rate, std::max(rate.refused, core::weight_unit)),
                      rate.state.pending};
}

void grant_lease(const Lease &lease) noexcept
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    const std::int32_t entry = find_or_make(table, lease.use);
    if (entry == core::no_rate)
        return;
    table.rates().know(entry, lease.use.rate, lease.earlier);
    table.rates().grant(entry, lease.weight, lease.time);
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
    const std::int32_t entry = table.rates().find(name);
    if (entry == core::no_rate)
        return {};
    const std::int64_t now = pg::steady_now();
    const core::RateWindow window = table.rates().window(entry);
    return {window.used(rate, now), window.turn(rate, weight, now) - now};
}

}  // namespace hipq::lanes
