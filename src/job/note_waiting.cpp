// Notes a waiting job: its place in its lane, and the process to wake.
#include "job/note_waiting.hpp"

#include "catalog/cache.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::job {

using core::Column;

namespace {

// Held jobs have no place in a lane.
bool is_in_lane(const RowValues &job)
{
    return core::is_waiting(job.state()) && job.null(Column::waits_for);
}

}  // namespace

void note_place(Oid leaf, const RowValues &job, Oid owner)
{
    if (is_in_lane(job))
        wakeup::note_lane_key({leaf, job.as_int32(Column::queue_id), job.as_int32(Column::priority),
                               job.as_text(Column::job_type)},
                              {job.as_int64(Column::scheduled_run_time), job.as_int64(Column::id)},
                              owner);
}

void note_if_waiting(Oid leaf, const RowValues &job, const catalog::Queue &queue)
{
    note_place(leaf, job, queue.owner);
    const pg::Time expires = job.as_time(Column::expires_time);
    if (is_in_lane(job))
        note_due(queue, job.as_text(Column::job_type),
                 pg::Time{job.as_int64(Column::scheduled_run_time)}, expires);
    else if (core::is_waiting(job.state()) && expires != pg::infinity)
        note_due(queue, job.as_text(Column::job_type), pg::infinity, expires);
}

void note_due(const catalog::Queue &queue, std::string_view job_type, pg::Time due,
              pg::Time expires)
{
    const catalog::JobType *type = queue.find_job_type(job_type);
    if (type != nullptr && type->is_without_handler())
        wakeup::note_waiting_for_worker(due, expires);
    else
        wakeup::note_waiting(queue.owner, due, expires);
}

}  // namespace hipq::job
