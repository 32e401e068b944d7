// Warns of a queue_ttl that is shorter than jobs of that type usually run.
#include "external/external.hpp"

#include "catalog/cache.hpp"
#include "shared/lanes/run_time_table.hpp"

namespace hipq::external {

void warn_of_short_ttl(const catalog::Queue &queue, std::string_view job_type,
                       std::optional<std::int32_t> seconds)
{
    const auto run_time = seconds.has_value() ? lanes::run_time(queue.id, job_type) : std::nullopt;
    if (!run_time.has_value() || std::int64_t{*seconds} * USECS_PER_SEC >= 2 * *run_time)
        return;
    const std::string type(job_type);
    const double taken = static_cast<double>(*run_time) / USECS_PER_SEC;
    pg::call([&] {
        ereport(WARNING,
                errmsg("queue_ttl %d is short for job type \"%s\"", *seconds, type.c_str()),
                errdetail("Its jobs run for %.1f s on average: a worker that has one in flight may "
                          "not get round to the next in time.",
                          taken),
                errhint("Give at least twice the run time."));
    });
}

}  // namespace hipq::external
