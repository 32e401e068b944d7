// A job in the hand of an executor: what was claimed, with what it takes to run it.
#pragma once

#include "shmem/executors.hpp"
#include "storage/claim.hpp"
#include "storage/handler.hpp"

namespace hipq::worker {

struct Executor {
    shmem::ExecutorTicket ticket;
    MemoryContext job_memory;  // reset before each job
};

// The catalogue stays as it was at the claim.
struct Task {
    std::shared_ptr<const storage::Catalogue> catalogue;
    const storage::Queue *queue;
    storage::ClaimedJob job;
    std::optional<storage::Handler> handler;  // nothing: it does not exist, and the type says to fail then
};

// Claims the next due job of the owner's queues, if there is one. Own transaction; the job is durable and announced when it
// returns.
std::optional<Task> claim_task(const Executor &executor);

// Runs the handler and finishes the job in one transaction; when the handler failed, settles the failure in another.
void run_task(const Executor &executor, const Task &task);

// Makes the next retry decision that somebody left behind for this queue owner. False: there is none.
bool run_next_decision(const Executor &executor);

// Asks the retry handler of a job in state `error`, or the policy of its type if it has none, and carries out what it says.
void decide(const Executor &executor, const storage::Queue &queue, std::int64_t id);

}  // namespace hipq::worker
