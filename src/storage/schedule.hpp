// Schedules: rows of hipq.schedule, and their entries in pg_cron, which call hipq._run_schedule() with the rights of whoever made
// them. All need a transaction.
#pragma once

#include "storage/enqueue.hpp"

namespace hipq::storage {

struct Schedule {
    int id;
    std::string name;
    std::string cron;
    Oid role;  // that it enqueues as
    int queue_id;
    std::string job_key;   // "NONE" = none
    pg::RawValue data;     // jsonb
    JobOptions options{};  // of each job; expires_time is to come
    pg::RawValue expires_after{INTERVALOID, Datum{0}, true};
};

// With the expires_time of a job that comes at that time. Nothing: there is none.
std::optional<Schedule> find_schedule(std::string_view name, pg::Time now);
std::optional<Schedule> find_schedule(int id, pg::Time now);
// As it is when nobody else changes it; locked until the transaction ends. For those who may change it or are to run it: a run
// waits for whoever has it locked.
std::optional<Schedule> lock_schedule(int id, pg::Time now);

int add_schedule(const Schedule &schedule, pg::Time now);
void change_schedule(const Schedule &schedule);
void forget_schedule(int id);
// Of a queue that goes, entries included.
void forget_schedules_of(int queue_id);

enum class RunAction : unsigned char { enqueued, skipped };
void note_run(int id, RunAction action, std::int64_t job_id, pg::Time now);

// ---- pg_cron

// 55000 with what to do where pg_cron does not work from this database.
void demand_cron();
// Makes or changes the entry of a schedule that is there. Raises what pg_cron raises.
void put_entry(const Schedule &schedule);
// Does nothing where there is none.
void remove_entry(int schedule_id);
bool has_entry(int schedule_id);
// The zone by whose clocks pg_cron works.
std::string cron_time_zone();

}  // namespace hipq::storage
