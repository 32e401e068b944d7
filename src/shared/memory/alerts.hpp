// Alerts: conditions that the operator should know about, such as a full table in shared memory,
// because of which hipq takes a slower path.
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
    mute_worker,
    rates_full,
    breakers_full,
    keys_full
};
inline constexpr std::size_t alert_count = 23;
struct AlertRecord {
    Oid database;  // the database it was raised for last; InvalidOid: none
    std::int64_t times;
    pg::Time first;  // of the current spell
    pg::Time last;
};

// Records that the alert has just occurred, in this process's database or in the given one. The
// alerts lock is the last in the lock order, so the caller may hold any other lock.
void raise_alert(Alert alert) noexcept;
void raise_alert(Alert alert, Oid database) noexcept;

// The alerts raised within the last five minutes.
struct PresentAlert {
    Alert alert;
    AlertRecord record;
};
std::vector<PresentAlert> present_alerts();

extern const Part alerts_part;

}  // namespace hipq::memory
