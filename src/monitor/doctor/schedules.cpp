// Checks schedules: lost by pg_cron, overdue, inactive, and unable to enqueue their jobs.
#include "admin/admin.hpp"
#include "catalog/cache.hpp"
#include "core/schedules/cron.hpp"
#include "monitor/doctor/findings.hpp"
#include "pg/clock.hpp"
#include "pg/time_zone.hpp"

namespace hipq::monitor {

namespace {

std::string subject_of(const std::string &name, int queue_id)
{
    return admin::title_of(*catalog::catalogue(), name, queue_id);
}

void look_at_cron(Diagnoses &found)
{
    if (admin::has_cron_schedule() && admin::is_cron_stopped())
        found.push_back(
            {Severity::error, "pg_cron", "pg_cron is stopped",
             "Its process is not there, or ends at each start: no schedule comes.",
             "The server's log says why. If somebody has ended it, as DROP DATABASE ... "
             "WITH (FORCE) does, it comes back when the server is restarted.",
             std::nullopt});
}

void look_at_lost_schedules(Diagnoses &found)
{
    for (const admin::LostSchedule &lost : admin::lost_schedules())
        if (!lost.is_role_gone)  // has a finding of its own
            found.push_back(
                {Severity::error, subject_of(lost.name, lost.queue_id), "lost schedule",
                 "pg_cron has no job for it in this database: it does not come.",
                 "Install pg_cron if it is not there; then give it the schedules again.",
                 "SELECT hipq.restore_schedules()", lost.queue_id});
}

// Reads when a schedule last ran, or was created if it never ran, to find out when it should have
// run.
constexpr const char *schedules_sql = R"(
    SELECT schedule.schedule_id, schedule.name, schedule.cron, schedule.queue_id,
           greatest(schedule.last_run_time, schedule.created_time), schedule.last_run_time IS NULL,
           pg_postmaster_start_time()
    FROM hipq.schedule
    WHERE schedule.told_by = 'pg_cron'
    ORDER BY schedule.name, schedule.queue_id)";

constexpr std::int64_t most_delay = 5 * USECS_PER_MINUTE;

// Runs that were due while the server was down do not happen later.
std::optional<pg::Time> first_due(const std::string &text, pg::Time last, pg::Time up_since)
{
    const auto parsed = core::parse_cron(text);
    const auto *cron = std::get_if<core::Cron>(&parsed);
    const auto zone = pg::TimeZone::find(admin::cron_time_zone());
    if (cron == nullptr || !zone.has_value())
        return std::nullopt;
    const auto next = core::next_run(*cron, *zone, std::max(last, up_since).value);
    return next.has_value() ? std::optional(pg::Time{*next}) : std::nullopt;
}

constexpr const char *own_sql = R"(
    SELECT schedule.name, schedule.queue_id, schedule.due_time
    FROM hipq.schedule
    WHERE schedule.due_time < $1
    ORDER BY schedule.name, schedule.queue_id)";

void look_at_own_schedules(Diagnoses &found)
{
    for (const pg::Row row : pg::run_once(own_sql, pg::now() + -most_delay))
        found.push_back({Severity::warning, subject_of(row.text(0), row.integer32(1)),
                         "overdue schedule", "It was due at " + pg::clock_text(row.time(2)) + ".",
                         "Does hipq work in this database (hipq.enabled, hipq.databases), and what "
                         "do hipq.alerts and the server's log say?",
                         std::nullopt, row.integer32(1)});
}

void look_at_overdue_schedules(Diagnoses &found)
{
    look_at_own_schedules(found);
    const pg::Time now = pg::now();
    for (const pg::Row row : pg::run_once(schedules_sql)) {
        const auto due = first_due(row.text(2), row.time(4), row.time(6));
        if (!due.has_value() || due->value + most_delay > now.value ||
            !admin::has_entry(row.integer32(0)))
            continue;
        found.push_back(
            {Severity::warning, subject_of(row.text(1), row.integer32(3)), "overdue schedule",
             std::string(row.boolean(5) ? "It has never come" : "It has not come since") +
                 ", and was due at " + pg::clock_text(*due) + ".",
             "Table cron.job_run_details has what pg_cron made of it; its role has to be "
             "able to connect.",
             std::nullopt, row.integer32(3)});
    }
}

// Finds schedules whose entry in pg_cron is inactive.
void look_at_inactive_schedules(Diagnoses &found)
{
    std::set<int> lost;
    for (const admin::LostSchedule &each : admin::lost_schedules())
        lost.insert(each.id);
    for (const pg::Row row : pg::run_once(schedules_sql))
        if (!lost.contains(row.integer32(0)) && !admin::has_entry(row.integer32(0)))
            found.push_back({Severity::information, subject_of(row.text(1), row.integer32(3)),
                             "inactive schedule",
                             "Its entry in cron.job is not active: it does not come.",
                             "Nothing, if that is meant.",
                             "UPDATE cron.job SET active = true WHERE jobname = 'hipq schedule " +
                                 std::to_string(row.integer(0)) + "'",
                             row.integer32(3)});
}

constexpr const char *broken_sql = R"(
    SELECT schedule.queue_id, problem.severity, format('schedule "%s" of queue "%s.%s"', schedule.name, instance.name, queue.name), problem.finding, problem.detail, problem.hint, problem.statement
    FROM hipq.schedule
    JOIN hipq.queue ON queue.queue_id = schedule.queue_id
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    LEFT JOIN pg_roles AS role ON role.oid = schedule.role
    CROSS JOIN LATERAL (
        SELECT 'error' AS severity, 'job type gone' AS finding,
               format('It enqueues jobs of type "%s", which nobody has registered in queue "%s.%s".', schedule.job_type, instance.name, queue.name) AS detail,
               'Register the type again, or end the schedule.' AS hint,
               format('SELECT hipq.unschedule(%L, %L)', schedule.name, instance.name || '.' || queue.name) AS statement
        WHERE NOT EXISTS (SELECT FROM hipq.job_type AS type WHERE type.queue_id = schedule.queue_id AND type.name = schedule.job_type AND type.is_registered)
        UNION ALL
        SELECT 'error', 'role gone', CASE WHEN schedule.role::oid = 1 THEN 'Its role did not exist where it was restored.'
                    ELSE format('It enqueues as the role with OID %s, which does not exist.', schedule.role::oid) END,
               'Schedule it again as another role.', format('SELECT hipq.unschedule(%L, %L)', schedule.name, instance.name || '.' || queue.name)
        WHERE role.oid IS NULL
        UNION ALL
        SELECT 'error', 'role may not enqueue', format('It enqueues as "%s", which has no right to do so in queue "%s.%s".', role.rolname, instance.name, queue.name),
               'Grant it the right.', format('SELECT hipq.grant_queue(%L, %L, ''enqueue'')', instance.name || '.' || queue.name, role.rolname)
        WHERE role.oid IS NOT NULL AND to_regclass(format('hipq.%I', queue.table_name)) IS NOT NULL
          AND NOT has_table_privilege(role.oid, to_regclass(format('hipq.%I', queue.table_name)), 'INSERT')
        UNION ALL
        SELECT 'warning', 'timeout is cut', format('Its jobs ask for a timeout of %s s, and the queue allows %s s.', schedule.timeout, queue.max_timeout),
               'Schedule it with a shorter one, or raise max_timeout of the queue.',
               format('SELECT hipq.alter_queue(%L, max_timeout => ''%s s'')', instance.name || '.' || queue.name, schedule.timeout)
        WHERE schedule.timeout > queue.max_timeout
    ) AS problem
    ORDER BY schedule.name, schedule.queue_id, problem.finding)";

}  // namespace

std::span<const Look> schedule_looks()
{
    static constexpr Look looks[] = {
        {"pg_cron", Audience::monitors, look_at_cron},
        {"schedules that pg_cron lost", Audience::monitors, look_at_lost_schedules},
        {"schedules that are overdue", Audience::monitors, look_at_overdue_schedules},
        {"schedules that are inactive", Audience::monitors, look_at_inactive_schedules},
    };
    return looks;
}

std::span<const SqlCheck> schedule_checks()
{
    static constexpr SqlCheck checks[] = {{"what schedules enqueue", broken_sql}};
    return checks;
}

}  // namespace hipq::monitor
