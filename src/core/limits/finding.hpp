// The conditions that a job must pass before it starts, and the possible findings of each check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hipq::core {

enum class ConditionKind : std::uint8_t {
    exists,
    state,
    set_aside,
    waits_for,
    scheduled_time,
    time_window,
    expiry,
    loaded,
    version,
    enabled,
    hold,
    replica,
    queue,
    pause,
    queue_owner,
    handler,
    crash,
    throttle,
    queue_throttle,
    type_throttle,
    key_throttle,
    queue_rate,
    type_rate,
    key_rate,
    breaker,
    executor,
    worker,
    lane,
};

// As hipq.why() shows it: "scheduled time".
std::string_view name(ConditionKind kind);

enum class Outcome : std::uint8_t {
    passed,
    meant,   // closed on purpose, by a limit that is used up, or for a moment
    failed,  // closed by something that must be repaired
};

// Finding, condition, outcome. sentences.hpp has a sentence for each.
#define HIPQ_FINDINGS(FINDING)                                                                     \
    FINDING(job_exists, exists, passed)                                                            \
    FINDING(job_waits, state, passed)                                                              \
    FINDING(job_runs, state, failed)                                                               \
    FINDING(retry_is_decided, state, failed)                                                       \
    FINDING(job_is_final, state, failed)                                                           \
    FINDING(job_is_set_aside, set_aside, failed)                                                   \
    FINDING(waits_for_jobs, waits_for, meant)                                                      \
    FINDING(waits_for_batch, waits_for, meant)                                                     \
    FINDING(waits_for_key, waits_for, meant)                                                       \
    FINDING(waits_for_look, waits_for, meant)                                                      \
    FINDING(time_has_come, scheduled_time, passed)                                                 \
    FINDING(time_is_ahead, scheduled_time, meant)                                                  \
    FINDING(window_is_unclear, time_window, failed)                                                \
    FINDING(window_is_closed, time_window, meant)                                                  \
    FINDING(window_is_open, time_window, passed)                                                   \
    FINDING(window_never_closes, time_window, passed)                                              \
    FINDING(never_expires, expiry, passed)                                                         \
    FINDING(expires_later, expiry, passed)                                                         \
    FINDING(has_expired, expiry, failed)                                                           \
    FINDING(library_is_loaded, loaded, passed)                                                     \
    FINDING(server_is_standby, loaded, meant)                                                      \
    FINDING(library_is_not_loaded, loaded, failed)                                                 \
    FINDING(versions_agree, version, passed)                                                       \
    FINDING(versions_work_together, version, passed)                                               \
    FINDING(versions_differ, version, failed)                                                      \
    FINDING(is_enabled, enabled, passed)                                                           \
    FINDING(is_disabled, enabled, failed)                                                          \
    FINDING(database_is_not_listed, enabled, failed)                                               \
    FINDING(jobs_belong_here, hold, passed)                                                        \
    FINDING(database_is_copy, hold, failed)                                                        \
    FINDING(queue_is_no_replica, replica, passed)                                                  \
    FINDING(queue_is_fed, replica, meant)                                                          \
    FINDING(queue_was_fed, replica, failed)                                                        \
    FINDING(node_is_out_of_step, replica, failed)                                                  \
    FINDING(queue_is_open, queue, passed)                                                          \
    FINDING(queue_is_dropped, queue, failed)                                                       \
    FINDING(nothing_is_paused, pause, passed)                                                      \
    FINDING(instance_is_paused, pause, meant)                                                      \
    FINDING(queue_is_paused, pause, meant)                                                         \
    FINDING(type_is_paused, pause, meant)                                                          \
    FINDING(key_is_paused, pause, meant)                                                           \
    FINDING(owner_may_connect, queue_owner, passed)                                                \
    FINDING(owner_is_gone, queue_owner, failed)                                                    \
    FINDING(owner_may_not_log_in, queue_owner, failed)                                             \
    FINDING(owner_may_not_connect, queue_owner, failed)                                            \
    FINDING(handler_can_run, handler, passed)                                                      \
    FINDING(workers_run_type, handler, passed)                                                     \
    FINDING(type_is_not_registered, handler, failed)                                               \
    FINDING(type_has_no_handler, handler, failed)                                                  \
    FINDING(handler_cannot_run, handler, failed)                                                   \
    FINDING(is_no_suspect, crash, passed)                                                          \
    FINDING(suspect_may_run, crash, passed)                                                        \
    FINDING(suspect_pauses, crash, meant)                                                          \
    FINDING(suspect_waits, crash, meant)                                                           \
    FINDING(nobody_awaits_capacity, throttle, passed)                                              \
    FINDING(queue_capacity_is_awaited, queue_throttle, meant)                                      \
    FINDING(type_capacity_is_awaited, type_throttle, meant)                                        \
    FINDING(queue_limit_is_reached, queue_throttle, meant)                                         \
    FINDING(queue_share_is_used, queue_throttle, meant)                                            \
    FINDING(queue_limit_is_awaited, queue_throttle, meant)                                         \
    FINDING(queue_has_no_limit, queue_throttle, passed)                                            \
    FINDING(queue_has_capacity, queue_throttle, passed)                                            \
    FINDING(type_limit_is_reached, type_throttle, meant)                                           \
    FINDING(type_share_is_used, type_throttle, meant)                                              \
    FINDING(type_limit_is_awaited, type_throttle, meant)                                           \
    FINDING(type_has_no_limit, type_throttle, passed)                                              \
    FINDING(type_has_capacity, type_throttle, passed)                                              \
    FINDING(key_limit_is_reached, key_throttle, meant)                                             \
    FINDING(key_share_is_used, key_throttle, meant)                                                \
    FINDING(key_limit_is_awaited, key_throttle, meant)                                             \
    FINDING(key_has_no_limit, key_throttle, passed)                                                \
    FINDING(key_has_capacity, key_throttle, passed)                                                \
    FINDING(job_has_no_key, key_throttle, passed)                                                  \
    FINDING(queue_rate_is_used, queue_rate, meant)                                                 \
    FINDING(queue_rate_has_turn, queue_rate, passed)                                               \
    FINDING(type_rate_is_used, type_rate, meant)                                                   \
    FINDING(type_rate_has_turn, type_rate, passed)                                                 \
    FINDING(key_rate_is_used, key_rate, meant)                                                     \
    FINDING(key_rate_has_turn, key_rate, passed)                                                   \
    FINDING(breaker_is_open, breaker, meant)                                                       \
    FINDING(breaker_is_tried, breaker, meant)                                                      \
    FINDING(breaker_lets_one_try, breaker, passed)                                                 \
    FINDING(breaker_is_closed, breaker, passed)                                                    \
    FINDING(executor_is_idle, executor, passed)                                                    \
    FINDING(executor_is_starting, executor, passed)                                                \
    FINDING(executor_will_start, executor, passed)                                                 \
    FINDING(executor_gives_way, executor, passed)                                                  \
    FINDING(no_executor, executor, failed)                                                         \
    FINDING(executors_are_off, executor, failed)                                                   \
    FINDING(executor_failed_to_start, executor, failed)                                            \
    FINDING(sessions_are_read_only, executor, failed)                                              \
    FINDING(no_process_is_free, executor, failed)                                                  \
    FINDING(rest_is_reserved, executor, meant)                                                     \
    FINDING(executors_are_elsewhere, executor, meant)                                              \
    FINDING(executors_are_busy, executor, meant)                                                   \
    FINDING(worker_gets_next, worker, passed)                                                      \
    FINDING(no_worker_serves, worker, failed)                                                      \
    FINDING(no_worker_is_able, worker, failed)                                                     \
    FINDING(roles_have_their_share, worker, meant)                                                 \
    FINDING(workers_are_full, worker, meant)                                                       \
    FINDING(worker_is_offered, worker, meant)                                                      \
    FINDING(own_worker_gets_next, worker, passed)                                                  \
    FINDING(own_worker_serves_not, worker, failed)                                                 \
    FINDING(own_worker_has_share, worker, meant)                                                   \
    FINDING(own_worker_is_unable, worker, failed)                                                  \
    FINDING(own_worker_is_full, worker, meant)                                                     \
    FINDING(enters_lane_when_due, lane, passed)                                                    \
    FINDING(there_is_no_lane, lane, passed)                                                        \
    FINDING(is_first_in_lane, lane, passed)                                                        \
    FINDING(others_are_before, lane, meant)                                                        \
    FINDING(many_are_before, lane, meant)                                                          \
    FINDING(others_have_their_turn, lane, meant)

#define HIPQ_FINDING(finding, kind, outcome) finding,
enum class Finding : std::uint8_t { HIPQ_FINDINGS(HIPQ_FINDING) };
#undef HIPQ_FINDING

struct FindingDefinition {
    std::string_view name;
    ConditionKind kind;
    Outcome outcome;
};

#define HIPQ_FINDING(finding, kind, outcome)                                                       \
    FindingDefinition{#finding, ConditionKind::kind, Outcome::outcome},
inline constexpr std::array all_findings{HIPQ_FINDINGS(HIPQ_FINDING)};
#undef HIPQ_FINDING

constexpr const FindingDefinition &definition(Finding finding)
{
    return all_findings[static_cast<std::size_t>(finding)];
}

}  // namespace hipq::core
