// Entries in cron.job, where pg_cron keeps what it runs: each calls hipq._run_schedule() for one
// schedule, with the rights of whoever made that. An entry is known by its name, which has the
// schedule's number. All need a transaction.
#pragma once

#include "admin/schedules/schedule_rows.hpp"

namespace hipq::admin {

// The entry that hipq has made of a schedule, whoever's it is: in a statement with both tables.
#define HIPQ_ENTRY_OF_SCHEDULE                                                                     \
    "entry.jobname::text = format('hipq schedule %s', schedule.schedule_id) "                      \
    "AND entry.command = format('SELECT hipq._run_schedule(%s)', schedule.schedule_id)"

// Whether pg_cron works from this database; 55000 with what to do where it does not.
bool is_cron_working();
// Whether pg_cron, which works from this database, has no process: one that somebody has ended does
// not come back, and one that meets an error ends at each start.
bool is_cron_stopped();
void demand_cron();
// Makes or changes the entry of a schedule that is there. Raises what pg_cron raises.
void put_entry(const Schedule &schedule);
// Does nothing where there is none. 55000 where there is one that cannot be removed, because the
// server has not loaded pg_cron.
void remove_entry(int schedule_id);
// Of all schedules that there are or were, as the extension goes. Warns of what another database's
// pg_cron may have.
void remove_all_entries();
// Whether pg_cron will run it, in this database and as the role of the schedule.
bool has_entry(int schedule_id);
// Those without an entry for this database and their role: all where pg_cron does not work. An
// entry that somebody has made inactive counts.
struct LostSchedule {
    int id;
    std::string name;
    int queue_id;
    bool is_role_gone;
};
std::vector<LostSchedule> lost_schedules();
// The zone by whose clocks pg_cron works.
std::string cron_time_zone();

}  // namespace hipq::admin
