// hipq._masked, hipq._masked_job: what views show of job_data, where its type declares secret parameters. hipq._fitting_data:
// job_data that comes from another queue.
#include "api/arguments.hpp"
#include "storage/job_parameters.hpp"
#include "storage/rights.hpp"

namespace hipq::api {

namespace {

using Mask = Datum (*)(const storage::JobType *type, Datum json);

// NULL for a queue that the caller may not read: what its types declare is not his to find out.
Datum show(FunctionCallInfo fcinfo, Mask mask)
{
    const Arguments arguments(fcinfo);
    const auto catalogue = storage::catalogue();
    const storage::Queue *queue = catalogue->find(arguments.integer(0, "queue_id"));
    if (queue == nullptr || !storage::may(storage::caller(), *queue, storage::Privilege::read)) {
        fcinfo->isnull = true;
        return Datum{0};
    }
    return mask(queue->find_job_type(arguments.text(1, "job_type")), arguments.raw(2, JSONBOID).value);
}

Datum fitting_data(const Arguments &arguments)
{
    const auto catalogue = storage::catalogue();
    const pg::RawValue data = arguments.raw(3, JSONBOID);
    const storage::Queue *queue = catalogue->find(arguments.integer(0, "queue_id"));
    const storage::JobType *type = queue == nullptr ? nullptr : queue->find_job_type(arguments.text(1, "job_type"));
    return type == nullptr ? data.value : storage::complete_job_data(*type, data, arguments.integer64(2, "job_id")).value;
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq__fitting_data)
{
    return hipq::api::fitting_data(hipq::api::Arguments(fcinfo));
}

HIPQ_FUNCTION(hipq__masked)
{
    return hipq::api::show(fcinfo, hipq::storage::masked);
}

HIPQ_FUNCTION(hipq__masked_job)
{
    return hipq::api::show(fcinfo, hipq::storage::masked_job);
}
