// Looks at breakers, which are part of the table of jobs in flight, under its lock.
#include "shared/lanes/breakers.hpp"

#include "pg/clock.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

namespace {

// The end of a probe notifies a process that waits for it. Such a process looks again after this
// time in any case, as one that waits for room does.
constexpr std::int64_t breaker_delay = 10 * core::microseconds_per_second;
constexpr std::int64_t breaker_room_delay = core::microseconds_per_second;

}  // namespace

BreakerLook look_at_breaker(const core::LimiterName &name, const core::StartBreaker &breaker)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    const std::int64_t now = pg::steady_now();
    const std::int32_t entry = table.breakers().find_or_make(name, breaker, now);
    if (entry == core::no_breaker)
        return {core::Breaker::Answer::none, breaker_room_delay, false};
    const core::Breaker::Answer answer = table.breakers().ask(entry, breaker.rule, now);
    if (answer != core::Breaker::Answer::none)
        return {answer, 0};
    const core::BreakerRecord &record = table.breakers()[entry].record;
    const bool is_timed =
        record.state == core::BreakerState::open && record.opening.until != core::never;
    return {answer, is_timed ? record.opening.until - now : breaker_delay};
}

std::optional<KnownBreaker> find_breaker(const core::LimiterName &name)
{
    if (!memory::is_loaded())
        return std::nullopt;
    const InFlightLock lock(LW_SHARED);
    const core::JobTable table = jobs_in_flight();
    const std::int32_t entry = table.breakers().find(name);
    if (entry == core::no_breaker)
        return std::nullopt;
    const core::BreakerEntry &found = table.breakers()[entry];
    return KnownBreaker{name, found.record.state, found.record.has_probe, found.record.opening,
                        found.change};
}

std::vector<core::LimiterName> unsaved_breakers()
{
    std::vector<core::LimiterName> names;
    if (!memory::is_loaded())
        return names;
    names.reserve(jobs_in_flight().breakers().all().size());  // allocate before taking the lock
    const InFlightLock lock(LW_SHARED);
    const core::JobTable table = jobs_in_flight();
    if (table.breakers().size() == 0)
        return names;
    for (const core::BreakerEntry &entry : table.breakers().all())
        if (entry.name.database == MyDatabaseId && entry.saved != entry.change)
            names.push_back(entry.name);
    return names;
}

void note_breaker_saved(const core::LimiterName &name, std::int64_t change) noexcept
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_flight();
    const std::int32_t entry = table.breakers().find(name);
    if (entry != core::no_breaker)
        table.breakers().note_saved(entry, change);
}

}  // namespace hipq::lanes
