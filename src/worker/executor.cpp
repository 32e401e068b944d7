// An executor: a background worker connected as a queue owner that runs the jobs of that owner's queues, one at a time.
//
// One job: claim (a transaction) -> handler and finish (one transaction) -> or, when the handler failed, settle (a transaction).
#include "executor.hpp"

#include "pg/clock.hpp"
#include "settings.hpp"
#include "shmem/databases.hpp"
#include "shmem/decisions.hpp"
#include "shmem/executors.hpp"
#include "storage/current_job.hpp"
#include "storage/gates.hpp"
#include "storage/settle.hpp"
#include "worker/deadline.hpp"
#include "worker/process.hpp"
#include "worker/run_handler.hpp"
#include "worker/session.hpp"

namespace hipq::worker {

namespace {

using storage::ClaimedJob;
using storage::Failure;
using storage::Queue;

// A job in hand with what it takes to run it. The catalogue stays as it was at the claim.
struct Task {
    std::shared_ptr<const storage::Catalogue> catalogue;
    const Queue *queue;
    ClaimedJob job;
    std::optional<storage::Handler> handler;  // nothing: it does not exist, and the type says to fail then
};

struct Executor {
    shmem::ExecutorTicket ticket;
    MemoryContext job_memory;  // reset before each job
};

// ---- claim ----

struct Candidate {
    const Queue *queue;
    storage::LaneHead head;
};

// The due lanes of the owner's queues whose handlers can run, next first.
std::vector<Candidate> due_lanes(const Executor &executor, const storage::Catalogue &catalogue, pg::Time now)
{
    std::vector<Candidate> candidates;
    for (const auto &[id, queue] : catalogue.queues) {
        if (queue.owner != executor.ticket.role || !storage::queue_gate(queue).passed)
            continue;
        for (storage::LaneHead &head : storage::lane_heads(queue, now)) {
            if (head.due > now)
                continue;
            if (storage::handler_gate(queue, head.job_type).passed)
                candidates.push_back({&queue, std::move(head)});
            else
                shmem::work_due(MyDatabaseId, now + longest_wait);  // parked: the scheduler watches it
        }
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate &left, const Candidate &right) { return storage::runs_before(left.head, right.head); });
    return candidates;
}

// What shared memory shows from before the claim is durable until the job has left.
void announce(const ClaimedJob &job)
{
    shmem::RunningJob running{job.queue_id, job.attempt, job.id, job.started, {}};
    ::strlcpy(running.type, job.type.c_str(), sizeof(running.type));
    shmem::announce_job(running);
}

std::optional<Task> claim_task(const Executor &executor)
{
    const auto catalogue = storage::catalogue();
    const pg::Time now = pg::now();
    if (!storage::enabled_gate().passed || !storage::hold_gate().passed)
        return std::nullopt;
    for (const Candidate &candidate : due_lanes(executor, *catalogue, now)) {
        auto job = storage::claim(*candidate.queue, candidate.head, now);
        if (!job.has_value())
            continue;
        announce(*job);
        auto handler = storage::resolve_handler(*candidate.queue, *candidate.queue->find_job_type(job->type));
        return Task{catalogue, candidate.queue, std::move(*job), std::move(handler)};
    }
    return std::nullopt;
}

// ---- run ----

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

// ---- the retry decision ----

// Asks the retry handler and carries out what it says, in one transaction with the row locked.
void ask_retry_handler(const Executor &executor, const Queue &queue, const ClaimedJob &job, const Failure &failure)
{
    const auto handler = storage::resolve_retry_handler(queue, *queue.find_job_type(job.type));
    if (!handler.has_value())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("retry handler does not exist or cannot be called"));
    arm_deadline(job.timeout);
    const std::optional<std::int64_t> delay = run_retry_handler(*handler, job, executor.job_memory);
    if (disarm_deadline())
        HIPQ_RAISE(errcode(ERRCODE_QUERY_CANCELED), errmsg("retry handler exceeded the job's timeout"));
    const core::Decision decision{delay.has_value(), delay.value_or(0), true};
    storage::carry_out(queue, job, failure, decision, pg::now());
}

void give_up(const Queue &queue, std::int64_t id, const std::string &why)
{
    pg::with_transaction([&] {
        const auto job = storage::take_for_decision(queue, id);
        if (!job.has_value())
            return;
        const Failure failure{core::Reason::retry_handler_failed, "", job->error + " (retry handler failed: " + why + ")"};
        storage::carry_out(queue, *job, failure, core::Decision{false, 0, false}, pg::now());
    });
}

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
            const storage::JobType *type = queue.find_job_type(job->type);
            if (type == nullptr || type->retry_handler == "NONE")
                storage::decide_by_policy(queue, *job, pg::now());
            else
                ask_retry_handler(executor, queue, *job, storage::stored_failure(*job));
        });
    } catch (const pg::Error &error) {
        trouble = error.message();
    }
    disarm_deadline();
    if (trouble.has_value())
        give_up(queue, id, *trouble);
}

// ---- one job ----

void settle(const Executor &executor, const Task &task, const Failure &failure)
{
    storage::Settled settled{};
    pg::with_transaction([&] { settled = storage::settle_failure(*task.queue, task.job, failure, pg::now()); });
    if (settled == storage::Settled::ask_retry_handler)
        decide(executor, *task.queue, task.job.id);
}

void run_task(const Executor &executor, const Task &task)
{
    show_activity("hipq job " + std::to_string(task.job.id) + " " + task.job.type + ", attempt " +
                  std::to_string(task.job.attempt));
    if (const auto failure = run_and_finish(executor, task))
        settle(executor, task, *failure);
    clean_session();
}

bool run_next_decision(const Executor &executor)
{
    const auto decision = shmem::take_decision(executor.ticket.database, executor.ticket.role);
    if (!decision.has_value())
        return false;
    // It is on no list any more: should this process end, the slot tells of the job.
    shmem::announce_job({decision->queue_id, 0, decision->job_id, pg::now(), {}});
    std::shared_ptr<const storage::Catalogue> catalogue;
    pg::with_transaction([&] { catalogue = storage::catalogue(); });
    if (const Queue *queue = catalogue->find(decision->queue_id))
        decide(executor, *queue, decision->job_id);
    clean_session();
    shmem::announce_idle();
    return true;
}

// Runs the next job, if there is one. Raises what bookkeeping raises; the process then ends, and the scheduler brings the job
// home.
bool run_next(const Executor &executor)
{
    ::MemoryContextReset(executor.job_memory);
    shmem::begin_executor_look();
    if (run_next_decision(executor))
        return true;
    std::optional<Task> task;
    pg::with_transaction([&] {
        MemoryContext before = ::MemoryContextSwitchTo(executor.job_memory);
        task = claim_task(executor);
        ::MemoryContextSwitchTo(before);
    });
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

// ---- the loop ----

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
