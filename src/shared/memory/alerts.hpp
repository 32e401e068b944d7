// What an operator should know: something in shared memory is full, and hipq goes a slower way.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::memory {

enum class Alert : unsigned char {
    databases_full,
    jobs_in_flight_full,
    decisions_full,
    run_times_full,
    no_worker_slot,
    executor_wanted,
    executor_unresponsive,
    no_flight_recorder,
    crash_cases_full,
    start_failures_full,
    marks_full,
    lanes_full,
    cursor_miss,
    no_start,
    scheduler_late,
    workers_full,
    job_set_aside,
    no_worker,
    worker_quota,
    mute_worker
};
inline constexpr std::size_t alert_count = 20;
struct AlertRecord {
    Oid database;  // the last one that it was noted in; InvalidOid: in none
    std::int64_t times;
    pg::Time first;  // of the present spell
    pg::Time last;
};

// Notes that it has just happened, in the database of this process or in another one. Whatever
// other locks the caller holds: this one comes last.
void raise_alert(Alert alert) noexcept;
void raise_alert(Alert alert, Oid database) noexcept;

// What has happened within the last five minutes.
struct PresentAlert {
    Alert alert;
    AlertRecord record;
};
std::vector<PresentAlert> present_alerts();

extern const Part alerts_part;

}  // namespace hipq::memory
