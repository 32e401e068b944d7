// What a handler says (INFO, NOTICE, WARNING), kept until its attempt is written down.
#pragma once

#include "catalog/cache.hpp"
#include "execute/execute.hpp"
#include "job/claimed_job.hpp"

namespace hipq::execute {

// Writes down what was said in the attempt of a job, which may be the first of a batch. In the
// transaction that ends the attempt. Once: then it is forgotten.
void write_attempt_log(const catalog::Queue &queue, const job::ClaimedJob &job);

}  // namespace hipq::execute
