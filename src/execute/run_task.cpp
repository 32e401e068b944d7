// Runs a task: the call of the handler and the finish of its jobs in one transaction.
//
// If the handler failed, runs what follows.
#include "catalog/cache.hpp"
#include "execute/attempt_log.hpp"
#include "execute/bookkeeping.hpp"
#include "execute/durability.hpp"
#include "execute/execute.hpp"
#include "execute/run_handler.hpp"
#include "execute/session.hpp"
#include "execute/session_fault.hpp"
#include "execute/stop_watch.hpp"
#include "execute/task.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "job/fitting_data.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/executors/stop_control.hpp"
#include "shared/lanes/rates.hpp"
#include "shared/lanes/run_time_table.hpp"

namespace hipq::execute {

namespace {

using catalog::Queue;
using job::ClaimedJob;
using job::Failure;

// Chooses the durability of the commit that follows.
void choose_durability(const Queue &queue)
{
    if (queue.commits_in_groups)
        commit_without_waiting();
}

// Calls the handler for one job, or a batch handler for all. Messages of its deferred triggers are
// kept with those of the handler.
std::vector<pg::RawValue> run_user_code(const Executor &executor, const Task &task,
                                        std::span<const ClaimedJob> jobs, SessionUse &session)
{
    session.begin();
    HIPQ_POINT("before-handler");
    const Listening listening;
    std::vector<pg::RawValue> results = run_handler(*task.handler, jobs, executor.job_memory,
                                                    task.is_rated ? Starts::counted : Starts::free);
    end_user_code();
    HIPQ_POINT("after-handler");
    return results;
}

// Whether a handler of single jobs runs several of them in one transaction.
bool has_a_call_for_each(const Task &task)
{
    return task.jobs.size() > 1 && !catalog::is_batch(task.handler->arguments);
}

// Ends a call after which the transaction goes on. Returns false if the job needs a transaction of
// its own: it asks for another end than success, or what it did to the session outlives the call.
bool end_call(const Task &task, const ClaimedJob &job, SessionUse &session)
{
    session.put_back();
    if (session.is_dirty() || job::requested_end().end != job::HandlerEnd::finished)
        return false;
    const pg::OwnSettings own;
    write_attempt_log(*task.queue, job);
    return true;
}

// Calls the handler for each job, and ends each call but the last. Returns fewer results than jobs
// if a job needs a transaction of its own.
std::vector<pg::RawValue> call_for_each(const Executor &executor, const Task &task,
                                        SessionUse &session)
{
    std::vector<pg::RawValue> results;
    for (const ClaimedJob &job : task.jobs) {
        if (!results.empty() && !end_call(task, task.jobs[results.size() - 1], session))
            return results;
        make_current(task.handler, {&job, 1});
        results.push_back(run_user_code(executor, task, {&job, 1}, session).front());
    }
    return results;
}

// Stands for the failure of jobs that run again one by one. It is shown nowhere.
Failure not_together()
{
    return {core::Reason::conflict, "0A000", "the jobs cannot run in one transaction"};
}

// Runs the handler's transaction, in the role's isolation level, up to its end; under a claim by
// lock it is open already. Returns what stopped the handler, if anything did.
std::optional<Failure> call(const Executor &executor, const Task &task, StopControl &control,
                            SessionUse &session)
{
    if (!task.handler.has_value() || control.comes_too_late()) {
        const auto stopped = stop_failure(control.stop(), task.jobs.front());
        return stopped.value_or(missing_handler());
    }
    const bool is_group = has_a_call_for_each(task);
    if (is_group && task.handler->may_commit)
        return not_together();
    if (task.mode == core::ClaimMode::record)
        pg::start_session_transaction();
    job::demand_fitting_data(*task.queue, task.jobs);
    const std::vector<pg::RawValue> results =
        is_group ? call_for_each(executor, task, session)
                 : run_user_code(executor, task, task.jobs, session);
    // The handler may have caught the cancellation, or been done before it took effect.
    if (auto stopped = stop_failure(control.stop(), task.jobs.front()))
        return stopped;
    if (!is_group)
        session.put_back();
    else if (results.size() < task.jobs.size() || !end_call(task, task.jobs.back(), session))
        return not_together();
    conclude(*task.queue, task.jobs, results);
    HIPQ_POINT("after-finish");
    choose_durability(*task.queue);
    executors::note_next_look(executor.prefetched.is_empty());
    pg::commit_transaction();
    executors::note_next_look(false);
    return std::nullopt;
}

// Runs the handler and the finish of its jobs in one transaction. Returns how it failed, and has
// aborted the transaction then; nothing if it succeeded.
std::optional<Failure> call_and_finish(const Executor &executor, const Task &task,
                                       SessionUse &session)
{
    StopControl control(task);
    std::optional<Failure> failure;
    try {
        failure = call(executor, task, control, session);
    } catch (const pg::Error &error) {
        failure = stop_failure(control.stop(), task.jobs.front());
        if (!failure.has_value())
            failure = failure_of(error);
    } catch (...) {
        control.stop();
        pg::abort_transaction();
        throw;
    }
    if (failure.has_value()) {
        session.look();
        pg::abort_transaction();
    }
    return failure;
}

std::optional<Failure> run_in_clean_session(const Executor &executor, const Task &task)
{
    const AttemptLog attempt_log(*task.queue, task.jobs.front());
    SessionUse session;
    auto failure = call_and_finish(executor, task, session);
    if (!failure.has_value())
        HIPQ_POINT("after-finish-commit");
    HIPQ_POINT("before-clean-session");
    session.clean();
    return failure;
}

// Leaves a job that cannot even be set aside. A job that still waits is tried again after a while;
// another one the scheduler recovers when this process has ended.
void leave(Executor &executor, const ClaimedJob &job, const pg::Error &refusal)
{
    if (!job.is_locked)
        throw refusal;  // NOLINT(cert-err60-cpp): as it came
    put_off(executor, job.id);
}

void resolve(Executor &executor, const Task &task, const Failure &failure)
{
    const auto session_fault = fault_of_session(failure, executor.is_warm);
    retry::Resolved resolved = retry::Resolved::stale;
    const ClaimedJob &job = task.jobs.front();
    const auto trouble = try_to_write([&] {
        HIPQ_POINT("before-resolve");
        ClaimedJob present = job;
        resolved = resolve_attempt(*task.queue, present, task.handler, failure, session_fault);
        HIPQ_POINT("after-resolve");
        choose_durability(*task.queue);
    });
    if (trouble.has_value()) {
        if (const auto refusal = set_aside(*task.queue, job, failure, *trouble))
            leave(executor, job, *refusal);
        return;
    }
    HIPQ_POINT("after-resolve-commit");
    if (session_fault.has_value())
        leave_session(*session_fault);
    if (resolved == retry::Resolved::ask_retry_handler)
        decide(executor, *task.queue, job.id);
}

// A job of a batch that failed has no turn under a rate now, or the breaker has opened: it starts
// again later, uncharged.
void wait_for_turn(Executor &executor, const Task &batch, const ClaimedJob &job)
{
    if (job.is_locked)
        return put_off(executor, job.id);
    const Failure failure{core::Reason::conflict, "",
                          batch.is_rated
                              ? "its batch failed, and its rate limit has no turn for it now"
                              : "its batch failed, and the breaker of its type has opened"};
    const auto trouble =
        try_to_write([&] { (void)retry::resolve_conflict(*batch.queue, job, failure, pg::now()); });
    if (trouble.has_value())
        (void)set_aside(*batch.queue, job, failure, *trouble);
}

// Returns a task for one job of a batch that failed; nothing if it does not start now.
std::optional<Task> single(Executor &executor, const Task &batch, const ClaimedJob &job)
{
    if ((batch.is_rated || batch.has_breaker) && !lanes::admit_again(job.id)) {
        wait_for_turn(executor, batch, job);
        return std::nullopt;
    }
    if (job.is_locked)
        return claim_again(executor, batch, job.id);
    Task task{batch.catalogue, batch.queue,
              batch.handler,   batch.mode,
              {job},           lanes::run_time(batch.queue->id, job.type),
              batch.is_rated,  batch.has_breaker};
    announce(task);  // if it takes the server down, the other jobs of the batch are no suspects
    return task;
}

void show(const Task &task)
{
    const ClaimedJob &job = task.jobs.front();
    const std::string others =
        task.jobs.size() == 1 ? "" : " and " + std::to_string(task.jobs.size() - 1) + " more";
    process::show_activity("hipq job " + std::to_string(job.id) + others + " " + job.type +
                           ", attempt " + std::to_string(job.attempt));
}

void run_one_by_one(Executor &executor, const Task &batch)
{
    executors::reopen_jobs();
    HIPQ_POINT("before-one-by-one");
    for (const ClaimedJob &job : batch.jobs)
        if (std::optional<Task> task = single(executor, batch, job)) {
            run_task(executor, *task);
            executors::resolved(job.id);
        }
    heed_cancellations(*batch.queue);
}

}  // namespace

bool run_task(Executor &executor, Task &task)
{
    const TimestampTz start = ::GetCurrentTimestamp();
    show(task);
    flush_before_long_job(task.run_time);
    const std::optional<Failure> failure = run_in_clean_session(executor, task);
    const auto jobs = static_cast<std::int64_t>(task.jobs.size());
    lanes::note_run_time(task.queue->id, task.queue->owner, task.jobs.front().type,
                         (::GetCurrentTimestamp() - start) / jobs);
    if (failure.has_value() && jobs > 1)
        run_one_by_one(executor, task);
    else if (failure.has_value())
        resolve(executor, task, *failure);
    executor.is_warm = true;
    flush_if_due();
    return !failure.has_value();
}

}  // namespace hipq::execute
