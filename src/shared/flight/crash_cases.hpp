// What crashes of the server left to be done about jobs (core/recovery/crash_report.hpp): kept in
// the flight recorder's file, so that it outlives the next crash too.
#pragma once

#include "pg/postgres.hpp"

#include "core/lanes/job_table.hpp"
#include "core/recovery/crash_report.hpp"

namespace hipq::flight {

// Postmaster
// ----------------------------------------------------------------------------------------------

// At server start: asks for the memory that the cases need besides, and fills it.
void request_crash_cases();
void set_up_crash_cases();

// Where the cases are kept from now on, in a life of the server that begins with so many open ones,
// after such a streak of crashes.
void keep_crash_cases_in(std::span<core::CrashCase> memory, std::size_t number,
                         core::CrashStreak crashes);

// Scheduler
// ----------------------------------------------------------------------------------------------

// The open cases of a database.
std::vector<core::CrashCase> crash_cases(Oid database);

// Keeps the case as it is now, or forgets it if it is not open any more.
void keep_case(const core::CrashCase &entry);

// Everybody
// ----------------------------------------------------------------------------------------------

// The handlers of these jobs came to an end: no suspicion remains. Cheap, and without the lock,
// when there never was any.
void acquit(Oid database, std::span<const core::FlightJob> jobs) noexcept;

// The database, or hipq in it, is gone.
void forget_crash_cases(Oid database) noexcept;

// Jobs that crashed the server, or may have, run one at a time: whoever takes jobs into flight
// asks, takes one of these by itself, and none as long as another one is in flight, its last crash
// has not been dealt with yet, or that was a moment ago (suspect_pause).
enum class Suspicion : unsigned char { none, may_run, has_to_wait, has_to_pause };
constexpr bool is_kept_back(Suspicion suspicion)
{
    return suspicion == Suspicion::has_to_wait || suspicion == Suspicion::has_to_pause;
}
// Needs the lock of the jobs in flight, of which this is the table.
Suspicion suspicion_of(const core::JobTable &table, Oid database, std::int64_t job_id) noexcept;
// How long it is until a suspect may start, whose turn it has; microseconds.
std::int64_t suspect_pause_left();
// No more jobs than these are under suspicion; 0 also without shared memory.
std::size_t count_crash_cases();

}  // namespace hipq::flight
