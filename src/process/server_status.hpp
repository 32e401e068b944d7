// Tells whether the server is shutting down.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::process {

// Returns whether a shutdown of the server has begun: smart, fast or immediate. The postmaster
// records it in its PID file before it ends any process. Reads that file; if it cannot, returns
// false.
bool is_server_stopping();

}  // namespace hipq::process
