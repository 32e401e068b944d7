// Lists which jobs hold capacity under a limit.
//
// The entry of each job in flight names the limiters that count the job.
#include "shared/lanes/holders.hpp"
#include "core/lanes/job_table.hpp"
#include "core/limits/throttle.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

namespace {

// Lists the jobs in flight that the limiter counts, up to the size of `holders`. Returns how many
// there are in it. Needs the lock.
std::size_t find_holders(const core::JobTable &table, std::int32_t limiter,
                         std::span<Holder> holders)
{
    std::size_t count = 0;
    for (const core::JobEntry &job : table.entries()) {
        const bool counts =
            job.is_weighed && job.weight > 0 &&
            std::find(job.limiters.begin(), job.limiters.end(), limiter) != job.limiters.end();
        if (counts && count < holders.size())
            holders[count++] = {job.job_id, job.weight};
    }
    return count;
}

}  // namespace

Usage usage_of(int queue_id, std::uint64_t type, std::uint64_t key)
{
    Usage usage;
    if (!memory::is_loaded())
        return usage;
    usage.holders.resize(jobs_in_flight().capacity());  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const InFlightLock lock(LW_SHARED);
        const core::JobTable table = jobs_in_flight();
        const std::int32_t limiter = table.limiters().find({MyDatabaseId, queue_id, type, key});
        if (limiter != core::no_limiter) {
            usage.used = table.limiters()[limiter].used;
            usage.jobs = table.limiters()[limiter].jobs;
            count = find_holders(table, limiter, usage.holders);
        }
    }
    usage.holders.resize(count);
    std::sort(usage.holders.begin(), usage.holders.end(),
              [](const Holder &left, const Holder &right) {
                  return left.weight != right.weight ? left.weight > right.weight
                                                     : left.job_id < right.job_id;
              });
    return usage;
}

}  // namespace hipq::lanes
