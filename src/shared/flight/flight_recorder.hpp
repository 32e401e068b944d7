// The flight recorder: a mapped file that records which jobs each executor is running, and outlives
// a crash of the server (but not of the machine). It does no I/O while the server runs, because the
// kernel keeps the pages. When the server restarts, it judges its previous run and stores the
// verdict as crash cases (shared/flight/crash_cases.hpp).
//
// Without the file (because the disk is full, for example) everything runs as usual, but no job is
// charged for a crash.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::flight {

// Postmaster
// ----------------------------------------------------------------------------------------------

extern const memory::Part flight_recorder_part;

// Every process of hipq
// ----------------------------------------------------------------------------------------------

// Installs a handler for SIGQUIT, which the postmaster sends to all processes after a crash. It
// leaves a mark and then does what PostgreSQL's handler does. Call inside pg::call() or in a C
// frame only.
void install_quit_handler();

// Whether there is a recorder.
bool is_recording();

// Executor
// ----------------------------------------------------------------------------------------------

// From here on, a crash of this process is attributed to these attempts (at most
// core::max_flight_jobs of them). `slot` is the executor's slot; `first` holds what the attempts
// have in common.
void record_running(int slot, const memory::RunningJob &first,
                    std::span<const memory::Attempt> attempts) noexcept;

// Their handlers ended: removes all suspicion of the jobs. Takes the crash cases' lock if there are
// open cases.
void clear_running(int slot) noexcept;

// The process exits in good order with the jobs in flight.
void abandon_running(int slot) noexcept;

}  // namespace hipq::flight
