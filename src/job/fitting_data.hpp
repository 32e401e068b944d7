// Checks the job_data of jobs against the parameters of their type (catalog/job_parameters.hpp).
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"

namespace hipq::job {

// Applies catalog::complete_job_data() to a row.
void complete_job_data(RowValues &job, const catalog::JobType *type);

// Raises 22023 for the first job that must not start because its data do not fit and its type
// checks them at the start.
void demand_fitting_data(const catalog::Queue &queue, std::span<const ClaimedJob> jobs);

}  // namespace hipq::job
