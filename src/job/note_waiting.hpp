// Notifies the processes that look for work, when this transaction commits, that it has made a job
// claimable.
#pragma once

#include "catalog/cache.hpp"
#include "job/job_row.hpp"

namespace hipq::job {

// Notes that the row, as it is written now, makes a job claimable. A held job (waits_for) only
// expires. All notifications of processes that look for work go through here.
void note_if_waiting(Oid leaf, const RowValues &job, const catalog::Queue &queue);
// The part that chooses which process to notify: the executors of the queue owner, or the
// scheduler, which finds an external worker.
void note_due(const catalog::Queue &queue, std::string_view job_type, pg::Time due,
              pg::Time expires);
// The part that notes the place in the lane. It needs no catalogue: the owner may be unknown.
void note_place(Oid leaf, const RowValues &job, Oid owner = InvalidOid);

}  // namespace hipq::job
