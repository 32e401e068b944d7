// The job_data of jobs, held against the parameters of their type (catalog/job_parameters.hpp).
#pragma once

#include "job/claimed_job.hpp"

namespace hipq::job {

// complete_job_data() in a row.
void complete_job_data(RowValues &job, const catalog::JobType *type);

// 22023 for the first of the jobs that are about to start and must not: its data do not fit, and
// its type has that found out now.
void demand_fitting_data(const catalog::Queue &queue, std::span<const ClaimedJob> jobs);

}  // namespace hipq::job
