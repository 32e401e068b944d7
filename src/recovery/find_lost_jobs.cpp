// Finds jobs that no process has any more, and has them rescued.
//
// Works in small pieces, so that waiting jobs do not wait for it.
#include "recovery/recovery.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "process/process.hpp"
#include "recovery/left_jobs.hpp"
#include "recovery/rescue.hpp"
#include "recovery/suspects.hpp"
#include "shared/databases/own_slot.hpp"
#include "shared/executors/orphans.hpp"
#include "shared/flight/flight_recorder.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::recovery {

namespace {

using catalog::Queue;

constexpr std::int64_t moment = 200'000;  // us
constexpr std::int64_t pages_at_once = 512;
constexpr std::size_t orphans_at_once = 500;

// Rescues the first jobs of a list. Jobs that cannot be rescued now are tried again later. For
// them, recovery_done(0) notes that jobs are left, so that the next scheduler reads the leaves and
// finds them if this process ends meanwhile.
void rescue(Recovery &recovery, std::vector<Left> &list)
{
    for (Left &left : rescue_first(recovery.postponed, list).postponed) {
        left.is_orphan = false;
        recovery.later.push_back(left);
        databases::recovery_done(0);
    }
}

// ---- executors that ended ----

// A server that stops ends its executors in any order, some before this process. Their jobs are
// treated like jobs that are found after the next start of the server.
Left left_by(const executors::Orphan &orphan, bool is_server_stopping)
{
    const memory::RunningJob &job = orphan.job;
    Left left{job.queue_id, job.id,      job.attempt, LeftBy::lost_executor,
              true,         job.started, orphan.pid};
    if (is_server_stopping && !orphan.is_cancelled && !orphan.timed_out) {
        left.by = LeftBy::restart;
        return left;
    }
    left.asked_retry_handler = orphan.asked_retry_handler;
    left.timed_out = orphan.timed_out;
    if (orphan.is_cancelled)
        left.cancelled = executors::cancellation_of(orphan);
    return left;
}

// Releases the slots after the fate of their jobs is known; only then can other processes take the
// jobs. Returns false if there may be more.
bool recover_orphans(Recovery &recovery)
{
    std::vector<executors::Orphan> orphans(orphans_at_once);
    orphans.resize(executors::find_orphans(MyDatabaseId, orphans));
    if (orphans.empty())
        return true;
    std::vector<Left> jobs;
    jobs.reserve(orphans.size());
    const bool is_stopping = process::is_server_stopping();
    for (const executors::Orphan &orphan : orphans)
        jobs.push_back(left_by(orphan, is_stopping));
    while (!jobs.empty()) {
        process::check_interrupts();
        rescue(recovery, jobs);
    }
    HIPQ_POINT("before-release-orphan");
    for (const executors::Orphan &orphan : orphans)
        executors::release_orphan(orphan);
    return orphans.size() < orphans_at_once;
}

// ---- live leaves ----

// Needs a transaction.
std::int64_t pages_of(const Queue &queue)
{
    return queue.is_dropped ? 0 : live_pages(queue);
}

// Reads in a transaction. A queue whose tables cannot be read now is read from its start later.
template <class Read>
void read_or_put_off(Recovery &recovery, const Queue &queue, Read read)
{
    const bool was_read = process::do_duty(core::Duty::recovery, &queue, [&] {
        pg::with_transaction([&] {
            catalog::lock_or_raise(queue);
            read();
        });
    });
    if (was_read)
        return;
    recovery.unread.push_back(queue.id);
    recovery.page = recovery.end_page = 0;
}

// Begins with the next queue that has a live leaf. Returns false if there is none.
bool begin_next_queue(Recovery &recovery)
{
    while (!recovery.queues.empty()) {
        recovery.queue = recovery.queues.back();
        recovery.queues.pop_back();
        recovery.page = 0;
        recovery.end_page = 0;
        if (const auto catalogue = read_catalogue();
            const Queue *queue = catalogue->find(recovery.queue))
            read_or_put_off(recovery, *queue, [&] { recovery.end_page = pages_of(*queue); });
        if (recovery.end_page > 0)
            return true;
    }
    return false;
}

void note_found(Recovery &recovery, std::span<const LeftJob> jobs)
{
    for (const LeftJob &job : jobs)
        if (!lanes::is_running(MyDatabaseId, job.id) && !recovery.postponed.contains(job.id))
            recovery.found.push_back(
                {recovery.queue, job.id, job.attempt, LeftBy::restart, false, pg::Time{0}, 0});
}

// Reads the next pages. Returns false if all have been read.
bool read_on(Recovery &recovery)
{
    if (recovery.page >= recovery.end_page && !begin_next_queue(recovery))
        return false;
    const std::int64_t first = recovery.page;
    recovery.page = std::min(first + pages_at_once, recovery.end_page);
    const auto catalogue = read_catalogue();
    const Queue *queue = catalogue->find(recovery.queue);
    if (queue == nullptr)
        return true;
    std::vector<LeftJob> jobs;
    const std::int64_t end = recovery.page;
    read_or_put_off(recovery, *queue, [&] { jobs = left_jobs(*queue, first, end); });
    note_found(recovery, jobs);
    return true;
}

void begin_to_read(Recovery &recovery)
{
    const auto due = databases::recovery_due();
    if (recovery.reads_for.has_value() || !due.has_value() || *due == recovery.has_read_for)
        return;
    recovery.reads_for = due;
    const auto catalogue = read_catalogue();
    for (const auto &entry : catalogue->queues)
        recovery.queues.push_back(entry.first);
}

void note_read(Recovery &recovery)
{
    if (recovery.reads_for.has_value())
        recovery.has_read_for = *std::exchange(recovery.reads_for, std::nullopt);
    if (recovery.postponed.empty() && recovery.unread.empty() &&
        databases::recovery_due() == recovery.has_read_for)
        databases::recovery_done(recovery.has_read_for);
}

// ---- jobs that could not be rescued at once ----

void take_up_postponed(Recovery &recovery)
{
    const pg::Time now = pg::now();
    const auto is_due = [&](const Left &left) {
        return !is_postponed(recovery.postponed, left.id, now);
    };
    std::copy_if(recovery.later.begin(), recovery.later.end(), std::back_inserter(recovery.found),
                 is_due);
    std::erase_if(recovery.later, is_due);
}

void take_up_unread(Recovery &recovery)
{
    recovery.queues.insert(recovery.queues.end(), recovery.unread.begin(), recovery.unread.end());
    recovery.unread.clear();
}

pg::Time next_postponed(const Recovery &recovery)
{
    pg::Time next = pg::infinity;
    for (const auto &entry : recovery.postponed)
        next = std::min(next, entry.second.until);
    return next;
}

// ---- everything together ----

void recover_found(Recovery &recovery)
{
    const std::int64_t end = ::GetCurrentTimestamp() + std::max(moment, recovery.pause);
    while (::GetCurrentTimestamp() < end) {
        process::check_interrupts();
        if (!recovery.found.empty())
            rescue(recovery, recovery.found);
        else if (!read_on(recovery))
            break;
    }
}

bool has_more(const Recovery &recovery)
{
    return !recovery.found.empty() || !recovery.queues.empty() || recovery.page < recovery.end_page;
}

}  // namespace

pg::Time recover(Recovery &recovery)
{
    if (!flight::is_recording())
        memory::raise_alert(memory::Alert::no_flight_recorder);
    const bool has_all_orphans = recover_orphans(recovery);
    close_crash_cases(recovery.postponed);
    take_up_postponed(recovery);
    begin_to_read(recovery);
    take_up_unread(recovery);
    recover_found(recovery);
    if (has_more(recovery) || !has_all_orphans)
        return pg::now();
    note_read(recovery);
    return next_postponed(recovery);
}

}  // namespace hipq::recovery
