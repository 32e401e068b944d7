// The statements that call handlers, parsed and planned once: PostgreSQL sees to it that a plan
// which has become wrong is made anew.
#pragma once

#include "pg/spi.hpp"

namespace hipq::execute {

// The one statement `sql` with parameters of the types given; kept for the life of the process.
// Needs a transaction. Raises what parsing and analysis raise, 42601 for several statements or
// none.
CachedPlanSource *handler_plan(const std::string &sql, std::span<const Oid> types);

}  // namespace hipq::execute
