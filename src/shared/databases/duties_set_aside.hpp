// Which duties of a scheduler are set aside, and why: kept for hipq.alerts.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::databases {

// Sets a duty of a queue of this database aside, or says that it failed again. Where there is no
// room it is not told of.
void note_set_aside(core::Duty duty, int queue_id, core::Trouble trouble,
                    std::string_view error) noexcept;

// It works again.
void clear_set_aside(core::Duty duty, int queue_id) noexcept;

// For a scheduler that begins: it knows of none. What apply workers say stays.
void clear_all_set_aside() noexcept;

// Those of this database.
std::vector<memory::SetAside> list_set_aside();

}  // namespace hipq::databases
