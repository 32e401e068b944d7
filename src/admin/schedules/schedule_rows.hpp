// Schedules: rows of hipq.schedule. Their entries in pg_cron are in cron_entries.hpp. All functions
// need a transaction.
#pragma once

#include "admin/admin.hpp"
#include "catalog/cache.hpp"
#include "enqueue/enqueue.hpp"

namespace hipq::admin {

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
};

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

enum class RunAction : unsigned char { enqueued, skipped };
// Returns the names, "a, b", of the schedules of a queue whose roles may not enqueue there, among
// roles that have the rights of `role`; empty if there are none.
std::string schedules_without_right(const catalog::Queue &queue, Oid role);

void note_run(int id, RunAction action, std::int64_t job_id, pg::Time now);

}  // namespace hipq::admin
