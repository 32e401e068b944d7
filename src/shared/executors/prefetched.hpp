// How the scheduler watches the prefetched batches of executors.
#pragma once

#include "shared/executors/executor_slots.hpp"

namespace hipq::executors {

// The result of checking the prefetched batches of a database's executors.
struct PrefetchedLook {
    bool has_returned_jobs;  // jobs are waiting again
    bool watch_on;           // some executor still has a prefetched batch
};
// Takes back the reserved jobs of executors whose current job has been running for a while.
PrefetchedLook look_after_prefetched(pg::Time now);

}  // namespace hipq::executors
