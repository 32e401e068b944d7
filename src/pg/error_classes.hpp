// Whose fault an error is.
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

// Whether an error tells of the job or its row; else the server has no room, or wants this process
// to stop.
bool is_fault_of_job(const pg::Error &error);

}  // namespace hipq::pg
