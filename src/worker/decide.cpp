// The retry decision of a job in state `error`.
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "shmem/decisions.hpp"
#include "storage/settle.hpp"
#include "worker/deadline.hpp"
#include "worker/run_handler.hpp"
#include "worker/session.hpp"
#include "worker/task.hpp"

namespace hipq::worker {

namespace {

using storage::ClaimedJob;
using storage::Failure;
using storage::Queue;

// Asks the retry handler and carries out what it says, in one transaction with the row locked.
void ask_retry_handler(const Executor &executor, const Queue &queue, const ClaimedJob &job, const Failure &failure)
{
    const auto handler = storage::resolve_retry_handler(queue, *queue.find_job_type(job.type));
    if (!handler.has_value())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("retry handler does not exist or cannot be called"));
    arm_deadline(job.timeout);
    const std::optional<std::int64_t> delay = run_retry_handler(*handler, job, executor.job_memory);
    HIPQ_POINT("after-retry-handler");
    if (disarm_deadline())
        HIPQ_RAISE(errcode(ERRCODE_QUERY_CANCELED), errmsg("retry handler exceeded the job's timeout"));
    const core::Decision decision{delay.has_value(), delay.value_or(0), true};
    storage::carry_out(queue, job, failure, decision, pg::now());
}

void give_up(const Queue &queue, std::int64_t id, const std::string &why)
{
    HIPQ_POINT("before-give-up");
    pg::with_transaction([&] {
        const auto job = storage::take_for_decision(queue, id);
        if (!job.has_value())
            return;
        const Failure failure{core::Reason::retry_handler_failed, "", job->error + " (retry handler failed: " + why + ")"};
        storage::carry_out(queue, *job, failure, core::Decision{false, 0, false}, pg::now());
        HIPQ_POINT("after-give-up");
    });
}

}  // namespace

void decide(const Executor &executor, const Queue &queue, std::int64_t id)
{
    std::optional<std::string> trouble;
    try {
        pg::with_transaction([&] {
            MemoryContext before = ::MemoryContextSwitchTo(executor.job_memory);
            const auto job = storage::take_for_decision(queue, id);
            ::MemoryContextSwitchTo(before);
            if (!job.has_value())
                return;
            HIPQ_POINT("before-decision");
            const storage::JobType *type = queue.find_job_type(job->type);
            if (type == nullptr || type->retry_handler == "NONE")
                storage::decide_by_policy(queue, *job, pg::now());
            else
                ask_retry_handler(executor, queue, *job, storage::stored_failure(*job));
            HIPQ_POINT("after-decision");
        });
    } catch (const pg::Error &error) {
        trouble = error.message();
    }
    disarm_deadline();
    if (trouble.has_value())
        give_up(queue, id, *trouble);
}

bool run_next_decision(const Executor &executor)
{
    const auto decision = shmem::take_decision(executor.ticket.database, executor.ticket.role);
    if (!decision.has_value())
        return false;
    // It is on no list any more: should this process end, the slot tells of the job.
    shmem::announce_job({decision->queue_id, 0, decision->job_id, pg::now(), false, {}});
    std::shared_ptr<const storage::Catalogue> catalogue;
    pg::with_transaction([&] { catalogue = storage::catalogue(); });
    if (const Queue *queue = catalogue->find(decision->queue_id))
        decide(executor, *queue, decision->job_id);
    clean_session();
    shmem::announce_idle();
    return true;
}

}  // namespace hipq::worker
