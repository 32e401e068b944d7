// Lists which jobs hold capacity under a limit.
//
// Each job in hand names the gauges that it counts in.
#include "holders.hpp"

namespace hipq::lanes {

namespace {

// What is in hand that counts in a gauge, as far as there is room in `holders`. Returns how many.
// Needs the lock.
std::size_t find_holders(const core::JobTable &table, std::int32_t gauge, std::span<Holder> holders)
{
    std::size_t count = 0;
    for (const core::JobEntry &job : table.entries()) {
        const bool counts =
            job.is_weighed && job.weight > 0 &&
            std::find(job.gauges.begin(), job.gauges.end(), gauge) != job.gauges.end();
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
    usage.holders.resize(memory::jobs_in_hand().capacity());  // before the lock: allocation
    std::size_t count = 0;
    {
        const memory::Lock lock(LW_SHARED);
        const core::JobTable table = memory::jobs_in_hand();
        const std::int32_t gauge = table.gauges().find({MyDatabaseId, queue_id, type, key});
        if (gauge != core::no_gauge) {
            usage.used = table.gauges()[gauge].used;
            usage.jobs = table.gauges()[gauge].jobs;
            count = find_holders(table, gauge, usage.holders);
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
