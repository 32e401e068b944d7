// Databases whose processes stand aside: while a command has marked a database
// (shared/executors/clear_database.hpp), no scheduler and no executor starts there.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::databases {

// A mark is valid only while the process that made it lives. Its transaction callbacks remove the
// mark, but a mark that outlived its process would keep the database's jobs waiting forever. Needs
// the lock.
bool is_valid(const memory::StandAside &mark);

// Whether the processes of a database stand aside. stands_aside() takes the lock; has_valid_mark()
// needs it.
bool stands_aside(Oid database);
bool has_valid_mark(Oid database);

// announce_departure() signals that a scheduler or executor of a database has exited.
// wait_for_departure() waits for the next signal, at most the given time; an interrupt may
// raise an error. end_wait_for_departure() ends a series of waits.
void announce_departure();
void wait_for_departure(std::int64_t microseconds);
void end_wait_for_departure();

}  // namespace hipq::databases
