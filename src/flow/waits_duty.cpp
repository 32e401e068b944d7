// The scheduler's duty for jobs that wait for others.
//
// It takes the reported ends of watched jobs, and decides about the jobs after them, in pieces with
// a commit each. When it does not know all waits, after a start, a restore or COMMIT PREPARED, it
// walks over all held jobs.
#include "catalog/queue_lock.hpp"
#include "catalog/queue_statements.hpp"
#include "flow/flow.hpp"
#include "pg/clock.hpp"
#include "pg/error_classes.hpp"
#include "pg/internal_write.hpp"
#include "pg/point.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "shared/databases/own_slot.hpp"
#include "shared/wakeup/watched_jobs.hpp"

#include <chrono>

namespace hipq::flow {

namespace {

using catalog::Catalogue;
using catalog::Queue;
using job::LaterJob;

constexpr std::int64_t most_at_once = 1'000;    // jobs in one transaction
constexpr std::size_t most_ends_at_once = 256;  // whose later jobs are looked up together
constexpr int longest_lock = 10;                // ms
constexpr std::int64_t first_delay = 10'000;    // us, for a job that was locked
constexpr int most_doublings = 10;
constexpr std::int64_t walk_delay = 1'000'000;         // us, after a walk that was not whole
constexpr std::int64_t walk_interval = 3'600'000'000;  // us: for ends without a report

// The scheduler has other duties.
constexpr std::chrono::milliseconds longest_look{20};

// Decides about jobs of one queue in a transaction of its own.
void decide_about(Waits &waits, const Catalogue &catalogue, int queue_id,
                  const std::vector<std::int64_t> &ids, const std::set<std::int64_t> &reported)
{
    const Queue *queue = catalogue.find(queue_id);
    if (queue == nullptr || queue->is_dropped || queue->stands_still())
        return;
    Decisions decisions;
    const bool is_done = process::do_duty(core::Duty::waits, queue, [&] {
        pg::with_transaction([&] {
            catalog::lock_or_raise(*queue);
            const pg::LockTimeoutScope bounded(longest_lock);
            HIPQ_POINT("before-decide");
            decisions = decide(catalogue, *queue, ids, {reported, waits.open_ends}, pg::now());
            HIPQ_POINT("after-decide");
        });
    });
    if (!is_done)
        decisions.locked = ids;
    for (const std::int64_t id : decisions.locked)
        ++waits.locked[{queue_id, id}];
    if (!decisions.locked.empty())
        waits.next_try = std::min(waits.next_try, pg::now() + first_delay);
    for (const auto &[id, time] : decisions.look_again)
        waits.open_until.insert({time, LaterJob{queue_id, id}});
}

// Decides about jobs of several queues, in their order.
void decide_about(Waits &waits, const Catalogue &catalogue, std::span<const LaterJob> jobs,
                  const std::set<std::int64_t> &reported)
{
    for (std::size_t i = 0; i < jobs.size();) {
        std::vector<std::int64_t> ids;
        const int queue_id = jobs[i].queue_id;
        for (; i < jobs.size() && jobs[i].queue_id == queue_id; ++i)
            ids.push_back(jobs[i].id);
        decide_about(waits, catalogue, queue_id, ids, reported);
    }
}

std::vector<LaterJob> read_later(const Waits &waits, std::size_t ends)
{
    std::vector<LaterJob> later;
    const std::vector<std::int64_t> ids(waits.ended.begin(),
                                        waits.ended.begin() + static_cast<std::ptrdiff_t>(ends));
    pg::with_transaction([&] { later = job::jobs_after(ids, waits.done, most_at_once); });
    return later;
}

// Looks at the jobs after the next ended jobs: of many ended jobs, or some of those of one.
void look_after_ends(Waits &waits, const Catalogue &catalogue)
{
    std::size_t ends =
        waits.done == LaterJob{} ? std::min(waits.ended.size(), most_ends_at_once) : std::size_t{1};
    std::vector<LaterJob> later = read_later(waits, ends);
    if (later.size() == most_at_once && ends > 1)
        later = read_later(waits, ends = 1);
    const auto end = waits.ended.begin() + static_cast<std::ptrdiff_t>(ends);
    decide_about(waits, catalogue, later, {waits.ended.begin(), end});
    if (later.size() == most_at_once) {
        waits.done = later.back();
        return;
    }
    waits.done = {};
    waits.ended.erase(waits.ended.begin(), end);
}

// Walks over the next held jobs. If a queue cannot be read now, another walk follows.
void walk_on(Waits &waits, const Catalogue &catalogue)
{
    const Queue *queue = catalogue.find(waits.queues.front());
    std::vector<std::int64_t> ids;
    if (queue != nullptr && !queue->is_dropped)
        waits.is_walk_whole = process::do_duty(core::Duty::waits, queue,
                                               [&] {
                                                   pg::with_transaction([&] {
                                                       catalog::lock_or_raise(*queue);
                                                       ids = held_jobs(*queue, waits.place);
                                                   });
                                               }) &&
                              waits.is_walk_whole;
    if (!ids.empty()) {
        decide_about(waits, catalogue, waits.queues.front(), ids, {});
        return;
    }
    waits.place = {};
    waits.queues.pop_front();
}

void begin_walk(Waits &waits, unsigned calls)
{
    waits.walk = calls;
    waits.place = {};
    waits.open_ends.clear();
    waits.is_walk_whole = process::do_duty(core::Duty::waits, nullptr, [&] {
        pg::with_transaction([&] {
            const std::vector<int> queues = job::queues_with_dependencies();
            waits.queues.assign(queues.begin(), queues.end());
        });
    });
}

void end_walk(Waits &waits)
{
    const unsigned calls = *std::exchange(waits.walk, std::nullopt);
    if (waits.is_walk_whole)
        waits.known = calls;
    else
        waits.walk_again = pg::now() + walk_delay;
    waits.next_walk = pg::infinity;
}

void try_locked_again(Waits &waits, const Catalogue &catalogue, pg::Time now)
{
    if (now < waits.next_try)
        return;
    waits.next_try = pg::infinity;
    const std::map<LaterJob, int> again = std::exchange(waits.locked, {});
    std::vector<LaterJob> jobs;
    jobs.reserve(again.size());
    for (const auto &[job, times] : again)
        jobs.push_back(job);
    decide_about(waits, catalogue, jobs, {});
    int fewest = most_doublings;
    for (auto &[job, times] : waits.locked) {
        const auto before = again.find(job);
        times = std::min(most_doublings, before == again.end() ? 1 : before->second + 1);
        fewest = std::min(fewest, times);
    }
    if (!waits.locked.empty())
        waits.next_try = pg::now() + (first_delay << (fewest - 1));
}

// Looks at jobs after batches that have closed by themselves.
void look_after_expiry(Waits &waits, const Catalogue &catalogue, pg::Time now)
{
    const auto end = waits.open_until.upper_bound({now, LaterJob{INT_MAX, INT64_MAX}});
    std::vector<LaterJob> jobs;
    for (auto entry = waits.open_until.begin(); entry != end; ++entry)
        jobs.push_back(entry->second);
    waits.open_until.erase(waits.open_until.begin(), end);
    std::ranges::sort(jobs);
    decide_about(waits, catalogue, jobs, {});
}

bool is_idle(const Waits &waits)
{
    return waits.ended.empty() && waits.queues.empty();
}

// If the scheduler before has looked at all waits, this one needs no walk. But it has to learn
// which jobs wait for batches that close by themselves: only the memory of the other one had that.
void follow_scheduler(Waits &waits)
{
    const databases::WaitCalls calls = databases::wait_calls();
    waits.known = calls.seen;
    if (calls.seen != calls.present || calls.open_until == pg::infinity)
        return;
    const bool is_done = process::do_duty(core::Duty::waits, nullptr, [&] {
        pg::with_transaction(
            [&] { waits.open_until = job::jobs_after_open_batches(calls.open_until); });
    });
    if (!is_done)
        waits.known = 0;
}

// Takes what was reported, and begins a walk if one is due. A walk that has begun goes on to its
// end, however often another one is asked for, so that it reaches all jobs. As long as anything is
// left to do, the next scheduler would have to walk.
void take_reports(Waits &waits)
{
    (void)databases::was_asked_for_waits();
    const databases::WaitCalls calls = databases::wait_calls();
    for (const std::int64_t id : wakeup::take_reported_ends())
        waits.ended.push_back(id);
    const pg::Time now = pg::now();
    if (!waits.ended.empty() && waits.next_walk == pg::infinity)
        waits.next_walk = now + walk_interval;
    const bool is_due =
        (waits.known != calls.present && now >= waits.walk_again) || now >= waits.next_walk;
    if (is_due || !is_idle(waits))
        databases::waits_seen(0);
    if (is_due && !waits.walk.has_value())
        begin_walk(waits, calls.present);
}

// The extension of 0.2.0 has no tables for waits: there nothing is held. Once it is updated, all
// waits must be looked at.
bool has_tables(const Catalogue &catalogue)
{
    return !catalogue.queues.empty() && catalogue.queues.begin()->second.has_waits;
}

void forget_reports(Waits &waits)
{
    waits = {};
    (void)databases::was_asked_for_waits();
    (void)wakeup::take_reported_ends();
    databases::waits_seen(0);
}

}  // namespace

std::vector<std::int64_t> held_jobs(const Queue &queue, HeldPlace &after)
{
    static constexpr const char *held_sql = R"(
        SELECT job.job_type, job.id
        FROM {live} AS job
        WHERE {held job} AND (job.job_type, job.id) > ($1, $2)
        ORDER BY job.job_type, job.id
        LIMIT $3)";
    std::vector<std::int64_t> ids;
    for (const pg::Row row : pg::as_hipq([&] {
             return catalog::statement_for(queue, held_sql)
                 .run(after.job_type, after.id, most_at_once);
         })) {
        after = {row.text(0), row.integer(1)};
        ids.push_back(after.id);
    }
    return ids;
}

pg::Time look_at_waits(Waits &waits, const Catalogue &catalogue)
{
    using Clock = std::chrono::steady_clock;
    if (!has_tables(catalogue)) {
        forget_reports(waits);
        return pg::infinity;
    }
    const auto end = Clock::now() + longest_look;
    if (!waits.known.has_value())
        follow_scheduler(waits);
    take_reports(waits);
    try_locked_again(waits, catalogue, pg::now());
    look_after_expiry(waits, catalogue, pg::now());
    while (!is_idle(waits) && Clock::now() < end) {
        process::check_interrupts();
        if (!waits.ended.empty())
            look_after_ends(waits, catalogue);
        else
            walk_on(waits, catalogue);
    }
    if (!is_idle(waits))
        return pg::now();
    if (waits.walk.has_value())
        end_walk(waits);
    const pg::Time open_until =
        waits.open_until.empty() ? pg::infinity : waits.open_until.begin()->first;
    if (waits.locked.empty())
        databases::waits_seen(*waits.known, open_until);
    wakeup::renew_watches();
    const bool walks_again = waits.known != databases::wait_calls().present;
    return std::min({waits.next_try, waits.next_walk, walks_again ? waits.walk_again : pg::infinity,
                     open_until});
}

}  // namespace hipq::flow
