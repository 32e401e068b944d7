// Defines the settings of hipq with their defaults, units and contexts: a table for each kind.
#include "settings.hpp"

#include "pg/postgres.hpp"
#include "core/job/validate.hpp"

namespace hipq::settings {

namespace {

// In seconds.
constexpr double minute = 60;
constexpr double day = 24 * 60 * minute;
constexpr double century = 36'525 * day;
constexpr double most_whole_seconds = INT_MAX;  // for values that tables keep as integers

}  // namespace

bool enabled = true;
char *databases = nullptr;
int max_executors = 4;
int max_databases = 256;
int max_running = 4'096;
int max_lanes = 16'384;
int max_keys = 32'768;
int max_rates = 1'024;
int max_breakers = 1'024;
int max_owner_share = 75;
int audit_rate = 1'000;
int reserved_executors = 1;
Duration executor_quantum{5};
Duration executor_idle_timeout{5};
Duration terminate_grace{5};
int max_crashes = 2;
int max_type_crashes = 2;
Duration suspect_pause{1};
bool allow_superuser_handlers = false;
bool allow_foreign_handlers = false;
bool allow_drop = false;
char *traceparent = nullptr;
bool attempt_log = true;
int attempt_log_size = 8'192;
int attempt_log_rate = 100;
const char *traceparent_of_job = nullptr;
Duration clock_offset{0};
Duration default_timeout{5 * minute};
Duration max_timeout{day};
int max_job_data = 1'024;
int outbox_max = 8'192;
int max_unregistered_types = 100;
int max_job_types = 10'000;
int max_paused_keys = 1'000;
int max_retries = 0;
bool retry_enabled = true;
Duration retry_base{1};
double retry_multiplier = 2.0;
Duration retry_max{5 * minute};
double retry_jitter = 0.2;
int max_workers = 1'000;
Duration worker_grace{10};
Duration queue_ttl{5 * minute};
Duration worker_wait_ttl{5 * minute};
bool health_enabled = true;
Duration heartbeat_timeout{30};
Duration degraded_silence{-1};
Duration probe_interval{minute};
int degraded_failures = 3;
int unhealthy_failures = 10;
int degraded_depth = 50;
int unhealthy_depth = 100;
double degraded_failure_rate = 30;
double unhealthy_failure_rate = 70;
Duration retention{7 * day};
Duration dead_letter_retention{day};
Duration outbox_keep{day};
bool dead_letter_enabled = true;
int dead_letter_max = 100'000;
int max_statistics = 100;
double alert_retry_rate = 20;
double alert_retry_success = 70;
double alert_failures = 50;
int alert_dead_letters = 10;
int alert_dead_letter_depth = 100;
Duration alert_waiting{minute};
Duration alert_held_snapshot{10 * minute};
double alert_unhealthy_workers = 50;
double alert_worker_depth = 20;
int alert_least_jobs = 20;

namespace {

enum class Change : unsigned char { restart, reload, superuser, session };

// The default is the value of the variable before the definition.
struct Switch {
    const char *name;
    bool *variable;
    Change change;
    const char *what;
    const char *more = nullptr;
    GucBoolCheckHook check = nullptr;
};

template <class Variable, class Bound>
struct Quantity {
    const char *name;
    Variable *variable;
    Bound least;
    Bound most;
    Change change;
    const char *what;
    const char *more = nullptr;
    int flags = 0;
};
using Count = Quantity<int, int>;
using Number = Quantity<double, double>;
using Length = Quantity<Duration, double>;  // a number without a unit means seconds

// A session may switch it on only for itself, by SET or in its connection options: not a database,
// role or file, and not a function that runs with another role's privileges.
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

constexpr Switch switches[] = {
    {"hipq.enabled", &enabled, Change::reload, "Whether executors run jobs.",
     "Off: executors leave after their job; jobs can still be enqueued."},
    {"hipq.allow_superuser_handlers", &allow_superuser_handlers, Change::restart,
     "Whether queues owned by superusers may have SQL handlers."},
    {"hipq.allow_foreign_handlers", &allow_foreign_handlers, Change::session,
     "Whether handlers of queues of other roles may run in this session.",
     "For hipq.run_until_idle() and hipq.dry_run(). A session says so for itself.",
     hipq_check_own_choice},
    {"hipq.attempt_log", &attempt_log, Change::session,
     "Whether messages of handlers are kept with their attempt.",
     "ALTER FUNCTION ... SET switches it off for a handler."},
    {"hipq.allow_drop", &allow_drop, Change::superuser,
     "Whether DROP EXTENSION hipq may drop unfinished jobs."},
    {"hipq.retry_enabled", &retry_enabled, Change::reload, "Whether failed jobs are retried.",
     "Off: a failure is final."},
    {"hipq.health_enabled", &health_enabled, Change::reload,
     "Whether the health of external workers is judged.",
     "Off: all are unknown, and jobs go to whoever has the fewest."},
    {"hipq.dead_letter_enabled", &dead_letter_enabled, Change::reload,
     "Whether jobs that fail for good leave a dead letter."},
};

constexpr Count counts[] = {
    // Operation
    {"hipq.max_executors", &max_executors, 0, 1'000, Change::reload,
     "Most executors in the whole server.", "0 runs no SQL handlers; external workers go on."},
    {"hipq.reserved_executors", &reserved_executors, 0, 1'000, Change::reload,
     "Executors that are kept for queue owners that have none.",
     "Of hipq.max_executors, as far as there are such owners; one is always left to all."},
    {"hipq.max_running", &max_running, 16, 1'000'000, Change::restart,
     "Room in shared memory for jobs that executors have in flight.",
     "When it is full executors take one job at a time."},
    {"hipq.max_lanes", &max_lanes, 1, 100'000, Change::restart, "Room in shared memory for lanes.",
     "A lane is what waits of one queue, job type and priority. Each takes 2.1 kB, from its first "
     "use on. Without room for one its jobs are looked for in the table, which is slower."},
    {"hipq.max_keys", &max_keys, 16, 10'000'000, Change::restart,
     "Room in shared memory for throttle keys whose jobs wait.",
     "Each takes 124 bytes, from its first use on. Jobs of a key without room are read again and "
     "again until they can start."},
    {"hipq.max_rates", &max_rates, 16, 100'000, Change::restart,
     "Room in shared memory for rate limits of queues and job types.",
     "Each takes 2.2 kB. Without room for one, jobs under it wait."},
    {"hipq.max_breakers", &max_breakers, 16, 100'000, Change::restart,
     "Room in shared memory for breakers of job types.",
     "Each takes 0.3 kB. Without room for one, jobs of its type wait."},
    {"hipq.max_owner_share", &max_owner_share, 1, 100, Change::reload,
     "Most that one role may have of each table in shared memory, in percent.",
     "As queue owner, or by its external workers: of what it has and what is free together. 100: "
     "as "
     "much as is free."},
    {"hipq.max_crashes", &max_crashes, 1, 1'000'000, Change::reload,
     "Crashes of the server in a job's handler after which the job is final."},
    {"hipq.max_type_crashes", &max_type_crashes, 0, 1'000'000, Change::reload,
     "Crashes of the server in a job type's handlers within 10 minutes that have hipq hold the "
     "type.",
     "0 holds none."},
    // Jobs
    {"hipq.attempt_log_size", &attempt_log_size, 0, 1'048'576, Change::reload,
     "Bytes of a handler's messages that are kept of an attempt.", "0 keeps none.", GUC_UNIT_BYTE},
    {"hipq.attempt_log_rate", &attempt_log_rate, 1, 1'000'000, Change::reload,
     "Messages of handlers a second that a process keeps."},
    {"hipq.max_job_data", &max_job_data, 1, 250'000, Change::reload,
     "Largest job_data, and largest result.", nullptr, GUC_UNIT_KB},
    {"hipq.outbox_max", &outbox_max, 0, 1'000'000, Change::reload,
     "Most WAL that waits for another server of an instance before jobs for it are refused.",
     "0 refuses none.", GUC_UNIT_MB},
    {"hipq.max_unregistered_types", &max_unregistered_types, 0, 100'000, Change::reload,
     "Most job types of a queue that nobody has registered.", "Jobs of further ones are refused."},
    {"hipq.max_job_types", &max_job_types, 1, 1'000'000, Change::reload,
     "Most registered job types of a queue.", "Superusers may register more."},
    {"hipq.max_paused_keys", &max_paused_keys, 0, 1'000'000, Change::reload,
     "Most throttle keys of a queue that are paused.", "Superusers may pause more."},
    {"hipq.max_retries", &max_retries, 0, 1'000'000, Change::reload,
     "Retries after a retriable failure where neither job nor type, queue nor instance say."},
    {"hipq.dead_letter_max", &dead_letter_max, 1, INT_MAX, Change::reload,
     "Most dead letters that are kept of a queue.", "The newest are."},
    // External workers
    {"hipq.max_workers", &max_workers, 1, 100'000, Change::restart,
     "Room in shared memory for external workers.",
     "Without room for one it cannot be registered."},
    {"hipq.degraded_failures", &degraded_failures, 1, INT_MAX, Change::reload,
     "Failures in a row from which on an external worker is degraded."},
    {"hipq.unhealthy_failures", &unhealthy_failures, 1, INT_MAX, Change::reload,
     "Failures in a row from which on an external worker is unhealthy."},
    {"hipq.degraded_depth", &degraded_depth, 1, INT_MAX, Change::reload,
     "Jobs given to a worker and not accepted from which on it is degraded.",
     "One that may hold more than twice as many: with half of what it may hold."},
    {"hipq.unhealthy_depth", &unhealthy_depth, 1, INT_MAX, Change::reload,
     "Jobs given to a worker and not accepted from which on it is unhealthy.",
     "One that may hold more: with all that it may hold."},
    // Monitoring
    {"hipq.max_statistics", &max_statistics, 1, 10'000, Change::restart,
     "Room in shared memory for statistics.",
     "Each job type of a queue takes 50 kB. Without room for one nothing is counted of it."},
    {"hipq.alert_dead_letters", &alert_dead_letters, -1, INT_MAX, Change::reload,
     "Alert when a queue gets more dead letters in a minute.", "-1 switches it off."},
    {"hipq.alert_dead_letter_depth", &alert_dead_letter_depth, -1, 1'000'000, Change::reload,
     "Alert when more dead letters wait in a database.", "-1 switches it off."},
};

constexpr Number numbers[] = {
    {"hipq.retry_multiplier", &retry_multiplier, 1.0, 1'000.0, Change::reload,
     "Factor from one retry's delay to the next."},
    {"hipq.retry_jitter", &retry_jitter, 0.0, 1.0, Change::reload,
     "Random spread of the delay, as a fraction."},
    {"hipq.degraded_failure_rate", &degraded_failure_rate, 0.0, 1'000.0, Change::reload,
     "Percent of its last executions that fail from which on an external worker is degraded.",
     "More than 100 switches it off."},
    {"hipq.unhealthy_failure_rate", &unhealthy_failure_rate, 0.0, 1'000.0, Change::reload,
     "Percent of its last executions that fail from which on an external worker is unhealthy.",
     "More than 100 switches it off."},
    {"hipq.alert_retry_rate", &alert_retry_rate, -1, 10'000, Change::reload,
     "Alert when a queue's executions that are retries are more percent of those that are not.",
     "Over an hour; -1 switches it off."},
    {"hipq.alert_retry_success", &alert_retry_success, 0, 100, Change::reload,
     "Alert when fewer percent of a queue's retries succeed.", "Over an hour; 0 switches it off."},
    {"hipq.alert_failures", &alert_failures, 0, 100, Change::reload,
     "Alert when more percent of a queue's jobs fail for good.",
     "Over five minutes; 100 switches it off."},
    {"hipq.alert_unhealthy_workers", &alert_unhealthy_workers, 0, 100, Change::reload,
     "Alert when more percent of external workers are unhealthy.", "100 switches it off."},
    {"hipq.alert_worker_depth", &alert_worker_depth, -1, 1'000'000, Change::reload,
     "Alert when external workers have more jobs each not accepted.",
     "On average; -1 switches it off."},
};

constexpr Length lengths[] = {
    // Operation
    {"hipq.executor_idle_timeout", &executor_idle_timeout, 0, century, Change::reload,
     "How long an executor without work stays."},
    {"hipq.terminate_grace", &terminate_grace, 0, century, Change::reload,
     "How long a handler may go on after its timeout or its cancellation before its executor is "
     "terminated."},
    {"hipq.clock_offset", &clock_offset, -century, century, Change::superuser,
     "Moves hipq's idea of the present, for tests."},
    // Jobs
    {"hipq.default_timeout", &default_timeout, 1, most_whole_seconds, Change::reload,
     "How long an attempt may run where neither job nor job type say."},
    {"hipq.max_timeout", &max_timeout, 1, most_whole_seconds, Change::reload,
     "Longest timeout of a job where its queue does not say.", "A queue says it by max_timeout."},
    {"hipq.retry_base", &retry_base, 0, century, Change::reload, "Delay before the first retry."},
    {"hipq.retry_max", &retry_max, 0, century, Change::reload, "Longest delay before a retry."},
    {"hipq.retention", &retention, minute, century, Change::reload,
     "How long final jobs and attempts are kept."},
    {"hipq.dead_letter_retention", &dead_letter_retention, minute, century, Change::reload,
     "How long dead letters are kept."},
    {"hipq.outbox_keep", &outbox_keep, minute, century, Change::reload,
     "How long what was sent to other servers of an instance is kept."},
    // External workers
    {"hipq.worker_grace", &worker_grace, 0, century, Change::reload,
     "How long the jobs of an external worker stay its own when its session has ended."},
    {"hipq.queue_ttl", &queue_ttl, 1, most_whole_seconds, Change::reload,
     "How long a job that was given to an external worker waits for that to accept it."},
    {"hipq.worker_wait_ttl", &worker_wait_ttl, 0, most_whole_seconds, Change::reload,
     "How long a due job waits while no external worker can be given it, before it fails.",
     "0: for ever."},
    {"hipq.heartbeat_timeout", &heartbeat_timeout, 0.001, century, Change::reload,
     "How long an external worker without a session of its own may be silent before it is "
     "unhealthy."},
    {"hipq.degraded_silence", &degraded_silence, -1, century, Change::reload,
     "How long it may be silent before it is degraded.", "-1 switches it off."},
    {"hipq.probe_interval", &probe_interval, 0.001, century, Change::reload,
     "How often an unhealthy worker that is there gets a job to try."},
    // Monitoring
    {"hipq.alert_waiting", &alert_waiting, -1, century, Change::reload,
     "Alert when jobs have been due for longer and do not start.", "-1 switches it off."},
    {"hipq.alert_held_snapshot", &alert_held_snapshot, -1, century, Change::reload,
     "Alert when something keeps dead rows for longer.", "-1 switches it off."},
};

#ifdef HIPQ_POINTS
// Settings that only tests need, to reach rare situations; constants in other builds.
constexpr Count counts_of_tests[] = {
    {"hipq.max_databases", &max_databases, 1, 256, Change::restart,
     "Databases whose times are kept in shared memory.", "With more than that they take turns."},
    {"hipq.audit_rate", &audit_rate, 0, 1'000'000, Change::reload,
     "Waiting jobs a second that are checked to be where claims look for them.", "0 checks none."},
    {"hipq.alert_least_jobs", &alert_least_jobs, 1, INT_MAX, Change::reload,
     "Jobs that a share has to be of to be an alert."},
};

constexpr Length lengths_of_tests[] = {
    {"hipq.executor_quantum", &executor_quantum, 0, century, Change::reload,
     "How long an executor may stay when another queue owner waits for one."},
    {"hipq.suspect_pause", &suspect_pause, 0, minute, Change::reload,
     "How long after a crash of the server no job starts that may have made it.",
     "It doubles with each further crash within 10 minutes, to 1 min at most."},
};
#endif

// A library that is loaded after server start must not define a setting that needs a restart. It
// does not run handlers either.
GucContext context_of(Change change)
{
    switch (change) {
    case Change::restart:
        return process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP;
    case Change::reload:
        return PGC_SIGHUP;
    case Change::superuser:
        return PGC_SUSET;
    case Change::session:
        return PGC_USERSET;
    }
    return PGC_SIGHUP;
}

void define(const Switch &it)
{
    ::DefineCustomBoolVariable(it.name, it.what, it.more, it.variable, *it.variable,
                               context_of(it.change), 0, it.check, nullptr, nullptr);
}

void define(const Count &it)
{
    ::DefineCustomIntVariable(it.name, it.what, it.more, it.variable, *it.variable, it.least,
                              it.most, context_of(it.change), it.flags, nullptr, nullptr, nullptr);
}

void define_number(const char *name, const char *what, const char *more, double *variable,
                   double least, double most, Change change, int flags)
{
    ::DefineCustomRealVariable(name, what, more, variable, *variable, least, most,
                               context_of(change), flags, nullptr, nullptr, nullptr);
}

void define(const Number &it)
{
    define_number(it.name, it.what, it.more, it.variable, it.least, it.most, it.change, it.flags);
}

void define(const Length &it)
{
    define_number(it.name, it.what, it.more, &it.variable->seconds, it.least, it.most, it.change,
                  GUC_UNIT_S);
}

template <class Settings>
void define_all(const Settings &settings)
{
    for (const auto &setting : settings)
        define(setting);
}

}  // namespace

const char *present_traceparent()
{
    return *traceparent == '\0' && traceparent_of_job != nullptr ? traceparent_of_job : traceparent;
}

// ---- call inside pg::call() only ----

extern "C" bool hipq_check_traceparent(char **value, void **, GucSource)
{
    if (**value == '\0' || core::is_traceparent(*value))
        return true;
    GUC_check_errmsg("invalid value for parameter \"hipq.traceparent\": \"%s\"", *value);
    GUC_check_errhint("%s", core::traceparent_hint);
    return false;
}

extern "C" const char *hipq_show_traceparent(void)
{
    return present_traceparent();
}

// A placeholder has the value of a setting whose library is not loaded.
bool are_defined()
{
    return ::GetConfigOption("hipq.databases", true, false) != nullptr &&
           (::GetConfigOptionFlags("hipq.databases", true) & GUC_CUSTOM_PLACEHOLDER) == 0;
}

void define()
{
    ::DefineCustomStringVariable("hipq.databases", "Databases whose jobs are run.",
                                 "A comma-separated list, or * for all of them.", &databases, "*",
                                 PGC_SIGHUP, GUC_LIST_INPUT, nullptr, nullptr, nullptr);
    ::DefineCustomStringVariable(
        "hipq.traceparent", "The trace that new jobs of this session belong to.",
        "As W3C Trace Context writes it. In a handler it is that of the job, if it has one.",
        &traceparent, "", PGC_USERSET, 0, hipq_check_traceparent, nullptr, hipq_show_traceparent);
    define_all(switches);
    define_all(counts);
    define_all(numbers);
    define_all(lengths);
#ifdef HIPQ_POINTS
    define_all(counts_of_tests);
    define_all(lengths_of_tests);
#endif
    ::MarkGUCPrefixReserved("hipq");
}

}  // namespace hipq::settings
