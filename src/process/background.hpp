// What hipq's background workers have in common: signals, waiting, names.
#pragma once

#include "pg/transaction.hpp"

namespace hipq::process {

// The longest any process waits, so that a step of the clock is seen.
inline constexpr std::int64_t longest_wait = 10'000'000;  // us

// Installs the signal handlers: SIGTERM dies at the next CHECK_FOR_INTERRUPTS, SIGHUP asks for a
// reload, SIGINT cancels (in an executor: see execute/cancellable.hpp), SIGQUIT marks the flight
// recorder and ends the process at once.
void install_signal_handlers();

// Waits for the latch, at most `microseconds` (and at most longest_wait). Ends the process when the
// postmaster is gone or SIGTERM has come. A reload of settings is left to check_interrupts.
void wait_for_work(std::int64_t microseconds);

// Handles interrupts; reloads settings if asked to and then returns true.
bool check_interrupts();

// What pg_stat_activity and ps show.
void show_activity(const std::string &text);
void show_idle();  // also hands in the statistics of the work that is done

// Registers a dynamic worker of this library; false when there is no free worker slot. `extra`
// reaches the process in MyBgworkerEntry->bgw_extra.
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
