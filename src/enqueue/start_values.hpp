// What a new job starts with where its enqueuer gives nothing.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::enqueue {

using KnownCatalogue = std::shared_ptr<const catalog::Catalogue>;

// The values for jobs of a type (nothing: one that nobody registered) of a queue of this catalogue:
// what the type decides, and start values of the rest. NULL in the columns that say which job it is
// and when it came (id, queue_id, job_type, state, the times of this transaction), and where a job
// starts with NULL. Made once; the values are valid as long as the caller holds the catalogue.
const job::RowValues &start_values(const KnownCatalogue &catalogue, const catalog::Queue &queue,
                                   const catalog::JobType *type);

}  // namespace hipq::enqueue
