// Calls the handler of dead letters, once for each.
//
// A transaction of its own counts the start of a call; the call and the record of how it ended are
// another transaction. So the handler's writes happen once or not at all, and a handler that ends
// its process is started only a few times. A handler that fails is rolled back in a subtransaction,
// and its error is stored in the dead letter; the handler is called again only if that error may
// pass. The handler has no job that could fail, so that its failure makes no dead letter.
#include "execute/dead_letter_call.hpp"

#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "execute/execute.hpp"
#include "execute/run_handler.hpp"
#include "execute/session.hpp"
#include "execute/stop_watch.hpp"
#include "execute/task.hpp"
#include "job/claimed_job.hpp"
#include "job/dead_letter_rows.hpp"
#include "job/made_by_handler.hpp"
#include "job/set_aside.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "pg/error_classes.hpp"
#include "pg/short_text.hpp"
#include "pg/subtransaction.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/executors/pending_decisions.hpp"
#include "shared/memory/alerts.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "storage/lock.h"
}

namespace hipq::execute {

namespace {

using catalog::Handler;
using catalog::Queue;
using job::BegunLetter;
using job::ClaimedJob;
using job::HandlerFailure;

// The executor that handles the dead letters of a queue holds a session lock on the queue's live
// leaf, under a number that nothing else uses. The lock outlives both transactions if they commit,
// and ends with the process. Without it another executor could, between the two transactions, take
// a dead letter for one that a crash left behind. An abort releases the lock, which is why a
// handler that fails does not abort its transaction.
LOCKTAG lock_of(Oid leaf)
{
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationRelationId, leaf, 1);
    return tag;
}

bool try_to_lock(Oid leaf)
{
    const LOCKTAG tag = lock_of(leaf);
    return pg::call(
        [&] { return ::LockAcquire(&tag, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL; });
}

void unlock(Oid leaf)
{
    const LOCKTAG tag = lock_of(leaf);
    pg::call([&] {
        if (pg::holds_lock(tag, ExclusiveLock))
            ::LockRelease(&tag, ExclusiveLock, true);
    });
}

struct BegunCall {
    Handler handler;
    BegunLetter letter;
};

// Returns nothing if no dead letter is left to handle, or none can be handled. `chosen` is its job,
// also when an error prevents the call.
std::optional<BegunCall> begin_call(const Queue &queue, std::int64_t &chosen)
{
    std::optional<BegunCall> call;
    pg::with_transaction([&] {
        const auto handler =
            catalog::resolve_dead_letter_handler(queue);  // the scheduler reports why there is none
        const auto letter = handler.has_value() ? job::begin_handling(queue, chosen) : std::nullopt;
        if (letter.has_value())
            call = BegunCall{*handler, *letter};
    });
    return call;
}

std::optional<ClaimedJob> take(const Executor &executor, const BegunLetter &letter)
{
    const pg::OwnSettings own;
    MemoryContext before = ::MemoryContextSwitchTo(executor.job_memory);
    auto job = job::take_letter(letter);
    ::MemoryContextSwitchTo(before);
    return job;
}

std::optional<std::string> stop_of_handler(const Stop &stop)
{
    if (stop.cancelled.has_value())
        return *stop.cancelled;
    if (stop.missed_deadline)
        return "handler exceeded the job's timeout";
    return std::nullopt;
}

// Raises what the handler raises, or an error that says why the handler was stopped.
void call_handler(const Executor &executor, const Handler &handler, const ClaimedJob &job,
                  SessionUse &session, StopControl &control)
{
    const job::MadeJobs made;
    session.begin();
    run_handler(handler, {&job, 1}, executor.job_memory);
    end_user_code();
    if (const auto stopped = stop_of_handler(control.stop()))
        HIPQ_RAISE(errcode(ERRCODE_QUERY_CANCELED), errmsg("%s", stopped->c_str()));
    session.put_back();
    const pg::OwnSettings own;
    made.write();
}

HandlerFailure handler_failure_of(const pg::Error &error)
{
    const std::string &message = error.message();
    return {error.sqlstate(), message.empty() ? "no message" : message};
}

// Returns the failure, if any: then nothing is left of the handler's work.
std::optional<HandlerFailure> try_handler(const Executor &executor, const Handler &handler,
                                          const ClaimedJob &job, SessionUse &session)
{
    StopControl control(job);
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] {
        try {
            call_handler(executor, handler, job, session, control);
        } catch (...) {
            control.stop();  // nothing cancels the rollback
            throw;
        }
    });
    if (const auto stopped = stop_of_handler(control.stop()))
        return HandlerFailure{"", *stopped};
    return error.has_value() ? std::optional(handler_failure_of(*error)) : std::nullopt;
}

void handle_in_transaction(const Executor &executor, const BegunCall &call, SessionUse &session)
{
    const auto job = take(executor, call.letter);
    if (!job.has_value())
        return;
    const auto trouble = try_handler(executor, call.handler, *job, session);
    const pg::OwnSettings own;
    if (trouble.has_value())
        job::note_handler_failure(call.letter, *trouble, pg::now());
    else
        job::note_handled(call.letter, pg::now());
}

// Returns why its transaction could not be committed, for example because there is no room for the
// handler's notifications.
std::optional<HandlerFailure> try_to_handle(const Executor &executor, const BegunCall &call,
                                            SessionUse &session)
{
    std::optional<HandlerFailure> trouble;
    pg::start_transaction();
    try {
        handle_in_transaction(executor, call, session);
        pg::commit_transaction();
    } catch (const pg::Error &error) {
        trouble = handler_failure_of(error);
    } catch (...) {
        pg::abort_transaction();
        throw;
    }
    if (trouble.has_value())
        pg::abort_transaction();
    return trouble;
}

void handle(const Executor &executor, const Queue &queue, const BegunCall &call)
{
    executors::announce_job({queue.id, 0, call.letter.job_id, pg::now(), false, {}});
    SessionUse session;
    const auto trouble = try_to_handle(executor, call, session);
    session.clean();
    if (trouble.has_value())
        pg::with_transaction([&] { job::note_handler_failure(call.letter, *trouble, pg::now()); });
}

// The job is 0 if none was chosen yet.
void report_trouble(const Queue &queue, std::int64_t job_id, const pg::Error &error)
{
    const std::string name = queue.full_name();
    const std::string message = pg::short_message(error);
    pg::call([&] {
        ereport(
            WARNING, errcode(error.sqlerrcode()),
            errmsg("cannot call the handler of dead letters of queue \"%s\": %s", name.c_str(),
                   message.c_str()),
            job_id == 0
                ? errdetail("It is tried again from time to time.")
                : errdetail(
                      "The dead letter of job %lld is left alone for ten minutes; others go on.",
                      static_cast<long long>(job_id)));
    });
}

// Handles one dead letter. Returns false if there is none to handle.
bool handle_one(const Executor &executor, const Queue &queue, std::int64_t &chosen)
{
    const auto call = begin_call(queue, chosen);
    if (call.has_value()) {
        handle(executor, queue, *call);
        heed_cancellations(queue);
        executors::announce_idle(executors::Jobs::unknown);
    }
    return call.has_value();
}

void leave_alone(const Queue &queue, std::int64_t job_id, const pg::Error &trouble)
{
    pg::with_transaction([&] { job::set_letter_aside(queue, job_id, trouble, pg::now()); });
    memory::raise_alert(memory::Alert::job_set_aside);
}

// Does the same, but survives an error in hipq's writes about the dead letter: leaves that one
// alone.
bool try_to_handle_one(const Executor &executor, const Queue &queue)
{
    std::optional<pg::Error> trouble;
    std::int64_t chosen = 0;
    try {
        return handle_one(executor, queue, chosen);
    } catch (const pg::Error &error) {
        if (!pg::is_fault_of_job(error))
            throw;
        trouble = error;
    }
    executors::announce_idle(executors::Jobs::unknown);
    if (chosen != 0)
        leave_alone(queue, chosen, *trouble);
    report_trouble(queue, chosen, *trouble);
    return chosen != 0;
}

}  // namespace

bool handle_next_dead_letter(const Executor &executor)
{
    const auto offer = executors::take_dead_letter(executor.ticket.database, executor.ticket.role);
    if (!offer.has_value())
        return false;
    std::shared_ptr<const catalog::Catalogue> catalogue;
    const Queue *queue = nullptr;
    Oid leaf = InvalidOid;
    pg::with_transaction([&] {
        catalogue = catalog::working_catalogue();
        queue = catalogue->find(offer->queue_id);
        if (queue != nullptr && !queue->is_dropped)
            leaf = catalog::live_leaf(*queue);
    });
    if (!OidIsValid(leaf) || queue->owner != executor.ticket.role)
        return true;
    if (!try_to_lock(leaf))
        return true;  // the executor that holds the lock offers the next one
    const bool found = try_to_handle_one(executor, *queue);
    unlock(leaf);
    if (found)
        executors::offer_decision(*offer);  // there may be more
    return true;
}

}  // namespace hipq::execute
