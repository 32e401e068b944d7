// Tells those who look for work, when this transaction has committed, that it has made a job
// claimable.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job_row.hpp"

namespace hipq::job {

// Notes that the row, as it is written now, makes a job claimable: the one place that tells those
// who look for work.
void note_if_waiting(Oid leaf, const RowValues &job, const catalog::Queue &queue);
// Of that, whom it tells: the executors of the queue owner, or the scheduler, who finds an external
// worker.
void note_due(const catalog::Queue &queue, std::string_view job_type, pg::Time due,
              pg::Time expires);
// The first half of that, which needs no catalogue: the owner may be unknown.
void note_place(Oid leaf, const RowValues &job, Oid owner = InvalidOid);

}  // namespace hipq::job
