// Schedules: rows of hipq.schedule. What pg_cron has of them: cron_entries.hpp. All need a
// transaction.
#pragma once

#include "enqueue/enqueue.hpp"

namespace hipq::admin {

struct Schedule {
    int id;
    std::string name;  // unique in its queue
    std::string cron;
    Oid role;  // that it enqueues as
    int queue_id;
    std::string job_key;            // "NONE" = none
    pg::RawValue data;              // jsonb
    enqueue::JobOptions options{};  // of each job; expires_time is to come
    pg::RawValue expires_after{INTERVALOID, Datum{0}, true};
};

// For messages: schedule "nightly" of queue "app.mail".
std::string title_of(const catalog::Catalogue &catalogue, std::string_view name, int queue_id);

// With the expires_time of a job that comes at that time. Nothing: there is none.
std::optional<Schedule> find_schedule(int queue_id, std::string_view name, pg::Time now);
std::optional<Schedule> find_schedule(int id, pg::Time now);
// In whichever queues.
std::vector<Schedule> find_schedules(std::string_view name, pg::Time now);
// As it is when nobody else changes it; locked until the transaction ends. For those who may change
// it or are to run it: a run waits for whoever has it locked.
std::optional<Schedule> lock_schedule(int id, pg::Time now);

int add_schedule(const Schedule &schedule, pg::Time now);
// Name and queue stay.
void change_schedule(const Schedule &schedule);
void forget_schedule(int id);
// Of a queue that goes, entries included.
void forget_schedules_of(int queue_id);

enum class RunAction : unsigned char { enqueued, skipped };

bool has_any_schedule();
// Title of a schedule that enqueues as a role; nothing: there is none.
std::optional<std::string> title_of_role(const catalog::Catalogue &catalogue, Oid role);
// Names, "a, b", of schedules of a queue that may not enqueue there, among those whose roles have
// the rights of a role; empty: there are none.
std::string schedules_without_right(const catalog::Queue &queue, Oid role);

void note_run(int id, RunAction action, std::int64_t job_id, pg::Time now);

}  // namespace hipq::admin
