// Classes of errors: whose fault one is, and whether it is about a lock.
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

// Whether an error tells of the job or its row; else the server has no room, or wants this process
// to stop.
bool is_fault_of_job(const pg::Error &error);

// Whether it says that a lock was not to be had.
bool is_lock_trouble(const pg::Error &error);

}  // namespace hipq::pg
