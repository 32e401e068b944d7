// The holder of jobs (registry.hpp) that this process is.
#pragma once

namespace hipq::memory {

// Of an executor or a scheduler; -1: this process is neither.
int own_holder();
bool is_executor();

// Said when the process attaches as one of them, and with -1 when it ends as that.
void set_own_holder(int holder);

}  // namespace hipq::memory
