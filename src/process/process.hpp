// What all background processes have in common: signals, waiting, settings, duties that fail alone.
// The interface for other rooms.
#pragma once

#include "pg/postgres.hpp"
#include "catalog/cache.hpp"
#include "core/process/duty.hpp"
#include "pg/transaction.hpp"

#include <functional>

namespace hipq::process {

// ---- background ----

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
[[nodiscard]] bool start_worker(const WorkerDescription &description,
                                BackgroundWorkerHandle **handle);

template <class Extra>
Extra read_extra()
{
    static_assert(std::is_trivially_copyable_v<Extra> && sizeof(Extra) <= BGW_EXTRALEN);
    Extra extra{};
    std::memcpy(&extra, MyBgworkerEntry->bgw_extra, sizeof(Extra));
    return extra;
}

// ---- duties ----

// Runs a duty of a queue, in transactions of its own; null: a duty of the whole database. An error
// rolls back its transaction and sets the duty aside for a while, with an occasional log message
// and an entry in hipq.alerts. The duty waits only briefly for its locks; a lock held by another
// process sets it aside for half a second. False: the duty failed, or is set aside.
//
// Passes on errors that want this process to stop, and exceptions that are no errors of PostgreSQL.
// Call it without an open transaction.
bool do_duty(core::Duty duty, const catalog::Queue *queue, const std::function<void()> &fn);

// Forgets the duties of queues that no longer exist.
void forget_duties(const catalog::Catalogue &catalogue);

// Returns when to retry the first of the duties that are set aside; infinity: there is none. A duty
// whose time has passed without another try is not counted: it is not needed for now.
pg::Time next_duty();

// The same for one queue.
pg::Time next_duty(int queue_id);

// Call this when a scheduler starts.
void begin_duties();

// ---- pinned settings ----

// Connects to a database as the bootstrap superuser, and remembers for pin_settings() the values
// that settings have without those of the database.
void connect(Oid database);

// For a process that runs no user code; call it after connect(). Settings get the server's values,
// except for hipq's own, which a database may set, and for settings that could change the meaning
// or effect of hipq's statements, or end them. The latter have one value everywhere.
void pin_settings();

// For a process that runs user code: pins only what would end the process. Other settings are the
// role's there (pg/own_settings.hpp has what hipq's own statements need).
void pin_settings_of_executor();

// ---- server status ----

// Returns whether a shutdown of the server has begun: smart, fast or immediate. The postmaster
// records it in its PID file before it ends any process. Reads that file; if it cannot, returns
// false.
bool is_server_stopping();

}  // namespace hipq::process
