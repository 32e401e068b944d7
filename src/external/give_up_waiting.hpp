// Jobs that no external worker could be given in time: their type says how long they wait for one.
#pragma once

#include "job/job.hpp"

namespace hipq::external {

// The queues with such types, as far as the catalogue has changed since it was asked last.
struct ImpatientQueues {
    std::shared_ptr<const catalog::Catalogue> catalogue;
    std::vector<const catalog::Queue *> queues{};  // of that one
};

// Fails those that have been due for longer than that (worker_unavailable): the policy decides what
// follows. Own transactions. Returns when to be called again.
pg::Time give_up_waiting(ImpatientQueues &impatient,
                         const std::shared_ptr<const catalog::Catalogue> &catalogue);

// Fails waiting jobs of a queue that nobody could be given, each that still waits: the policy
// decides what follows. One that cannot be failed is set aside. Own transactions.
void give_up(const catalog::Queue &queue, std::span<const job::DueJob> waiting,
             const job::Failure &failure, pg::Time now);

}  // namespace hipq::external
