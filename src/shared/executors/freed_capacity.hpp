// Notifies processes that have waited for capacity under a limit when there is some.
#pragma once

#include "pg/postgres.hpp"
#include "core/lanes/job_table.hpp"

namespace hipq::executors {

// Notifies waiting processes: wakes one executor of the queue owner or, if none is idle, has the
// scheduler look for one.
void announce_freed_capacity(const core::FreedCapacity &made, Oid database, Oid role);

}  // namespace hipq::executors
