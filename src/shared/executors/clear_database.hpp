// Removes hipq's processes from a database for a command that needs the database, or the extension,
// to itself.
//
// A mark belongs to the (sub)transaction that made it, and is removed when that ends, by commit or
// rollback. Its removal wakes the launcher, and the processes come back
// (shared/databases/stand_aside.hpp).
#pragma once

#include "pg/postgres.hpp"

namespace hipq::executors {

enum class Afterwards : unsigned char {
    come_back,   // the database does not change
    look_again,  // the commit may change whether anything may run there
    forget,      // the commit removes the jobs; everything known about the database is forgotten
};

// Marks the database and terminates its scheduler and executors by SIGTERM, except for the calling
// process. If there is no room for another mark, they are only terminated, and may come back before
// the command has ended.
void stand_aside(Oid database, Afterwards afterwards);

// Whether a scheduler or an executor, other than the calling process, is still in the database.
bool has_workers(Oid database);

// Registers the transaction callbacks. _PG_init calls it once; call inside pg::call() only.
void watch_marks();

}  // namespace hipq::executors
