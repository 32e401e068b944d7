// Reports the ends of jobs to the statistics: noted in the transaction in which a job ends, counted
// after its commit.
#pragma once

#include "catalog/cache.hpp"
#include "core/statistics/statistics.hpp"
#include "job/finish.hpp"

namespace hipq::job {

// How an attempt that ended without success counts for the breaker of its type: not if it is not
// charged, did not begin, or was ended by a user.
core::AttemptEnd end_of_attempt(const ClaimedJob &job, core::Reason reason);

// The jobs of one handler call have succeeded.
void count_successes(const catalog::Queue &queue, std::span<const ClaimedJob> jobs, pg::Time now);

// An attempt failed, and the decision on it has been carried out.
void count_failure(const catalog::Queue &queue, const ClaimedJob &job, core::Reason reason,
                   const core::Decision &decision, bool leaves_dead_letter, pg::Time now);

// A job ended without an attempt.
void count_unstarted(const catalog::Queue &queue, const ClaimedJob &job, core::Reason reason,
                     bool leaves_dead_letter, pg::Time now);

// Jobs whose attempts a restart ended were put back into their lanes. The times of the attempts are
// unknown.
void count_put_back(const catalog::Queue &queue, const std::string &job_type, core::Reason reason,
                    pg::Time now);

}  // namespace hipq::job
