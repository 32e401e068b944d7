// Crash cases: what remains to be done about jobs after a crash of the server
// (core/recovery/crash_report.hpp). They are stored in the flight recorder's file, so they survive
// the next crash too.
#pragma once

#include "pg/postgres.hpp"

#include "core/lanes/job_table.hpp"
#include "core/recovery/crash_report.hpp"
#include "core/recovery/flight_log.hpp"

namespace hipq::flight {

// Postmaster
// ----------------------------------------------------------------------------------------------

// At server start: request and initialize the memory that the cases need besides the file.
void request_crash_cases();
void set_up_crash_cases();

// Sets where the cases are stored, how many are open now, and the streak of crashes before this
// start of the server.
void keep_crash_cases_in(std::span<core::CrashCase> memory, std::size_t number,
                         core::CrashStreak crashes);

// Scheduler
// ----------------------------------------------------------------------------------------------

// The open cases of a database.
std::vector<core::CrashCase> crash_cases(Oid database);

// Stores the current state of the case, or removes the case if it is no longer open.
void keep_case(const core::CrashCase &entry);

// Any process
// ----------------------------------------------------------------------------------------------

// Removes all suspicion of these jobs, because their handlers ended. Cheap, and takes no lock, if
// there are no open cases.
void acquit(Oid database, std::span<const core::FlightJob> jobs) noexcept;

// Forgets the cases of a database that was dropped, or in which hipq was dropped.
void forget_crash_cases(Oid database) noexcept;

// Jobs that crashed the server, or may have, run one at a time. A process that takes jobs into
// flight checks this: it takes a suspect only by itself, and not while another suspect is in
// flight, while the suspect's last crash has not been dealt with, or shortly after that crash
// (suspect_pause).
enum class Suspicion : unsigned char { none, may_run, has_to_wait, has_to_pause };
constexpr bool is_kept_back(Suspicion suspicion)
{
    return suspicion == Suspicion::has_to_wait || suspicion == Suspicion::has_to_pause;
}
// `table` is the table of jobs in flight; needs its lock.
Suspicion suspicion_of(const core::JobTable &table, Oid database, std::int64_t job_id) noexcept;
// How long a suspect whose turn has come must still wait, in microseconds.
std::int64_t suspect_pause_left();
// The number of open cases, an upper limit of the number of suspects. 0 if there is no shared
// memory.
std::size_t count_crash_cases();

}  // namespace hipq::flight
