// The statistics of a server that is down.
#pragma once

#include "shared/statistics/counters.hpp"

namespace hipq::statistics {

// Writes the entries, in place of the file that was there. A problem is logged.
void save_statistics(std::span<const CountedEntry> entries);

// Calls `take` with each entry of the file, and removes it: after a crash old figures would come
// back otherwise. A file that is not whole, or of another version, counts as none. Both in the
// PostgreSQL regime, in the postmaster.
void load_statistics(void (*take)(const CountedEntry &));

}  // namespace hipq::statistics
