// How an external worker is doing: judged from what the server has seen of it and what it says of
// itself.
//
// Unhealthy: not heard of for too long, too many failures in a row, too many jobs that it does not
// take up, too great a share of failures. Degraded: the same with limits of its own. Unknown: it
// has given no sign of life since it registered, or hipq.health_enabled is off. Times are
// microseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hipq::core {

// From good to bad: the order in which workers are given jobs, and in which one judgement overrides
// another.
enum class Health : unsigned char { healthy, unknown, degraded, unhealthy };
std::string_view name(Health health);
std::optional<Health> parse_health(std::string_view text);

struct HealthLimits {
    bool enabled = true;
    std::int64_t heartbeat_timeout = 30'000'000;
    std::int64_t degraded_silence = -1;  // negative: silence degrades nobody
    std::int64_t probe_interval = 60'000'000;
    int degraded_failures = 3;  // in a row
    int unhealthy_failures = 10;
    // Jobs dispatched, not accepted. Of a worker that may hold more: half of those, and all.
    int degraded_depth = 50;
    int unhealthy_depth = 100;
    double degraded_failure_rate = 30;  // percent
    double unhealthy_failure_rate = 70;
};

// How the latest executions ended, the last 64 of them.
class Outcomes {
public:
    void note(bool succeeded);
    // Percent that failed; nothing while there are too few to tell: one failure would be 100 %.
    std::optional<double> failure_rate() const;

private:
    std::uint64_t bits_ = 0;  // a failure each, the latest is the lowest
    std::int32_t count_ = 0;
    std::int32_t failures_ = 0;
};

// Executions, by whoever counts them.
struct Tally {
    std::int64_t executions = 0;
    std::int64_t failures = 0;
    double average_ms = 0;
    int consecutive_failures = 0;
};

// What a worker says of itself; what it does not say is nothing.
struct SelfReport {
    Health status = Health::healthy;
    Tally tally;
    int queue_depth = 0;
};

// What there is to judge a worker by.
struct WorkerRecord {
    bool is_gone = false;   // its session has ended
    bool is_bound = false;  // its session is there: no heartbeat is needed, but an answer
    bool was_heard = false;
    std::int64_t last_sign =
        0;  // of life: the last heartbeat, else when it was registered or the server started
    int depth = 0;      // jobs dispatched, not accepted
    int most_held = 0;  // jobs that it may hold: as many as it runs at a time, and beyond those
    std::optional<std::int64_t>
        asked;  // since when it has had one that it could run, and has said nothing
    std::int64_t executions = 0;
    std::int64_t failures = 0;
    int consecutive_failures = 0;
    std::int64_t run_time = 0;  // sum over executions
    Outcomes outcomes;
    SelfReport report;
    std::optional<std::int64_t>
        probe_clock;  // while unhealthy: when it was found so, or had its last probe
};

// What the server sees and what the worker says, merged: the worse of the two, number by number;
// totals are those of whichever has counted more executions.
struct HealthSummary {
    Health status;
    Tally tally;
    int queue_depth;
    std::optional<double>
        failure_rate;  // percent, as it is judged by; nothing while there are too few executions
};
HealthSummary summarize(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

// Jobs given to it that it has not accepted, or how many it says if that is more: its report may be
// old, what it was given since counts all the same.
int queue_depth_of(const WorkerRecord &worker);

Health judge(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

// When its last sign of life will be too long ago if there is no other; the greatest number there
// is: never. A session that is there is a sign of life until the worker does not answer: behind a
// pooler the session outlives it.
std::int64_t stale_from(const WorkerRecord &worker, const HealthLimits &limits);
bool is_stale(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

// Starts the wait for an answer when the worker has a job that it could run, and ends it when it
// has none any more. To be called after each change. One that has not answered in time stays so
// until there is a sign of life.
void keep_asked(WorkerRecord &worker, bool can_run_more, const HealthLimits &limits,
                std::int64_t now);
void note_sign_of_life(WorkerRecord &worker, std::int64_t now);

// Whether an unhealthy worker may be given one job to find out whether it works again: once an
// interval, the first time an interval after it was found unhealthy. Never one that calls itself
// unhealthy. `health` is what judge() says.
bool may_be_probed(const WorkerRecord &worker, Health health, const HealthLimits &limits,
                   std::int64_t now);

// When it may be probed, as it is now; nothing: it may not.
std::optional<std::int64_t> next_probe(const WorkerRecord &worker, Health health,
                                       const HealthLimits &limits, std::int64_t now);

// Starts the clock of probes when the worker turns out to be unhealthy, stops it when it is not. To
// be called after each change, and now and then, as time and settings change its health too.
void keep_probe_clock(WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

void note_probe(WorkerRecord &worker, std::int64_t now);
// It came to nothing: the next one is due at once.
void note_no_probe(WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

// How an execution ended. A failure for which the worker blames the job says nothing of the worker.
enum class Execution : unsigned char { succeeded, failed, blamed_on_job };
// Counts it. One that succeeds as a probe wipes out how those before it ended.
void note_execution(WorkerRecord &worker, Execution execution, std::int64_t run_time,
                    bool was_probe);

// Counts a job that was not taken up in time: a failure without execution.
void note_expiry(WorkerRecord &worker);

}  // namespace hipq::core
