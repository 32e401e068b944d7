// An executor: a background worker connected as a queue owner that runs the jobs of that owner's
// queues.
//
// It takes some jobs into its prefetched batch, and then runs one (or a batch) at a time: claim,
// then handler and finish in one transaction; if the handler failed, it resolves the failure in
// another transaction. A claim by record is a transaction of its own; a claim by lock is part of
// the handler's transaction.
#include "execute/cancellable.hpp"
#include "execute/dead_letter_call.hpp"
#include "execute/deadline.hpp"
#include "execute/durability.hpp"
#include "execute/execute.hpp"
#include "execute/task.hpp"
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "process/process.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/databases/quiesce.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/lanes/in_flight.hpp"

namespace hipq::execute {

namespace {

// A process that woke this executor during its look relies on it, and there may be more work than
// its prefetched batch holds: passes the wake-up on.
void pass_on_wake_up(const Executor &executor)
{
    const bool woken_again = executors::end_executor_look();
    if (!woken_again && !executor.sees_more)
        return;
    if (!executors::wake_idle_executor(executor.ticket.database, executor.ticket.role) &&
        woken_again)
        databases::look_due(executor.ticket.database, pg::Time{0});
}

// Takes jobs into the prefetched batch. Returns false if there are none.
bool look_for_work(Executor &executor)
{
    HIPQ_POINT("before-look");
    executors::begin_executor_look();
    if (!prefetch_jobs(executor))
        return false;
    pass_on_wake_up(executor);
    if (executor.prefetched.jobs.size() > executor.prefetched.batch_size)
        databases::watch_prefetched();
    return true;
}

// The scheduler quiesces the database: it needs a moment in which no executor finishes a job.
void stand_still_if_asked(const Executor &executor)
{
    if (!databases::is_quiesced(executor.ticket.database))
        return;
    flush_now();
    databases::wait_out_quiesce(executor.ticket.database);
}

// Jobs and dead letters take turns, so that a flood of dead letters does not keep jobs waiting.
bool handle_dead_letter(Executor &executor)
{
    executor.owes_jobs_a_turn = handle_next_dead_letter(executor);
    return executor.owes_jobs_a_turn;
}

// Runs what comes next, if there is anything. Raises what bookkeeping raises; the process then
// ends, and the scheduler recovers its jobs.
bool run_next(Executor &executor)
{
    ::MemoryContextReset(executor.job_memory);
    stand_still_if_asked(executor);
    if (run_next_decision(executor))
        return true;
    const bool jobs_come_first = std::exchange(executor.owes_jobs_a_turn, false);
    if (!jobs_come_first && handle_dead_letter(executor))
        return true;
    if (executor.prefetched.is_empty() && !look_for_work(executor))
        return jobs_come_first && handle_dead_letter(executor);
    std::optional<Task> task = claim_next(executor);
    executors::announce_idle(task.has_value() && run_task(executor, *task)
                                 ? executors::Jobs::finished
                                 : executors::Jobs::unknown);
    return true;
}

Executor connect(const executors::ExecutorTicket &ticket)
{
    pg::call([&] { ::BackgroundWorkerInitializeConnectionByOid(ticket.database, ticket.role, 0); });
    process::pin_settings_of_executor();
    prepare_deadline();
    prepare_cancellation();
    prepare_durability();
    MemoryContext memory = pg::call(
        [] { return AllocSetContextCreate(TopMemoryContext, "hipq job", ALLOCSET_DEFAULT_SIZES); });
    return Executor(ticket, memory);
}

// Runs jobs until there are none, or until it is time to leave. Returns whether there were any.
bool drain(Executor &executor)
{
    for (bool any = false;; any = true) {
        process::check_interrupts();
        if (executors::should_leave(false, pg::Time{::GetCurrentTimestamp()}) ||
            !run_next(executor))
            return any;
    }
}

// Time until a job is due, or until this executor tries again a row that another session holds.
std::int64_t until_next_due(Executor &executor)
{
    const pg::Time now = pg::now();
    const pg::Time next =
        std::min({executor.held.next_try(now), executor.next_due, executor.next_turn});
    return next == pg::infinity ? process::longest_wait
                                : std::max<std::int64_t>(next.value - now.value, 0);
}

void run_executor()
{
    const auto ticket = process::read_extra<executors::ExecutorTicket>();
    process::install_signal_handlers();
    if (!executors::attach_executor(ticket))
        return;
    HIPQ_POINT("executor-start");
    Executor executor = connect(ticket);
    executors::announce_idle(executors::Jobs::unknown);
    pg::Time idle_since{::GetCurrentTimestamp()};
    bool is_told = false;
    for (bool first = true;; first = false) {
        if (drain(executor))
            idle_since = pg::Time{::GetCurrentTimestamp()};
        else if (first)  // it was started for a job that cannot run: the scheduler finds out why
            databases::work_due(ticket.database, pg::Time{0});
        process::show_idle();
        const pg::Time now{::GetCurrentTimestamp()};
        const std::int64_t idle_end =
            idle_since.value + settings::executor_idle_timeout.microseconds();
        is_told = !settings::enabled || executors::should_leave(true, now);
        if (is_told || now.value >= idle_end)
            break;
        flush_now();
        if (!executors::was_woken())
            process::wait_for_work(std::min(idle_end - now.value, until_next_due(executor)));
    }
    HIPQ_POINT("executor-leaves");
    executors::hand_look_on();
    executors::begin_leaving();
    // Run what came between the last look and begin_leaving(); there may be more. An executor that
    // leaves to make room for others begins no further job, which may take for ever.
    const bool found_more = is_told || run_next(executor);
    if (lanes::release_prefetched() || found_more)
        databases::look_due(ticket.database, pg::Time{0});
    flush_now();
    HIPQ_POINT("executor-ends");
}

}  // namespace

}  // namespace hipq::execute

HIPQ_WORKER_MAIN(hipq_executor_main)
{
    hipq::execute::run_executor();
}
