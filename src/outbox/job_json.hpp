// A new job as it travels from one node to another: a JSON object of its columns.
#pragma once

#include "job/job.hpp"

namespace hipq::outbox {

// jsonb of the columns that are not NULL, but for its queue; in the current memory context.
pg::RawValue json_of(const job::RowValues &job);

// And back: what is not in the object is NULL, what is no column is left out (a newer release may
// have sent it). Points into the current memory context. Raises what the types' input raises.
job::RowValues values_of(pg::RawValue json);

}  // namespace hipq::outbox
