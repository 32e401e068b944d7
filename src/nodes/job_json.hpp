// A new job as it travels from one node to another: a JSON object of its columns.
#pragma once

#include "job/job.hpp"

namespace hipq::nodes {

// jsonb of the columns that are not NULL, but for its queue; in the current memory context.
pg::RawValue json_of(const job::RowValues &job);

// The same of many that are much alike, in two parts: what the first of them shares with the
// others, and of each what differs from that, NULL as the null of JSON.
pg::RawValue shared_json_of(const job::RowValues &first);
pg::RawValue json_of(const job::RowValues &job, const job::RowValues &first);

// And back: what is not in the object is NULL, or as in `shared`; what is no column is left out (a
// newer release may have sent it). Points into the current memory context. Raises what the types'
// input raises.
job::RowValues values_of(pg::RawValue json);
job::RowValues values_of(pg::RawValue json, const job::RowValues &shared);

// With all that it points to in the current memory context.
job::RowValues copy_of(const job::RowValues &job);

}  // namespace hipq::nodes
