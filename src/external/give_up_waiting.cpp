// Ends the wait of jobs that could not be offered to any external worker in time.
//
// Such a job gets an attempt that is over before it has begun, in one transaction.
//
// Shared memory says since when no worker can be offered jobs of a type. This file watches it while
// jobs are due: an event that makes the last worker of a type go away wakes the scheduler, except
// for the worker's silence, whose time is known.
#include "external/give_up_waiting.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "catalog/worker_rows.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "execute/execute.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "job/set_aside.hpp"
#include "pg/clock.hpp"
#include "process/process.hpp"
#include "retry/retry.hpp"
#include "settings.hpp"
#include "shared/executors/pending_decisions.hpp"
#include "shared/workers/jobs.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::external {

namespace {

using catalog::JobType;
using catalog::Queue;
using core::Duty;
using job::ClaimedJob;

constexpr std::size_t most_jobs_to_give_up = 500;
constexpr std::int64_t retry_interval = 1'000'000;  // us

// In seconds; 0: for ever.
int wait_of(const Queue &queue, const JobType &type)
{
    const int by_setting = settings::worker_wait_ttl.whole_seconds();
    return type.worker_wait_ttl.value_or(queue.worker_wait_ttl.value_or(by_setting));
}

std::int64_t patience_of(const Queue &queue, const JobType &type)
{
    return std::int64_t{wait_of(queue, type)} * USECS_PER_SEC;
}

// A paused job does not wait for a worker; its wait begins with the resume.
void note_paused(const catalog::Catalogue &catalogue)
{
    for (const int id : workers::unserved_queues()) {
        const Queue *queue = catalogue.find(id);
        if (queue == nullptr)
            continue;
        if (queue->pause.has_value() || queue->instance_pause.has_value())
            workers::note_queue_served(id);
        for (const std::string &type : queue->paused_types())
            workers::note_served(id, type);
    }
}

// Returns whether jobs of the lane do not wait for ever.
bool is_impatient(const claim::Lane &lane)
{
    const JobType *type = lane.queue->find_job_type(lane.head.job_type);
    return type != nullptr && wait_of(*lane.queue, *type) > 0 &&
           claim::runs_outside(*lane.queue, *type);
}

// Call in a transaction.
std::vector<claim::Lane> impatient_lanes(const catalog::Catalogue &catalogue, pg::Time now)
{
    const auto may_wait = [](const Queue &queue) {
        return !queue.is_dropped && queue.type_facts().has_others;
    };
    std::vector<claim::Lane> lanes = claim::due_lanes(catalogue, InvalidOid, may_wait, now).lanes;
    std::erase_if(lanes, [](const claim::Lane &lane) { return !is_impatient(lane); });
    return lanes;
}

// No job of the lane has waited long enough before this time: there was a worker until then, or
// there is one now, whose silence would be noticed only then. Call in a transaction.
pg::Time first_end(const claim::Lane &lane, pg::Time now)
{
    const JobType &type = *lane.queue->find_job_type(lane.head.job_type);
    const auto services = catalog::worker_services();
    const auto able_until = workers::able_until(services->serving(lane.queue->id, type.name));
    if (!able_until.has_value())
        return workers::unserved_since(lane.queue->id, type.name) + patience_of(*lane.queue, type);
    workers::note_served(lane.queue->id, type.name);
    return std::max(*able_until, now + 1);
}

job::Failure failure_of(const Queue &queue, const JobType &type)
{
    return {core::Reason::worker_unavailable, "",
            "no external worker could be given the job within " +
                std::to_string(wait_of(queue, type)) + " s"};
}

// Waiting jobs of a queue that must fail.
struct GivingUp {
    const Queue &queue;
    const job::Failure &failure;
    pg::Time now;
    std::vector<std::int64_t> asks{};  // jobs whose retry handler must be called

    // Fails the jobs in a transaction of its own. Returns the error that prevents it.
    std::optional<pg::Error> fail(std::span<const job::DueJob> waiting)
    {
        const std::size_t asked_before = asks.size();
        return execute::try_to_write([&] {
            asks.resize(asked_before);
            for (const ClaimedJob &job : job::fail_untried(queue, waiting, failure, now))
                if (retry::resolve_untried(queue, job, failure, now) ==
                    retry::Resolved::ask_retry_handler)
                    asks.push_back(job.id);
        });
    }

    // Fails each job in its own transaction, because one of them causes an error.
    void fail_one_by_one(std::span<const job::DueJob> waiting)
    {
        asks.clear();
        for (const job::DueJob &job : waiting) {
            process::check_interrupts();
            const auto trouble = fail({&job, 1});
            if (!trouble.has_value())
                continue;
            pg::with_transaction([&] { job::note_set_aside(queue, job.id, *trouble, now); });
            job::report_set_aside(queue, job.id, *trouble);
        }
    }
};

// A lane whose jobs no worker has been able to run for as long as their type says.
struct UnservedLane {
    const claim::Lane &lane;
    const Queue &queue;
    const JobType &type;
    pg::Time now;

    // Returns the jobs whose time is up, a limited number. Call in a transaction.
    std::vector<job::DueJob> first_overdue() const
    {
        claim::StartWindows windows(queue.id, type.name, now);
        return first_due(now + -patience_of(queue, type), most_jobs_to_give_up, windows);
    }

    std::vector<job::DueJob> first_due(pg::Time due_by, std::size_t most,
                                       claim::StartWindows &windows) const
    {
        const std::set<std::int64_t> aside = job::waiting_set_aside(queue);
        auto waiting = claim::due_jobs(queue, lane.head, due_by, most + aside.size(), windows,
                                       queue.paused_keys(type.name));
        std::erase_if(waiting, [&](const job::DueJob &job) {
            return aside.contains(job.id) || workers::is_with_worker(MyDatabaseId, job.id);
        });
        return waiting;
    }

    pg::Time end_of(pg::Time due) const
    {
        const pg::Time end = due + patience_of(queue, type);
        return end > now ? end : now + retry_interval;  // another session holds its row
    }

    // Returns when the first of the remaining jobs has waited long enough. The lane's time of its
    // first job is only a lower limit, at which no job may be due: the rows have the exact time.
    // Call in a transaction.
    pg::Time next_end() const
    {
        claim::StartWindows windows(queue.id, type.name, now);
        const auto due = first_due(now, 1, windows);
        if (!due.empty())
            return end_of(due.front().due);
        const auto later = claim::first_due_times(queue, type.name, lane.head.priority,
                                                  {now.value + 1, 0}, now, 1);
        return std::min(later.empty() ? pg::infinity : end_of(later.front()),
                        windows.first_opening());
    }
};

// Returns when the next job of the lane has waited long enough.
pg::Time fail_lane(const claim::Lane &lane, pg::Time now)
{
    const UnservedLane unserved{lane, *lane.queue, *lane.queue->find_job_type(lane.head.job_type),
                                now};
    pg::Time next = now;
    std::vector<job::DueJob> overdue;
    pg::with_transaction([&] {
        catalog::lock_or_raise(*lane.queue);
        overdue = unserved.first_overdue();
    });
    give_up(*lane.queue, overdue, failure_of(unserved.queue, unserved.type), now);
    if (overdue.size() < most_jobs_to_give_up)
        pg::with_transaction([&] { next = unserved.next_end(); });
    return next;
}

}  // namespace

void give_up(const Queue &queue, std::span<const job::DueJob> waiting, const job::Failure &failure,
             pg::Time now)
{
    GivingUp giving_up{queue, failure, now};
    if (!waiting.empty() && giving_up.fail(waiting).has_value())
        giving_up.fail_one_by_one(waiting);
    for (const std::int64_t id : giving_up.asks)
        executors::offer_decision({MyDatabaseId, queue.owner, queue.id, id});
}

pg::Time give_up_waiting(const catalog::Catalogue &catalogue)
{
    pg::Time next = pg::infinity;
    const pg::Time now = pg::now();
    std::vector<std::pair<claim::Lane, pg::Time>>
        waiting;  // with the time when its jobs have waited long enough
    process::do_duty(Duty::worker_wait, nullptr, [&] {
        pg::with_transaction([&] {
            note_paused(catalogue);
            for (claim::Lane &lane : impatient_lanes(catalogue, now)) {
                const pg::Time end = first_end(lane, now);
                waiting.emplace_back(std::move(lane), end);
            }
        });
    });
    for (const auto &entry : waiting) {
        const claim::Lane &lane = entry.first;
        const pg::Time end = entry.second;
        process::check_interrupts();
        pg::Time again = end;
        if (end <= now &&
            !process::do_duty(Duty::worker_wait, lane.queue, [&] { again = fail_lane(lane, now); }))
            again = now + retry_interval;
        next = std::min(next, again);
    }
    return next;
}

}  // namespace hipq::external
