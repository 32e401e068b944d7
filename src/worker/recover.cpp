// Recovery: of the server's last life, and of executors that ended.
#include "recover.hpp"

#include "shmem/decisions.hpp"
#include "shmem/executors.hpp"
#include "storage/clock.hpp"
#include "storage/settle.hpp"
#include "worker/process.hpp"

namespace hipq::worker {

namespace {

using storage::Queue;

// A job in `error`: its retry handler is asked by an executor; without one the policy decides here.
void recover_error(const Queue &queue, std::int64_t id)
{
    const auto job = storage::take_for_decision(queue, id);
    if (!job.has_value())
        return;
    const storage::JobType *type = queue.find_job_type(job->type);
    if (type != nullptr && type->retry_handler != "NONE")
        shmem::offer_decision({MyDatabaseId, queue.owner, queue.id, id});
    else
        storage::decide_by_policy(queue, *job, storage::now());
}

void recover_running(const Queue &queue, std::int64_t id, int attempt, core::Reason reason)
{
    const auto job = storage::take_running(queue, id, attempt);
    if (!job.has_value())
        return;
    if (storage::settle_lost(queue, *job, reason, storage::now()) == storage::Settled::ask_retry_handler)
        shmem::offer_decision({MyDatabaseId, queue.owner, queue.id, id});
}

void recover_queue(const Queue &queue)
{
    std::vector<storage::LeftJob> left;
    pg::with_transaction([&] { left = storage::left_jobs(queue); });
    for (const storage::LeftJob &job : left) {
        check_interrupts();
        if (shmem::is_in_hand(MyDatabaseId, job.id, job.attempt))
            continue;
        pg::with_transaction([&] {
            if (job.state == core::JobState::running)
                recover_running(queue, job.id, job.attempt, core::Reason::server_restart);
            else
                recover_error(queue, job.id);
        });
    }
}

void recover_orphan(const shmem::Orphan &orphan)
{
    pg::with_transaction([&] {
        const auto catalogue = storage::catalogue();
        const Queue *queue = catalogue->find(orphan.job.queue_id);
        if (queue == nullptr)
            return;
        recover_running(*queue, orphan.job.id, orphan.job.attempt, core::Reason::worker_lost);
        recover_error(*queue, orphan.job.id);
    });
}

}  // namespace

void recover_left_jobs()
{
    std::shared_ptr<const storage::Catalogue> catalogue;
    pg::with_transaction([&] { catalogue = storage::catalogue(); });
    for (const auto &[id, queue] : catalogue->queues)
        recover_queue(queue);
}

void recover_orphans()
{
    while (const auto orphan = shmem::find_orphan(MyDatabaseId)) {
        recover_orphan(*orphan);
        shmem::release_orphan(*orphan);
    }
}

}  // namespace hipq::worker
