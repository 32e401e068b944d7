// Keeps this node's shares beside the limiters, under the lock of the jobs in flight.
#include "shared/lanes/node_share_table.hpp"

#include "core/lanes/job_table.hpp"
#include "core/limits/node_shares.hpp"
#include "core/limits/throttle.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

namespace {

bool is_chosen(const core::JobEntry &job)
{
    return job.phase == core::JobPhase::chosen && !job.is_weighed;
}

}  // namespace

std::vector<std::uint64_t> begin_share(const core::LimiterName &name)
{
    std::vector<std::uint64_t> serials(jobs_in_flight().capacity());  // allocated before the lock
    std::size_t count = 0;
    {
        const InFlightLock lock(LW_EXCLUSIVE);
        core::JobTable table = jobs_in_flight();
        (void)table.limiters().shares().find_or_make(name);
        for (const core::JobEntry &job : table.entries())
            if (job.database == name.database && job.queue_id == name.queue_id && is_chosen(job))
                serials[count++] = job.serial;
    }
    serials.resize(count);
    return serials;
}

std::vector<std::uint64_t> still_chosen(const std::vector<std::uint64_t> &entries)
{
    std::vector<std::uint64_t> left(entries.size());  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const InFlightLock lock(LW_SHARED);
        for (const core::JobEntry &job : jobs_in_flight().entries())
            if (is_chosen(job) && count < left.size() &&
                std::find(entries.begin(), entries.end(), job.serial) != entries.end())
                left[count++] = job.serial;
    }
    left.resize(count);
    return left;
}

ShareUse take_share_use(const core::LimiterName &name)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::LimiterTable limiters = jobs_in_flight().limiters();
    ShareUse use{limiters.used_by(name), 0, 0};
    if (core::NodeShare *share = limiters.shares().find(name)) {
        use.peak = std::max(use.running, std::exchange(share->peak, use.running));
        use.refused = std::exchange(share->refused, 0);
        if (use.refused == 0)
            use.refused = share->waiting;
    }
    return use;
}

bool set_share(const core::LimiterName &name, core::Weight share, bool has_all)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::LimiterTable limiters = jobs_in_flight().limiters();
    core::NodeShare *known = limiters.shares().find(name);
    if (known == nullptr)
        return false;
    known->share = share;
    known->has_all = has_all;
    return limiters.let_in(*known);
}

core::Weight lower_share(const core::LimiterName &name, core::Weight share)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::LimiterTable limiters = jobs_in_flight().limiters();
    const core::Weight running = limiters.used_by(name);
    if (core::NodeShare *known = limiters.shares().find(name)) {
        known->share = std::min(known->share, std::max(running, share));
        known->has_all = false;
    }
    return running;
}

void end_share(const core::LimiterName &name)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    jobs_in_flight().limiters().shares().remove(name);
}

bool end_share_if_unused(const core::LimiterName &name)
{
    const InFlightLock lock(LW_EXCLUSIVE);
    core::LimiterTable limiters = jobs_in_flight().limiters();
    const core::NodeShare *share = limiters.shares().find(name);
    if (share == nullptr)
        return true;
    if (share->share != 0 || share->waiting != 0 || share->refused != 0 ||
        limiters.used_by(name) != 0)
        return false;
    limiters.shares().remove(name);
    return true;
}

std::vector<core::LimiterName> list_shares()
{
    std::vector<core::LimiterName> names;
    if (!memory::is_loaded())
        return names;
    names.reserve(jobs_in_flight().limiters().shares().all().size());  // before the lock is taken
    const InFlightLock lock(LW_SHARED);
    const core::JobTable table = jobs_in_flight();
    if (table.limiters().shares().any())
        for (const core::NodeShare &share : jobs_in_flight().limiters().shares().all())
            if (share.name.queue_id != 0 && share.name.database == MyDatabaseId)
                names.push_back(share.name);
    return names;
}

std::optional<OwnShare> share_of(int queue_id, std::uint64_t type, std::uint64_t key)
{
    if (!memory::is_loaded())
        return std::nullopt;
    const InFlightLock lock(LW_SHARED);
    const core::NodeShare *share =
        jobs_in_flight().limiters().shares().find({MyDatabaseId, queue_id, type, key});
    return share == nullptr ? std::nullopt : std::optional(OwnShare{share->share, share->has_all});
}

}  // namespace hipq::lanes
