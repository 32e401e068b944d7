// Finds jobs by the indexes on id.
#pragma once

#include "catalog/cache.hpp"
#include "job/job_row.hpp"

namespace hipq::job {

// Whether the tables of a queue may have a row with one of these ids. Returns true also for rows
// that are no longer or not yet visible, and for a locked table; reading the table then tells.
// Finds every row that the active snapshot sees, even if it moves in the meantime. Plans no
// statement, opens no table and keeps no lock: some 10 us per queue. Needs a transaction.
bool may_have(const catalog::Queue &queue, const std::vector<std::int64_t> &ids);

// Reads the row with this id into the slot, by a unique index on id. False: the active snapshot
// sees none. Call inside pg::call() only.
bool find_by_id(Relation table, Relation index, std::int64_t id, TupleTableSlot *slot);

}  // namespace hipq::job
