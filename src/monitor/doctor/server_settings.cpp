// Checks settings that contradict each other, and how many processes the server may start.
#include "monitor/doctor/findings.hpp"

namespace hipq::monitor {

namespace {

// Returns a row for each broken rule.
constexpr const char *contradictions_sql = R"(
    WITH setting AS (
        SELECT current_setting('hipq.max_executors')::integer AS max_executors,
               current_setting('hipq.reserved_executors')::integer AS reserved_executors,
               current_setting('hipq.max_running')::integer AS max_running,
               current_setting('hipq.max_retries')::integer AS max_retries,
               current_setting('hipq.retry_enabled')::boolean AS retry_enabled,
               current_setting('hipq.default_timeout') AS default_timeout,
               current_setting('hipq.max_timeout') AS max_timeout,
               current_setting('hipq.retry_base') AS retry_base,
               current_setting('hipq.retry_max') AS retry_max,
               current_setting('hipq.heartbeat_timeout') AS heartbeat_timeout,
               current_setting('hipq.clock_offset') AS clock_offset,
               current_setting('hipq.alert_waiting') AS alert_waiting,
               current_setting('track_counts')::boolean AS track_counts,
               current_setting('autovacuum')::boolean AS autovacuum
    )
    SELECT NULL::integer,
           rule.severity,
           'setting ' || rule.name,
           rule.finding,
           rule.detail,
           rule.hint || ' Then reload: SELECT pg_reload_conf().',
           'ALTER SYSTEM ' || rule.change
    FROM setting
    CROSS JOIN LATERAL (VALUES
        (setting.max_executors = 0 AND EXISTS (SELECT FROM hipq.job_type WHERE handler_kind NOT IN ('none', 'notify')),
         'warning', 'hipq.max_executors', 'no executors', 'hipq.max_executors is 0, and there are job types with SQL handlers: their jobs wait.',
         'Allow some.', 'SET hipq.max_executors = 4'),
        (setting.reserved_executors >= setting.max_executors AND setting.max_executors > 1,
         'warning', 'hipq.reserved_executors', 'contradicting settings',
         format('hipq.reserved_executors (%s) is not less than hipq.max_executors (%s): an owner with work never gets more than one.', setting.reserved_executors, setting.max_executors),
         'Reserve fewer.', 'SET hipq.reserved_executors = 1'),
        (setting.max_running < setting.max_executors,
         'warning', 'hipq.max_running', 'contradicting settings',
         format('hipq.max_running (%s) is less than hipq.max_executors (%s): not all executors have room for a job.', setting.max_running, setting.max_executors),
         'Use fewer executors.', format('SET hipq.max_executors = %s', setting.max_running)),
        (setting.max_retries > 0 AND NOT setting.retry_enabled,
         'warning', 'hipq.retry_enabled', 'contradicting settings',
         format('hipq.max_retries is %s, and hipq.retry_enabled is off: no failed job is retried, unless its queue or type says so.', setting.max_retries),
         'Switch retries on, or set hipq.max_retries to 0.', 'SET hipq.retry_enabled = on'),
        (setting.default_timeout::interval > setting.max_timeout::interval,
         'warning', 'hipq.default_timeout', 'contradicting settings',
         format('hipq.default_timeout (%s) is longer than hipq.max_timeout (%s), which cuts it.', setting.default_timeout, setting.max_timeout),
         'Make it shorter, or the other one longer.', format('SET hipq.default_timeout = %L', setting.max_timeout)),
        (setting.retry_base::interval > setting.retry_max::interval,
         'warning', 'hipq.retry_base', 'contradicting settings',
         format('hipq.retry_base (%s) is longer than hipq.retry_max (%s), which cuts every delay.', setting.retry_base, setting.retry_max),
         'Make it shorter, or the other one longer.', format('SET hipq.retry_base = %L', setting.retry_max)),
        (setting.heartbeat_timeout::interval < interval '10 s',
         'warning', 'hipq.heartbeat_timeout', 'short timeout',
         format('hipq.heartbeat_timeout is %s, and the clients of hipq send a heartbeat every 10 s: workers without a session of their own are taken for unhealthy between two.', setting.heartbeat_timeout),
         'Allow for a lost one.', 'SET hipq.heartbeat_timeout = ''30s'''),
        (setting.clock_offset::interval <> interval '0',
         'warning', 'hipq.clock_offset', 'moved clock',
         format('hipq.clock_offset (%s) moves the present as hipq has it: it is for tests.', setting.clock_offset),
         'Take it back.', 'RESET hipq.clock_offset'),
        (setting.alert_waiting::interval < interval '0',
         'information', 'hipq.alert_waiting', 'alert off', 'hipq.alert_waiting is -1: nobody is told of jobs that do not start.',
         'Switch it on.', 'RESET hipq.alert_waiting'),
        (NOT setting.track_counts,
         'warning', 'track_counts', 'statistics off', 'track_counts is off: the server knows no sizes, and autovacuum does not work.',
         'Switch it on.', 'SET track_counts = on'),
        (NOT setting.autovacuum,
         'warning', 'autovacuum', 'autovacuum off', 'autovacuum is off: hipq vacuums live leaves itself, and nothing else.',
         'Switch it on.', 'SET autovacuum = on')
    ) AS rule (is_broken, severity, name, finding, detail, hint, change)
    WHERE rule.is_broken)";

// Settings that were changed and need a restart.
constexpr const char *pending_sql = R"(
    SELECT NULL::integer, 'information', 'setting ' || name, 'restart pending',
           format('Setting %s has been changed, and the server still works with %s.', name, coalesce(nullif(setting, ''), 'nothing')),
           'Restart the server.', NULL
    FROM pg_settings
    WHERE pending_restart AND (name LIKE 'hipq.%' OR name IN ('shared_preload_libraries', 'max_worker_processes', 'max_prepared_transactions')))";

// Launcher, one scheduler for each database, executors, and processes that others have started. The
// server's own processes in the list take no slot.
constexpr const char *worker_slots_sql = R"(
    WITH need AS (
        SELECT current_setting('max_worker_processes')::integer AS slots,
               current_setting('hipq.max_executors')::integer AS executors,
               greatest(1, count(DISTINCT datid) FILTER (WHERE backend_type = 'hipq scheduler')) AS schedulers,
               count(*) FILTER (WHERE backend_type NOT LIKE 'hipq %' AND backend_type NOT IN (
                   'autovacuum launcher', 'autovacuum worker', 'client backend', 'checkpointer', 'archiver', 'standalone backend', 'startup',
                   'walreceiver', 'walsender', 'walwriter', 'dead-end client backend', 'walsummarizer', 'slotsync worker', 'io worker', 'background writer', 'logger',
                   'parallel worker')) AS others,
               current_setting('max_parallel_workers_per_gather')::integer AS parallel
        FROM pg_stat_activity
    ), sum AS (
        SELECT need.*, 1 + need.schedulers + need.executors + need.others AS wanted FROM need
    )
    SELECT NULL::integer,
           CASE WHEN sum.slots < sum.wanted THEN 'warning' ELSE 'information' END,
           'setting max_worker_processes',
           CASE WHEN sum.slots < sum.wanted THEN 'few worker slots' ELSE 'no slots for parallel queries' END,
           format('max_worker_processes is %s. hipq uses up to %s (a launcher, %s scheduler(s), hipq.max_executors = %s), others %s%s.',
                  sum.slots, 1 + sum.schedulers + sum.executors, sum.schedulers, sum.executors, sum.others,
                  CASE WHEN sum.slots < sum.wanted THEN ': not all of them can start'
                       ELSE format(': a parallel query wants %s more', sum.parallel) END),
           'Raise it, and restart the server. Each further database with jobs needs one more.',
           format('ALTER SYSTEM SET max_worker_processes = %s', sum.wanted + sum.parallel)
    FROM sum
    WHERE sum.slots < sum.wanted + sum.parallel)";

}  // namespace

std::span<const SqlCheck> setting_checks()
{
    static constexpr SqlCheck checks[] = {
        {"settings", contradictions_sql},
        {"settings that wait for a restart", pending_sql},
        {"max_worker_processes", worker_slots_sql},
    };
    return checks;
}

}  // namespace hipq::monitor
