// Wakes whoever has waited for capacity under a limit, once there is some.
#pragma once

namespace hipq::executors {

// Tells who has waited of capacity: wakes one executor of the queue owner, or the scheduler to find
// one.
void announce_freed_capacity(const core::FreedCapacity &made, Oid database, Oid role);

}  // namespace hipq::executors
