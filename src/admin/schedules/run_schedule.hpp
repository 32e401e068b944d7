// One run of a schedule: it enqueues a job with the rights that the schedule's role has now.
#pragma once

#include "admin/schedules/schedule_rows.hpp"

namespace hipq::admin {

// Enqueues the job of a run for that time. Raises what enqueue() raises to the role of the
// schedule, and 42704 for a role or a queue that is gone.
enqueue::Enqueued enqueue_run(const Schedule &schedule, std::optional<pg::Time> time);
RunAction action_of(const enqueue::Enqueued &job);

}  // namespace hipq::admin
