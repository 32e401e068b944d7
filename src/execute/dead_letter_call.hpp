// Calls the handler of dead letters.
#pragma once

#include "execute/execute.hpp"
#include "execute/task.hpp"

namespace hipq::execute {

// Calls the handler of dead letters for one of them, if the scheduler has found any of this queue
// owner's. False: it has not.
bool handle_next_dead_letter(const Executor &executor);

}  // namespace hipq::execute
