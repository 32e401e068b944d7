// The flight recorder: says which jobs each executor runs this very moment, in a mapped file that
// outlives a crash of the server (not of the machine). No I/O while the server runs: the kernel has
// the pages. When the server starts anew, the verdict over its last life becomes the crash cases
// (shared/flight/crash_cases.hpp).
//
// Without it (the disk is full, say) everything runs as it would with it, but nobody is charged for
// a crash.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::flight {

// Postmaster
// ----------------------------------------------------------------------------------------------

extern const memory::Part flight_recorder_part;

// Every process of hipq
// ----------------------------------------------------------------------------------------------

// Has SIGQUIT, by which the postmaster ends everybody after a crash, leave a mark before it does
// what PostgreSQL's handler does. PostgreSQL regime.
void install_quit_handler();

// Whether there is a recorder.
bool is_recording();

// Executor
// ----------------------------------------------------------------------------------------------

// From here on a crash of this process is laid to these attempts (at most core::max_flight_jobs of
// them count). `slot` is the executor's; `first` tells what all of them have in common.
void record_running(int slot, const memory::RunningJob &first,
                    std::span<const memory::Attempt> attempts) noexcept;

// Their handlers have come to an end: no suspicion remains. Takes the lock when there was any.
void clear_running(int slot) noexcept;

// The process ends with them in flight, in good order.
void abandon_running(int slot) noexcept;

}  // namespace hipq::flight
