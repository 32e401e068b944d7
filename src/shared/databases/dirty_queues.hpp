// The queues to which something has happened since the scheduler of their database looked
// (core/process/dirty_set.hpp): it looks at those, and at what is due, and leaves the others alone.
//
// To be said after what has happened stands in shared memory, and before the scheduler is woken, if
// it has to look now.
#pragma once

#include "core/process/dirty_set.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::databases {

// Something has happened in a queue. Cannot fail, and takes no lock.
void note_dirty(Oid database, int queue_id) noexcept;

// Something has that may matter to every queue in which jobs wait. The same.
void note_all_dirty(Oid database) noexcept;

// Scheduler: takes those of its database. `seen` is kept from call to call, 0 at first.
core::DirtyQueues take_dirty(std::uint64_t &seen);

extern const memory::Part dirty_queues_part;

}  // namespace hipq::databases
