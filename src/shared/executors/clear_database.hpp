// Clears a database of hipq's processes for a command that needs the database, or the extension, to
// itself.
//
// A mark belongs to the (sub)transaction that made it and goes when that ends, whichever way. When
// it goes the launcher is woken and the processes come back (shared/databases/stand_aside.hpp).
#pragma once

namespace hipq::executors {

enum class Afterwards : unsigned char {
    come_back,   // the database stays what it is
    look_again,  // the commit may change whether anything may run there
    forget,      // the commit takes the jobs away: what is known about the database goes with them
};

// Marks the database and ends its scheduler and executors as SIGTERM does, but for the calling
// process. Without room for another mark they are ended only, and may come back before the command
// is through.
void stand_aside(Oid database, Afterwards afterwards);

// Whether a scheduler or an executor, the calling process aside, is still in the database.
bool has_workers(Oid database);

// Registers the transaction callbacks; called once by _PG_init. PostgreSQL regime.
void watch_marks();

}  // namespace hipq::executors
