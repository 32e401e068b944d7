// The dirty queues: those in which something has happened since the scheduler of their database
// looked last (core/process/dirty_set.hpp). The scheduler looks at dirty queues and at due ones,
// and skips the others.
//
// Mark a queue dirty after the change is visible in shared memory, and, if the scheduler must look
// now, before waking it.
#pragma once

#include "core/process/dirty_set.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::databases {

// Marks a queue dirty. Cannot fail, and takes no lock.
void note_dirty(Oid database, int queue_id) noexcept;

// Marks every queue of the database in which jobs wait as dirty. Cannot fail, and takes no lock.
void note_all_dirty(Oid database) noexcept;

// The scheduler takes the dirty queues of its database. `seen` is kept from call to call; it starts
// as 0.
core::DirtyQueues take_dirty(std::uint64_t &seen);

extern const memory::Part dirty_queues_part;

}  // namespace hipq::databases
