// The prefetched batches of executors, as the scheduler looks after them.
#pragma once

#include "shared/executors/executor_slots.hpp"

namespace hipq::executors {

// What was found when looking after the prefetched batches of a database's executors.
struct PrefetchedLook {
    bool has_returned_jobs;  // jobs are waiting again
    bool watch_on;           // some executor still has a prefetched batch
};
// Takes back the reserved jobs of executors whose current job has run for more than a moment.
PrefetchedLook look_after_prefetched(pg::Time now);

}  // namespace hipq::executors
