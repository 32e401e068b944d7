// Waits for synchronous standbys, as this process's synchronous_commit demands.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::pg {

// Waits until WAL up to `end` is on disk and, if synchronous_commit demands it, on the synchronous
// standbys. As in a commit, a cancelled wait ends with a WARNING. Call inside pg::call() only.
void wait_until_safe(XLogRecPtr end);

// Returns whether the standbys have it; true if none is waited for. Call inside pg::call() only.
bool is_replicated(XLogRecPtr end);

}  // namespace hipq::pg
