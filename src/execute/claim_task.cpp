// Claims the next jobs of the batch, by a row lock or by a record, and makes them a task.
#include "catalog/catalog.hpp"
#include "claim/claim.hpp"
#include "execute/task.hpp"
#include "pg/clock.hpp"
#include "pg/error_classes.hpp"
#include "pg/point.hpp"
#include "pg/short_text.hpp"
#include "pg/transaction.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/executors/put_off.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/run_time_table.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::execute {

namespace {

using job::ClaimedJob;
using job::DueJob;

// A claim by lock shares the handler's transaction: one that is read only, or has another isolation
// level because the role's settings say so, is no place for hipq's own statements before it.
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

struct Claim {
    std::optional<Task> task;
    claim::Capacities capacities;  // what the jobs got under the throttle limits
    std::optional<pg::Error>
        trouble{};  // a database error was against it, and nothing has happened
};

// Whether something has been paused or resumed since the prefetched batch was filled.
bool has_changed(const claim::Prefetched &prefetched, const catalog::Queue &queue,
                 const std::string &job_type)
{
    return queue.find_pause(job_type) != nullptr ||
           queue.paused_keys(job_type) != prefetched.paused_keys;
}

// Needs a transaction, which has to be aborted when there is no task: the queue or type is gone or
// paused, the handler is missing, or no job could be claimed.
Claim claim_in_transaction(Executor &executor, int queue_id, const std::string &job_type,
                           std::vector<DueJob> waiting)
{
    const pg::OwnSettings own;
    const auto nothing = [&] {
        return Claim{std::nullopt, claim::capacity_for_all(waiting.size())};
    };  // not for want of room
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
    task.mode = mode_of(*type, task);
    executor.prefetched.is_paused = task.mode == core::ClaimMode::record &&
                                    !catalog::try_to_lock(*task.queue, RowExclusiveLock);
    if (executor.prefetched.is_paused)
        return nothing();
    Claim claim{std::nullopt, claim::take_capacity(*task.queue, *type, waiting)};
    for (std::size_t i = waiting.size(); i-- > 0;)
        if (!claim.capacities.has(i))
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    if (waiting.empty())
        return claim;
    const pg::Time now = pg::now();
    task.jobs = task.mode == core::ClaimMode::lock
                    ? claim::claim_by_lock(*task.queue, waiting, now)
                    : claim::claim_by_record(*task.queue, waiting, now);
    executor.prefetched.is_paused = claim::have_left(*task.queue, task.jobs);
    if (executor.prefetched.is_paused)
        return claim;
    if (task.jobs.empty() ||
        (claim::limits_of(*task.queue, *type).any() && !claim::weigh_the_same(task.jobs, waiting)))
        return claim;
    announce(task);
    claim.task = std::move(task);
    return claim;
}

// Of each way of claiming, so that a test of points meets both.
void reach_point_after_claim([[maybe_unused]] const std::optional<Task> &task)
{
    if (task.has_value() && task->mode == core::ClaimMode::lock)
        HIPQ_POINT("after-lock");
    if (task.has_value() && task->mode == core::ClaimMode::record)
        HIPQ_POINT("after-record");
}

Claim claim(Executor &executor, int queue_id, const std::string &job_type,
            std::vector<DueJob> waiting)
{
    Claim result;
    std::optional<Task> &task = result.task;
    pg::start_transaction();
    try {
        MemoryContext before = ::MemoryContextSwitchTo(executor.job_memory);
        HIPQ_POINT("before-claim");
        result = claim_in_transaction(executor, queue_id, job_type, std::move(waiting));
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
        result = Claim{std::nullopt, claim::capacity_for_all(0), error};
    } catch (...) {
        pg::abort_transaction();
        throw;
    }
    if (task.has_value() && task->mode == core::ClaimMode::record)
        HIPQ_POINT("after-record-commit");
    return result;
}

void put_off_until(const lanes::WaitingJob &job, pg::Time again)
{
    executors::put_off(job, again);
    databases::work_due(MyDatabaseId, again);  // this executor may be busy then
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

// A database error is against one of these jobs. Of several it is not known which: then they are
// claimed one by one for a while.
void put_off_trouble(Executor &executor, std::span<const lanes::WaitingJob> jobs,
                     const pg::Error &error)
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
    put_off_until(job, executor.held.note(job.id, now));
}

// What had room and could not be claimed is held by somebody else, or was changed. The jobs of the
// task are in the order of `jobs`.
void put_off_others(Executor &executor, std::span<const lanes::WaitingJob> jobs, const Claim &claim)
{
    const std::span<const ClaimedJob> claimed = claim.task.has_value()
                                                    ? std::span<const ClaimedJob>(claim.task->jobs)
                                                    : std::span<const ClaimedJob>();
    auto next = claimed.begin();
    for (std::size_t i = 0; i < claim.capacities.taken.size(); ++i) {
        const lanes::WaitingJob &job = jobs[i];
        const bool is_claimed = next != claimed.end() && next->id == job.id;
        if (is_claimed)
            ++next;
        if (claim.capacities.is_key_full(i))
            claim::leave_full_key(executor, job);
        else if (!is_claimed && claim.capacities.has(i))
            put_off_until(job, executor.held.note(job.id, pg::now()));
        else if (is_claimed && executor.held.size() > 0)
            executor.held.forget(job.id);
    }
}

// The windows of jobs that were taken while they were open have closed: the lane tells when they
// open again.
bool has_closed(const claim::Prefetched &prefetched)
{
    return prefetched.closes != pg::infinity && pg::now() >= prefetched.closes;
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
    const std::size_t count = std::min(most, prefetched.jobs.size() - prefetched.next);
    const std::span<lanes::WaitingJob> chosen(prefetched.jobs.data() + prefetched.next, count);
    prefetched.next += count;
    const std::span<const lanes::WaitingJob> jobs = chosen.first(lanes::choose_jobs(chosen));
    if (jobs.empty())
        return std::nullopt;
    std::vector<DueJob> waiting;
    waiting.reserve(jobs.size());
    for (const lanes::WaitingJob &job : jobs) {
        executors::note_chosen(job.id);
        waiting.push_back({job.id, job.place, job.due, job.is_weighed, job.weight, job.key});
    }
    ::MemoryContextReset(executor.job_memory);
    Claim claimed = claim(executor, prefetched.queue_id, prefetched.job_type, std::move(waiting));
    if (claimed.trouble.has_value()) {
        put_off_trouble(executor, jobs, *claimed.trouble);
        return std::nullopt;
    }
    if (prefetched.is_paused) {
        claim::give_back(executor);
        return std::nullopt;
    }
    put_off_others(executor, jobs, claimed);
    if (claimed.capacities.are_full()) {
        const std::vector<lanes::WaitingJob> chosen_jobs(
            jobs.begin(),
            jobs.end());  // they are part of the prefetched batch
        claim::put_back_rest(executor, chosen_jobs, claimed.capacities, claimed.task.has_value());
    }
    return std::move(claimed.task);
}

std::optional<Task> claim_again(Executor &executor, const Task &batch, std::int64_t job_id)
{
    Claim claimed = claim(executor, batch.queue->id, batch.jobs.front().type, {DueJob{job_id}});
    if (claimed.trouble.has_value())
        put_off(executor, job_id);
    return std::move(claimed.task);
}

void put_off(Executor &executor, std::int64_t job_id)
{
    for (const lanes::WaitingJob &job : executor.prefetched.jobs)
        if (job.id == job_id)
            put_off_until(job, executor.held.note(job_id, pg::now()));
}

}  // namespace hipq::execute
