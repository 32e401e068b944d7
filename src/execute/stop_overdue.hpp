// Handlers that do not stop when they are told to: their processes are terminated, and named in the
// log if even that does not help.
#pragma once

#include "pg/spi.hpp"

namespace hipq::execute {

// Takes the next step with each of them in a database, or (InvalidOid, for the launcher) wherever
// no scheduler does. Returns in how many microseconds to look again, at most longest_wait.
std::int64_t stop_overdue(Oid database);

}  // namespace hipq::execute
