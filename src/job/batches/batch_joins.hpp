// The jobs that the current transaction puts into batches.
//
// They are counted in memory, and one row for each batch and queue is written at the end of the
// transaction. What a savepoint undoes is not counted.
#pragma once

#include "catalog/cache.hpp"
#include "job/job_row.hpp"

namespace hipq::job {

// Counts a new job, if it belongs to a batch. Whether the transaction may add jobs to that batch is
// checked with the first one. Raises 42704 for a batch that does not exist or to whose queue the
// caller may not enqueue, and 55000 for one that takes no more jobs.
enum class Written : bool {
    is_certain,
    may_not_be,  // the statement may leave the job out, as ON CONFLICT does
};
void join_batch(const catalog::Queue &queue, const RowValues &job, Written written);

// What the current transaction has added to a batch so far, and not written yet.
struct Added {
    std::set<int> queue_ids{};
    std::int64_t jobs = 0;
};
Added added_to_batch(std::int64_t batch_id);

// Locks the batch against other transactions that add jobs to it, for a moment, to see whether one
// does. Call it before the snapshot that is to see their jobs is taken.
bool is_batch_joined(std::int64_t batch_id);

// Lets the current transaction add jobs to a batch that it has just made.
void own_new_batch(const catalog::Queue &queue, std::int64_t batch_id);

}  // namespace hipq::job
