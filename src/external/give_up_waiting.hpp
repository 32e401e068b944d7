// Jobs that no external worker could be given in time: worker_wait_ttl says how long they wait.
#pragma once

#include "job/job.hpp"

namespace hipq::external {

// Fails those that have been due for longer than that (worker_unavailable): the policy decides what
// follows. Own transactions. Returns when to be called again.
pg::Time give_up_waiting(const catalog::Catalogue &catalogue);

// Fails waiting jobs of a queue that nobody could be given, each that still waits: the policy
// decides what follows. One that cannot be failed is set aside. Own transactions.
void give_up(const catalog::Queue &queue, std::span<const job::DueJob> waiting,
             const job::Failure &failure, pg::Time now);

}  // namespace hipq::external
