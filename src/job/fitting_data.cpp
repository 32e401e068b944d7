// Checks the job_data of whole rows, by catalog/job_parameters.hpp.
#include "job/fitting_data.hpp"

#include "catalog/cache.hpp"
#include "catalog/job_parameters.hpp"
#include "job/job_row.hpp"
#include "pg/demand.hpp"

namespace hipq::job {

using core::Column;

void complete_job_data(RowValues &job, const catalog::JobType *type)
{
    if (type == nullptr || type->parameters == nullptr)
        return;
    const pg::RawValue given{JSONBOID, job.value(Column::job_data), job.null(Column::job_data)};
    const pg::RawValue data = catalog::complete_job_data(*type, given);
    if (!data.null && data.value != given.value)
        job.set(Column::job_data, data.value);
}

void demand_fitting_data(const catalog::Queue &queue, std::span<const ClaimedJob> jobs)
{
    const catalog::JobType *type = queue.find_job_type(jobs.front().type);
    if (type == nullptr || type->parameters == nullptr)
        return;
    for (const ClaimedJob &job : jobs)
        pg::demand(catalog::what_does_not_fit(*type, job.data));
}

}  // namespace hipq::job
