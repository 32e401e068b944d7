// Jobs that could not be offered to any external worker in time: worker_wait_ttl says how long they
// wait.
#pragma once

#include "catalog/cache.hpp"
#include "external/external.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"

namespace hipq::external {

// Fails those of the jobs that still wait; the policy decides what follows. A job that cannot be
// failed is set aside. Runs transactions of its own.
void give_up(const catalog::Queue &queue, std::span<const job::DueJob> waiting,
             const job::Failure &failure, pg::Time now);

}  // namespace hipq::external
