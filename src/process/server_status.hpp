// Whether the server is on its way down.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::process {

// Whether a shutdown of the server has begun: smart, fast or immediate. Before the postmaster ends
// any process for it, it says so in its file. Reads that file; where it cannot, the answer is no.
bool is_server_stopping();

}  // namespace hipq::process
