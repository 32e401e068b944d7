// The arguments of hipq.schedule() that say when it runs.
#pragma once

#include "admin/schedules/schedule_rows.hpp"
#include "pg/arguments.hpp"

namespace hipq::admin {

// Fills them in. Its name and cron expression, and the job_key, are there already. Raises 22023.
void read_timing(const pg::Arguments &arguments, Schedule &schedule);

}  // namespace hipq::admin
