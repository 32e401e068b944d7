// The values of a new job for which its enqueuer gives none.
#pragma once

#include "catalog/cache.hpp"
#include "enqueue/enqueue.hpp"
#include "job/job_row.hpp"

namespace hipq::enqueue {

// The values for jobs of a type (null: an unregistered one) of a queue of this catalogue: those
// that the type determines, and start values for the rest. NULL in the columns that identify the
// job and its time (id, queue_id, job_type, state, the times of this transaction), and where a job
// starts with NULL. Computed once; the values are valid as long as the caller holds the catalogue.
const job::RowValues &start_values(const KnownCatalogue &catalogue, const catalog::Queue &queue,
                                   const catalog::JobType *type);

}  // namespace hipq::enqueue
