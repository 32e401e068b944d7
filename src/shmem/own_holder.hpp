// The holder of jobs (registry.hpp) that this process is.
#pragma once

namespace hipq::shmem {

// Of an executor or a scheduler; -1: this process is neither.
int own_holder();

}  // namespace hipq::shmem
