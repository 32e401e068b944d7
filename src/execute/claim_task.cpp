// Claims the next jobs of the batch, by a row lock or by a record, and makes a task of them.
#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "catalog/queue_lock.hpp"
#include "claim/claim.hpp"
#include "execute/task.hpp"
#include "job/claimed_job.hpp"
#include "pg/clock.hpp"
#include "pg/error_classes.hpp"
#include "pg/point.hpp"
#include "pg/short_text.hpp"
#include "pg/transaction.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/executors/put_off.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/lanes/run_time_table.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::execute {

namespace {

using job::ClaimedJob;
using job::DueJob;

// A claim by lock shares the handler's transaction. hipq's own statements cannot run first in a
// transaction that is read only, or that has another isolation level because of the role's
// settings.
bool needs_its_own_transaction(const catalog::Handler &handler)
{
    return handler.may_commit || DefaultXactIsoLevel != XACT_READ_COMMITTED ||
           DefaultXactReadOnly || DefaultXactDeferrable;
}

core::ClaimMode mode_of(const catalog::JobType &type, const Task &task)
{
    if (!task.handler.has_value())
        return core::ClaimMode::record;
    return core::claim_mode(type.claim, needs_its_own_transaction(*task.handler), task.run_time);
}

// What became of the chosen jobs.
struct Attempted {
    std::optional<Task> task;
    claim::Claim claim;
    // A database error prevents the claim of one of the jobs; none was claimed.
    std::optional<pg::Error> trouble{};
};

// Whether something has been paused or resumed since the prefetched batch was filled.
bool has_changed(const claim::Prefetched &prefetched, const catalog::Queue &queue,
                 const std::string &job_type)
{
    return queue.find_pause(job_type) != nullptr ||
           queue.paused_keys(job_type) != prefetched.paused_keys;
}

std::vector<ClaimedJob> write_claim(const catalog::Queue &queue, core::ClaimMode mode,
                                    std::span<const DueJob> waiting, pg::Time now)
{
    return mode == core::ClaimMode::lock ? claim::claim_by_lock(queue, waiting, now)
                                         : claim::claim_by_record(queue, waiting, now);
}

// Call it in a transaction. The caller aborts the transaction when there is no task: the queue or
// type is gone or paused, the handler is missing, or no job could be claimed.
Attempted claim_in_transaction(Executor &executor, int queue_id, const std::string &job_type,
                               claim::Chosen chosen)
{
    const pg::OwnSettings own;
    const auto nothing = [&] {
        return Attempted{std::nullopt, claim::none_claimed(chosen.size())};
    };
    Task task{catalog::working_catalogue(), nullptr, std::nullopt, core::ClaimMode::record, {}};
    task.queue = task.catalogue->find(queue_id);
    const catalog::JobType *type =
        task.queue == nullptr ? nullptr : task.queue->find_job_type(job_type);
    if (type == nullptr || task.queue->is_dropped || task.queue->owner != executor.ticket.role)
        return nothing();
    executor.prefetched.is_paused = has_changed(executor.prefetched, *task.queue, type->name) ||
                                    !catalog::try_to_lock(*task.queue);
    if (executor.prefetched.is_paused)
        return nothing();
    task.handler = catalog::known_handler(*task.queue, *type);
    if (!task.handler.has_value() && !type->fails_without_handler)
        return nothing();
    task.run_time = lanes::run_time(queue_id, type->name);
    task.is_rated = claim::is_rated(*task.queue, *type);
    task.has_breaker = type->breaker.is_set();
    task.mode = mode_of(*type, task);
    executor.prefetched.is_paused = task.mode == core::ClaimMode::record &&
                                    !catalog::try_to_lock(*task.queue, RowExclusiveLock);
    if (executor.prefetched.is_paused)
        return nothing();
    Attempted attempted{std::nullopt,
                        claim::claim_chosen(*task.queue, *type, chosen,
                                            [&](std::span<const DueJob> waiting, pg::Time now) {
                                                return write_claim(*task.queue, task.mode, waiting,
                                                                   now);
                                            })};
    executor.prefetched.is_paused = attempted.claim.outcome == claim::ClaimOutcome::slot_has_left;
    if (attempted.claim.jobs.empty())
        return attempted;
    task.jobs = std::move(attempted.claim.jobs);
    announce(task);
    attempted.task = std::move(task);
    return attempted;
}

// Separate points for the two ways of claiming, so that a test of points reaches both.
void reach_point_after_claim([[maybe_unused]] const std::optional<Task> &task)
{
    if (task.has_value() && task->mode == core::ClaimMode::lock)
        HIPQ_POINT("after-lock");
    if (task.has_value() && task->mode == core::ClaimMode::record)
        HIPQ_POINT("after-record");
}

Attempted try_to_claim(Executor &executor, int queue_id, const std::string &job_type,
                       claim::Chosen chosen)
{
    Attempted result;
    std::optional<Task> &task = result.task;
    pg::start_transaction();
    try {
        MemoryContext before = ::MemoryContextSwitchTo(executor.job_memory);
        HIPQ_POINT("before-claim");
        result = claim_in_transaction(executor, queue_id, job_type, chosen);
        ::MemoryContextSwitchTo(before);
        reach_point_after_claim(task);
        if (!task.has_value())
            pg::abort_transaction();
        else if (task->mode == core::ClaimMode::record)
            pg::commit_transaction();
    } catch (const pg::Error &error) {
        pg::abort_transaction();
        if (!pg::is_fault_of_job(error))
            throw;
        result = Attempted{std::nullopt, {}, error};
    } catch (...) {
        pg::abort_transaction();
        throw;
    }
    if (task.has_value() && task->mode == core::ClaimMode::record)
        HIPQ_POINT("after-record-commit");
    return result;
}

void report_trouble(std::int64_t id, const pg::Error &error)
{
    memory::raise_alert(memory::Alert::job_set_aside);
    const std::string message = pg::short_message(error);
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()),
                errmsg("cannot start job %lld: %s", static_cast<long long>(id), message.c_str()),
                errdetail("It stays as it is, and is tried again from time to time."));
    });
}

// A database error prevents the claim of one of these jobs. Of several jobs it is unknown which
// one, so the executor claims jobs one by one for a while.
void put_off_trouble(Executor &executor, claim::Chosen jobs, const pg::Error &error)
{
    constexpr std::int64_t caution = 10'000'000;  // us
    const pg::Time now = pg::now();
    if (jobs.size() > 1) {
        executor.single_until = now + caution;
        for (const lanes::WaitingJob &job : jobs)
            executors::put_back(job);
        return;
    }
    const lanes::WaitingJob &job = jobs.front();
    if (executor.held.until(job.id) == pg::Time{0})
        report_trouble(job.id, error);
    claim::put_off_until(job, executor.held.note(job.id, now));
}

// Returns whether the time windows of the prefetched jobs, open when they were taken, have closed.
// The lane knows when they open again.
bool has_closed(const claim::Prefetched &prefetched)
{
    return prefetched.closes != pg::infinity && pg::now() >= prefetched.closes;
}

// Gives back the jobs that are not in the task.
void settle(Executor &executor, claim::Chosen chosen, const Attempted &attempted)
{
    const bool any = attempted.task.has_value();
    claim::settle(executor, chosen, attempted.claim.capacities,
                  any ? std::span<const ClaimedJob>(attempted.task->jobs)
                      : std::span<const ClaimedJob>());
    if (attempted.claim.capacities.have_no_turn())
        claim::give_back(executor);
    else if (attempted.claim.capacities.are_full())
        claim::give_back_full(executor, any);
}

}  // namespace

void announce(const Task &task)
{
    const ClaimedJob &first = task.jobs.front();
    memory::RunningJob running{first.queue_id, first.attempt,   first.id,
                               first.started,  first.is_locked, {}};
    ::strlcpy(running.type, first.type.c_str(), sizeof(running.type));
    std::vector<memory::Attempt> attempts;
    for (const ClaimedJob &job : task.jobs)
        attempts.push_back({job.id, job.attempt, claim::load_of(job)});
    executors::announce_jobs(running, attempts);
}

std::optional<Task> claim_next(Executor &executor)
{
    claim::Prefetched &prefetched = executor.prefetched;
    if (has_closed(prefetched)) {
        claim::give_back(executor);
        return std::nullopt;
    }
    const std::size_t most = pg::now() < executor.single_until ? 1 : prefetched.batch_size;
    const claim::Chosen chosen = claim::choose(executor, most);
    if (chosen.empty())
        return std::nullopt;
    for (const lanes::WaitingJob &job : chosen)
        executors::note_chosen(job.id);
    ::MemoryContextReset(executor.job_memory);
    Attempted attempted = try_to_claim(executor, prefetched.queue_id, prefetched.job_type, chosen);
    if (attempted.trouble.has_value()) {
        put_off_trouble(executor, chosen, *attempted.trouble);
        return std::nullopt;
    }
    if (prefetched.is_paused) {
        claim::give_back(executor);
        return std::nullopt;
    }
    settle(executor, chosen, attempted);
    return std::move(attempted.task);
}

std::optional<Task> claim_again(Executor &executor, const Task &batch, std::int64_t job_id)
{
    const lanes::WaitingJob job{job_id, batch.queue->id, {}, lanes::no_lane};
    Attempted attempted =
        try_to_claim(executor, batch.queue->id, batch.jobs.front().type, {&job, 1});
    if (attempted.trouble.has_value())
        put_off(executor, job_id);
    return std::move(attempted.task);
}

void put_off(Executor &executor, std::int64_t job_id)
{
    for (const lanes::WaitingJob &job : executor.prefetched.jobs)
        if (job.id == job_id)
            claim::put_off_until(job, executor.held.note(job_id, pg::now()));
}

}  // namespace hipq::execute
