// The settings of hipq (hipq.*): one variable each, defined in settings.cpp with default, bounds
// and context.
#pragma once

#include <cmath>
#include <cstdint>

namespace hipq::settings {

// A length of time. PostgreSQL keeps it in seconds, so a number without a unit means seconds.
struct Duration {
    double seconds;

    std::int64_t microseconds() const { return std::llround(seconds * 1'000'000); }
    // As stored in tables: rounded up.
    int whole_seconds() const { return static_cast<int>(std::ceil(seconds)); }
    bool operator==(const Duration &) const = default;
};

// Operation
extern bool enabled;     // hipq.enabled: executors run jobs
extern char *databases;  // hipq.databases: '*' or a comma-separated list of the databases to serve
extern int max_executors;  // hipq.max_executors: cluster-wide, 0 = none
extern int
    max_running;  // hipq.max_running: jobs that executors have in flight at a time, cluster-wide
extern int max_rates;     // hipq.max_rates: in shared memory, cluster-wide
extern int max_breakers;  // hipq.max_breakers: in shared memory, cluster-wide
extern int max_keys;      // hipq.max_keys: in shared memory, cluster-wide
extern int max_lanes;     // hipq.max_lanes: in shared memory, cluster-wide
extern int
    max_owner_share;  // hipq.max_owner_share, %: of each table in shared memory, for one role
extern int
    max_crashes;  // hipq.max_crashes: crashes of the server by a job after which the job is final
extern int reserved_executors;  // hipq.reserved_executors: for queue owners that have none
extern Duration max_timeout;    // hipq.max_timeout
extern int max_type_crashes;    // hipq.max_type_crashes: crashes of the server by a job type after
                                // which the type is held
extern Duration executor_idle_timeout;  // hipq.executor_idle_timeout: an idle executor leaves
extern Duration terminate_grace;  // hipq.terminate_grace: from a handler's first cancellation to
                                  // SIGTERM for its process
extern bool allow_superuser_handlers;  // hipq.allow_superuser_handlers
extern bool allow_foreign_handlers;  // hipq.allow_foreign_handlers: handlers of other roles may run
                                     // in this session
extern bool allow_drop;              // hipq.allow_drop: DROP EXTENSION with unfinished jobs
extern Duration clock_offset;        // hipq.clock_offset: moves hipq's current time, for tests

// The trace of new jobs of this session, in the format of W3C Trace Context.
extern char *traceparent;  // hipq.traceparent; "": the trace of the job whose handler runs
extern const char *traceparent_of_job;  // null: the job has none
const char *present_traceparent();      // the one in effect, as SHOW displays it; "": neither

// Messages of handlers
extern bool attempt_log;      // hipq.attempt_log: messages are kept
extern int attempt_log_size;  // hipq.attempt_log_size, bytes: per attempt
extern int attempt_log_rate;  // hipq.attempt_log_rate, 1/s: messages per process

// Defaults for jobs, if neither the job nor its type has a value
extern Duration default_timeout;    // hipq.default_timeout
extern int max_job_data;            // hipq.max_job_data, kB
extern int outbox_max;              // hipq.outbox_max, MB; 0: no limit
extern int max_unregistered_types;  // hipq.max_unregistered_types: of each queue
extern int max_job_types;           // hipq.max_job_types: of each queue
extern int max_paused_keys;         // hipq.max_paused_keys: of each queue
extern int max_retries;             // hipq.max_retries
extern bool retry_enabled;          // hipq.retry_enabled: off makes every failure final
extern Duration retry_base;         // hipq.retry_base
extern double retry_multiplier;     // hipq.retry_multiplier
extern Duration retry_max;          // hipq.retry_max
extern double retry_jitter;         // hipq.retry_jitter

// External workers
extern int max_workers;             // hipq.max_workers: in shared memory, cluster-wide
extern Duration worker_grace;       // hipq.worker_grace: from the end of a worker's session until
                                    // other workers get its jobs
extern Duration queue_ttl;          // hipq.queue_ttl: from the offer until the worker accepts
extern Duration worker_wait_ttl;    // hipq.worker_wait_ttl: of a due job for a worker; 0: no limit
extern bool health_enabled;         // hipq.health_enabled: the health of workers is judged
extern Duration heartbeat_timeout;  // hipq.heartbeat_timeout: silence until a worker is unhealthy
extern Duration degraded_silence;  // hipq.degraded_silence: silence until it is degraded; -1: never
extern Duration
    probe_interval;  // hipq.probe_interval: from one probe of an unhealthy worker to the next
extern int degraded_failures;          // hipq.degraded_failures, in a row
extern int unhealthy_failures;         // hipq.unhealthy_failures, in a row
extern int degraded_depth;             // hipq.degraded_depth
extern int unhealthy_depth;            // hipq.unhealthy_depth
extern double degraded_failure_rate;   // hipq.degraded_failure_rate, %
extern double unhealthy_failure_rate;  // hipq.unhealthy_failure_rate, %

// Retention
extern Duration retention;              // hipq.retention
extern Duration dead_letter_retention;  // hipq.dead_letter_retention
extern bool dead_letter_enabled;        // hipq.dead_letter_enabled
extern int dead_letter_max;             // hipq.dead_letter_max, per queue
extern Duration outbox_keep;            // hipq.outbox_keep

// Monitoring
extern int max_statistics;              // hipq.max_statistics: queues and job types with statistics
extern double alert_retry_rate;         // hipq.alert_retry_rate, %
extern double alert_retry_success;      // hipq.alert_retry_success, %
extern double alert_failures;           // hipq.alert_failures, %
extern int alert_dead_letters;          // hipq.alert_dead_letters, 1/min
extern int alert_dead_letter_depth;     // hipq.alert_dead_letter_depth
extern Duration alert_waiting;          // hipq.alert_waiting
extern Duration alert_held_snapshot;    // hipq.alert_held_snapshot
extern double alert_unhealthy_workers;  // hipq.alert_unhealthy_workers, %
extern double alert_worker_depth;       // hipq.alert_worker_depth, jobs per worker

// Constants; settings in test builds
extern int max_databases;          // hipq.max_databases: with work at a time
extern int audit_rate;             // hipq.audit_rate, 1/s: waiting jobs that a scheduler checks
extern int alert_least_jobs;       // hipq.alert_least_jobs: rates of fewer jobs raise no alert
extern Duration executor_quantum;  // hipq.executor_quantum: an executor that exceeds it leaves if
                                   // another queue owner waits
extern Duration suspect_pause;     // hipq.suspect_pause

// Defines the settings; _PG_init calls it once. Raises ERROR by longjmp.
void define();

// Returns whether this process already has the settings, from another file of the library.
bool are_defined();

}  // namespace hipq::settings
