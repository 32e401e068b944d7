// What the statistics learn of a job: said in the transaction in which it happens, counted when
// that has committed.
#pragma once

#include "core/statistics/statistics.hpp"
#include "job/finish.hpp"

namespace hipq::job {

// Jobs of one call of a handler have succeeded.
void tally_successes(const catalog::Queue &queue, std::span<const ClaimedJob> jobs, pg::Time now);

// An attempt failed, and the decision on it has been carried out.
void tally_failure(const catalog::Queue &queue, const ClaimedJob &job, core::Reason reason,
                   const core::Decision &decision, bool leaves_dead_letter, pg::Time now);

// A job ended without an attempt.
void tally_unstarted(const catalog::Queue &queue, const ClaimedJob &job, core::Reason reason,
                     bool leaves_dead_letter, pg::Time now);

// Jobs of attempts that a restart ended went back into their lanes; nobody knows their times.
void tally_put_back(const catalog::Queue &queue, const std::string &job_type, core::Reason reason,
                    pg::Time now);

}  // namespace hipq::job
