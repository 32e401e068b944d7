// The file that keeps the statistics while the server is down.
#pragma once

#include "shared/statistics/counters.hpp"

namespace hipq::statistics {

// Writes the entries to the file, replacing the previous one. Logs a failure.
void save_statistics(std::span<const CountedEntry> entries);

// Calls `take` with each entry of the file, and removes the file, because old counters would come
// back after a crash otherwise. Ignores a file that is incomplete or of another version. Call both
// functions in the postmaster, inside pg::call() or in a C frame.
void load_statistics(void (*take)(const CountedEntry &));

}  // namespace hipq::statistics
