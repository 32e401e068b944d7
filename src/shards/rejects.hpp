// Jobs that this node could not take.
#pragma once

#include "shards/receive.hpp"

namespace hipq::shards {

// Written to hipq.shard_reject here, and sent back to who sent the job.
void reject(const Letter &letter, pg::RawValue job, const pg::Error &error);
// The same of a job whose key an unfinished job has.
void reject_duplicate(const Letter &letter, pg::RawValue job);

}  // namespace hipq::shards
