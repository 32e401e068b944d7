// An attempt that is over before it has begun, in one transaction.
#include "give_up_waiting.hpp"

#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "shmem/databases.hpp"
#include "shmem/decisions.hpp"
#include "storage/settle.hpp"
#include "storage/worker_gate.hpp"
#include "worker/process.hpp"
#include "worker/take_jobs.hpp"

namespace hipq::worker {

namespace {

using storage::ClaimedJob;
using storage::JobType;
using storage::Queue;

constexpr std::size_t jobs_at_once = 500;

std::int64_t patience_of(const JobType &type)
{
    return std::int64_t{type.worker_wait_ttl.value_or(0)} * USECS_PER_SEC;
}

std::vector<const Queue *> queues_without_patience(const storage::Catalogue &catalogue)
{
    std::vector<const Queue *> queues;
    for (const auto &[id, queue] : catalogue.queues)
        if (!queue.is_dropped && std::any_of(queue.job_types.begin(), queue.job_types.end(),
                                             [](const auto &type) { return type.second.worker_wait_ttl.has_value(); }))
            queues.push_back(&queue);
    return queues;
}

// Whose jobs may have waited long enough.
bool is_unserved(const Line &line)
{
    const JobType *type = line.queue->find_job_type(line.head.job_type);
    return type != nullptr && type->worker_wait_ttl.has_value() && storage::runs_outside(*line.queue, *type) &&
           storage::service_of(line.queue->id, type->name).able == 0;
}

storage::Failure failure_of(const JobType &type)
{
    return {core::Reason::worker_unavailable, "",
            "no external worker could be given the job within " + std::to_string(*type.worker_wait_ttl) + " s"};
}

// Needs a transaction. Returns how many were found; those whose retry handler is to be asked are added to `asks`.
std::size_t fail_first(const Line &line, pg::Time now, std::vector<std::int64_t> &asks)
{
    const Queue &queue = *line.queue;
    const JobType &type = *queue.find_job_type(line.head.job_type);
    storage::StartWindows windows(queue.id, type.name, now);
    const pg::Time due_by = now + -patience_of(type);
    const auto waiting = storage::due_jobs(queue, line.head, due_by, jobs_at_once, windows, queue.paused_keys(type.name));
    const auto failure = failure_of(type);
    for (const ClaimedJob &job : storage::claim_by_record(queue, waiting, now))
        if (storage::settle_failure(queue, job, failure, now) == storage::Settled::ask_retry_handler)
            asks.push_back(job.id);
    return waiting.size();
}

// Returns when the next of the line has waited long enough.
pg::Time fail_line(const Line &line, pg::Time now)
{
    const pg::Time end = line.head.due + patience_of(*line.queue->find_job_type(line.head.job_type));
    if (end > now)
        return end;
    std::vector<std::int64_t> asks;
    std::size_t found = 0;
    pg::with_transaction([&] { found = fail_first(line, now, asks); });
    for (const std::int64_t id : asks)
        shmem::offer_decision({MyDatabaseId, line.queue->owner, line.queue->id, id});
    return found == jobs_at_once ? now : now + longest_wait;
}

}  // namespace

pg::Time give_up_waiting(const storage::Catalogue &catalogue)
{
    pg::Time next = pg::infinity;
    const std::vector<const Queue *> queues = queues_without_patience(catalogue);
    if (queues.empty())
        return next;
    const pg::Time now = pg::now();
    std::vector<Line> lines;
    pg::with_transaction([&] {
        lines = lines_of(queues, now);
        std::erase_if(lines, [](const Line &line) { return !is_unserved(line); });
    });
    for (const Line &line : lines) {
        check_interrupts();
        next = std::min(next, fail_line(line, now));
    }
    return next;
}

}  // namespace hipq::worker
