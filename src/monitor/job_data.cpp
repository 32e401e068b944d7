// hipq._masked, hipq._masked_job: mask job_data in views, where the job's type declares secret
// parameters. hipq._fitting_data: checks job_data that comes from another queue.
#include "catalog/cache.hpp"
#include "catalog/job_parameters.hpp"
#include "catalog/rights.hpp"
#include "pg/arguments.hpp"

namespace hipq::monitor {

namespace {

using Mask = Datum (*)(const catalog::JobType *type, Datum json);

// Returns NULL for a queue that the caller may not read, so as not to reveal what its types
// declare.
Datum show(FunctionCallInfo fcinfo, Mask mask)
{
    const pg::Arguments arguments(fcinfo);
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(arguments.integer({0, "queue_id"}));
    if (queue == nullptr || !catalog::may(catalog::caller(), *queue, catalog::Privilege::read)) {
        fcinfo->isnull = true;
        return Datum{0};
    }
    return mask(queue->find_job_type(arguments.text({1, "job_type"})),
                arguments.raw({2, "job_data"}, JSONBOID).value);
}

Datum fitting_data(const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const pg::RawValue data = arguments.raw({3, "job_data"}, JSONBOID);
    const catalog::Queue *queue = catalogue->find(arguments.integer({0, "queue_id"}));
    const catalog::JobType *type =
        queue == nullptr ? nullptr : queue->find_job_type(arguments.text({1, "job_type"}));
    return type == nullptr
               ? data.value
               : catalog::complete_job_data(*type, data, arguments.integer64({2, "job_id"})).value;
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__fitting_data)
{
    return hipq::monitor::fitting_data(hipq::pg::Arguments(fcinfo));
}

HIPQ_FUNCTION(hipq__masked)
{
    return hipq::monitor::show(fcinfo, hipq::catalog::masked);
}

HIPQ_FUNCTION(hipq__masked_job)
{
    return hipq::monitor::show(fcinfo, hipq::catalog::masked_job);
}
