// What an executor runs next: the due lanes of its queue owner, next first.
#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "shmem/databases.hpp"
#include "storage/gates.hpp"
#include "worker/process.hpp"
#include "worker/task.hpp"

namespace hipq::worker {

namespace {

using storage::ClaimedJob;
using storage::Queue;

struct Candidate {
    const Queue *queue;
    storage::LaneHead head;
};

// The due lanes of the owner's queues whose handlers can run, next first.
std::vector<Candidate> due_lanes(const Executor &executor, const storage::Catalogue &catalogue, pg::Time now)
{
    std::vector<Candidate> candidates;
    for (const auto &[id, queue] : catalogue.queues) {
        if (queue.owner != executor.ticket.role || !storage::queue_gate(queue).passed)
            continue;
        for (storage::LaneHead &head : storage::lane_heads(queue, now)) {
            if (head.due > now)
                continue;
            if (storage::handler_gate(queue, head.job_type).passed)
                candidates.push_back({&queue, std::move(head)});
            else
                shmem::work_due(MyDatabaseId, now + longest_wait);  // parked: the scheduler watches it
        }
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate &left, const Candidate &right) { return storage::runs_before(left.head, right.head); });
    return candidates;
}

// What shared memory shows from before the claim is durable until the job has left.
void announce(const ClaimedJob &job)
{
    shmem::RunningJob running{job.queue_id, job.attempt, job.id, job.started, {}};
    ::strlcpy(running.type, job.type.c_str(), sizeof(running.type));
    shmem::announce_job(running);
}

// Needs a transaction.
std::optional<Task> claim_in_transaction(const Executor &executor)
{
    const auto catalogue = storage::catalogue();
    const pg::Time now = pg::now();
    if (!storage::enabled_gate().passed || !storage::hold_gate().passed)
        return std::nullopt;
    for (const Candidate &candidate : due_lanes(executor, *catalogue, now)) {
        auto job = storage::claim(*candidate.queue, candidate.head, now);
        if (!job.has_value())
            continue;
        announce(*job);
        auto handler = storage::resolve_handler(*candidate.queue, *candidate.queue->find_job_type(job->type));
        return Task{catalogue, candidate.queue, std::move(*job), std::move(handler)};
    }
    return std::nullopt;
}

}  // namespace

std::optional<Task> claim_task(const Executor &executor)
{
    std::optional<Task> task;
    pg::with_transaction([&] {
        MemoryContext before = ::MemoryContextSwitchTo(executor.job_memory);
        task = claim_in_transaction(executor);
        ::MemoryContextSwitchTo(before);
    });
    return task;
}

}  // namespace hipq::worker
