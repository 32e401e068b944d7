// Databases whose workers stand aside: a command on the whole database, or on the extension, needs it to itself.
//
// A mark belongs to the (sub)transaction that made it and goes when that ends, whichever way. While it stands no scheduler and no
// executor starts in that database; when it goes the launcher is woken and they come back.
#pragma once

#include "shmem/registry.hpp"

namespace hipq::shmem {

enum class Afterwards : unsigned char {
    come_back,   // the database stays what it is
    look_again,  // the commit may change whether anything may run there
    forget,      // the commit takes the jobs away: what is known about the database goes with them
};

// Marks the database and ends its scheduler and executors as SIGTERM does, but for the calling process. Without room for another
// mark they are ended only, and may come back before the command is through.
void stand_aside(Oid database, Afterwards afterwards);

// Whether a scheduler or an executor, the calling process aside, is still in the database.
bool has_workers(Oid database);

// Whether the workers of a database stand aside. Needs the lock.
bool stands_aside(Oid database);

// A worker of a database is gone, or nobody waits for that any more. `wait_for_departure` waits until one goes, at most so long.
// Raises what an interrupt raises.
void announce_departure();
void wait_for_departure(std::int64_t microseconds);
void end_wait_for_departure();

// Forgets all about a database that is no more: its slot, requested executors, orphans, decisions.
void forget_database(Oid database) noexcept;

// Registers the transaction callbacks; called once by _PG_init. PostgreSQL regime.
void watch_marks();

}  // namespace hipq::shmem
