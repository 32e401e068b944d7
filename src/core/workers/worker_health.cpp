// Judges a worker by one limit after the other; the worst grade counts.
#include "core/workers/worker_health.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace hipq::core {

namespace {

constexpr std::int32_t outcomes_kept = 64;
constexpr std::int64_t enough_to_tell = 10;

constexpr std::array<std::string_view, 4> health_names{"healthy", "unknown", "degraded",
                                                       "unhealthy"};

// A value that equals its limit counts.
template <class Number>
Health grade(Number value, Number degraded, Number unhealthy)
{
    if (value >= unhealthy)
        return Health::unhealthy;
    return value >= degraded ? Health::degraded : Health::healthy;
}

// A worker that may hold many jobs has higher limits, because it may have been offered many jobs
// just now.
Health grade_of_depth(const WorkerRecord &worker, const HealthLimits &limits)
{
    return grade(queue_depth_of(worker),
                 std::max(limits.degraded_depth, (worker.most_held + 1) / 2),
                 std::max(limits.unhealthy_depth, worker.most_held));
}

// Returns since when the worker owes a sign of life. Nothing: it owes none, because its session
// exists.
std::optional<std::int64_t> silent_since(const WorkerRecord &worker)
{
    return worker.is_bound ? worker.asked : std::optional(worker.last_sign);
}

// For a worker that is not stale.
Health grade_of_silence(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now)
{
    const std::optional<std::int64_t> since = silent_since(worker);
    const bool is_long =
        limits.degraded_silence >= 0 && since.has_value() && now > *since + limits.degraded_silence;
    return is_long ? Health::degraded : Health::healthy;
}

std::optional<double> failure_rate_of(const RunCounts &counts)
{
    if (counts.executions < enough_to_tell)
        return std::nullopt;
    return 100.0 * static_cast<double>(counts.failures) / static_cast<double>(counts.executions);
}

RunCounts seen_counts(const WorkerRecord &worker)
{
    const double runs = static_cast<double>(std::max<std::int64_t>(worker.executions, 1));
    return {worker.executions, worker.failures,
            static_cast<double>(worker.run_time) / 1000.0 / runs, worker.consecutive_failures};
}

}  // namespace

std::string_view name(Health health)
{
    return health_names[static_cast<std::size_t>(health)];
}

std::optional<Health> parse_health(std::string_view text)
{
    const auto found = std::find(health_names.begin(), health_names.end(), text);
    return found == health_names.end()
               ? std::nullopt
               : std::optional(static_cast<Health>(found - health_names.begin()));
}

void Outcomes::note(bool succeeded)
{
    bits_ = (bits_ << 1) | (succeeded ? 0U : 1U);
    count_ = std::min(count_ + 1, outcomes_kept);
    failures_ = std::popcount(bits_);  // computed here, because judging must be fast
}

std::optional<double> Outcomes::failure_rate() const
{
    if (count_ < enough_to_tell)
        return std::nullopt;
    return 100.0 * failures_ / count_;
}

int queue_depth_of(const WorkerRecord &worker)
{
    return std::max(worker.depth, worker.report.queue_depth);
}

std::int64_t stale_from(const WorkerRecord &worker, const HealthLimits &limits)
{
    const std::optional<std::int64_t> since = silent_since(worker);
    return since.has_value() ? *since + limits.heartbeat_timeout + 1
                             : std::numeric_limits<std::int64_t>::max();
}

bool is_stale(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now)
{
    return worker.is_gone || now >= stale_from(worker, limits);
}

void keep_asked(WorkerRecord &worker, bool can_run_more, const HealthLimits &limits,
                std::int64_t now)
{
    if (worker.depth > 0 && can_run_more)
        worker.asked = worker.asked.value_or(now);
    else if (!is_stale(worker, limits, now))
        worker.asked.reset();
}

void note_sign_of_life(WorkerRecord &worker, std::int64_t now)
{
    worker.last_sign = now;
    worker.was_heard = true;
    worker.asked.reset();
}

Health judge(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now)
{
    if (!limits.enabled)
        return Health::unknown;
    if (is_stale(worker, limits, now))
        return Health::unhealthy;
    const SelfReport &report = worker.report;
    Health health = report.status;
    const auto count = [&](Health grade_of_one) { health = std::max(health, grade_of_one); };
    const auto count_rate = [&](std::optional<double> rate) {
        if (rate.has_value())
            count(grade(*rate, limits.degraded_failure_rate, limits.unhealthy_failure_rate));
    };
    count(grade(std::max(worker.consecutive_failures, report.counts.consecutive_failures),
                limits.degraded_failures, limits.unhealthy_failures));
    count(grade_of_depth(worker, limits));
    count(grade_of_silence(worker, limits, now));
    count_rate(worker.outcomes.failure_rate());
    count_rate(failure_rate_of(report.counts));
    count(worker.was_heard || worker.is_bound ? Health::healthy : Health::unknown);
    return health;
}

HealthSummary summarize(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now)
{
    const SelfReport &report = worker.report;
    HealthSummary summary{judge(worker, limits, now), seen_counts(worker), queue_depth_of(worker),
                          std::max(worker.outcomes.failure_rate(), failure_rate_of(report.counts))};
    const int in_a_row = std::max(worker.consecutive_failures, report.counts.consecutive_failures);
    if (report.counts.executions > summary.counts.executions)
        summary.counts = report.counts;
    summary.counts.consecutive_failures = in_a_row;
    return summary;
}

std::optional<std::int64_t> next_probe(const WorkerRecord &worker, Health health,
                                       const HealthLimits &limits, std::int64_t now)
{
    if (health != Health::unhealthy || worker.report.status == Health::unhealthy ||
        is_stale(worker, limits, now))
        return std::nullopt;
    return worker.probe_clock.value_or(now) + limits.probe_interval;
}

bool may_be_probed(const WorkerRecord &worker, Health health, const HealthLimits &limits,
                   std::int64_t now)
{
    const std::optional<std::int64_t> next = next_probe(worker, health, limits, now);
    return next.has_value() && *next <= now;
}

void keep_probe_clock(WorkerRecord &worker, const HealthLimits &limits, std::int64_t now)
{
    if (judge(worker, limits, now) != Health::unhealthy)
        worker.probe_clock.reset();
    else
        worker.probe_clock =
            std::min(worker.probe_clock.value_or(now), now);  // the clock may have been set back
}

void note_probe(WorkerRecord &worker, std::int64_t now)
{
    worker.probe_clock = now;
}

void note_no_probe(WorkerRecord &worker, const HealthLimits &limits, std::int64_t now)
{
    worker.probe_clock = now - limits.probe_interval;
}

void note_execution(WorkerRecord &worker, Execution execution, std::int64_t run_time,
                    bool was_probe)
{
    ++worker.executions;
    worker.run_time += std::max<std::int64_t>(run_time, 0);
    if (execution == Execution::blamed_on_job)
        return;
    const bool succeeded = execution == Execution::succeeded;
    worker.failures += succeeded ? 0 : 1;
    worker.consecutive_failures = succeeded ? 0 : worker.consecutive_failures + 1;
    if (was_probe && succeeded)
        worker.outcomes = Outcomes{};
    worker.outcomes.note(succeeded);
}

void note_expiry(WorkerRecord &worker)
{
    ++worker.consecutive_failures;
    worker.outcomes.note(false);
}

}  // namespace hipq::core
