// hipq's own writes about a job after its code has run. An error in them must not end the process:
// the job would come back, and run again and again.
#pragma once

#include "catalog/cache.hpp"
#include "execute/execute.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "pg/error_classes.hpp"
#include "pg/transaction.hpp"

namespace hipq::execute {

// Sets aside a job whose end cannot be written. Returns the error if that write fails, too.
std::optional<pg::Error> set_aside(const catalog::Queue &queue, const job::ClaimedJob &job,
                                   const job::Failure &failure, const pg::Error &trouble);

}  // namespace hipq::execute
