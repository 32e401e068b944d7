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

bool settle_running(const Queue &queue, const storage::ClaimedJob &job, core::Reason reason)
{
    const pg::Time now = pg::now();
    // An executor that ended after the job's deadline was ended because the handler did not listen to its cancellation.
    const bool timed_out = reason == core::Reason::worker_lost && now >= job.started + job.timeout * USECS_PER_SEC;
    const storage::Settled settled = timed_out ? storage::settle_failure(queue, job, storage::timeout_failure(job), now)
                                               : storage::settle_lost(queue, job, reason, now);
    return settled != storage::Settled::ask_retry_handler || shmem::offer_decision({MyDatabaseId, queue.owner, queue.id, job.id});
}

bool recover_running(const Queue &queue, std::int64_t id, int attempt, core::Reason reason)
{
    const auto job = storage::take_running(queue, id, attempt);
    return job.has_value() && settle_running(queue, *job, reason);
}

// A claim by lock has left no trace in the row; when it is not as it was, somebody else has taken it, and all is well.
bool recover_locked(const Queue &queue, const shmem::RunningJob &lost)
{
    const auto job = storage::take_locked(queue, lost.id, lost.attempt, lost.started);
    return !job.has_value() || settle_running(queue, *job, core::Reason::worker_lost);
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
            const bool recovered = job.state == core::JobState::running
                                       ? recover_running(queue, job.id, job.attempt, core::Reason::server_restart)
                                       : recover_error(queue, job.id);
            done = recovered && done;
            HIPQ_POINT("after-recover");
        });
    }
    return done;
}

bool recover_orphan(const shmem::Orphan &orphan)
{
    bool done = true;
    HIPQ_POINT("before-orphan");
    pg::with_transaction([&] {
        const auto catalogue = storage::catalogue();
        const Queue *queue = catalogue->find(orphan.job.queue_id);
        if (queue != nullptr && orphan.job.is_locked)
            done = recover_locked(*queue, orphan.job);
        else if (queue != nullptr)
            done = recover_running(*queue, orphan.job.id, orphan.job.attempt, core::Reason::worker_lost) ||
                   recover_error(*queue, orphan.job.id);
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
