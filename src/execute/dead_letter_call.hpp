// Calls the handler of dead letters.
#pragma once

#include "execute/execute.hpp"
#include "execute/task.hpp"

namespace hipq::execute {

// Calls the handler for one dead letter of this queue owner, if the scheduler has found any.
// Returns false if it has found none.
bool handle_next_dead_letter(const Executor &executor);

}  // namespace hipq::execute
