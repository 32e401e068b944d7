// Entries in cron.job, the table of pg_cron's jobs. Each calls hipq._run_schedule() for one
// schedule, with the rights of the schedule's maker. An entry's name, which contains the schedule's
// number, identifies it. All functions need a transaction.
#pragma once

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
// Returns whether pg_cron, which works from this database, has no process: a process that was
// terminated does not come back, and one that meets an error exits after each start.
bool is_cron_stopped();
void demand_cron();
// Creates or changes the entry of an existing schedule. Raises what pg_cron raises.
void put_entry(const Schedule &schedule);
// Does nothing if there is no entry. Raises 55000 if the entry cannot be removed because the server
// has not loaded pg_cron.
void remove_entry(int schedule_id);
// Removes the entries of all present and former schedules when the extension is dropped. Warns of
// entries that pg_cron may have in another database.
void remove_all_entries();
// Returns whether pg_cron will run it, in this database and as the role of the schedule.
bool has_entry(int schedule_id);
// A schedule without an entry for this database and its role. If pg_cron does not work here, all
// schedules are lost. An inactive entry counts as an entry.
struct LostSchedule {
    int id;
    std::string name;
    int queue_id;
    bool is_role_gone;
};
std::vector<LostSchedule> lost_schedules();
// Returns the time zone that pg_cron uses.
std::string cron_time_zone();

}  // namespace hipq::admin
