// The number under which this process holds jobs (see "holders" in registry.hpp).
#pragma once

namespace hipq::memory {

// The holder number of this executor or scheduler; -1: this process is neither.
int own_holder();
bool is_executor();

// A process sets its number when it attaches as an executor or a scheduler, and -1 when it
// detaches.
void set_own_holder(int holder);

}  // namespace hipq::memory
