// Reads and writes rows of hipq.schedule.
#include "admin/schedules/schedule_rows.hpp"

#include "admin/schedules/cron_entries.hpp"
#include "catalog/cache.hpp"
#include "pg/fields.hpp"
#include "pg/internal_write.hpp"

namespace hipq::admin {

namespace {

using enqueue::JobOptions;
using pg::field;

pg::RawValue numeric_of(const std::string &text)
{
    return pg::call([&] {
        const Datum value = DirectFunctionCall3(::numeric_in, CStringGetDatum(text.c_str()),
                                                ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
        return pg::RawValue{NUMERICOID, value, false};
    });
}

void fill_throttle_factor(Schedule &schedule, const pg::Value &value)
{
    schedule.options.throttle_factor = numeric_of(value.text());
}

template <auto member>
constexpr pg::Field<Schedule> option(const char *expression)
{
    return field<&Schedule::options, member>(expression);
}

constexpr std::array schedule_fields{
    field<&Schedule::id>("schedule.schedule_id"),
    field<&Schedule::name>("schedule.name"),
    field<&Schedule::cron>("schedule.cron"),
    field<&Schedule::role>("schedule.role::oid"),
    field<&Schedule::queue_id>("schedule.queue_id"),
    field<&Schedule::job_key>("schedule.job_key"),
    field<&Schedule::data>("schedule.job_data"),
    option<&JobOptions::type>("schedule.job_type"),
    option<&JobOptions::priority>("schedule.priority"),
    option<&JobOptions::timeout>("schedule.timeout"),
    pg::Field<Schedule>{"schedule.throttle_factor::text", fill_throttle_factor},
    option<&JobOptions::time_windows>("schedule.time_windows"),
    option<&JobOptions::max_retries>("schedule.max_retries"),
    option<&JobOptions::expires_time>("$2 + extract(epoch FROM schedule.expires_after)"
                                      " * interval '1 second'"),
    option<&JobOptions::throttle_key>("schedule.throttle_key"),
};

using SelectSchedule = pg::Selection<Schedule>;
constinit SelectSchedule select_by_name(schedule_fields,
                                        "FROM hipq.schedule AS schedule WHERE schedule.name = $1 "
                                        "ORDER BY schedule.queue_id");
constinit SelectSchedule select_in_queue(schedule_fields,
                                         "FROM hipq.schedule AS schedule "
                                         "WHERE schedule.queue_id = $1 AND schedule.name = $3");
constinit SelectSchedule
    select_by_id(schedule_fields, "FROM hipq.schedule AS schedule WHERE schedule.schedule_id = $1");
constinit SelectSchedule
    select_for_update(schedule_fields,
                      "FROM hipq.schedule AS schedule WHERE schedule.schedule_id = $1 FOR UPDATE");

constinit pg::Statement insert(R"(
    INSERT INTO hipq.schedule (name, cron, role, queue_id, job_key, job_data, job_type, priority, timeout, throttle_factor, time_windows,
                               max_retries, expires_after, throttle_key, created_time)
    VALUES ($1, $2, $3, $4, $5, coalesce($6, '{}'), $7, $8, $9, $10, $11, $12, $13, $14, $15)
    RETURNING schedule_id)");

constinit pg::Statement update(R"(
    UPDATE hipq.schedule
    SET cron = $2, role = $3, job_key = $4, job_data = coalesce($5, '{}'), job_type = $6, priority = $7, timeout = $8, throttle_factor = $9,
        time_windows = $10, max_retries = $11, expires_after = $12, throttle_key = $13
    WHERE schedule_id = $1)");

constinit pg::Statement delete_by_id("DELETE FROM hipq.schedule WHERE schedule_id = $1");
constinit pg::Statement
    select_of_queue("SELECT schedule_id FROM hipq.schedule WHERE queue_id = $1 FOR UPDATE");

constinit pg::Statement select_any_schedule("SELECT 1 FROM hipq.schedule LIMIT 1");

constinit pg::Statement select_of_role(R"(
    SELECT name, queue_id FROM hipq.schedule WHERE role = $1::regrole ORDER BY schedule_id LIMIT 1)");

// A role that is gone has no rights to check: pg_has_role() returns NULL.
constinit pg::Statement select_without_right(R"(
    SELECT coalesce(string_agg(quote_ident(name), ', ' ORDER BY name), '')
    FROM hipq.schedule
    WHERE queue_id = $1
      AND pg_has_role(role::oid, $2, 'MEMBER')
      AND NOT has_table_privilege(role::oid, to_regclass(format('hipq.%I', $3)), 'INSERT'))");

constinit pg::Statement update_run(R"(
    UPDATE hipq.schedule SET last_run_time = $2, last_action = $3, last_job_id = $4 WHERE schedule_id = $1)");

Schedule schedule_of(const SelectSchedule &selection, const pg::Row &row)
{
    Schedule schedule{};
    schedule.options.throttle_factor = {NUMERICOID, Datum{0}, true};
    selection.fill(schedule, row);
    return schedule;
}

// Returns the schedule in the first row, or nothing if there is no row.
std::optional<Schedule> first_of(const SelectSchedule &selection, const pg::Rows &rows)
{
    return rows.empty() ? std::nullopt : std::optional(schedule_of(selection, rows.front()));
}

const char *name_of(RunAction action)
{
    return action == RunAction::enqueued ? "enqueued" : "skipped";
}

}  // namespace

std::string title_of(const catalog::Catalogue &catalogue, std::string_view name, int queue_id)
{
    const catalog::Queue *queue = catalogue.find(queue_id);
    return "schedule \"" + std::string(name) + "\"" +
           (queue == nullptr ? "" : " of queue \"" + queue->full_name() + "\"");
}

std::optional<Schedule> find_schedule(int queue_id, std::string_view name, pg::Time now)
{
    return first_of(select_in_queue,
                    pg::as_hipq([&] { return select_in_queue.run(queue_id, now, name); }));
}

std::optional<Schedule> find_schedule(int id, pg::Time now)
{
    return first_of(select_by_id, pg::as_hipq([&] { return select_by_id.run(id, now); }));
}

std::vector<Schedule> find_schedules(std::string_view name, pg::Time now)
{
    const pg::Rows rows = pg::as_hipq([&] { return select_by_name.run(name, now); });
    std::vector<Schedule> found;
    for (const pg::Row row : rows)
        found.push_back(schedule_of(select_by_name, row));
    return found;
}

std::optional<Schedule> lock_schedule(int id, pg::Time now)
{
    return first_of(select_for_update, pg::as_hipq([&] { return select_for_update.run(id, now); }));
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
        update.run(schedule.id, schedule.cron, schedule.role, schedule.job_key, schedule.data,
                   job.type, job.priority, job.timeout, job.throttle_factor, job.time_windows,
                   job.max_retries, schedule.expires_after, job.throttle_key);
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

bool has_any_schedule()
{
    return pg::as_extension_owner([] { return !select_any_schedule.run_latest().empty(); });
}

std::optional<std::string> title_of_role(const catalog::Catalogue &catalogue, Oid role)
{
    const pg::Rows rows = pg::as_extension_owner([&] { return select_of_role.run_latest(role); });
    return rows.empty() ? std::nullopt
                        : std::optional(
                              title_of(catalogue, rows.front().text(0), rows.front().integer32(1)));
}

std::string schedules_without_right(const catalog::Queue &queue, Oid role)
{
    return pg::as_extension_owner(
        [&] { return select_without_right.run(queue.id, role, queue.table).front().text(0); });
}

void note_run(int id, RunAction action, std::int64_t job_id, pg::Time now)
{
    pg::as_hipq([&] { update_run.run(id, now, name_of(action), job_id); });
}

}  // namespace hipq::admin
