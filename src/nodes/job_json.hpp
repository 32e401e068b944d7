// The form in which a new job is sent from one node to another: a JSON object of its columns.
#pragma once

#include "job/job.hpp"

namespace hipq::nodes {

// jsonb of the columns that are not NULL, without its queue; in the current memory context.
pg::RawValue json_of(const job::RowValues &job);

// The same for many similar jobs, in two parts: the columns that the first one shares with the
// others, and for each job the columns that differ from that, with NULL as JSON null.
pg::RawValue shared_json_of(const job::RowValues &first);
pg::RawValue json_of(const job::RowValues &job, const job::RowValues &first);

// Convert back. A column that is not in the object is NULL, or as in `shared`; a member that is not
// a column is ignored (a newer release may have sent it). The result points into the current memory
// context. Raises what the types' input functions raise.
job::RowValues values_of(pg::RawValue json);
job::RowValues values_of(pg::RawValue json, const job::RowValues &shared);

// A deep copy in the current memory context.
job::RowValues copy_of(const job::RowValues &job);

}  // namespace hipq::nodes
