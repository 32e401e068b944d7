// The duties of schedulers that are set aside, and why, for hipq.alerts.
#pragma once

#include "core/process/duty.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::databases {

// Records that a duty of a queue of this database was set aside, or that it failed again. If the
// table is full, the duty is not recorded.
void note_set_aside(core::Duty duty, int queue_id, core::Trouble trouble,
                    std::string_view error) noexcept;

// Removes the record: the duty works again.
void clear_set_aside(core::Duty duty, int queue_id) noexcept;

// A starting scheduler clears all records of its database, except those of apply workers.
void clear_all_set_aside() noexcept;

// The records of this database.
std::vector<memory::SetAside> list_set_aside();

}  // namespace hipq::databases
