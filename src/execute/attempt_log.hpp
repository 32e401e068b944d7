// The messages of a handler (INFO, NOTICE, WARNING), kept until its attempt is recorded.
#pragma once

#include "catalog/cache.hpp"
#include "execute/execute.hpp"
#include "job/claimed_job.hpp"

namespace hipq::execute {

// Writes the messages of the attempt of a job, which may be the first of a batch, and forgets them.
// Call it in the transaction that ends the attempt.
void write_attempt_log(const catalog::Queue &queue, const job::ClaimedJob &job);

}  // namespace hipq::execute
