// Reads the state of workers, and chooses a worker for a job.
#include "shared/workers/registered.hpp"

#include "core/recovery/crash_report.hpp"
#include "core/workers/worker_health.hpp"
#include "pg/clock.hpp"
#include "settings.hpp"
#include "shared/workers/worker_table.hpp"

namespace hipq::workers {

core::HealthLimits health_limits()
{
    return {settings::health_enabled,
            settings::heartbeat_timeout.microseconds(),
            settings::degraded_silence.microseconds(),
            settings::probe_interval.microseconds(),
            settings::degraded_failures,
            settings::unhealthy_failures,
            settings::degraded_depth,
            settings::unhealthy_depth,
            settings::degraded_failure_rate,
            settings::unhealthy_failure_rate};
}

std::optional<WorkerSlot> find_worker(std::int64_t id)
{
    if (!memory::is_loaded())
        return std::nullopt;
    const WorkerLock lock(LW_SHARED);
    const WorkerSlot *slot = find_slot(MyDatabaseId, id);
    return slot != nullptr && is_visible(*slot) ? std::optional(*slot) : std::nullopt;
}

std::vector<WorkerSlot> list_workers()
{
    std::vector<WorkerSlot> result;
    if (!memory::is_loaded())
        return result;
    result.resize(places_in_use());  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const WorkerLock lock(LW_SHARED);
        for (const WorkerSlot &slot : worker_slots())
            if (count < result.size() && slot.database == MyDatabaseId && is_visible(slot))
                result[count++] = slot;
    }
    result.resize(count);
    return result;
}

core::Candidate candidate_of(const WorkerSlot &slot, const core::HealthLimits &limits, pg::Time now)
{
    const core::Health health = core::judge(slot.record, limits, now.value);
    return {slot.id,
            slot.last_chosen,
            slot.record.depth,
            core::queue_depth_of(slot.record),
            slot.running,
            slot.capacity,
            slot.prefetch,
            health,
            core::may_be_probed(slot.record, health, limits, now.value),
            slot.is_draining};
}

WorkerRef reference_to_worker(std::int64_t id)
{
    if (!memory::is_loaded())
        return {id, 0};
    const WorkerLock lock(LW_SHARED);
    const WorkerSlot *slot = find_slot(MyDatabaseId, id);
    return {id, slot == nullptr ? 0 : static_cast<std::int32_t>(slot - worker_table().slots)};
}

std::optional<std::int32_t> place_of_worker(std::int64_t id)
{
    if (id == 0)
        return worker_table().capacity;
    const WorkerLock lock(LW_SHARED);
    const WorkerSlot *slot = find_present(id);
    return slot == nullptr ? std::nullopt
                           : std::optional(static_cast<std::int32_t>(slot - worker_table().slots));
}

std::int64_t worker_at(std::int32_t place)
{
    if (place == worker_table().capacity)
        return 0;
    const WorkerLock lock(LW_SHARED);
    const WorkerSlot &slot = worker_table().slots[place];
    return slot.state != WorkerState::free && slot.database == MyDatabaseId ? slot.id : 0;
}

ChosenWorker choose_worker(std::span<const WorkerRef> workers, const JobShares &shares,
                           std::int64_t avoided)
{
    ChosenWorker chosen{std::nullopt, 0, InvalidOid};
    if (!memory::is_loaded())
        return chosen;
    const core::HealthLimits limits = health_limits();
    const pg::Time now = pg::now();
    core::WorkerChoice choice(avoided);
    const WorkerLock lock(LW_SHARED);
    for (const WorkerRef &worker : workers) {
        const WorkerSlot *slot = find_slot(worker);
        if (slot == nullptr || slot->state != WorkerState::present)
            continue;
        ++chosen.present;
        if (shares.left(slot->role) > 0)
            choice.consider(candidate_of(*slot, limits, now));
    }
    chosen.id = choice.best();
    if (const WorkerSlot *slot =
            chosen.id.has_value() ? find_slot(MyDatabaseId, *chosen.id) : nullptr)
        chosen.role = slot->role;
    return chosen;
}

CapacityForJobs capacity_for_jobs(std::span<const WorkerRef> workers, JobShares shares)
{
    CapacityForJobs capacity;
    if (!memory::is_loaded())
        return capacity;
    const core::HealthLimits limits = health_limits();
    const pg::Time now = pg::now();
    const WorkerLock lock(LW_SHARED);
    for (const WorkerRef &worker : workers) {
        const WorkerSlot *slot = find_slot(worker);
        if (slot == nullptr || slot->state != WorkerState::present)
            continue;
        const std::int64_t wanted = core::capacity_for_jobs(candidate_of(*slot, limits, now));
        const std::int64_t shared = std::min(wanted, shares.left(slot->role));
        capacity.wanted += wanted;
        capacity.shared += shared;
        shares.take(slot->role, shared);
    }
    return capacity;
}

std::optional<pg::Time> able_until(std::span<const WorkerRef> workers)
{
    std::optional<pg::Time> latest;
    if (!memory::is_loaded())
        return latest;
    const core::HealthLimits limits = health_limits();
    const pg::Time now = pg::now();
    const WorkerLock lock(LW_SHARED);
    for (const WorkerRef &worker : workers) {
        const WorkerSlot *slot = find_slot(worker);
        if (slot == nullptr || slot->state != WorkerState::present || slot->is_draining ||
            core::judge(slot->record, limits, now.value) == core::Health::unhealthy)
            continue;
        const pg::Time end =
            limits.enabled ? pg::Time{core::stale_from(slot->record, limits)} : pg::infinity;
        latest = std::max(latest.value_or(end), end);
    }
    return latest;
}

bool has_workers_here()
{
    if (!memory::is_loaded())
        return false;
    const WorkerLock lock(LW_SHARED);
    return std::any_of(worker_slots().begin(), worker_slots().end(), [](const WorkerSlot &slot) {
        return slot.state != WorkerState::free && slot.database == MyDatabaseId;
    });
}

}  // namespace hipq::workers
