// Places for executors that are kept free for queue owners that have none
// (hipq.reserved_executors): who has one already cannot take them, so jobs that run for long cannot
// keep another owner's first job waiting.
#pragma once

#include "shared/executors/executor_table.hpp"

namespace hipq::executors {

// Scheduler: queue owners of its database whose jobs may need executors.
void note_queue_owners(int owners);

// All of these need the lock
// ----------------------------------------------------------------------------------------------

struct Places {
    int taken;
    int kept;
};

// Of hipq.max_executors. `leaving`: as if that executor were not there.
Places places(const ExecutorSlot *leaving = nullptr);

// Whether an owner may have one more executor, by the places there are.
bool has_place(const Places &places, Oid database, Oid role);

// Whether the executor is one of an owner's several and sits where a place should be free, since
// there came to be another owner.
bool takes_kept_place(const ExecutorSlot &slot);

}  // namespace hipq::executors
