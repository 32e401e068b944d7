// Wakes whoever has waited for room under a limit, once there is some.
#pragma once

#include "memory/memory.hpp"

namespace hipq::executors {

// Tells who has waited of room: wakes one executor of the queue owner, or the scheduler to find
// one.
void tell_of_room(const core::RoomMade &made, Oid database, Oid role);

}  // namespace hipq::executors
