// Reclaims jobs from external workers, and takes back what they were offered.
//
// Deadlines and workers in shared memory give the candidates; the rows decide (rescue.hpp). An
// offer that is taken back needs no row.
#include "recovery/recovery.hpp"

#include "catalog/cache.hpp"
#include "catalog/worker_rows.hpp"
#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "recovery/rescue.hpp"
#include "settings.hpp"
#include "shared/workers/jobs.hpp"
#include "shared/workers/offers.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::recovery {

namespace {

using workers::ExternalJob;
using workers::WorkerSlot;

constexpr int most_reports = 10;                      // in
constexpr std::int64_t report_interval = 10'000'000;  // us

Left left_by(const ExternalJob &job, LeftBy by)
{
    Left left{job.queue_id, job.id, job.attempt, by, true, pg::Time{0}, 0};
    left.worker_id = job.worker_id;
    return left;
}

std::string name_of(std::int64_t worker_id)
{
    const auto worker = workers::find_worker(worker_id);
    return worker.has_value() ? std::string(worker->name) : std::to_string(worker_id);
}

// The worker gets no more jobs until it is heard from, so this is reported once.
void report_mute(std::int64_t worker_id)
{
    const std::string name = name_of(worker_id);
    pg::call([&] {
        ereport(WARNING, errmsg("external worker \"%s\" does not answer", name.c_str()),
                errdetail("It was given a job that it could run, and has said nothing for "
                          "hipq.heartbeat_timeout. Its session is there."),
                errhint("The program hangs; or it has registered with listen => true through a "
                        "pooler, and has ended."));
    });
}

// ---- finding the jobs to take ----

std::int64_t grace()
{
    return settings::worker_grace.microseconds();
}

// Returns when the jobs of a worker that is gone can go to others; infinity if the worker is not
// known to be gone.
pg::Time end_of_grace(const WorkerSlot &worker)
{
    if (worker.state == workers::WorkerState::ended)
        return worker.ended + grace();
    if (!settings::health_enabled)
        return pg::infinity;
    const pg::Time stale{core::stale_from(worker.record, workers::health_limits())};
    return stale == pg::infinity ? stale : stale + grace();
}

LeftBy loss_of(const WorkerSlot &worker)
{
    return worker.state == workers::WorkerState::ended ? LeftBy::lost_worker
                                                       : LeftBy::silent_worker;
}

struct Found {
    std::vector<Left> jobs;
    pg::Time next = pg::infinity;
    bool is_all = true;
};

void find_overdue(Found &found, pg::Time now)
{
    const workers::OverdueJobs overdue = workers::overdue_jobs(now, jobs_at_once);
    for (const ExternalJob &job : overdue.jobs)
        found.jobs.push_back(
            left_by(job, job.is_accepted ? LeftBy::late_worker : LeftBy::late_offer));
    found.is_all = overdue.jobs.size() < jobs_at_once;
    found.next = std::min(found.next, overdue.next);
}

// Which worker may work on which queue.
struct Rights {
    std::shared_ptr<const catalog::Catalogue> catalogue;
    std::shared_ptr<const catalog::WorkerServices> services;

    // Jobs of a queue that is being dropped end with the queue.
    bool is_revoked(const ExternalJob &job) const
    {
        const catalog::Queue *queue = catalogue->find(job.queue_id);
        return queue != nullptr && !queue->is_dropped &&
               !services->may_work(job.worker_id, job.queue_id);
    }
};

Rights read_rights()
{
    Rights rights;
    pg::with_transaction([&] {
        rights = {catalog::working_catalogue(), catalog::worker_services()};
    });
    return rights;
}

// A worker that lost the work privilege on a queue loses its jobs and offers of that queue.
void find_revoked(Found &found, const Rights &rights, const WorkerSlot &worker)
{
    for (const ExternalJob &job : workers::jobs_of_worker(worker.id))
        if (rights.is_revoked(job))
            found.jobs.push_back(left_by(job, LeftBy::revoked_worker));
    for (const auto &entry : rights.catalogue->queues)
        if (!rights.services->may_work(worker.id, entry.first))
            workers::withdraw_offers(worker.id, entry.first);
}

// Whether the worker loses what it is offered. One that has ended cannot accept it any more:
// waiting for it would only keep the job, and a slot in its role's share, from its successor.
bool loses_offers(const WorkerSlot &worker, pg::Time now)
{
    return worker.is_draining || worker.state == workers::WorkerState::ended ||
           end_of_grace(worker) <= now;
}

// Whether the worker loses what it has accepted. A bound worker may be busy with a job while its
// session is there, even if it answers nothing.
bool loses_jobs(const WorkerSlot &worker, pg::Time now)
{
    return end_of_grace(worker) <= now && !worker.record.is_bound;
}

bool is_mute(const WorkerSlot &worker)
{
    return worker.record.is_bound && worker.state == workers::WorkerState::present &&
           !worker.is_draining;
}

void find_abandoned(Found &found, const Rights &rights, pg::Time now)
{
    for (const WorkerSlot &worker : workers::list_workers()) {
        if (worker.record.depth == 0 && worker.running == 0)
            continue;
        if (rights.services->lacks_a_right(worker.id))
            find_revoked(found, rights, worker);
        if (loses_offers(worker, now) && workers::withdraw_offers(worker.id, 0) > 0 &&
            is_mute(worker))
            report_mute(worker.id);
        if (loses_jobs(worker, now))
            for (const ExternalJob &job : workers::jobs_of_worker(worker.id))
                found.jobs.push_back(left_by(job, loss_of(worker)));
    }
}

Found find(const PostponedJobs &postponed, pg::Time now)
{
    Found found;
    find_overdue(found, now);
    if (workers::has_workers_here())
        find_abandoned(found, read_rights(), now);
    std::stable_sort(found.jobs.begin(), found.jobs.end(), [](const Left &left, const Left &right) {
        return left.queue_id < right.queue_id;
    });
    std::erase_if(found.jobs,
                  [&](const Left &left) { return is_postponed(postponed, left.id, now); });
    return found;
}

// ---- reports ----

void report_expiry(const Left &left)
{
    const std::string worker = name_of(left.worker_id);
    pg::call([&] {
        ereport(LOG,
                errmsg("job %lld was not accepted by worker \"%s\" within its queue_ttl",
                       static_cast<long long>(left.id), worker.c_str()),
                errdetail("Attempt %d is over; hipq.attempts has what follows.", left.attempt));
    });
}

void report_rest(TakingBack &taking)
{
    const int count = std::exchange(taking.unreported, 0);
    pg::call([&] {
        ereport(LOG,
                errmsg("%d more jobs were not accepted by their workers within their queue_ttl",
                       count));
    });
}

// Logs a few lines in each interval, and then the number of the others.
void begin_interval_if_due(TakingBack &taking, pg::Time now)
{
    if (now < taking.reports_since + report_interval && now >= taking.reports_since)
        return;
    if (taking.unreported > 0)
        report_rest(taking);
    taking.reports_since = now;
    taking.reports = 0;
}

void report_expiries(TakingBack &taking, std::span<const Left> jobs)
{
    for (const Left &left : jobs) {
        if (left.by != LeftBy::late_offer || !left.has_ended)
            continue;
        if (taking.reports++ < most_reports)
            report_expiry(left);
        else
            ++taking.unreported;
    }
}

// Skips a job whose time has come and that was not tried again. It may stay: its worker has more
// time now, or was heard from again.
pg::Time next_postponed(const PostponedJobs &postponed, pg::Time now)
{
    pg::Time next = pg::infinity;
    for (const auto &entry : postponed)
        if (entry.second.until > now)
            next = std::min(next, entry.second.until);
    return next;
}

}  // namespace

pg::Time reclaim(TakingBack &taking)
{
    const pg::Time now = pg::now();
    begin_interval_if_due(taking, now);
    std::erase_if(taking.postponed, [](const auto &entry) {
        return !workers::is_with_worker(MyDatabaseId, entry.first);
    });
    Found found = find(taking.postponed, now);
    while (!found.jobs.empty()) {
        process::check_interrupts();
        const BroughtHome brought = rescue_first(taking.postponed, found.jobs);
        report_expiries(taking, brought.home);
    }
    pg::Time next = std::min(found.next, next_postponed(taking.postponed, now));
    if (taking.unreported > 0)
        next = std::min(next, taking.reports_since + report_interval);
    return found.is_all ? next : now;
}

pg::Time next_loss(pg::Time now)
{
    pg::Time next = pg::infinity;
    for (const WorkerSlot &worker : workers::list_workers())
        if (const pg::Time end = end_of_grace(worker);
            end > now && (worker.record.depth > 0 || worker.running > 0))
            next = std::min(next, end);
    return next;
}

void forget_jobs_of_dropped_queues(const catalog::Catalogue &catalogue)
{
    for (const ExternalJob &job : workers::list_external_jobs()) {
        const catalog::Queue *queue = catalogue.find(job.queue_id);
        if (queue != nullptr && queue->is_dropped)  // an unknown queue may be new
            workers::drop_external_job(job.id, job.attempt);
    }
}

}  // namespace hipq::recovery
