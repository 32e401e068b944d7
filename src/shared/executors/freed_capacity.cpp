// Notifies the processes that wait for capacity.
//
// Makes every lane that waits for that capacity worth a look again.
#include "shared/executors/freed_capacity.hpp"

#include "shared/databases/database_slots.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

void announce_freed_capacity(const core::FreedCapacity &made, Oid database, Oid role)
{
    for (std::uint32_t i = 0; i < made.key_count && i < core::FreedCapacity::most_keys; ++i)
        lanes::make_capacity(made.keys[i]);
    if (made.key_count > core::FreedCapacity::most_keys)
        lanes::make_capacity({database, 0, 0, 0});
    if (!wake_idle_executor(database, role))
        databases::work_due(database, pg::Time{0});
    memory::tell_of_freed_capacity(database);
}

}  // namespace hipq::executors
