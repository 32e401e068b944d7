// Recovery: of the server's last life, and of executors that ended.
#include "recover.hpp"

#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "shmem/decisions.hpp"
#include "shmem/executors.hpp"
#include "shmem/hands.hpp"
#include "storage/settle.hpp"
#include "worker/process.hpp"

namespace hipq::worker {

namespace {

using storage::Queue;

// These return false for a job that they did not find, or that is left for another time.

// A job in `error`: its retry handler is asked by an executor; without one the policy decides here.
bool recover_error(const Queue &queue, std::int64_t id)
{
    const auto job = storage::take_for_decision(queue, id);
    if (!job.has_value())
        return false;
    const storage::JobType *type = queue.find_job_type(job->type);
    if (type != nullptr && type->retry_handler != "NONE")
        return shmem::offer_decision({MyDatabaseId, queue.owner, queue.id, id});
    storage::decide_by_policy(queue, *job, pg::now());
    return true;
}

bool is_settled(const Queue &queue, std::int64_t id, storage::Settled settled)
{
    return settled != storage::Settled::ask_retry_handler || shmem::offer_decision({MyDatabaseId, queue.owner, queue.id, id});
}

bool recover_running(const Queue &queue, std::int64_t id, int attempt)
{
    const auto job = storage::take_running(queue, id, attempt);
    return job.has_value() && is_settled(queue, id, storage::settle_lost(queue, *job, core::Reason::server_restart, pg::now()));
}

bool recover_queue(const Queue &queue)
{
    bool done = true;
    std::vector<storage::LeftJob> left;
    pg::with_transaction([&] { left = storage::left_jobs(queue); });
    for (const storage::LeftJob &job : left) {
        check_interrupts();
        if (shmem::is_in_hand(MyDatabaseId, job.id))
            continue;
        HIPQ_POINT("before-recover");
        pg::with_transaction([&] {
            const bool recovered =
                job.state == core::JobState::running ? recover_running(queue, job.id, job.attempt) : recover_error(queue, job.id);
            done = recovered && done;
            HIPQ_POINT("after-recover");
        });
    }
    return done;
}

// Why an executor has ended in the middle of a job that hipq, not chance, was about to stop. Nothing: it was not.
std::optional<storage::Failure> stop_failure(const shmem::Orphan &orphan, const storage::ClaimedJob &job)
{
    if (orphan.cancelled.has_value())
        return storage::cancelled_failure(*orphan.cancelled, orphan.pid);
    if (!orphan.timed_out)
        return std::nullopt;
    storage::Failure failure = storage::timeout_failure(job);
    failure.executor_pid = orphan.pid;
    return failure;
}

// Its code was running, or about to.
bool recover_claimed(const Queue &queue, const shmem::Orphan &orphan, const storage::ClaimedJob &job)
{
    const pg::Time now = pg::now();
    const auto failure = stop_failure(orphan, job);
    return is_settled(queue, job.id,
                      failure.has_value() ? storage::settle_failure(queue, job, *failure, now)
                                          : storage::settle_lost(queue, job, core::Reason::worker_lost, now));
}

// A retry handler that did not listen to its cancellation would not do so the next time either.
bool recover_decision(const Queue &queue, const shmem::Orphan &orphan)
{
    if (!orphan.timed_out || !orphan.asked_retry_handler)
        return recover_error(queue, orphan.job.id);
    const auto job = storage::take_for_decision(queue, orphan.job.id);
    if (!job.has_value())
        return false;
    const storage::Failure failure = storage::retry_handler_failure(*job, "retry handler exceeded the job's timeout");
    return storage::carry_out(queue, *job, failure, core::Decision{false, 0, false}, pg::now());
}

// A claim by lock has left no trace in the row; when it is not as it was, somebody else has taken it, and all is well.
std::optional<storage::ClaimedJob> take(const Queue &queue, const shmem::RunningJob &job)
{
    return job.is_locked ? storage::take_locked(queue, job.id, job.attempt, job.started)
                         : storage::take_running(queue, job.id, job.attempt);
}

bool recover_job(const Queue &queue, const shmem::Orphan &orphan)
{
    if (const auto job = take(queue, orphan.job))
        return recover_claimed(queue, orphan, *job);
    if (orphan.cancelled.has_value()) {
        const auto failure = storage::cancelled_failure(*orphan.cancelled, orphan.pid);
        if (storage::end_cancelled(queue, orphan.job.id, failure, pg::now()))
            return true;
    }
    return orphan.job.is_locked || recover_decision(queue, orphan);
}

bool recover_orphan(const shmem::Orphan &orphan)
{
    bool done = true;
    HIPQ_POINT("before-orphan");
    pg::with_transaction([&] {
        const auto catalogue = storage::catalogue();
        if (const Queue *queue = catalogue->find(orphan.job.queue_id))
            done = recover_job(*queue, orphan);
        HIPQ_POINT("after-orphan");
    });
    return done;
}

}  // namespace

bool recover_left_jobs()
{
    bool done = true;
    std::shared_ptr<const storage::Catalogue> catalogue;
    pg::with_transaction([&] { catalogue = storage::catalogue(); });
    for (const auto &[id, queue] : catalogue->queues)
        done = recover_queue(queue) && done;
    return done;
}

bool recover_orphans()
{
    bool done = true;
    while (const auto orphan = shmem::find_orphan(MyDatabaseId)) {
        done = recover_orphan(*orphan) && done;
        HIPQ_POINT("before-release-orphan");
        shmem::release_orphan(*orphan);
    }
    return done;
}

}  // namespace hipq::worker
