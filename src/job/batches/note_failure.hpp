// Notes that a job has ended without success, for the jobs that wait for it.
#pragma once

#include "core/retry/failure.hpp"
#include "job/claimed_job.hpp"

namespace hipq::job {

// Writes the row for the batch of the job, if it has one, and reports the end after the commit.
void note_failure(const ClaimedJob &job, core::Reason reason);

}  // namespace hipq::job
