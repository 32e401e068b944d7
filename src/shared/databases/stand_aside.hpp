// Databases whose processes stand aside: while a command has marked one
// (shared/executors/clear_database.hpp), no scheduler and no executor starts there.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::databases {

// A mark counts while the process that made it lives: its transaction callbacks remove it, but a
// mark that outlived its maker would keep a database's jobs waiting for ever. Needs the lock.
bool is_valid(const memory::StandAside &mark);

// Whether the workers of a database stand aside; takes the lock, or needs it.
bool stands_aside(Oid database);
bool has_valid_mark(Oid database);

// A worker of a database is gone, or nobody waits for that any more. `wait_for_departure` waits
// until one goes, at most so long. Raises what an interrupt raises.
void announce_departure();
void wait_for_departure(std::int64_t microseconds);
void end_wait_for_departure();

}  // namespace hipq::databases
