// Checks what keeps all jobs of a database: preload, version, hold, switches, worker slots.
#include "catalog/identity.hpp"
#include "claim/conditions.hpp"
#include "core/limits/versions.hpp"
#include "monitor/doctor/findings.hpp"
#include "pg/extension.hpp"
#include "settings.hpp"

namespace hipq::monitor {

namespace {

// ALTER SYSTEM takes a list as separate values: a single value "a, b" would be one name. NULL: the
// configuration file already has hipq.
constexpr const char *preload_sql = R"(
    SELECT CASE WHEN NOT setting.pending_restart THEN
        'ALTER SYSTEM SET shared_preload_libraries = ' || (
            SELECT string_agg(quote_literal(library), ', ' ORDER BY place)
            FROM (
                SELECT nullif(btrim(entry, ' "'), '') AS library, place
                FROM string_to_table(setting.setting, ',') WITH ORDINALITY AS entry (entry, place)
                UNION ALL
                SELECT 'hipq', 1000
            ) AS list
            WHERE library IS NOT NULL
        ) END
    FROM pg_settings AS setting
    WHERE setting.name = 'shared_preload_libraries')";

void look_at_preload(Diagnoses &found)
{
    if (memory::is_loaded())
        return;
    found.push_back({Severity::error, "server", "not preloaded",
                     "hipq is not in shared_preload_libraries: jobs can be enqueued, and nothing "
                     "runs them.",
                     "Add it, and restart the server.",
                     pg::run_once(preload_sql).front().maybe_text(0)});
}

void look_at_version(Diagnoses &found)
{
    const std::string installed = pg::installed_version().value_or("not installed");
    const core::VersionFit fit = core::fit_of_versions(HIPQ_VERSION, installed);
    if (fit == core::VersionFit::same)
        return;
    const bool is_old = core::is_earlier(installed, HIPQ_VERSION);
    const bool are_apart = fit == core::VersionFit::apart;
    found.push_back(
        {are_apart ? Severity::error : Severity::warning, "database", "version skew",
         "The extension is version " + installed +
             ", the library that the server has loaded " HIPQ_VERSION +
             (are_apart ? ": no job runs." : ": they work together for now."),
         is_old ? "Update the extension."
                : "Restart the server, so that it loads the library of that version.",
         is_old ? std::optional<std::string>("ALTER EXTENSION hipq UPDATE") : std::nullopt});
}

void look_at_hold(Diagnoses &found)
{
    const bool has_queues =
        !pg::run_once("SELECT FROM hipq.queue WHERE NOT is_dropped LIMIT 1").empty();
    if (!has_queues || !catalog::is_held())
        return;
    found.push_back({Severity::error, "database", "held database",
                     "The jobs here belong to another server or database, of which this one was "
                     "restored or copied: none runs.",
                     "Release it if its jobs shall run here, and nowhere else.",
                     "SELECT hipq.release_hold()"});
}

void look_at_enabled(Diagnoses &found)
{
    if (settings::enabled)
        return;
    found.push_back({Severity::warning, "setting hipq.enabled", "switched off",
                     "hipq.enabled is off: no job starts.",
                     "Switch it on, and reload: SELECT pg_reload_conf().",
                     "ALTER SYSTEM SET hipq.enabled = on"});
}

// A list, not one value with commas in it.
constexpr const char *databases_sql = R"(
    SELECT current_database(), 'ALTER SYSTEM SET hipq.databases = ' || string_agg(quote_literal(name), ', ' ORDER BY place)
    FROM (
        SELECT nullif(btrim(entry, ' "'), '') AS name, place
        FROM string_to_table(current_setting('hipq.databases'), ',') WITH ORDINALITY AS entry (entry, place)
        UNION ALL
        SELECT current_database(), 1000000
    ) AS list
    WHERE name IS NOT NULL)";

void look_at_databases(Diagnoses &found)
{
    const pg::Rows rows = pg::run_once(databases_sql);
    const std::string database = rows.front().text(0);
    if (claim::is_listed(database.c_str()))
        return;
    found.push_back({Severity::warning, "setting hipq.databases", "database not served",
                     "hipq.databases does not name \"" + database + "\": no job starts here.",
                     "Name it, and reload: SELECT pg_reload_conf().", rows.front().maybe_text(1)});
}

}  // namespace

std::span<const Look> server_looks()
{
    static constexpr Look looks[] = {
        {"shared_preload_libraries", Audience::everybody, look_at_preload},
        {"versions", Audience::everybody, look_at_version},
        {"the identity of the database", Audience::everybody, look_at_hold},
        {"hipq.enabled", Audience::everybody, look_at_enabled},
        {"hipq.databases", Audience::everybody, look_at_databases},
    };
    return looks;
}

}  // namespace hipq::monitor
