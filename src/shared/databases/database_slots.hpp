// A slot for each database in which there is work: what anybody says and asks about it.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::databases {

// Says that a scheduler has to look at the database at `due` (or earlier, if that was said already)
// and wakes whoever has to know now. It looks at the queues that are dirty, or due, by then.
// Cannot fail.
void look_due(Oid database, pg::Time due) noexcept;

// The same, and what has happened may matter to every queue in which jobs wait, if it is to look
// now. Cannot fail.
void work_due(Oid database, pg::Time due) noexcept;

// Says that what decides whether anything may run in a database has changed, or its queues or job
// types: even a closed one is looked at. Cannot fail.
void database_changed(Oid database) noexcept;

// Says that jobs in the middle of an attempt may have been loaded: recovery_due(). Cannot fail.
void jobs_restored(Oid database) noexcept;

// Whether all that a former life of the server left in the middle of an attempt is in flight again.
// Cannot fail.
bool is_recovered(Oid database) noexcept;

// Says that a transaction of this process, with notes for hipq, has been prepared. Cannot fail.
void note_prepared() noexcept;

// The databases in which that was said, with a number that is another one each time.
struct Prepares {
    Oid database;
    unsigned count;
};
std::vector<Prepares> list_prepares();

// Says that another server begins to read what this one sends by logical replication: every
// database looks, and finds another number. Both cannot fail.
void reader_came() noexcept;
unsigned count_readers() noexcept;

// Says that jobs for one worker each may have been enqueued: count_aims(). Cannot fail.
void jobs_aimed(Oid database) noexcept;

// Has every scheduler that runs look again, at all its queues: who may do what has changed. Cannot
// fail.
void everybody_looks() noexcept;

// Whether a scheduler has looked at the database and left nothing undone that a job would have to
// wait for.
bool is_in_order(Oid database);

// Whether nothing may run there.
bool is_closed(Oid database);

// Gives a database that is not known a place, and a look; another one that can wait loses its
// place. False: no room now.
bool make_known(Oid database);
// Has the scheduler find workers for jobs: one of the two has come to be there. Cannot fail.
void ask_for_dispatch(Oid database) noexcept;
// Has the scheduler look at this node's shares of limits: a job has found no capacity, or their
// rows have changed. Both cannot fail.
void ask_for_shares(Oid database) noexcept;
void shares_changed(Oid database) noexcept;
// Executor: has the scheduler look every now and then whether the current job keeps the rest of its
// hand waiting.
void watch_prefetched();

extern const memory::Part databases_part;

}  // namespace hipq::databases
