// Commits after each step of a procedure, because a later step needs what an earlier one has
// created, or what another server has seen of it.
#pragma once

#include "pg/guard.hpp"

namespace hipq::shards {

// Raises 2D000 within a transaction block or a function. `procedure`: its name.
void demand_step_by_step(FunctionCallInfo fcinfo, const char *procedure);

// Commits, and goes on in a new transaction.
void next_step();

}  // namespace hipq::shards
