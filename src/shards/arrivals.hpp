// Jobs of a sharded instance that come from another node.
#pragma once

#include "catalog/cache.hpp"
#include "job/job_row.hpp"

namespace hipq::shards {

// Writes jobs, which have ids and were checked by another node, to their queue here, and fills in
// the rest. `was_accepted`: they were in the queue on another node, and are not checked against
// later changes. Returns for each job whether it is here now: false if an unfinished job has its
// key. Raises the errors of enqueue() if a job is not valid here (a type that a strict queue does
// not know, parameters), and 23505 if an id is in use: then the subtransaction has to end.
std::vector<bool> accept(const catalog::Queue &queue, std::vector<job::RowValues> jobs,
                         bool was_accepted);

}  // namespace hipq::shards
