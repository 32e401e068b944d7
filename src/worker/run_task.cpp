// One job that was claimed: the handler and the finish in one transaction, or what follows when the handler failed.
#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "storage/current_job.hpp"
#include "storage/settle.hpp"
#include "worker/deadline.hpp"
#include "worker/failure_codes.hpp"
#include "worker/process.hpp"
#include "worker/run_handler.hpp"
#include "worker/session.hpp"
#include "worker/task.hpp"

namespace hipq::worker {

namespace {

using storage::ClaimedJob;
using storage::Failure;

// Hands the deadline and the current job back, however the handler was left.
class Watch {
public:
    explicit Watch(const Task &task)
    {
        const ClaimedJob &job = task.job;
        const bool may_commit = task.handler.has_value() && task.handler->kind == storage::HandlerKind::procedure;
        storage::set_current_job(storage::CurrentJob{job.queue_id, job.id, job.attempt, job.type, job.key, may_commit});
        arm_deadline(job.timeout);
    }
    ~Watch() { end(); }
    Watch(const Watch &) = delete;
    Watch &operator=(const Watch &) = delete;

    // Returns whether the deadline was missed. The current job stays until the end: its finish belongs to it.
    bool stop_timer() { return missed_ = disarm_deadline(); }
    bool end()
    {
        if (!ended_)
            missed_ = disarm_deadline() || missed_;
        ended_ = true;
        storage::set_current_job(std::nullopt);
        return missed_;
    }

private:
    bool missed_ = false;
    bool ended_ = false;
};

// An error message is text that a row stores: never empty, never the word for "no error".
std::string storable(const std::string &message)
{
    return message.empty() || message == "NONE" ? "error without a message: \"" + message + "\"" : message;
}

Failure failure_of(const pg::Error &error)
{
    const std::string sqlstate = error.sqlstate();
    const core::Reason reason =
        sqlstate == permanent_failure_sqlstate ? core::Reason::explicit_failure : core::classify(sqlstate);
    return {reason,
            sqlstate,
            storable(error.message()),
            error.detail().value_or(""),
            error.hint().value_or(""),
            error.context().value_or("")};
}

// The handler and the finish of its job in one transaction. Nothing: done. Else how it failed; the transaction is aborted then.
std::optional<Failure> run_and_finish(const Executor &executor, const Task &task)
{
    if (!task.handler.has_value())
        return Failure{core::Reason::handler_not_found, "42883", "handler does not exist or cannot be called"};
    Watch watch(task);
    try {
        pg::start_transaction();
        const pg::RawValue result = run_handler(*task.handler, task.job, executor.job_memory);
        if (watch.stop_timer()) {  // it caught the cancellation
            pg::abort_transaction();
            return storage::timeout_failure(task.job);
        }
        storage::finish_succeeded(*task.queue, task.job, result, pg::now());
        pg::commit_transaction();
        return std::nullopt;
    } catch (const pg::Error &error) {
        const bool missed = watch.end();
        Failure failure = missed ? storage::timeout_failure(task.job) : failure_of(error);
        pg::abort_transaction();
        return failure;
    } catch (...) {
        watch.end();
        pg::abort_transaction();
        throw;
    }
}

void settle(const Executor &executor, const Task &task, const Failure &failure)
{
    storage::Settled settled{};
    pg::with_transaction([&] { settled = storage::settle_failure(*task.queue, task.job, failure, pg::now()); });
    if (settled == storage::Settled::ask_retry_handler)
        decide(executor, *task.queue, task.job.id);
}

}  // namespace

void run_task(const Executor &executor, const Task &task)
{
    show_activity("hipq job " + std::to_string(task.job.id) + " " + task.job.type + ", attempt " +
                  std::to_string(task.job.attempt));
    if (const auto failure = run_and_finish(executor, task))
        settle(executor, task, *failure);
    clean_session();
}

}  // namespace hipq::worker
