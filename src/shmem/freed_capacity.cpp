// Every lane that stands full is worth a look again.
#include "freed_capacity.hpp"

#include "shmem/databases.hpp"
#include "shmem/executors.hpp"
#include "shmem/lanes.hpp"

namespace hipq::shmem {

void tell_of_room(const core::RoomMade &made, Oid database, Oid role)
{
    for (std::uint32_t i = 0; i < made.key_count && i < core::RoomMade::most_keys; ++i)
        make_room(made.keys[i]);
    if (made.key_count > core::RoomMade::most_keys)
        make_room({database, 0, 0, 0});
    if (!wake_idle_executor(database, role))
        work_due(database, pg::Time{0});
    tell_of_freed_capacity(database);
}

}  // namespace hipq::shmem
