// Raises the alarm when a due job does not start although nothing prevents it.
//
// Checks shared memory first, which costs almost nothing: has any job of the owner started since
// the last look, and could one have started? If for a second none has although one could have, it
// searches the tables for a job that should have started, and checks 5 s later whether that job is
// still there.
#include "server/stalls.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "catalog/queue_statements.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "job/claimed_job.hpp"
#include "job/find_job.hpp"
#include "monitor/monitor.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "settings.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/alerts.hpp"

namespace hipq::server {

namespace {

using catalog::Queue;
using job::FoundJob;

constexpr std::int64_t first_stall_patience = 1'000'000;  // us
constexpr std::int64_t stall_patience = 5'000'000;
constexpr std::size_t most_candidates = 100;  // of a lane
constexpr int most_lanes = 1'000;

// ---- a job that should have started ----

constexpr const char *try_lock_sql =
    "SELECT FROM {live} AS job WHERE job.id = $1 FOR UPDATE SKIP LOCKED";

// A session that changes or locks the row keeps executors from it. The lock is held to the end of
// the transaction, which is near.
bool is_free(const FoundJob &job)
{
    return !pg::as_hipq([&] {
                return catalog::statement_for(*job.queue, try_lock_sql).run(job.id);
            }).empty();
}

// Returns whether executors do not look at the job for a moment, because they just found it locked.
bool is_put_off(const FoundJob &job, pg::Time now)
{
    const lanes::LaneRef ref =
        lanes::find_lane({catalog::live_leaf(*job.queue), job.queue->id, job.priority, job.type});
    const auto lane = ref.is_known() ? lanes::copy_lane(ref) : std::nullopt;
    if (!lane.has_value())
        return false;
    const core::LaneKey key{job.due.value, job.id};
    const auto &pockets = lane->pockets;
    return std::any_of(pockets.entries.begin(), pockets.entries.begin() + pockets.count,
                       [&](const core::Pocket &pocket) {
                           return pocket.range.contains(key) && !pocket.is_ready(now.value) &&
                                  !pocket.holds_many(now.value);
                       });
}

bool should_start(const FoundJob &job, pg::Time now)
{
    if (is_put_off(job, now))
        return false;
    const std::vector<claim::Condition> conditions = monitor::conditions_of(job);
    return std::all_of(conditions.begin(), conditions.end(),
                       [](const claim::Condition &condition) { return condition.passed(); }) &&
           is_free(job);
}

// Returns the first job of a lane that should have started.
std::optional<FoundJob> find_in_lane(const catalog::Catalogue &catalogue, const Queue &queue,
                                     const claim::LaneHead &head, pg::Time now)
{
    claim::StartWindows windows(queue.id, head.job_type, now);
    for (const job::DueJob &due : claim::due_jobs(queue, head, now, most_candidates, windows,
                                                  queue.paused_keys(head.job_type))) {
        process::check_interrupts();
        auto job = job::find_job(catalogue, due.id, queue.full_name());
        if (job.has_value() && should_start(*job, now))
            return job;
    }
    return std::nullopt;
}

// Searches the tables, because the lanes may be wrong.
std::optional<FoundJob> find_in_queue(const catalog::Catalogue &catalogue, const Queue &queue)
{
    const pg::Time now = pg::now();
    claim::LanePlace start;
    for (const claim::LaneHead &head : claim::lane_heads(queue, now, start, most_lanes)) {
        if (head.due > now || queue.find_pause(head.job_type) != nullptr)
            continue;
        if (auto job = find_in_lane(catalogue, queue, head, now))
            return job;
    }
    return std::nullopt;
}

std::optional<FoundJob> find_in_queues(const catalog::Catalogue &catalogue, Oid owner)
{
    for (const auto &[id, queue] : catalogue.queues)
        if (queue.owner == owner && !queue.is_dropped && catalog::try_to_lock(queue))
            if (auto job = find_in_queue(catalogue, queue))
                return job;
    return std::nullopt;
}

// Returns the job found before if it still should start, else another one.
std::optional<FoundJob> find_stalled(const catalog::Catalogue &catalogue, Oid owner,
                                     std::int64_t before)
{
    auto job = before == 0 ? std::nullopt : job::find_job(catalogue, before, std::nullopt);
    if (job.has_value() && job->queue->owner == owner && should_start(*job, pg::now()))
        return job;
    return find_in_queues(catalogue, owner);
}

// ---- the alarm ----

void report(const FoundJob &job)
{
    const std::string queue = job.queue->full_name();
    const auto id = static_cast<long long>(job.id);
    pg::call([&] {
        ereport(WARNING, errmsg("job %lld in queue \"%s\" does not start", id, queue.c_str()),
                errdetail("It has been due for over 5 s, every condition is met and an executor is "
                          "free; no other job of the queue "
                          "owner has started meanwhile."),
                errhint("See hipq.executors, and what its processes wait for in pg_stat_activity. "
                        "Unless something stops "
                        "them, this is a bug in hipq."));
    });
}

// Called when nothing has started for long enough. Uses its own transaction.
void look_for_stalled(Stall &stall, const catalog::Catalogue &catalogue, Oid owner, pg::Time now)
{
    pg::with_transaction([&] {
        const auto job = find_stalled(catalogue, owner, stall.job_id);
        if (!job.has_value()) {
            stall = Stall{.since = now + (stall_patience - first_stall_patience),
                          .seen = now,
                          .progress = stall.progress};  // checked again in 5 s
        } else if (std::exchange(stall.job_id, job->id) != job->id) {
            stall.found = now;
        } else if (now >= stall.found + stall_patience) {
            stall.found = now;
            if (std::exchange(stall.reported, job->id) != job->id)
                report(*job);
            memory::raise_alert(memory::Alert::no_start);
        }
    });
}

bool could_start_more(Oid owner)
{
    const executors::ExecutorList executor_list = executors::executor_list_of(MyDatabaseId, owner);
    return executor_list.idle + executor_list.starting + executor_list.requested > 0 ||
           executor_list.has_place || executor_list.stranger_gives_way;
}

// Returns the owners that have due jobs, waiting or in flight, and could have one more started.
std::set<Oid> owners_to_watch(std::set<Oid> owners)
{
    const pg::Time now{::GetCurrentTimestamp()};
    for (const executors::AboutToMove &executor : executors::executors_about_to_move())
        if (executor.database == MyDatabaseId && executor.has_prefetched &&
            executor.since + first_stall_patience <= now)
            owners.insert(executor.role);
    std::erase_if(owners, [](Oid owner) { return !could_start_more(owner); });
    return owners;
}

// There was no look for so long that the whole server must have been stalled.
bool is_stale(const Stall &stall, pg::Time now)
{
    return now < stall.seen || now > stall.seen + (process::longest_wait + stall_patience);
}

std::int64_t watch(Stall &stall, const catalog::Catalogue &catalogue, Oid owner, pg::Time now)
{
    const executors::Progress progress = executors::progress_of(MyDatabaseId, owner);
    if (is_stale(stall, now) || progress.has_come_on(stall.progress))
        stall = Stall{.since = now, .seen = now, .progress = progress, .reported = stall.reported};
    stall.seen = now;
    stall.progress = progress;
    if (now >= std::max(stall.since + first_stall_patience,
                        stall.job_id == 0 ? pg::Time{0} : stall.found + stall_patience))
        look_for_stalled(stall, catalogue, owner, now);
    const pg::Time next =
        stall.job_id == 0 ? stall.since + first_stall_patience : stall.found + stall_patience;
    return std::max<std::int64_t>(next.value - now.value, 1'000);
}

}  // namespace

std::optional<std::int64_t> watch_for_stalls(Stalls &stalls, const catalog::Catalogue &catalogue,
                                             const std::set<Oid> &owners_with_due_jobs)
{
    const std::set<Oid> owners = owners_to_watch(owners_with_due_jobs);
    std::erase_if(stalls, [&](const auto &entry) { return !owners.contains(entry.first); });
    std::optional<std::int64_t> next;
    for (const Oid owner : owners) {
        const pg::Time now{::GetCurrentTimestamp()};
        const auto stall =
            stalls.try_emplace(owner, Stall{.since = now, .seen = now, .progress = {}}).first;
        std::int64_t again = stall_patience;
        process::do_duty(core::Duty::stall_watch, nullptr,
                         [&] { again = watch(stall->second, catalogue, owner, now); });
        next = std::min(next.value_or(again), again);
    }
    return next;
}

}  // namespace hipq::server
