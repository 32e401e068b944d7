// Reads and writes rows of hipq.schedule.
#include "admin/schedules/schedule_rows.hpp"

#include "admin/schedules/cron_entries.hpp"
#include "catalog/cache.hpp"
#include "catalog/changes.hpp"
#include "pg/fields.hpp"
#include "pg/internal_write.hpp"
#include "shared/wakeup/commit.hpp"

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

void fill_missed(Schedule &schedule, const pg::Value &value)
{
    schedule.missed = core::parse_missed(value.text()).value_or(core::Missed::once);
}

void fill_overlap(Schedule &schedule, const pg::Value &value)
{
    schedule.overlap = core::parse_overlap(value.text()).value_or(core::Overlap::skip);
}

// The time comes before the moment when it is due in the list of fields.
void fill_next_time(Schedule &schedule, const pg::Value &value)
{
    schedule.next = NextRun{value.as<pg::Time>(), value.as<pg::Time>()};
}

void fill_due_time(Schedule &schedule, const pg::Value &value)
{
    if (schedule.next.has_value())
        schedule.next->due = value.as<pg::Time>();
}

template <auto member>
constexpr pg::Field<Schedule> option(const char *expression)
{
    return field<&Schedule::options, member>(expression);
}

// Tables of 0.2.0 lack these columns; the names then refer to the columns of `absent`.
#define HIPQ_LATER(column) "(SELECT " column " FROM (SELECT schedule.*) AS present)"
#define HIPQ_LATER_MICROSECONDS(column)                                                            \
    "(extract(epoch FROM " HIPQ_LATER(column) ") * 1000000)::bigint"

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
    field<&Schedule::is_own>(HIPQ_LATER("told_by") " = 'hipq'"),
    field<&Schedule::time_zone>(HIPQ_LATER("time_zone")),
    pg::Field<Schedule>{HIPQ_LATER("missed"), fill_missed},
    field<&Schedule::missed_within>(HIPQ_LATER_MICROSECONDS("missed_within")),
    field<&Schedule::jitter>(HIPQ_LATER_MICROSECONDS("jitter")),
    pg::Field<Schedule>{HIPQ_LATER("overlap"), fill_overlap},
    field<&Schedule::starts>(HIPQ_LATER("starts")),
    field<&Schedule::ends>(HIPQ_LATER("ends")),
    pg::Field<Schedule>{HIPQ_LATER("next_time"), fill_next_time},
    pg::Field<Schedule>{HIPQ_LATER("due_time"), fill_due_time},
    field<&Schedule::last_time>(HIPQ_LATER("last_time")),
    field<&Schedule::last_run>("schedule.last_run_time"),
    field<&Schedule::last_error>(HIPQ_LATER("last_error")),
    field<&Schedule::tries>(HIPQ_LATER("tries")),
};

#define HIPQ_FROM_SCHEDULES                                                                        \
    "FROM hipq.schedule AS schedule CROSS JOIN (SELECT 'pg_cron'::text AS told_by, "               \
    "NULL::text AS time_zone, 'once'::text AS missed, interval '1 day' AS missed_within, "         \
    "interval '0' AS jitter, 'skip'::text AS overlap, NULL::timestamptz AS starts, "               \
    "NULL::timestamptz AS ends, NULL::timestamptz AS next_time, NULL::timestamptz AS due_time, "   \
    "NULL::timestamptz AS last_time, NULL::text AS last_error, 0 AS tries) AS absent "

using SelectSchedule = pg::Selection<Schedule>;
constinit SelectSchedule select_by_name(schedule_fields,
                                        HIPQ_FROM_SCHEDULES "WHERE schedule.name = $1 "
                                                            "ORDER BY schedule.queue_id");
constinit SelectSchedule select_in_queue(schedule_fields, HIPQ_FROM_SCHEDULES
                                         "WHERE schedule.queue_id = $1 AND schedule.name = $3");
constinit SelectSchedule select_by_id(schedule_fields,
                                      HIPQ_FROM_SCHEDULES "WHERE schedule.schedule_id = $1");
constinit SelectSchedule select_for_update(schedule_fields,
                                           HIPQ_FROM_SCHEDULES "WHERE schedule.schedule_id = $1 "
                                                               "FOR UPDATE OF schedule");
constinit SelectSchedule select_due_for_update(schedule_fields, HIPQ_FROM_SCHEDULES
                                               "WHERE schedule.schedule_id = $1 "
                                               "AND schedule.due_time <= $2 "
                                               "FOR UPDATE OF schedule SKIP LOCKED");
constinit SelectSchedule select_planned(schedule_fields, HIPQ_FROM_SCHEDULES
                                        "WHERE schedule.told_by = 'hipq' AND "
                                        "(schedule.due_time IS NULL OR schedule.next_time > $1)");

constinit pg::Statement select_due(R"(
    SELECT schedule_id FROM hipq.schedule
    WHERE due_time <= $1 AND schedule_id <> ALL ($2)
    ORDER BY due_time, schedule_id
    LIMIT $3)");
constinit pg::Statement select_next_due(
    "SELECT due_time FROM hipq.schedule WHERE due_time IS NOT NULL AND schedule_id <> ALL ($1) "
    "ORDER BY due_time LIMIT 1");

constinit pg::Statement insert(R"(
    INSERT INTO hipq.schedule (name, cron, role, queue_id, job_key, job_data, job_type, priority, timeout, throttle_factor, time_windows,
                               max_retries, expires_after, throttle_key, created_time,
                               told_by, time_zone, missed, missed_within, jitter, overlap, starts, ends)
    VALUES ($1, $2, $3, $4, $5, coalesce($6, '{}'), $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
    RETURNING schedule_id)");

constinit pg::Statement update(R"(
    UPDATE hipq.schedule
    SET cron = $2, role = $3, job_key = $4, job_data = coalesce($5, '{}'), job_type = $6, priority = $7, timeout = $8, throttle_factor = $9,
        time_windows = $10, max_retries = $11, expires_after = $12, throttle_key = $13, told_by = $14, time_zone = $15, missed = $16,
        missed_within = $17, jitter = $18, overlap = $19, starts = $20, ends = $21
    WHERE schedule_id = $1)");

constinit pg::Statement delete_by_id("DELETE FROM hipq.schedule WHERE schedule_id = $1");
constinit pg::Statement
    select_of_queue("SELECT schedule_id FROM hipq.schedule WHERE queue_id = $1 FOR UPDATE");

constinit pg::Statement select_cron_schedule("SELECT 1 FROM hipq.schedule WHERE " HIPQ_TOLD_BY_CRON
                                             " LIMIT 1");

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

constinit pg::Statement update_next(
    "UPDATE hipq.schedule SET next_time = $2, due_time = $3, tries = 0 WHERE schedule_id = $1");

constinit pg::Statement update_own_run(R"(
    UPDATE hipq.schedule
    SET last_run_time = $2, last_action = $3, last_job_id = $4, last_time = $5, next_time = $6, due_time = $7, tries = 0,
        last_error = coalesce(nullif($8, ''), CASE WHEN $9 THEN last_error END)
    WHERE schedule_id = $1)");

constinit pg::Statement update_tries(
    "UPDATE hipq.schedule SET tries = tries + 1 WHERE schedule_id = $1 RETURNING tries");

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

std::vector<Schedule> schedules_of(const SelectSchedule &selection, const pg::Rows &rows)
{
    std::vector<Schedule> schedules;
    for (const pg::Row row : rows)
        schedules.push_back(schedule_of(selection, row));
    return schedules;
}

std::string_view name_of(RunAction action)
{
    constexpr std::array<std::string_view, 4> names{"enqueued", "skipped", "missed", "failed"};
    return names[static_cast<std::size_t>(action)];
}

const char *teller_of(const Schedule &schedule)
{
    return schedule.is_own ? "hipq" : "pg_cron";
}

std::optional<std::string> zone_of(const Schedule &schedule)
{
    return schedule.is_own ? std::optional(schedule.time_zone) : std::nullopt;
}

template <class Member>
std::optional<pg::Time> part_of(const std::optional<NextRun> &next, Member member)
{
    return next.has_value() ? std::optional((*next).*member) : std::nullopt;
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
    return schedules_of(select_by_name, pg::as_hipq([&] { return select_by_name.run(name, now); }));
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
                 job.time_windows, job.max_retries, schedule.expires_after, job.throttle_key, now,
                 teller_of(schedule), zone_of(schedule), core::name(schedule.missed),
                 pg::interval_of(schedule.missed_within), pg::interval_of(schedule.jitter),
                 core::name(schedule.overlap), schedule.starts, schedule.ends)
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
                   job.max_retries, schedule.expires_after, job.throttle_key, teller_of(schedule),
                   zone_of(schedule), core::name(schedule.missed),
                   pg::interval_of(schedule.missed_within), pg::interval_of(schedule.jitter),
                   core::name(schedule.overlap), schedule.starts, schedule.ends);
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

bool has_cron_schedule()
{
    return pg::as_extension_owner([] { return !select_cron_schedule.run_latest().empty(); });
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

void tell_of_times()
{
    pg::call([] { catalog::tell_of_schedules(); });
    wakeup::note_look();
}

std::vector<int> due_schedules(pg::Time now, const std::vector<std::int64_t> &put_off, int most)
{
    const pg::Rows rows = pg::as_hipq([&] { return select_due.run(now, put_off, most); });
    std::vector<int> ids;
    for (const pg::Row row : rows)
        ids.push_back(row.integer32(0));
    return ids;
}

pg::Time next_due_time(const std::vector<std::int64_t> &put_off)
{
    const pg::Rows rows = pg::as_hipq([&] { return select_next_due.run(put_off); });
    return rows.empty() ? pg::infinity : rows.front().time(0);
}

std::optional<Schedule> lock_due_schedule(int id, pg::Time now)
{
    return first_of(select_due_for_update,
                    pg::as_hipq([&] { return select_due_for_update.run(id, now); }));
}

std::vector<Schedule> planned_schedules(pg::Time now)
{
    return schedules_of(select_planned, pg::as_hipq([&] { return select_planned.run(now, now); }));
}

void set_next(int id, const std::optional<NextRun> &next)
{
    pg::as_hipq(
        [&] { update_next.run(id, part_of(next, &NextRun::time), part_of(next, &NextRun::due)); });
}

void note_own_run(int id, const LastRun &run, pg::Time time, const std::optional<NextRun> &next,
                  pg::Time now)
{
    pg::as_hipq([&] {
        update_own_run.run(id, now, name_of(run.action), run.job_id, time,
                           part_of(next, &NextRun::time), part_of(next, &NextRun::due), run.error,
                           run.keeps_error);
    });
}

int count_try(int id)
{
    return pg::as_hipq([&] { return update_tries.run(id).front().integer32(0); });
}

}  // namespace hipq::admin
