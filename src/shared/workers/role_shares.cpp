// Counts the jobs of external workers, by role.
#include "core/lanes/job_table.hpp"
#include "core/limits/worker_quota.hpp"
#include "settings.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/registry.hpp"
#include "shared/workers/worker_table.hpp"

namespace hipq::workers {

namespace {

struct Held {
    Oid role;
    std::int64_t jobs;
};

// Includes workers without jobs, because their role may be about to take some.
std::vector<Held> held_by_workers()
{
    std::vector<Held> held(places_in_use());  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const WorkerLock lock(LW_SHARED);
        for (const WorkerSlot &slot : worker_slots())
            if (slot.state != WorkerState::free && count < held.size())
                held[count++] = {slot.role, std::int64_t{slot.record.depth} + slot.running};
    }
    held.resize(count);
    return held;
}

}  // namespace

JobShares::JobShares()
{
    if (!memory::is_loaded())
        return;
    for (const Held &held : held_by_workers())
        add(held.role, held.jobs);
    const lanes::InFlightLock lock(LW_SHARED);
    const core::JobTable table = lanes::jobs_in_flight();
    used_ = static_cast<std::int64_t>(table.size());
    capacity_ = used_ + static_cast<std::int64_t>(lanes::entries_beyond_the_first(table));
}

std::int64_t JobShares::left(Oid role) const
{
    const auto found = std::ranges::lower_bound(shares_, role, {}, &Share::role);
    const std::int64_t own = found != shares_.end() && found->role == role ? found->own : 0;
    return core::left_for_role(capacity_, settings::max_owner_share, {used_, own});
}

void JobShares::take(Oid role, std::int64_t count)
{
    used_ += count;
    const auto found = std::ranges::lower_bound(shares_, role, {}, &Share::role);
    if (found != shares_.end() && found->role == role)
        found->own += count;
}

void JobShares::add(Oid role, std::int64_t count)
{
    const auto found = std::ranges::lower_bound(shares_, role, {}, &Share::role);
    if (found != shares_.end() && found->role == role)
        found->own += count;
    else
        shares_.insert(found, {role, count});
}

}  // namespace hipq::workers
