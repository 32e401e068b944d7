// A slot for each database that has work: its scheduler, and what processes request for it.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::databases {

// Requests a look of the database's scheduler at `due` (or earlier, if that was requested before),
// and wakes the process that must know now. The scheduler looks at the queues that are dirty or due
// by then. Cannot fail.
void look_due(Oid database, pg::Time due) noexcept;

// The same, but a look that is due now covers every queue in which jobs wait. Cannot fail.
void work_due(Oid database, pg::Time due) noexcept;

// Reports a change of what decides whether anything may run in the database, or of its queues or
// job types: the scheduler looks even at a closed database. Cannot fail.
void database_changed(Oid database) noexcept;

// Reports that a restore may have loaded jobs that are in the middle of an attempt; see
// recovery_due(). Cannot fail.
void jobs_restored(Oid database) noexcept;

// Whether all jobs that a previous run of the server left in the middle of an attempt are in flight
// again. Cannot fail.
bool is_recovered(Oid database) noexcept;

// Reports that this process has prepared a transaction that has notes for hipq. Cannot fail.
void note_prepared() noexcept;

// The databases in which transactions were prepared, with a number that changes each time.
struct Prepares {
    Oid database;
    unsigned count;
};
std::vector<Prepares> list_prepares();

// Reports that another server begins to read this server's logical replication: every database
// looks, and finds that count_readers() has changed. Neither can fail.
void reader_came() noexcept;
unsigned count_readers() noexcept;

// Reports that aimed jobs may have been enqueued; see count_aimed_calls(). Cannot fail.
void jobs_aimed(Oid database) noexcept;

// Makes every running scheduler look at all its queues, because the rights of roles have changed;
// once a second at most, because any role may change its password. Cannot fail.
void everybody_looks() noexcept;

// For the launcher: passes on a request that came too soon after the last one. Returns after how
// many microseconds to call again; nothing: no request waits.
std::optional<std::int64_t> pass_on_rights_look();

// Whether a scheduler has looked at the database since the server started and left nothing undone
// that jobs depend on.
bool is_in_order(Oid database);

// Whether the database is closed, so that nothing may run there.
bool is_closed(Oid database);

// Gives an unknown database a slot and a look. If no slot is free, and none may be soon, a database
// that can wait loses its slot. `insists`: it loses it at once, because where many databases have
// work a slot may seem about to be free for ever. Returns false if there is no room now. For the
// launcher.
[[nodiscard]] bool make_known(Oid database, bool insists);
// Requests a dispatch: a job or a worker has become available. Cannot fail.
void ask_for_dispatch(Oid database) noexcept;
// Requests that the scheduler take the reported ends of jobs (shared/wakeup/watched_jobs.hpp).
// Cannot fail.
void ask_for_waits(Oid database) noexcept;
// Reports that jobs may wait whose waits no scheduler knows: it looks at all of them when it next
// looks at waits. The second is for all databases, and asks for that. Neither can fail.
void waits_unknown(Oid database) noexcept;
void all_waits_unknown() noexcept;
// Requests that the scheduler check this node's shares of limits, because a job found no capacity
// or because the rows of shares changed. Neither can fail.
void ask_for_shares(Oid database) noexcept;
void shares_changed(Oid database) noexcept;
// An executor calls this to have the scheduler check from time to time whether its current job
// keeps its other prefetched jobs waiting.
void watch_prefetched();

extern const memory::Part databases_part;

}  // namespace hipq::databases
