// A call of a handler: the jobs that were claimed for it, and what is needed to run them.
#pragma once

#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "claim/claim.hpp"
#include "core/lanes/claiming.hpp"
#include "job/claimed_job.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/lanes/lane_table.hpp"

namespace hipq::execute {

struct Executor : claim::Claimer {
    Executor(const executors::ExecutorTicket &its_ticket, MemoryContext memory)
        : ticket(its_ticket), job_memory(memory)
    {
    }

    executors::ExecutorTicket ticket;
    MemoryContext job_memory;          // reset before each call
    lanes::LaneWindow window{128, 0};  // over the due lanes, of which there may be very many
    bool sees_more = false;            // the last look for jobs found more due jobs
    bool owes_jobs_a_turn = false;     // the executor has just handled a dead letter
    bool is_warm = false;              // a handler has run in the executor's session
    pg::Time single_until{0};  // a batch could not be claimed: claim jobs one by one until then
};

// The task keeps the catalogue as it was at the claim.
struct Task {
    std::shared_ptr<const catalog::Catalogue> catalogue;
    const catalog::Queue *queue;
    std::optional<catalog::Handler>
        handler;  // nothing: it does not exist, and the job type says to fail then
    core::ClaimMode mode;
    std::vector<job::ClaimedJob> jobs;       // one, or a batch
    std::optional<std::int64_t> run_time{};  // us; of jobs of this type, if known
    bool is_rated = false;                   // the starts count under a rate
    bool has_breaker = false;
};

// Looks for the next due jobs of the owner's queues and takes about 10 ms of work of one lane into
// the prefetched batch. Runs a transaction of its own. Returns false if there is nothing to run.
[[nodiscard]] bool prefetch_jobs(Executor &executor);

// Claims the next job of the prefetched batch, or the next batch. By record: the claim is durable
// when the call returns. By lock: the transaction stays open, and the code that runs the task ends
// it. Returns nothing, with no transaction open, if no job could be claimed, there is no room for
// them under a throttle limit, or their time windows have closed meanwhile.
std::optional<Task> claim_next(Executor &executor);

// Does the same for one job of a batch that failed.
std::optional<Task> claim_again(Executor &executor, const Task &batch, std::int64_t job_id);

// Puts off a job of the prefetched batch that a database error keeps from starting.
void put_off(Executor &executor, std::int64_t job_id);

// Publishes in shared memory what runs now: from before the claim is durable until the jobs have
// left.
void announce(const Task &task);

// Calls the handler and finishes its jobs in one transaction. If the handler failed, the jobs of a
// batch run again one by one; the failure of a single job is resolved in another transaction.
// Returns whether the first call succeeded.
bool run_task(Executor &executor, Task &task);

// Makes the next retry decision that another process left for this queue owner. Returns false if
// there is none.
bool run_next_decision(const Executor &executor);

// Calls the retry handler of a job in state `error`, or the policy of its type if there is none,
// and carries out the decision.
void decide(const Executor &executor, const catalog::Queue &queue, std::int64_t id);

}  // namespace hipq::execute
