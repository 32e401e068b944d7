// Reads and writes rows of hipq.schedule.
#include "rows.hpp"

#include "pg/internal_write.hpp"
#include "schedules/cron_entries.hpp"

namespace hipq::schedules {

namespace {

#define HIPQ_SCHEDULE_COLUMNS                                                                      \
    "schedule.schedule_id, schedule.name, schedule.cron, schedule.role, schedule.queue_id, "       \
    "schedule.job_key, "                                                                           \
    "schedule.job_data, "                                                                          \
    "schedule.job_type, schedule.priority, schedule.timeout, schedule.throttle_factor::text, "     \
    "schedule.time_windows, "                                                                      \
    "schedule.max_retries, $2 + extract(epoch FROM schedule.expires_after) * interval '1 "         \
    "second', "                                                                                    \
    "schedule.throttle_key"

constinit pg::Statement select_by_name("SELECT " HIPQ_SCHEDULE_COLUMNS
                                       " FROM hipq.schedule AS schedule WHERE schedule.name = $1");
constinit pg::Statement
    select_by_id("SELECT " HIPQ_SCHEDULE_COLUMNS
                 " FROM hipq.schedule AS schedule WHERE schedule.schedule_id = $1");
constinit pg::Statement
    select_for_update("SELECT " HIPQ_SCHEDULE_COLUMNS
                      " FROM hipq.schedule AS schedule WHERE schedule.schedule_id = $1 FOR UPDATE");

constinit pg::Statement insert(R"(
    INSERT INTO hipq.schedule (name, cron, role, queue_id, job_key, job_data, job_type, priority, timeout, throttle_factor, time_windows,
                               max_retries, expires_after, throttle_key, created_time)
    VALUES ($1, $2, $3, $4, $5, coalesce($6, '{}'), $7, $8, $9, $10, $11, $12, $13, $14, $15)
    RETURNING schedule_id)");

constinit pg::Statement update(R"(
    UPDATE hipq.schedule
    SET cron = $2, role = $3, queue_id = $4, job_key = $5, job_data = coalesce($6, '{}'), job_type = $7, priority = $8, timeout = $9, throttle_factor = $10,
        time_windows = $11, max_retries = $12, expires_after = $13, throttle_key = $14
    WHERE schedule_id = $1)");

constinit pg::Statement delete_by_id("DELETE FROM hipq.schedule WHERE schedule_id = $1");
constinit pg::Statement
    select_of_queue("SELECT schedule_id FROM hipq.schedule WHERE queue_id = $1 FOR UPDATE");

constinit pg::Statement update_run(R"(
    UPDATE hipq.schedule SET last_run_time = $2, last_action = $3, last_job_id = $4 WHERE schedule_id = $1)");

pg::RawValue numeric_of(const std::optional<std::string> &text)
{
    if (!text.has_value())
        return {NUMERICOID, Datum{0}, true};
    return pg::call([&] {
        const Datum value = DirectFunctionCall3(::numeric_in, CStringGetDatum(text->c_str()),
                                                ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
        return pg::RawValue{NUMERICOID, value, false};
    });
}

template <class Number>
std::optional<Number> maybe(const pg::Row &row, int column)
{
    return row.null(column) ? std::nullopt
                            : std::optional(static_cast<Number>(row.integer(column)));
}

std::optional<Schedule> read(const pg::Rows &rows)
{
    if (rows.empty())
        return std::nullopt;
    const pg::Row row = rows.front();
    Schedule schedule{row.integer32(0), row.text(1), row.text(2), row.oid(3),
                      row.integer32(4), row.text(5), row.raw(6)};
    schedule.options.type = row.text(7);
    schedule.options.priority = maybe<std::int16_t>(row, 8);
    schedule.options.timeout = maybe<int>(row, 9);
    schedule.options.throttle_factor = numeric_of(row.maybe_text(10));
    schedule.options.time_windows = row.maybe_text(11);
    schedule.options.max_retries = maybe<int>(row, 12);
    if (!row.null(13))
        schedule.options.expires_time = row.time(13);
    schedule.options.throttle_key = row.maybe_text(14);
    return schedule;
}

const char *name_of(RunAction action)
{
    return action == RunAction::enqueued ? "enqueued" : "skipped";
}

}  // namespace

std::optional<Schedule> find_schedule(std::string_view name, pg::Time now)
{
    return read(pg::as_hipq([&] { return select_by_name.run(name, now); }));
}

std::optional<Schedule> find_schedule(int id, pg::Time now)
{
    return read(pg::as_hipq([&] { return select_by_id.run(id, now); }));
}

std::optional<Schedule> lock_schedule(int id, pg::Time now)
{
    return read(pg::as_hipq([&] { return select_for_update.run(id, now); }));
}

int add_schedule(const Schedule &schedule, pg::Time now)
{
    const enqueue::JobOptions &job = schedule.options;
    return pg::as_hipq([&] {
        return insert
            .run(schedule.name, schedule.cron, schedule.role, schedule.queue_id, schedule.job_key,
                 schedule.data, job.type, job.priority, job.timeout, job.throttle_factor,
                 job.time_windows, job.max_retries, schedule.expires_after, job.throttle_key, now)
            .front()
            .integer32(0);
    });
}

void change_schedule(const Schedule &schedule)
{
    const enqueue::JobOptions &job = schedule.options;
    pg::as_hipq([&] {
        update.run(schedule.id, schedule.cron, schedule.role, schedule.queue_id, schedule.job_key,
                   schedule.data, job.type, job.priority, job.timeout, job.throttle_factor,
                   job.time_windows, job.max_retries, schedule.expires_after, job.throttle_key);
    });
}

void forget_schedule(int id)
{
    remove_entry(id);
    pg::as_hipq([&] { delete_by_id.run(id); });
}

void forget_schedules_of(int queue_id)
{
    const pg::Rows rows = pg::as_hipq([&] { return select_of_queue.run(queue_id); });
    for (const pg::Row row : rows)
        forget_schedule(row.integer32(0));
}

void note_run(int id, RunAction action, std::int64_t job_id, pg::Time now)
{
    pg::as_hipq([&] { update_run.run(id, now, name_of(action), job_id); });
}

}  // namespace hipq::schedules
