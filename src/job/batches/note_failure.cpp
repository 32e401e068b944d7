// Notes that a job has ended without success: for its batch, and for the jobs that wait for it.
#include "job/batches/note_failure.hpp"

#include "job/batches/batch_rows.hpp"
#include "job/claimed_job.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::job {

namespace {

std::string_view outcome_of(core::Reason reason)
{
    using core::Reason;
    const bool is_outcome =
        reason == Reason::skipped || reason == Reason::cancelled || reason == Reason::expired;
    return is_outcome ? core::name(reason) : "failed";
}

}  // namespace

void note_failure(const ClaimedJob &job, core::Reason reason)
{
    const auto batch = batch_of(job);
    if (batch.has_value())
        note_batch_failure(*batch, job.id, outcome_of(reason));
    wakeup::note_end(job.id, batch, wakeup::End::failure);
}

}  // namespace hipq::job
