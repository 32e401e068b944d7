// Entries in cron.job, the table of pg_cron's jobs. Each calls hipq._run_schedule() for one
// schedule, with the rights of the schedule's maker. An entry's name, which contains the schedule's
// number, identifies it. All functions need a transaction.
#pragma once

#include "admin/admin.hpp"
#include "admin/schedules/schedule_rows.hpp"

namespace hipq::admin {

// Matches the entry that hipq made for a schedule, whatever its role, in a statement with both
// tables.
#define HIPQ_ENTRY_OF_SCHEDULE                                                                     \
    "entry.jobname::text = format('hipq schedule %s', schedule.schedule_id) "                      \
    "AND entry.command = format('SELECT hipq._run_schedule(%s)', schedule.schedule_id)"

// Returns whether pg_cron works from this database. demand_cron() raises 55000 and says what to do
// if it does not.
bool is_cron_working();
// Creates or changes the entry of an existing schedule. Raises what pg_cron raises.
void put_entry(const Schedule &schedule);
// Does nothing if there is no entry. Raises 55000 if the entry cannot be removed because the server
// has not loaded pg_cron.
void remove_entry(int schedule_id);

}  // namespace hipq::admin
