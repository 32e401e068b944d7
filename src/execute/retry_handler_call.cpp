// Asks the retry handler about a job in state `error`, and carries out the decision.
#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "execute/bookkeeping.hpp"
#include "execute/execute.hpp"
#include "execute/run_handler.hpp"
#include "execute/session.hpp"
#include "execute/session_fault.hpp"
#include "execute/stop_watch.hpp"
#include "execute/task.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "job/lock_attempt.hpp"
#include "job/set_aside.hpp"
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "retry/retry.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/executors/pending_decisions.hpp"

namespace hipq::execute {

namespace {

using catalog::Queue;
using job::ClaimedJob;
using job::Failure;

// Returns the job to decide about in the open transaction, its row locked.
std::optional<ClaimedJob> take(const Executor &executor, const Queue &queue, std::int64_t id)
{
    const pg::OwnSettings own;
    MemoryContext before = ::MemoryContextSwitchTo(executor.job_memory);
    auto job = job::take_for_decision(queue, id);
    ::MemoryContextSwitchTo(before);
    return job;
}

bool decided_by_policy(const Queue &queue, const ClaimedJob &job)
{
    const catalog::JobType *type = queue.find_job_type(job.type);
    const bool may_ask = type != nullptr && type->retry_handler != "NONE" &&
                         !queue.is_held(job.type) &&
                         !retry::what_stops_retries(queue, type).has_value();
    if (may_ask)
        return false;
    const pg::OwnSettings own;
    retry::decide_by_policy(queue, job, pg::now());
    return true;
}

// The delay that the retry handler returns, if any; or why there is no answer: the retry handler
// failed, or hipq.cancel() ends the job.
using Answer = std::variant<std::optional<std::int64_t>, Failure>;

std::optional<Failure> trouble_of(const Stop &stop)
{
    if (stop.cancelled.has_value())
        return retry::cancelled_failure(*stop.cancelled, MyProcPid);
    if (stop.missed_deadline)
        return overdue_retry_handler();
    return std::nullopt;
}

Answer ask_retry_handler(const Executor &executor, const Queue &queue, const ClaimedJob &job)
{
    const auto handler = catalog::resolve_retry_handler(queue, *queue.find_job_type(job.type));
    if (!handler.has_value())
        return missing_retry_handler();
    StopControl control(job);
    std::optional<std::int64_t> delay;
    std::optional<Failure> failure;
    try {
        if (!control.comes_too_late()) {
            delay = run_retry_handler(*handler, job, executor.job_memory);
            end_user_code();
        }
        HIPQ_POINT("after-retry-handler");
    } catch (const pg::Error &raised) {
        failure = retry_failure_of(raised);
    }
    if (auto trouble = trouble_of(control.stop()))
        return *trouble;
    if (failure.has_value())
        return *failure;
    return delay;
}

// Locks the row, calls the retry handler (in read committed: lock and answer share the
// transaction), and carries out its answer. Returns what went wrong, if anything: then the caller
// must abort the transaction.
std::optional<Failure> decide_in_transaction(const Executor &executor, const Queue &queue,
                                             std::int64_t id, SessionUse &session)
{
    const auto job = take(executor, queue, id);
    if (!job.has_value())
        return std::nullopt;
    HIPQ_POINT("before-decision");
    if (decided_by_policy(queue, *job))
        return std::nullopt;
    session.begin();
    const Answer answer = ask_retry_handler(executor, queue, *job);
    if (const auto *trouble = std::get_if<Failure>(&answer))
        return *trouble;
    session.put_back();
    const pg::OwnSettings own;
    retry::carry_out_answer(queue, *job, std::get<std::optional<std::int64_t>>(answer), pg::now());
    return std::nullopt;
}

std::optional<Failure> try_to_decide(const Executor &executor, const Queue &queue, std::int64_t id,
                                     SessionUse &session)
{
    std::optional<Failure> trouble;
    pg::start_transaction();
    try {
        trouble = decide_in_transaction(executor, queue, id, session);
        HIPQ_POINT("after-decision");
        if (!trouble.has_value())
            pg::commit_transaction();
    } catch (const pg::Error &error) {
        trouble = retry_failure_of(error);
    } catch (...) {
        pg::abort_transaction();
        throw;
    }
    if (trouble.has_value())
        pg::abort_transaction();
    return trouble;
}

// Makes the job final, with the reason.
void give_up_in_transaction(const Queue &queue, std::int64_t id, const Failure &trouble)
{
    HIPQ_POINT("before-give-up");
    const auto job = job::take_for_decision(queue, id);
    if (!job.has_value())
        return;
    if (trouble.reason == core::Reason::cancelled)
        job::carry_out(queue, *job, trouble, core::Decision{false, 0, false}, pg::now());
    else
        retry::end_undecided(queue, *job, trouble, pg::now());
    HIPQ_POINT("after-give-up");
}

// The job is in state `error` already, and stays there.
void leave_undecided(const Queue &queue, std::int64_t id, const pg::Error &trouble)
{
    bool is_aside = false;
    const auto refusal = try_to_write([&] {
        const auto job = job::take_for_decision(queue, id);
        const pg::Time now = pg::now();
        is_aside = job.has_value() &&
                   job::set_aside(queue, *job, retry::stored_failure(*job, now), trouble, now);
    });
    if (refusal.has_value())
        throw *refusal;  // NOLINT(cert-err60-cpp): as it came
    if (is_aside)
        job::report_set_aside(queue, id, trouble);
}

void give_up(const Queue &queue, std::int64_t id, const Failure &trouble)
{
    if (const auto against = try_to_write([&] { give_up_in_transaction(queue, id, trouble); }))
        leave_undecided(queue, id, *against);
}

// If the session is to blame, an executor with another session asks the retry handler again; the
// job stays in `error` until then. Returns false if the session is not to blame.
bool is_asked_elsewhere(const Executor &executor, const Queue &queue, std::int64_t id,
                        const Failure &trouble)
{
    const auto fault = fault_of_session(trouble, executor.is_warm);
    if (!fault.has_value())
        return false;
    if (!executors::offer_decision({MyDatabaseId, queue.owner, queue.id, id}))
        databases::jobs_restored(MyDatabaseId);  // found like the jobs of a restore
    databases::look_due(MyDatabaseId, pg::Time{0});
    leave_session(*fault);
    return true;
}

}  // namespace

void decide(const Executor &executor, const Queue &queue, std::int64_t id)
{
    SessionUse session;
    const auto trouble = try_to_decide(executor, queue, id, session);
    session.clean();
    if (trouble.has_value() && !is_asked_elsewhere(executor, queue, id, *trouble))
        give_up(queue, id, *trouble);
}

bool run_next_decision(const Executor &executor)
{
    const auto decision = executors::take_decision(executor.ticket.database, executor.ticket.role);
    if (!decision.has_value())
        return false;
    // The decision is on no list any more: should this process end, its slot names the job.
    executors::announce_job({decision->queue_id, 0, decision->job_id, pg::now(), false, {}});
    std::shared_ptr<const catalog::Catalogue> catalogue;
    pg::with_transaction([&] { catalogue = catalog::working_catalogue(); });
    if (const Queue *queue = catalogue->find(decision->queue_id)) {
        decide(executor, *queue, decision->job_id);
        heed_cancellations(*queue);
    }
    executors::announce_idle(executors::Jobs::unknown);
    return true;
}

}  // namespace hipq::execute
