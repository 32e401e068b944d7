// Asks job_parameters.hpp for each.
#include "fitting_data.hpp"

#include "storage/demand.hpp"
#include "storage/job_parameters.hpp"
#include "storage/job_row.hpp"

namespace hipq::storage {

using core::Column;

void complete_job_data(RowValues &job, const JobType *type)
{
    if (type == nullptr || type->parameters == nullptr)
        return;
    const pg::RawValue given{JSONBOID, job.value(Column::job_data), job.null(Column::job_data)};
    const pg::RawValue data = complete_job_data(*type, given);
    if (!data.null && data.value != given.value)
        job.set(Column::job_data, data.value);
}

void demand_fitting_data(const Queue &queue, std::span<const ClaimedJob> jobs)
{
    const JobType *type = queue.find_job_type(jobs.front().type);
    if (type == nullptr || type->parameters == nullptr)
        return;
    for (const ClaimedJob &job : jobs)
        demand(what_does_not_fit(*type, job.data));
}

}  // namespace hipq::storage
