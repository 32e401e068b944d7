// The health of an external worker, judged from what the server observed and what the worker
// reports.
//
// Unhealthy: silent for too long, too many failures in a row, too many jobs that it does not
// accept, or too high a share of failures. Degraded: the same with limits of its own. Unknown: no
// sign of life since it registered, or hipq.health_enabled is off. Times are in microseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hipq::core {

// From good to bad: the order in which workers are offered jobs, and in which one grade overrides
// another.
enum class Health : unsigned char { healthy, unknown, degraded, unhealthy };
std::string_view name(Health health);
std::optional<Health> parse_health(std::string_view text);

struct HealthLimits {
    bool enabled = true;
    std::int64_t heartbeat_timeout = 30'000'000;
    std::int64_t degraded_silence = -1;  // negative: silence does not degrade a worker
    std::int64_t probe_interval = 60'000'000;
    int degraded_failures = 3;  // in a row
    int unhealthy_failures = 10;
    // Limits of the number of jobs offered but not accepted. For a worker that may hold many
    // jobs they are at least half of that number (degraded), and all of it (unhealthy).
    int degraded_depth = 50;
    int unhealthy_depth = 100;
    double degraded_failure_rate = 30;  // percent
    double unhealthy_failure_rate = 70;
};

// The outcomes of the last 64 executions.
class Outcomes {
public:
    void note(bool succeeded);
    // The percentage that failed; nothing if there are too few to tell: one failure would be 100 %.
    std::optional<double> failure_rate() const;

private:
    std::uint64_t bits_ = 0;  // a set bit is a failure; the latest is the lowest
    std::int32_t count_ = 0;
    std::int32_t failures_ = 0;
};

// Counts of executions, by the server or by the worker itself.
struct RunCounts {
    std::int64_t executions = 0;
    std::int64_t failures = 0;
    double average_ms = 0;
    int consecutive_failures = 0;
};

// What a worker reports about itself; missing values are zero.
struct SelfReport {
    Health status = Health::healthy;
    RunCounts counts;
    int queue_depth = 0;
};

// The facts by which a worker is judged.
struct WorkerRecord {
    bool is_gone = false;   // its session has ended
    bool is_bound = false;  // its session exists: it needs no heartbeat, but must answer when it is
                            // offered a job
    bool was_heard = false;
    std::int64_t last_sign =
        0;              // the last heartbeat, else when the worker registered or the server started
    int depth = 0;      // jobs offered but not accepted
    int most_held = 0;  // jobs that it may hold: as many as it runs at a time, and its prefetch
    std::optional<std::int64_t>
        asked;  // since when it has been offered a job that it could run, and has not answered
    std::int64_t executions = 0;
    std::int64_t failures = 0;
    int consecutive_failures = 0;
    std::int64_t run_time = 0;  // sum over executions
    Outcomes outcomes;
    SelfReport report;
    std::optional<std::int64_t>
        probe_clock;  // while unhealthy: when it was found to be, or its last probe
};

// What the server observed and what the worker reports, merged: the worse of the two, number by
// number. Totals are from the side that counted more executions.
struct HealthSummary {
    Health status;
    RunCounts counts;
    int queue_depth;
    std::optional<double>
        failure_rate;  // percent, as used for judging; nothing if there are too few executions
};
HealthSummary summarize(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

// Jobs offered to the worker and not accepted, or its own figure if that is higher: its report may
// be old, so jobs offered since count all the same.
int queue_depth_of(const WorkerRecord &worker);

Health judge(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

// Returns when the worker becomes stale without a further sign of life; the greatest number: never.
// An existing session is a sign of life until the worker fails to answer: behind a pooler the
// session outlives the worker.
std::int64_t stale_from(const WorkerRecord &worker, const HealthLimits &limits);
bool is_stale(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

// Starts the wait for an answer when the worker has a job that it could run, and ends it when there
// is none any more. Call it after each change. A worker that has not answered in time stays stale
// until its next sign of life.
void keep_asked(WorkerRecord &worker, bool can_run_more, const HealthLimits &limits,
                std::int64_t now);
void note_sign_of_life(WorkerRecord &worker, std::int64_t now);

// Returns whether an unhealthy worker may get one job to find out whether it works again: once per
// interval, first an interval after it was found unhealthy. A worker that reports itself unhealthy
// is never probed. `health` is the result of judge().
bool may_be_probed(const WorkerRecord &worker, Health health, const HealthLimits &limits,
                   std::int64_t now);

// Returns when the worker may be probed, in its present state; nothing: never.
std::optional<std::int64_t> next_probe(const WorkerRecord &worker, Health health,
                                       const HealthLimits &limits, std::int64_t now);

// Starts the probe clock when the worker becomes unhealthy, and stops it when it recovers. Call it
// after each change, and periodically, because time and settings change its health too.
void keep_probe_clock(WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

void note_probe(WorkerRecord &worker, std::int64_t now);
// The probe did not take place: the next one is due at once.
void note_no_probe(WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

// How an execution ended. A failure that the worker blames on the job does not count against the
// worker.
enum class Execution : unsigned char { succeeded, failed, blamed_on_job };
// Counts an execution. A successful probe clears the earlier outcomes.
void note_execution(WorkerRecord &worker, Execution execution, std::int64_t run_time,
                    bool was_probe);

// Counts a job that was not accepted in time: a failure without execution.
void note_expiry(WorkerRecord &worker);

}  // namespace hipq::core
