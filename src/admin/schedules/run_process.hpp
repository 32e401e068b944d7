// Processes that run one schedule each, because its queue has triggers of users.
#pragma once

#include "pg/clock.hpp"

namespace hipq::admin {

// Starts a process for the schedule, unless enough of them run. It is connected as the queue owner,
// and ends with its scheduler.
void start_run_process(int schedule_id, Oid queue_owner);

// Returns the schedules whose processes have ended since the last call.
std::vector<int> ended_run_processes();

bool has_run_processes();

}  // namespace hipq::admin
