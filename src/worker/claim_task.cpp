// From the hand to the call: the jobs are claimed, by a row lock or by a record.
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "shmem/databases.hpp"
#include "shmem/own_executor.hpp"
#include "shmem/run_times.hpp"
#include "worker/task.hpp"

namespace hipq::worker {

namespace {

using storage::ClaimedJob;
using storage::DueJob;

// A claim by lock shares the handler's transaction: one that is read only, or has another isolation level because the role's
// settings say so, is no place for hipq's own statements before it.
bool needs_its_own_transaction(const storage::Handler &handler)
{
    return handler.may_commit || DefaultXactIsoLevel != XACT_READ_COMMITTED || DefaultXactReadOnly || DefaultXactDeferrable;
}

core::ClaimMode mode_of(const storage::JobType &type, const Task &task)
{
    if (!task.handler.has_value())
        return core::ClaimMode::record;
    return core::claim_mode(type.claim, needs_its_own_transaction(*task.handler), task.run_time);
}

// Needs a transaction. Nothing: the queue or type is gone, the handler is missing, or no job could be claimed.
std::optional<Task> claim_in_transaction(Executor &executor, int queue_id, const std::string &job_type,
                                         std::span<const DueJob> waiting)
{
    const pg::OwnSettings own;
    Task task{storage::catalogue(), nullptr, std::nullopt, core::ClaimMode::record, {}};
    task.queue = task.catalogue->find(queue_id);
    const storage::JobType *type = task.queue == nullptr ? nullptr : task.queue->find_job_type(job_type);
    if (type == nullptr || task.queue->is_dropped || task.queue->owner != executor.ticket.role)
        return std::nullopt;
    task.handler = storage::known_handler(*task.queue, *type);
    if (!task.handler.has_value() && !type->fails_without_handler)
        return std::nullopt;
    task.run_time = shmem::run_time(queue_id, type->name);
    task.mode = mode_of(*type, task);
    const pg::Time now = pg::now();
    task.jobs = task.mode == core::ClaimMode::lock ? storage::claim_by_lock(*task.queue, waiting, now)
                                                   : storage::claim_by_record(*task.queue, waiting, now);
    if (task.jobs.empty())
        return std::nullopt;
    announce(task);
    return task;
}

// Of each way of claiming, so that a test of points meets both.
void reach_point_after_claim([[maybe_unused]] const std::optional<Task> &task)
{
    if (task.has_value() && task->mode == core::ClaimMode::lock)
        HIPQ_POINT("after-lock");
    if (task.has_value() && task->mode == core::ClaimMode::record)
        HIPQ_POINT("after-record");
}

std::optional<Task> claim(Executor &executor, int queue_id, const std::string &job_type, std::span<const DueJob> waiting)
{
    std::optional<Task> task;
    pg::start_transaction();
    try {
        MemoryContext before = ::MemoryContextSwitchTo(executor.job_memory);
        HIPQ_POINT("before-claim");
        task = claim_in_transaction(executor, queue_id, job_type, waiting);
        ::MemoryContextSwitchTo(before);
        reach_point_after_claim(task);
        if (!task.has_value() || task->mode == core::ClaimMode::record)
            pg::commit_transaction();
    } catch (...) {
        pg::abort_transaction();
        throw;
    }
    if (task.has_value() && task->mode == core::ClaimMode::record)
        HIPQ_POINT("after-record-commit");
    return task;
}

// What could not be claimed is held by somebody else, or was changed. The jobs of the task are in the order of `jobs`.
void put_off_others(Executor &executor, std::span<const shmem::JobInLine> jobs, const std::optional<Task> &task)
{
    const std::span<const ClaimedJob> claimed =
        task.has_value() ? std::span<const ClaimedJob>(task->jobs) : std::span<const ClaimedJob>();
    auto next = claimed.begin();
    for (const shmem::JobInLine &job : jobs) {
        const bool is_claimed = next != claimed.end() && next->id == job.id;
        if (is_claimed)
            ++next;
        if (!is_claimed) {
            const pg::Time again = executor.held.note(job.id, pg::now());
            shmem::put_off(job, again);
            shmem::work_due(MyDatabaseId, again);  // this executor may be busy then
        } else if (executor.held.size() > 0)
            executor.held.forget(job.id);
    }
}

}  // namespace

void announce(const Task &task)
{
    const ClaimedJob &first = task.jobs.front();
    shmem::RunningJob running{first.queue_id, first.attempt, first.id, first.started, first.is_locked, {}};
    ::strlcpy(running.type, first.type.c_str(), sizeof(running.type));
    std::vector<shmem::Attempt> attempts;
    for (const ClaimedJob &job : task.jobs)
        attempts.push_back({job.id, job.attempt});
    shmem::announce_jobs(running, attempts);
}

std::optional<Task> claim_next(Executor &executor)
{
    Hand &hand = executor.hand;
    const std::size_t count = std::min(hand.batch_size, hand.jobs.size() - hand.next);
    const std::span<shmem::JobInLine> chosen(hand.jobs.data() + hand.next, count);
    hand.next += count;
    const std::span<const shmem::JobInLine> jobs = chosen.first(shmem::choose_jobs(chosen));
    if (jobs.empty())
        return std::nullopt;
    std::vector<DueJob> waiting;
    waiting.reserve(jobs.size());
    for (const shmem::JobInLine &job : jobs) {
        shmem::note_chosen(job.id);
        waiting.push_back({job.id, job.place, job.due});
    }
    ::MemoryContextReset(executor.job_memory);
    std::optional<Task> task = claim(executor, hand.queue_id, hand.job_type, waiting);
    put_off_others(executor, jobs, task);
    return task;
}

std::optional<Task> claim_again(Executor &executor, const Task &batch, std::int64_t job_id)
{
    const DueJob waiting{job_id};
    return claim(executor, batch.queue->id, batch.jobs.front().type, {&waiting, 1});
}

}  // namespace hipq::worker
