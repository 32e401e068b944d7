// Jobs whose end other jobs wait for: the end of such a job is reported to the scheduler, which
// looks whether those may start (core/flow/watch_protocol.hpp).
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::wakeup {

// Makes the end of the job be reported from now on. Call in the transaction that makes a job wait
// for it.
void watch_job(std::int64_t job_id);
// The same, and reports the job after the commit of this transaction, because it may have ended
// before. A transaction need not do so for a job that it has made; and if a job waits for several
// older ones, one of them is enough.
void watch_older_job(std::int64_t job_id);

// Whether the end of the job may be watched. Cannot fail.
bool is_watched(std::int64_t job_id) noexcept;

// Whether any job in the server may be watched. Cannot fail.
bool are_jobs_watched() noexcept;

// A number that changes when a wait is reported that a transaction has made. Cannot fail.
std::uint32_t new_waits() noexcept;

// How often processes have looked at a held job, to find out whether others have done so at the
// same time. count_looks() returns the number before. Cannot fail.
std::uint32_t looks_at(std::int64_t job_id) noexcept;
std::uint32_t count_looks(std::int64_t job_id, std::uint32_t count) noexcept;

// Whether the current transaction has watched any job.
bool has_own_watches() noexcept;
// Call at the end of the transaction. Neither can fail.
void report_own_watches() noexcept;  // after its commit
void forget_own_watches() noexcept;

// Reports ends, after the commit that made them visible. Cannot fail.
void report_end(std::int64_t job_id) noexcept;
// Reports that all waits of this database must be looked at. Cannot fail.
void report_all_waits(Oid database) noexcept;

// The scheduler
// ----------------------------------------------------------------------------------------------

// Takes the ends that were reported for this database.
std::vector<std::int64_t> take_reported_ends();

// Empties the filter if it is crowded, at most every ten minutes.
void renew_watches();

extern const memory::Part watched_part;

}  // namespace hipq::wakeup
