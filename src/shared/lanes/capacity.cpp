// Takes capacity under limits, and tells whether jobs wait for it.
//
// The limiters are part of the table of jobs in flight, under its lock.
#include "shared/lanes/capacity.hpp"

#include "core/limits/limiter_name.hpp"
#include "core/limits/throttle.hpp"
#include "pg/clock.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/own_holder.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

namespace {

bool is_awaited(const core::LimiterName &name)
{
    const InFlightLock lock(LW_SHARED);
    return jobs_in_flight().limiters().is_awaited(name);
}

}  // namespace

std::vector<core::Capacity> take_capacity(std::span<const Claimant> jobs,
                                          const core::WeightLimits &limits)
{
    std::vector<core::Capacity> capacities(jobs.size());  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const InFlightLock lock(LW_EXCLUSIVE);
        core::JobTable table = jobs_in_flight();
        for (const Claimant &job : jobs) {
            const std::int32_t entry = table.find(MyDatabaseId, job.job_id);
            if (entry == core::no_entry || table[entry].holder != memory::own_holder())
                break;
            capacities[count] = table.take_capacity(entry, job.load, limits, pg::steady_now());
            const core::Capacity capacity = capacities[count++];
            if (!core::leaves_room_for_others(capacity))
                break;
        }
    }
    capacities.resize(count);
    return capacities;
}

bool has_key_capacity(int queue_id, const core::Load &load, core::Weight limit, bool is_shared)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    return jobs_in_flight().limiters().admits({MyDatabaseId, queue_id, load.type, load.key},
                                              load.weight, limit, is_shared);
}

bool waits_for_capacity(int queue_id, std::uint64_t type, std::uint64_t key)
{
    return is_awaited({MyDatabaseId, queue_id, type, key});
}

void stands_full(int queue_id, std::uint64_t type, std::uint64_t key)
{
    if (!waits_for_capacity(queue_id, type, key))
        make_capacity({MyDatabaseId, queue_id, type, key});
}

bool waits_for_capacity(int queue_id)
{
    return is_awaited({MyDatabaseId, queue_id, 0, 0});
}

bool waits_for_capacity(int queue_id, std::uint64_t type)
{
    return is_awaited({MyDatabaseId, queue_id, type, 0});
}

bool forget_waiting_for_capacity()
{
    bool any = false;
    {
        const InFlightLock lock(LW_EXCLUSIVE);
        core::JobTable table = jobs_in_flight();
        table.rates().forget_refused(MyDatabaseId);
        table.key_rates().forget_refused(MyDatabaseId);
        any = table.limiters().forget_waiting(MyDatabaseId);
    }
    make_capacity({MyDatabaseId, 0, 0, 0});  // also for keys that wait for the turn of a rate
    return any;
}

std::vector<core::Limiter> list_limiters()
{
    std::vector<core::Limiter> result;
    if (!memory::is_loaded())
        return result;
    result.reserve(jobs_in_flight().limiters().capacity());  // allocate before taking the lock
    const InFlightLock lock(LW_SHARED);
    for (const core::Limiter &limiter : jobs_in_flight().limiters().all())
        if (limiter.jobs > 0 && limiter.name.database == MyDatabaseId)
            result.push_back(limiter);
    return result;
}

}  // namespace hipq::lanes
