// An executor: a background worker connected as a queue owner that runs the jobs of that owner's queues, one at a time.
//
// One job: claim (a transaction) -> handler and finish (one transaction) -> or, when the handler failed, settle (a transaction).
#include "settings.hpp"
#include "shmem/databases.hpp"
#include "worker/deadline.hpp"
#include "worker/process.hpp"
#include "worker/task.hpp"

namespace hipq::worker {

namespace {

// Runs the next job, if there is one. Raises what bookkeeping raises; the process then ends, and the scheduler brings the job
// home.
bool run_next(const Executor &executor)
{
    ::MemoryContextReset(executor.job_memory);
    shmem::begin_executor_look();
    if (run_next_decision(executor))
        return true;
    const std::optional<Task> task = claim_task(executor);
    if (!task.has_value())
        return false;
    // There may be more work than this; whoever woke this one since it looked counts on it: pass the wake-up on.
    const bool woken_again = shmem::was_woken();
    if (!shmem::wake_idle_executor(executor.ticket.database, executor.ticket.role) && woken_again)
        shmem::work_due(executor.ticket.database, pg::Time{0});
    run_task(executor, *task);
    shmem::announce_idle();
    return true;
}

Executor connect(const shmem::ExecutorTicket &ticket)
{
    pg::call([&] { ::BackgroundWorkerInitializeConnectionByOid(ticket.database, ticket.role, 0); });
    prepare_deadline();
    MemoryContext memory = pg::call([] { return AllocSetContextCreate(TopMemoryContext, "hipq job", ALLOCSET_DEFAULT_SIZES); });
    return {ticket, memory};
}

// Runs jobs until there are none, or until it is time to leave. Returns whether there were any.
bool drain(const Executor &executor)
{
    for (bool any = false;; any = true) {
        check_interrupts();
        if (shmem::should_leave(false, pg::Time{::GetCurrentTimestamp()}) || !run_next(executor))
            return any;
    }
}

void execute()
{
    const auto ticket = read_extra<shmem::ExecutorTicket>();
    install_signal_handlers();
    if (!shmem::attach_executor(ticket))
        return;
    const Executor executor = connect(ticket);
    shmem::announce_idle();
    pg::Time idle_since{::GetCurrentTimestamp()};
    for (;;) {
        if (drain(executor))
            idle_since = pg::Time{::GetCurrentTimestamp()};
        show_idle();
        const pg::Time now{::GetCurrentTimestamp()};
        const std::int64_t idle_end = idle_since.value + std::int64_t{settings::executor_idle_timeout} * 1000;
        if (!settings::enabled || shmem::should_leave(true, now) || now.value >= idle_end)
            break;
        if (!shmem::was_woken())
            wait_for_work(idle_end - now.value);
    }
    shmem::begin_leaving();
    if (run_next(executor))  // what came between the last look and begin_leaving(); there may be more of it
        shmem::work_due(ticket.database, pg::Time{0});
}

}  // namespace

}  // namespace hipq::worker

HIPQ_WORKER_MAIN(hipq_executor_main)
{
    hipq::worker::execute();
}
