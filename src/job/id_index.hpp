// Finds which queues may contain a job, by the indexes on id only.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::job {

// Whether the tables of a queue may have a row with one of these ids. Returns true also for rows
// that are no longer or not yet visible, and for a locked table; reading the table then tells.
// Finds every row that the active snapshot sees, even if it moves in the meantime. Plans no
// statement, opens no table and keeps no lock: some 10 us per queue. Needs a transaction.
bool may_have(const catalog::Queue &queue, const std::vector<std::int64_t> &ids);

}  // namespace hipq::job
