// Places for executors that are kept free for queue owners that have none
// (hipq.reserved_executors). Owners that have an executor cannot take them, so long-running jobs
// cannot keep another owner's first job waiting.
#pragma once

#include "shared/executors/executor_table.hpp"

namespace hipq::executors {

// The scheduler sets the number of queue owners of its database whose jobs may need executors.
void note_queue_owners(int owners);

// The functions below need the lock
// ----------------------------------------------------------------------------------------------

struct Places {
    int taken;
    int kept;
};

// Counts the places under hipq.max_executors. `leaving`: an executor to leave out of the count.
Places places(const ExecutorSlot *leaving = nullptr);

// Whether an owner may have one more executor.
bool has_place(const Places &places, Oid database, Oid role);

// Whether the executor, one of several of its owner, occupies a place that must be free because
// another owner has appeared.
bool takes_kept_place(const ExecutorSlot &slot);

}  // namespace hipq::executors
