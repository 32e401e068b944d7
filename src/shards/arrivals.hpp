// Jobs of a sharded instance that come from another node.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::shards {

// Writes jobs, which have their ids and which another node has checked, to their queue here, and
// fills in the rest. `was_accepted`: they were in the queue on another node, and are not checked
// against what has been altered since. Says of each whether it is there now: not if an unfinished
// job has its key. Raises what enqueue() does for what does not fit here (a type that a strict
// queue does not know, parameters), and 23505 if an id is in use: then the subtransaction has to
// end.
std::vector<bool> accept(const catalog::Queue &queue, std::vector<job::RowValues> jobs,
                         bool was_accepted);

}  // namespace hipq::shards
