// The statements that call handlers, parsed and planned once. PostgreSQL invalidates and replans a
// plan that has become wrong.
#pragma once

#include "pg/spi.hpp"

namespace hipq::execute {

// Returns the plan of the one statement `sql` with parameters of the given types, kept for the life
// of the process. Call it in a transaction. Raises what parsing and analysis raise, 42601 for
// several statements or none.
CachedPlanSource *handler_plan(const std::string &sql, std::span<const Oid> types);

}  // namespace hipq::execute
