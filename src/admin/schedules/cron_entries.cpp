// Reads cron.job, and writes it with pg_cron's own functions.
//
// pg_cron's functions tell its process of the change.
#include "admin/schedules/cron_entries.hpp"

#include "core/schedules/cron.hpp"
#include "pg/internal_write.hpp"

namespace hipq::admin {

namespace {

constinit pg::Statement
    select_cron("SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'pg_cron'");
// After an error the process exits at once, and the postmaster restarts it a second later.
constinit pg::Statement select_cron_process(R"(
    SELECT 1
    FROM pg_stat_activity
    WHERE backend_type = 'pg_cron launcher'
      AND (clock_timestamp() > backend_start + interval '1 second'
           OR clock_timestamp() < pg_postmaster_start_time() + interval '30 seconds'))");

// Not prepared once for all: pg_cron may come and go.
constexpr const char *put_sql = "SELECT cron.schedule_in_database($1::text, $2::text, $3::text, "
                                "current_database()::text, $4::text)";
constexpr const char *remove_sql =
    "SELECT cron.unschedule(entry.jobid) FROM cron.job AS entry WHERE entry.jobname::text = $1";
constexpr const char *find_sql = "SELECT 1 FROM cron.job AS entry WHERE entry.jobname::text = $1";

// A dump may bring entries for the database that it was made from, and a role or a database may
// have been renamed since.
#define HIPQ_ENTRY_FITS                                                                            \
    HIPQ_ENTRY_OF_SCHEDULE                                                                         \
    " AND entry.database = current_database() AND entry.username = pg_get_userbyid(schedule.role)"
constexpr const char *find_right_sql =
    "SELECT 1 FROM hipq.schedule JOIN cron.job AS entry ON " HIPQ_ENTRY_FITS
    " WHERE schedule.schedule_id = $1 AND entry.active";
#define HIPQ_SCHEDULE_FACTS                                                                        \
    "schedule.schedule_id, schedule.name, schedule.queue_id, "                                     \
    "NOT EXISTS (SELECT FROM pg_roles WHERE pg_roles.oid = schedule.role)"
constexpr const char *select_lost_sql =
    "SELECT " HIPQ_SCHEDULE_FACTS " FROM hipq.schedule "
    "WHERE " HIPQ_TOLD_BY_CRON " "
    "AND NOT EXISTS (SELECT FROM cron.job AS entry WHERE " HIPQ_ENTRY_FITS ") "
    "ORDER BY schedule.schedule_id";
constexpr const char *select_all_sql = "SELECT " HIPQ_SCHEDULE_FACTS " FROM hipq.schedule "
                                       "WHERE " HIPQ_TOLD_BY_CRON " "
                                       "ORDER BY schedule.schedule_id";

// Entries of all schedules, including those left by an extension that an older library dropped.
#define HIPQ_ALL_ENTRIES                                                                           \
    "FROM cron.job AS entry "                                                                      \
    "WHERE entry.jobname::text ~ '^hipq schedule [0-9]+$' "                                        \
    "AND entry.command = format('SELECT hipq._run_schedule(%s)', substring(entry.jobname::text, "  \
    "'[0-9]+'))"
constexpr const char *remove_all_sql = "SELECT cron.unschedule(entry.jobid) " HIPQ_ALL_ENTRIES;
constexpr const char *find_any_sql = "SELECT 1 " HIPQ_ALL_ENTRIES " LIMIT 1";

std::string entry_name(int schedule_id)
{
    return "hipq schedule " + std::to_string(schedule_id);
}

std::string entry_command(int schedule_id)
{
    return "SELECT hipq._run_schedule(" + std::to_string(schedule_id) + ")";
}

std::string setting(const char *name)
{
    const char *value = pg::call([&] { return ::GetConfigOption(name, true, false); });
    return value == nullptr ? "" : value;
}

// ---- where pg_cron is ----

// Returns the version of the extension in this database; empty if it is not installed.
std::string version_here()
{
    return pg::as_extension_owner([] {
        const pg::Rows rows = select_cron.run();
        return rows.empty() ? std::string() : rows.front().text(0);
    });
}

bool is_installed_here()
{
    return !version_here().empty();
}

// The configuration may have a value although the library is not loaded.
bool is_loaded()
{
    constexpr const char *name = "cron.database_name";
    return pg::call([&] {
        return ::GetConfigOption(name, true, false) != nullptr &&
               (::GetConfigOptionFlags(name, true) & GUC_CUSTOM_PLACEHOLDER) == 0;
    });
}

std::string own_database()
{
    return pg::call([] { return ::get_database_name(MyDatabaseId); });
}

// Returns the database whose cron.job pg_cron's process reads; empty if there is no such process.
std::string database_of_cron()
{
    return is_loaded() ? setting("cron.database_name") : "";
}

// ---- what cannot be done ----

// Says how to replace syntax that older versions of pg_cron do not know; empty if every version
// knows it.
std::string hint_for_older(const std::string &text, const std::string &version)
{
    const auto parsed = core::parse_cron(text);
    const auto *cron = std::get_if<core::Cron>(&parsed);
    const std::string has = "This database has pg_cron " + version;
    if (cron != nullptr && cron->seconds > 0)
        return has +
               ", and seconds need 1.5. Write '* * * * *' for each minute; a job that is to run "
               "more often can end with "
               "hipq.snooze('" +
               text + "').";
    if (cron != nullptr && cron->on_last_day_of_month)
        return has + ", and '$' needs 1.6. Write '28-31' for the day of the month, and have the "
                     "handler look whether it is the last.";
    return "";
}

[[noreturn]] void raise_refused(const Schedule &schedule, const std::string &version,
                                const pg::Error &error)
{
    std::string hint = error.hint().value_or("");
    if (error.sqlerrcode() == ERRCODE_INVALID_PARAMETER_VALUE && hint.empty())
        hint = hint_for_older(schedule.cron, version);
    HIPQ_RAISE(errcode(error.sqlerrcode()),
               errmsg("pg_cron does not take schedule \"%s\"", schedule.name.c_str()),
               errdetail("It says: %s.", error.message().c_str()),
               hint.empty() ? 0 : errhint("%s", hint.c_str()));
}

// pg_cron's functions, and the trigger on its table, need its library.
void demand_library_to_remove()
{
    if (!is_loaded())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("pg_cron's jobs of schedules cannot be removed while the server has not "
                          "loaded pg_cron"),
                   errdetail("They would go on when it is loaded again."),
                   errhint("Add pg_cron to shared_preload_libraries and restart the server, or "
                           "DROP EXTENSION pg_cron first."));
}

void warn_of_entries_elsewhere(const std::string &elsewhere)
{
    const std::string own = own_database();
    const std::string quoted = pg::call([&] { return ::quote_literal_cstr(own.c_str()); });
    pg::call([&] {
        ereport(
            WARNING, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("jobs of pg_cron in database \"%s\" that call hipq in this one are not removed",
                   elsewhere.c_str()),
            errhint("If there are any, run there: SELECT cron.unschedule(jobid) FROM cron.job "
                    "WHERE database = %s AND command "
                    "LIKE '%%hipq.%%';",
                    quoted.c_str()));
    });
}

}  // namespace

bool is_cron_working()
{
    return database_of_cron() == own_database() && is_installed_here();
}

bool is_cron_stopped()
{
    return is_cron_working() &&
           pg::as_extension_owner([] { return select_cron_process.run_latest().empty(); });
}

void demand_cron()
{
    const std::string database = database_of_cron();
    const std::string own = own_database();
    if (database.empty() && is_installed_here())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("schedules need pg_cron, which is installed in this database, but not in "
                          "shared_preload_libraries"),
                   errhint("As superuser add pg_cron to shared_preload_libraries, set "
                           "cron.database_name = '%s', restart the "
                           "server. Until then pg_cron runs nothing.",
                           own.c_str()));
    if (database.empty())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("schedules need pg_cron, which this server has not loaded"),
                   errhint("Install the package postgresql-" PG_MAJORVERSION
                           "-cron, add pg_cron to shared_preload_libraries, set cron.database_name "
                           "= '%s', restart the server and run CREATE EXTENSION pg_cron. Without "
                           "pg_cron, let cron of the operating system call hipq.enqueue() with a "
                           "job_key, or let the job repeat itself with hipq.snooze().",
                           own.c_str()));
    if (database != own)
        HIPQ_RAISE(
            errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("schedules need pg_cron in this database, and it works from database \"%s\"",
                   database.c_str()),
            errhint("Set cron.database_name = '%s', restart the server and run CREATE EXTENSION "
                    "pg_cron here; it can run "
                    "other databases' jobs from here too.",
                    own.c_str()));
    if (!is_installed_here())
        HIPQ_RAISE(
            errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("schedules need extension pg_cron, which is not installed in this database"),
            errhint("Run CREATE EXTENSION pg_cron."));
}

void put_entry(const Schedule &schedule)
{
    const std::string role = pg::call([&] { return ::GetUserNameFromId(schedule.role, false); });
    const std::string version = version_here();  // the query cannot run after an error
    std::optional<pg::Error> refused;
    try {
        pg::as_extension_owner([&] {
            pg::run_once(put_sql, entry_name(schedule.id), core::without_macro(schedule.cron),
                         entry_command(schedule.id), role);
        });
    } catch (const pg::Error &error) {
        refused = error;
    }
    if (refused.has_value())
        raise_refused(schedule, version, *refused);
}

void remove_entry(int schedule_id)
{
    const std::string name = entry_name(schedule_id);
    if (!is_installed_here() ||
        pg::as_extension_owner([&] { return pg::run_once(find_sql, name).empty(); }))
        return;
    demand_library_to_remove();
    pg::as_extension_owner([&] { pg::run_once(remove_sql, name); });
}

void remove_all_entries()
{
    const std::string works_from = database_of_cron();
    const bool is_elsewhere = !works_from.empty() && works_from != own_database();
    if (is_elsewhere && has_cron_schedule())
        warn_of_entries_elsewhere(works_from);
    if (!is_installed_here())
        return;
    if (pg::as_extension_owner([] { return pg::run_once(find_any_sql).empty(); }))
        return;
    demand_library_to_remove();
    pg::as_extension_owner([] { pg::run_once(remove_all_sql); });
}

bool has_entry(int schedule_id)
{
    return is_cron_working() && pg::as_extension_owner([&] {
               return !pg::run_once(find_right_sql, schedule_id).empty();
           });
}

std::vector<LostSchedule> lost_schedules()
{
    const char *sql = is_cron_working() ? select_lost_sql : select_all_sql;
    const pg::Rows rows = pg::as_extension_owner([&] { return pg::run_once(sql); });
    std::vector<LostSchedule> lost;
    for (const pg::Row row : rows)
        lost.push_back({row.integer32(0), row.text(1), row.integer32(2), row.boolean(3)});
    return lost;
}

std::string cron_time_zone()
{
    const std::string zone = setting("cron.timezone");  // only pg_cron 1.6 has it
    return zone.empty() ? "GMT" : zone;
}

}  // namespace hipq::admin
