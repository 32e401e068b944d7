// Jobs that no external worker could be given in time: worker_wait_ttl says how long they wait.
#pragma once

#include "catalog/cache.hpp"
#include "external/external.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"

namespace hipq::external {

// Fails waiting jobs of a queue that nobody could be given, each that still waits: the policy
// decides what follows. One that cannot be failed is set aside. Own transactions.
void give_up(const catalog::Queue &queue, std::span<const job::DueJob> waiting,
             const job::Failure &failure, pg::Time now);

}  // namespace hipq::external
