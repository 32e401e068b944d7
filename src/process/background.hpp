// What hipq's background workers have in common: signals, waiting, names.
#pragma once

#include "pg/transaction.hpp"

namespace hipq::process {

// The longest that a process waits, so that it notices a step of the clock.
inline constexpr std::int64_t longest_wait = 10'000'000;  // us

// Installs the signal handlers: SIGTERM exits at the next CHECK_FOR_INTERRUPTS, SIGHUP requests a
// reload, SIGINT cancels (in an executor: see execute/cancellable.hpp), SIGQUIT marks the flight
// recorder and exits at once.
void install_signal_handlers();

// Waits for the latch, at most `microseconds` (and at most longest_wait). Exits if the postmaster
// is gone or SIGTERM has arrived. Leaves a reload of settings to check_interrupts().
void wait_for_work(std::int64_t microseconds);

// Handles interrupts. If a reload was requested, reloads the settings and returns true.
bool check_interrupts();

// Sets what pg_stat_activity and ps show.
void show_activity(const std::string &text);
void show_idle();  // also reports the statistics of finished work

// Registers a dynamic worker of this library; returns false if no worker slot is free. The process
// finds `extra` in MyBgworkerEntry->bgw_extra.
struct WorkerDescription {
    const char *name;      // in ps
    const char *type;      // backend_type
    const char *function;  // exported main
    const void *extra;
    std::size_t extra_size;
};
bool start_worker(const WorkerDescription &description, BackgroundWorkerHandle **handle);

template <class Extra>
Extra read_extra()
{
    static_assert(std::is_trivially_copyable_v<Extra> && sizeof(Extra) <= BGW_EXTRALEN);
    Extra extra{};
    std::memcpy(&extra, MyBgworkerEntry->bgw_extra, sizeof(Extra));
    return extra;
}

}  // namespace hipq::process
