// The rates of queues and job types: when the next job may start, and that a job starts. Jobs are
// admitted together with their capacity (capacity.hpp).
#pragma once

#include "pg/postgres.hpp"
#include "core/limits/rate_table.hpp"

#include <optional>

namespace hipq::lanes {

// What a rate says of the next job.
struct RateLook {
    std::int64_t wait;     // microseconds until it may start; 0: it may start now
    core::Weight left;     // that may start now
    bool needs_lease;      // first a lease has to be written (grant_lease())
    bool has_room = true;  // false: shared memory has no room for the rate
};
// The launcher calls it before it starts the first process that starts jobs.
void begin_rates() noexcept;
// Looks for the lightest job that was refused, or if none was, for any weight.
RateLook look_at_rate(const core::RateUse &use);
// Looks for a job of that weight under the rate of its throttle key. If the job has to wait, it is
// recorded as refused: a process is notified if another job gives its turn back
// (make_capacity()).
RateLook look_at_key_rate(const core::RateUse &use, core::Weight weight);

// Records that a job of this process starts: its code runs next. Does nothing for a job that was
// admitted under no rate. is_first_call: of its handler in this process. Cannot fail.
void note_start(std::int64_t job_id, bool is_first_call) noexcept;
// A job of this process has started and is to start once more. Returns false if its rates do not
// admit it now, or its breaker has changed.
[[nodiscard]] bool admit_again(std::int64_t job_id) noexcept;

// A new lease of a rate, which is safe on disk; and the earlier ones, in order, each with the
// latest time (of pg::steady_now()) at which its jobs may have started.
struct Lease {
    core::RateUse use;
    std::vector<core::Starts> earlier;
    core::Weight weight;
    std::int64_t time;  // when it was granted
};
void grant_lease(const Lease &lease) noexcept;
// Begins a lease for the next job. Returns its weight, and that of jobs that are pending under the
// present one. Weight 0: only the earlier leases are wanted, because they may leave nothing to
// lease. Nothing: another process writes one, or shared memory has no room for the rate.
struct BegunLease {
    core::Weight weight;
    core::Weight pending;
};
std::optional<BegunLease> begin_lease(const core::RateUse &use);

// For views and hipq.why().
struct RateUsage {
    core::Weight used;  // that counts now
    std::int64_t wait;  // microseconds until a job of the asked weight may start
};
struct NamedUsage {
    core::LimiterName name;
    RateUsage usage;  // of the rate as last used; the wait is that of a job of weight 1
};
std::vector<NamedUsage> list_rates();
RateUsage usage_of_rate(const core::LimiterName &name, const core::Rate &rate, core::Weight weight);

}  // namespace hipq::lanes
