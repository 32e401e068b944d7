// Schedules: rows of hipq.schedule. Their entries in pg_cron are in cron_entries.hpp. All functions
// need a transaction.
#pragma once

#include "admin/admin.hpp"
#include "catalog/cache.hpp"
#include "core/schedules/schedule_times.hpp"
#include "enqueue/enqueue.hpp"

namespace hipq::admin {

// The next run of a schedule that hipq tells: its time, and when it is due, with jitter.
struct NextRun {
    pg::Time time;
    pg::Time due;
    bool operator==(const NextRun &) const = default;
};

struct Schedule {
    int id;
    std::string name;  // unique in its queue
    std::string cron;
    Oid role;  // the role that it enqueues as
    int queue_id;
    std::string job_key;            // "NONE" = none
    pg::RawValue data;              // jsonb
    enqueue::JobOptions options{};  // of each job; expires_time is set at each run
    pg::RawValue expires_after{INTERVALOID, Datum{0}, true};

    bool is_own = false;      // hipq tells its runs; else pg_cron does
    std::string time_zone{};  // of an own one
    core::Missed missed = core::Missed::once;
    std::int64_t missed_within = USECS_PER_DAY;
    std::int64_t jitter = 0;
    core::Overlap overlap = core::Overlap::skip;
    std::optional<pg::Time> starts{};
    std::optional<pg::Time> ends{};
    std::optional<NextRun> next{};        // of an own one; nothing: there is none
    std::optional<pg::Time> last_time{};  // the time of the last run
    std::optional<pg::Time> last_run{};   // when it ran
    std::string last_error{};
    int tries = 0;
};

// The condition that pg_cron tells the row "schedule". Tables of 0.2.0 have no column for it.
#define HIPQ_TOLD_BY_CRON "to_jsonb(schedule) ->> 'told_by' IS DISTINCT FROM 'hipq'"

// Return a schedule, with the expires_time of a job that it would enqueue at `now`; nothing if
// there is no such schedule.
std::optional<Schedule> find_schedule(int queue_id, std::string_view name, pg::Time now);
std::optional<Schedule> find_schedule(int id, pg::Time now);
// Returns the schedules of that name in all queues.
std::vector<Schedule> find_schedules(std::string_view name, pg::Time now);
// Locks the schedule until the transaction ends, and returns its latest state. Call it only for a
// role that may change or run the schedule: a run waits for the session that holds the lock.
std::optional<Schedule> lock_schedule(int id, pg::Time now);

int add_schedule(const Schedule &schedule, pg::Time now);
// Does not change name and queue.
void change_schedule(const Schedule &schedule);
void forget_schedule(int id);
// Removes the schedules of a queue that is dropped, with their entries.
void forget_schedules_of(int queue_id);

// Tells the scheduler at commit that times of schedules have changed.
void tell_of_times();

enum class RunAction : unsigned char { enqueued, skipped, missed, failed };
// Returns the names, "a, b", of the schedules of a queue whose roles may not enqueue there, among
// roles that have the rights of `role`; empty if there are none.
std::string schedules_without_right(const catalog::Queue &queue, Oid role);

// Records a run of pg_cron.
void note_run(int id, RunAction action, std::int64_t job_id, pg::Time now);

// ---- schedules that hipq tells ----

// What became of the last run that was due.
struct LastRun {
    RunAction action;
    std::optional<std::int64_t> job_id{};
    std::string error{};
    bool keeps_error = false;  // an earlier error stays, if there is no new one
};

// Returns the schedules that are due, the earliest first, without `put_off`. They may be locked.
std::vector<int> due_schedules(pg::Time now, const std::vector<std::int64_t> &put_off, int most);
// When the first one is due, apart from `put_off`; infinity: none is.
pg::Time next_due_time(const std::vector<std::int64_t> &put_off);
// Locks a schedule that is due until the transaction ends, and returns it. Nothing: it is not due,
// or locked.
std::optional<Schedule> lock_due_schedule(int id, pg::Time now);
// Returns hipq's own schedules whose next time is ahead, or unknown.
std::vector<Schedule> planned_schedules(pg::Time now);

void set_next(int id, const std::optional<NextRun> &next);
void note_own_run(int id, const LastRun &run, pg::Time time, const std::optional<NextRun> &next,
                  pg::Time now);
// Counts that a process begins the next run. Returns how many have.
int count_try(int id);

}  // namespace hipq::admin
