// Lists the times of a job type's retries: retry_schedule.
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/rights.hpp"
#include "pg/arguments.hpp"

namespace hipq::admin {

namespace {

using catalog::JobType;
using catalog::Queue;

void list_schedule(const Queue &queue, const JobType &type, pg::ResultSet &result)
{
    std::int32_t retry = 0;
    std::int64_t since_first_failure = 0;
    for (const std::int64_t delay : core::retry_schedule(type.policy, queue.max_retries_of(type))) {
        since_first_failure += delay;
        result.add(++retry, pg::interval_of(delay), pg::interval_of(since_first_failure));
    }
}

void list_schedule_of_queue(const pg::Arguments &arguments, pg::ResultSet &result)
{
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_known_queue(*catalogue, arguments.text("queue"));
    const std::string name = arguments.text("job_type");
    catalog::require(queue, catalog::Privilege::read);
    const JobType *type = queue.find_job_type(name);
    if (type == nullptr)
        catalog::raise_unknown_type(name, queue.full_name());
    list_schedule(queue, *type, result);
}

// Finds the type by its name alone, among the queues that the caller may read.
void list_schedule_of_type(const pg::Arguments &arguments, pg::ResultSet &result)
{
    const auto catalogue = catalog::catalogue();
    const std::string name = arguments.text("job_type");
    const Queue *of = nullptr;
    const JobType *found = nullptr;
    std::string queues;
    int count = 0;
    for (const auto &[id, queue] : catalogue->queues) {
        const JobType *type = queue.is_dropped ? nullptr : queue.find_job_type(name);
        if (type == nullptr || !catalog::may(catalog::caller(), queue, catalog::Privilege::read))
            continue;
        of = &queue;
        found = type;
        ++count;
        queues.append(queues.empty() ? "" : ", ").append(queue.full_name());
    }
    if (found == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("job type \"%s\" does not exist", name.c_str()),
                   errhint("View hipq.job_types lists the job types that you may use."));
    if (count > 1)
        HIPQ_RAISE(errcode(ERRCODE_AMBIGUOUS_PARAMETER),
                   errmsg("several queues have a job type \"%s\"", name.c_str()),
                   errdetail("Queues: %s.", queues.c_str()),
                   errhint("Name the queue: hipq.retry_schedule(queue, job_type)."));
    list_schedule(*of, *found, result);
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_retry_schedule)
{
    hipq::pg::ResultSet result(fcinfo);
    hipq::admin::list_schedule_of_queue(hipq::pg::Arguments(fcinfo), result);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_retry_schedule_of_type)
{
    hipq::pg::ResultSet result(fcinfo);
    hipq::admin::list_schedule_of_type(hipq::pg::Arguments(fcinfo), result);
    return hipq::pg::return_void();
}
