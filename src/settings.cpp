// Defines the settings of hipq with their defaults, units and contexts.
#include "settings.hpp"

#include "pg/postgres.hpp"

namespace hipq::settings {

bool enabled = true;
char *databases = nullptr;
int max_executors = 4;
int max_databases = 256;
int max_running = 4'096;
int max_lanes = 1'024;
int max_owner_share = 75;
int audit_rate = 1'000;
int reserved_executors = 1;
int executor_quantum = 5'000;
int executor_idle_timeout = 5'000;
int terminate_grace = 5'000;
int max_crashes = 2;
int max_type_crashes = 2;
int suspect_pause = 1'000;
bool allow_superuser_handlers = false;
bool allow_foreign_handlers = false;
bool allow_drop = false;
int clock_offset = 0;
int default_timeout = 300;
int max_timeout = 24 * 60 * 60;
int max_job_data = 1'024;
int max_job_depth = 500;
int max_unregistered_types = 100;
int max_retries = 0;
bool retry_enabled = true;
int retry_base = 1'000;
double retry_multiplier = 2.0;
int retry_max = 300'000;
double retry_jitter = 0.2;
int max_workers = 1'000;
int worker_share = 75;
int worker_grace = 10'000;
int queue_ttl = 300;
bool health_enabled = true;
int heartbeat_timeout = 30'000;
int probe_interval = 60'000;
int degraded_failures = 3;
int unhealthy_failures = 10;
int degraded_depth = 50;
int unhealthy_depth = 100;
double degraded_failure_rate = 30.0;
double unhealthy_failure_rate = 70.0;
int retention = 7 * 24 * 60;
int dead_letter_retention = 24 * 60;
bool dead_letter_enabled = true;
int dead_letter_max = 100'000;
int max_statistics = 100;
double alert_retry_rate = 20;
double alert_retry_success = 70;
double alert_failures = 50;
int alert_dead_letters = 10;
int alert_dead_letter_depth = 100;
int alert_waiting = 60;
int alert_held_snapshot = 600;
double alert_unhealthy_workers = 50;
double alert_worker_depth = 20;
int alert_least_jobs = 20;

namespace {

constexpr int week_in_minutes = 7 * 24 * 60;

// On is what a session has chosen itself, by SET or when it connected: no database, role or file
// does it, and no function that runs with another role's rights.
extern "C" bool hipq_check_own_choice(bool *value, void **, GucSource source)
{
    const bool is_own =
        (source == PGC_S_CLIENT || source == PGC_S_SESSION) && !::InLocalUserIdChange();
    if (!*value || (is_own && !::InSecurityRestrictedOperation()))
        return true;
    GUC_check_errdetail("It can be switched on by a session for itself only: by SET, or in the "
                        "options of its connection.");
    return false;
}

void define_operation()
{
    // A library that is loaded later than the server started may define no setting that needs a
    // restart. It runs no handlers either.
    const GucContext restart_context =
        process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP;
    ::DefineCustomBoolVariable("hipq.enabled", "Whether executors run jobs.",
                               "Off: executors leave after their job; jobs can still be enqueued.",
                               &enabled, true, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomStringVariable("hipq.databases", "Databases whose jobs are run.",
                                 "A comma-separated list, or * for all of them.", &databases, "*",
                                 PGC_SIGHUP, GUC_LIST_INPUT, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.max_executors", "Most executors in the whole server.",
                              "0 runs no SQL handlers; external workers go on.", &max_executors, 4,
                              0, 1'000, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.reserved_executors", "Executors that are kept for queue owners that have none.",
        "Of hipq.max_executors, as far as there are such owners; one is always left to all.",
        &reserved_executors, 1, 0, 1'000, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.max_databases",
                              "Databases whose times are kept in shared memory.",
                              "With more than that they take turns.", &max_databases, 256, 1, 256,
                              restart_context, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.max_running",
                              "Room in shared memory for jobs that executors have in flight.",
                              "When it is full executors take one job at a time.", &max_running,
                              4'096, 16, 1'000'000, restart_context, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.max_lanes", "Room in shared memory for lanes.",
                              "A lane is what waits of one queue, job type and priority. Without "
                              "room for one its jobs are looked for in "
                              "the table.",
                              &max_lanes, 1'024, 1, 100'000, restart_context, 0, nullptr, nullptr,
                              nullptr);
    ::DefineCustomIntVariable(
        "hipq.max_owner_share",
        "Most that one owner may have of each table in shared memory, in percent.",
        "Of what it has and what is free together. 100: as much as is free.", &max_owner_share, 75,
        1, 100, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.audit_rate",
        "Waiting jobs a second that are checked to be where claims look for them.",
        "0 checks none.", &audit_rate, 1'000, 0, 1'000'000, PGC_SIGHUP, 0, nullptr, nullptr,
        nullptr);
    ::DefineCustomIntVariable(
        "hipq.executor_quantum",
        "How long an executor may stay when another queue owner waits for one.", nullptr,
        &executor_quantum, 5'000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.executor_idle_timeout",
                              "How long an executor without work stays.", nullptr,
                              &executor_idle_timeout, 5'000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS,
                              nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.terminate_grace",
                              "How long a handler may go on after its timeout or its cancellation "
                              "before its executor is terminated.",
                              nullptr, &terminate_grace, 5'000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS,
                              nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.max_crashes",
        "Crashes of the server in a job's handler after which the job is final.", nullptr,
        &max_crashes, 2, 1, 1'000'000, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.max_type_crashes",
                              "Crashes of the server in a job type's handlers within 10 minutes "
                              "that have hipq hold the type.",
                              "0 holds none.", &max_type_crashes, 2, 0, 1'000'000, PGC_SIGHUP, 0,
                              nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.suspect_pause",
        "How long after a crash of the server no job starts that may have made it.",
        "It doubles with each further crash within 10 minutes, to 1 min at most.", &suspect_pause,
        1'000, 0, 60'000, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    ::DefineCustomBoolVariable("hipq.allow_superuser_handlers",
                               "Whether queues owned by superusers may have SQL handlers.", nullptr,
                               &allow_superuser_handlers, false, restart_context, 0, nullptr,
                               nullptr, nullptr);
    ::DefineCustomBoolVariable(
        "hipq.allow_foreign_handlers",
        "Whether handlers of queues of other roles may run in this session.",
        "For hipq.run_until_idle() and hipq.dry_run(). A session says so for itself.",
        &allow_foreign_handlers, false, PGC_USERSET, 0, hipq_check_own_choice, nullptr, nullptr);
    ::DefineCustomBoolVariable("hipq.allow_drop",
                               "Whether DROP EXTENSION hipq may drop unfinished jobs.", nullptr,
                               &allow_drop, false, PGC_SUSET, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.clock_offset", "Moves hipq's idea of the present, for tests.",
                              nullptr, &clock_offset, 0, -1'000'000'000, 1'000'000'000, PGC_SUSET,
                              GUC_UNIT_S, nullptr, nullptr, nullptr);
}

void define_defaults_of_jobs()
{
    ::DefineCustomIntVariable("hipq.default_timeout",
                              "How long an attempt may run where neither job nor job type say.",
                              nullptr, &default_timeout, 300, 1, INT_MAX, PGC_SIGHUP, GUC_UNIT_S,
                              nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.max_timeout",
                              "Longest timeout of a job where its queue does not say.",
                              "A queue says it by max_timeout.", &max_timeout, 24 * 60 * 60, 1,
                              INT_MAX, PGC_SIGHUP, GUC_UNIT_S, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.max_job_data", "Largest job_data, and largest result.", nullptr,
                              &max_job_data, 1'024, 1, 250'000, PGC_SIGHUP, GUC_UNIT_KB, nullptr,
                              nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.max_unregistered_types",
                              "Most job types of a queue that nobody has registered.",
                              "Jobs of further ones are refused.", &max_unregistered_types, 100, 0,
                              100'000, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.max_job_depth", "Most arrays and objects within each other in job_data.", nullptr,
        &max_job_depth, 500, 1, 5'000, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.max_retries", "Retries after a retriable failure where neither job nor job type say.",
        nullptr, &max_retries, 0, 0, 1'000'000, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomBoolVariable("hipq.retry_enabled", "Whether failed jobs are retried.",
                               "Off: a failure is final.", &retry_enabled, true, PGC_SIGHUP, 0,
                               nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.retry_base", "Delay before the first retry.", nullptr,
                              &retry_base, 1'000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, nullptr,
                              nullptr, nullptr);
    ::DefineCustomRealVariable(
        "hipq.retry_multiplier", "Factor from one retry's delay to the next.", nullptr,
        &retry_multiplier, 2.0, 1.0, 1'000.0, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.retry_max", "Longest delay before a retry.", nullptr,
                              &retry_max, 300'000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, nullptr,
                              nullptr, nullptr);
    ::DefineCustomRealVariable("hipq.retry_jitter", "Random spread of the delay, as a fraction.",
                               nullptr, &retry_jitter, 0.2, 0.0, 1.0, PGC_SIGHUP, 0, nullptr,
                               nullptr, nullptr);
}

void define_workers()
{
    const GucContext restart_context =
        process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP;
    ::DefineCustomIntVariable("hipq.max_workers", "Room in shared memory for external workers.",
                              "Without room for one it cannot be registered.", &max_workers, 1'000,
                              1, 100'000, restart_context, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.worker_share",
        "What one role's workers may have of hipq.max_workers and hipq.max_running.",
        "Per cent of what the role has and what is free, together; 100 is no bound.", &worker_share,
        75, 1, 100, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.worker_grace",
        "How long the jobs of an external worker stay its own when its session has ended.", nullptr,
        &worker_grace, 10'000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.queue_ttl",
        "How long a job that was given to an external worker waits for that to accept it.", nullptr,
        &queue_ttl, 300, 1, INT_MAX, PGC_SIGHUP, GUC_UNIT_S, nullptr, nullptr, nullptr);
    ::DefineCustomBoolVariable("hipq.health_enabled",
                               "Whether the health of external workers is judged.",
                               "Off: all are unknown, and jobs go to whoever has the fewest.",
                               &health_enabled, true, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.heartbeat_timeout",
                              "How long an external worker without a session of its own may be "
                              "silent before it is unhealthy.",
                              nullptr, &heartbeat_timeout, 30'000, 1, INT_MAX, PGC_SIGHUP,
                              GUC_UNIT_MS, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.probe_interval",
                              "How often an unhealthy worker that is there gets a job to try.",
                              nullptr, &probe_interval, 60'000, 1, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS,
                              nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.degraded_failures", "Failures in a row from which on a worker is degraded.", nullptr,
        &degraded_failures, 3, 1, INT_MAX, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.unhealthy_failures", "Failures in a row from which on a worker is unhealthy.",
        nullptr, &unhealthy_failures, 10, 1, INT_MAX, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.degraded_depth",
        "Jobs given to a worker and not accepted from which on it is degraded.", nullptr,
        &degraded_depth, 50, 1, INT_MAX, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.unhealthy_depth",
        "Jobs given to a worker and not accepted from which on it is unhealthy.", nullptr,
        &unhealthy_depth, 100, 1, INT_MAX, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomRealVariable("hipq.degraded_failure_rate",
                               "Failed executions, in percent, from which on a worker is degraded.",
                               nullptr, &degraded_failure_rate, 30.0, 0.0, 100.0, PGC_SIGHUP, 0,
                               nullptr, nullptr, nullptr);
    ::DefineCustomRealVariable(
        "hipq.unhealthy_failure_rate",
        "Failed executions, in percent, from which on a worker is unhealthy.", nullptr,
        &unhealthy_failure_rate, 70.0, 0.0, 100.0, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
}

void define_keeping()
{
    ::DefineCustomIntVariable("hipq.retention", "How long final jobs and attempts are kept.",
                              nullptr, &retention, week_in_minutes, 1, INT_MAX, PGC_SIGHUP,
                              GUC_UNIT_MIN, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.dead_letter_retention", "How long dead letters are kept.",
                              nullptr, &dead_letter_retention, 24 * 60, 1, INT_MAX, PGC_SIGHUP,
                              GUC_UNIT_MIN, nullptr, nullptr, nullptr);
    ::DefineCustomBoolVariable(
        "hipq.dead_letter_enabled", "Whether jobs that fail for good leave a dead letter.", nullptr,
        &dead_letter_enabled, true, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.dead_letter_max", "Most dead letters that are kept of a queue.",
                              "The newest are.", &dead_letter_max, 100'000, 1, INT_MAX, PGC_SIGHUP,
                              0, nullptr, nullptr, nullptr);
}

void define_looking()
{
    const GucContext restart_context =
        process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP;
    ::DefineCustomIntVariable(
        "hipq.max_statistics", "Room in shared memory for statistics.",
        "Each job type of a queue takes 50 kB. Without room for one nothing is counted of it.",
        &max_statistics, 100, 1, 10'000, restart_context, 0, nullptr, nullptr, nullptr);
    ::DefineCustomRealVariable(
        "hipq.alert_retry_rate",
        "Alert when a queue's executions that are retries are more percent of those that are not.",
        "Over an hour; -1 switches it off.", &alert_retry_rate, 20, -1, 10'000, PGC_SIGHUP, 0,
        nullptr, nullptr, nullptr);
    ::DefineCustomRealVariable("hipq.alert_retry_success",
                               "Alert when fewer percent of a queue's jobs succeed after a retry.",
                               "Over an hour; 0 switches it off.", &alert_retry_success, 70, 0, 100,
                               PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomRealVariable("hipq.alert_failures",
                               "Alert when more percent of a queue's jobs fail for good.",
                               "Over five minutes; 100 switches it off.", &alert_failures, 50, 0,
                               100, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.alert_dead_letters",
                              "Alert when a queue gets more dead letters in a minute.",
                              "-1 switches it off.", &alert_dead_letters, 10, -1, INT_MAX,
                              PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.alert_dead_letter_depth",
                              "Alert when more dead letters wait in a database.",
                              "-1 switches it off.", &alert_dead_letter_depth, 100, -1, 1'000'000,
                              PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.alert_waiting",
                              "Alert when jobs have been due for longer and do not start.",
                              "-1 switches it off.", &alert_waiting, 60, -1, INT_MAX, PGC_SIGHUP,
                              GUC_UNIT_S, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable("hipq.alert_held_snapshot",
                              "Alert when something keeps dead rows for longer.",
                              "-1 switches it off.", &alert_held_snapshot, 600, -1, INT_MAX,
                              PGC_SIGHUP, GUC_UNIT_S, nullptr, nullptr, nullptr);
    ::DefineCustomRealVariable("hipq.alert_unhealthy_workers",
                               "Alert when more percent of external workers are unhealthy.",
                               "100 switches it off.", &alert_unhealthy_workers, 50, 0, 100,
                               PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomRealVariable("hipq.alert_worker_depth",
                               "Alert when external workers have more jobs each not accepted.",
                               "On average; -1 switches it off.", &alert_worker_depth, 20, -1,
                               1'000'000, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    ::DefineCustomIntVariable(
        "hipq.alert_least_jobs", "Jobs that a share has to be of to be an alert.", nullptr,
        &alert_least_jobs, 20, 1, INT_MAX, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
}

}  // namespace

void define()
{
    define_operation();
    define_defaults_of_jobs();
    define_workers();
    define_keeping();
    define_looking();
    ::MarkGUCPrefixReserved("hipq");
}

}  // namespace hipq::settings
