// Classifies errors: whether the job or the server is at fault, and whether a lock is the cause.
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

// Returns whether an error is about the job or its row. Otherwise the server lacks resources, or
// wants this process to stop.
bool is_fault_of_job(const pg::Error &error);

// Returns whether the error says that a lock was not available.
bool is_lock_trouble(const pg::Error &error);

}  // namespace hipq::pg
