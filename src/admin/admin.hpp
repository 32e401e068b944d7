// What owners and operators do to queues and jobs: create and change queues, describe a set-up,
// cancel, retry, move, pause, schedule, and deal with dead letters. Declares what other rooms may
// use.
#pragma once

#include "catalog/cache.hpp"
#include "core/text/names.hpp"
#include "enqueue/enqueue.hpp"
#include "pg/clock.hpp"

#include <string>

namespace hipq::admin {

// ---- table name ----

// While an object of this class exists, no strategy runs in this process, and tables get their
// default names.
class DefaultNamesOnly {
public:
    DefaultNamesOnly();
    ~DefaultNamesOnly();
    DefaultNamesOnly(const DefaultNamesOnly &) = delete;
    DefaultNamesOnly &operator=(const DefaultNamesOnly &) = delete;

private:
    bool before_;
};

// ---- schedule rows ----

// For messages: schedule "nightly" of queue "app.mail".
std::string title_of(const catalog::Catalogue &catalogue, std::string_view name, int queue_id);

// Whether there are schedules that pg_cron tells.
bool has_cron_schedule();

// Returns the title of a schedule that enqueues as the role, or nothing if there is none.
std::optional<std::string> title_of_role(const catalog::Catalogue &catalogue, Oid role);

// ---- cron entries ----

// Returns whether pg_cron, which works from this database, has no process: a process that was
// terminated does not come back, and one that meets an error exits after each start.
bool is_cron_stopped();
void demand_cron();

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

// ---- end of pauses ----

// For the scheduler: ends pauses whose time is over. Returns when to call it again, unless pauses
// change meanwhile. Call with no transaction open.
pg::Time end_pauses(const catalog::Catalogue &catalogue, pg::Time now);

// Does the same in the caller's transaction for a queue, its instance included.
void end_pauses_of(const catalog::Catalogue &catalogue, const catalog::Queue &queue, pg::Time now);

// ---- mend entries ----

// Gives entries the current names of their schedules' roles and of this database, and removes
// entries whose role is gone: pg_cron's process exits at an entry of a role that does not exist,
// again after each start, and then no schedule of the server runs. Returns whether there is
// anything to keep right: false in a database that is held, has no schedules, or is not the one
// that pg_cron works from. Needs a transaction.
bool mend_entries();

// For the scheduler: mends entries once a minute, because roles are renamed and dropped in other
// databases too. Returns the time of its next look. Call with no transaction open.
pg::Time look_after_entries(pg::Time now);

// ---- own runs ----

// For the scheduler: carries out the runs of schedules that hipq tells and that are due, for some
// milliseconds. Returns when to call again. Call with no transaction open, but after one that has
// received the latest changes.
pg::Time look_after_runs(pg::Time now);

}  // namespace hipq::admin
