// What a new job starts with where its enqueuer gives nothing.
#pragma once

#include "storage/catalogue.hpp"
#include "storage/job_row.hpp"

namespace hipq::storage {

using KnownCatalogue = std::shared_ptr<const Catalogue>;

// The values for jobs of a type (nothing: one that nobody registered) of a queue of this catalogue: what the type decides, and
// start values of the rest. NULL in the columns that say which job it is and when it came (id, queue_id, job_type, state, the
// times of this transaction), and where a job starts with NULL. Made once; the values are valid as long as the
// caller holds the catalogue.
const RowValues &start_values(const KnownCatalogue &catalogue, const Queue &queue, const JobType *type);

}  // namespace hipq::storage
