// Rescues jobs: back into their lane, to a retry decision, or to their end.
//
// One job's way, then many of them under one commit: an error tells that one of them makes trouble,
// and each goes alone.
#include "rescue.hpp"

#include "claim/claim.hpp"
#include "databases/databases.hpp"
#include "execute/execute.hpp"
#include "executors/executors.hpp"
#include "job/job.hpp"
#include "lanes/lanes.hpp"
#include "limits/limits.hpp"
#include "memory/memory.hpp"
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "process/process.hpp"
#include "recovery/resolve_external.hpp"
#include "recovery/resolve_lost.hpp"
#include "workers/workers.hpp"

namespace hipq::recovery {

namespace {

using catalog::Queue;
using job::ClaimedJob;

constexpr std::size_t jobs_at_once = 500;
constexpr std::int64_t held_delay = 10'000'000;  // us; somebody has the row locked
constexpr std::int64_t short_delay =
    200'000;  // the list of decisions is full, or a worker's session is just ending it
constexpr std::int64_t failure_delay = 10'000'000;  // after the first failure; doubles
constexpr int most_failures = 2;                    // after which it is set aside for good
constexpr int most_doublings =
    2;  // then each 40 s: the scheduler stays as long as something is set aside

// What became of a job within a transaction.
enum class Fate : unsigned char {
    resolved,
    asks,     // stands in `error`; its retry handler is to be asked once that is committed
    stays,    // as it is: it has been given more time, or ended in another way, just now
    gone,     // nothing was left of that attempt
    held,     // somebody has its row locked, or there is no room for it in shared memory
    put_off,  // the queue's tables are locked, or an error was against them
    crowded,  // asks, but the list of decisions is full
    failed,
};

bool has_ended(Fate fate)
{
    return fate == Fate::resolved || fate == Fate::asks;
}

// ---- one job; needs a transaction ----

// Why an executor has ended in the middle of a job that hipq, not chance, was about to stop.
// Nothing: it was not.
std::optional<job::Failure> stop_failure(const Left &left, const ClaimedJob &job)
{
    if (left.cancelled.has_value())
        return retry::cancelled_failure(*left.cancelled, left.pid);
    if (!left.timed_out)
        return std::nullopt;
    job::Failure failure = retry::timeout_failure(job);
    failure.executor_pid = left.pid;
    return failure;
}

bool is_with_worker(LeftBy by)
{
    return by == LeftBy::late_worker || by == LeftBy::lost_worker || by == LeftBy::silent_worker ||
           by == LeftBy::draining_worker || by == LeftBy::revoked_worker;
}

Fate fate_of(retry::Resolved resolved)
{
    switch (resolved) {
    case retry::Resolved::ask_retry_handler:
        return Fate::asks;
    case retry::Resolved::stale:
        return Fate::stays;
    default:
        return Fate::resolved;
    }
}

// A worker has taken too long, or is gone.
retry::Resolved take_from_worker(const Queue &queue, const ClaimedJob &job, LeftBy by, pg::Time now)
{
    switch (by) {
    case LeftBy::late_worker:
        return resolve_overdue(queue, job, now);
    case LeftBy::silent_worker:
        return resolve_abandoned(queue, job, core::Reason::worker_heartbeat_stale, now);
    case LeftBy::draining_worker:
        return resolve_abandoned(queue, job, core::Reason::released, now);
    case LeftBy::revoked_worker:
        return resolve_revoked(queue, job, now);
    default:
        return resolve_abandoned(queue, job, core::Reason::worker_lost, now);
    }
}

// The end of a server, or of the executor whose handler left it running, leaves those who have the
// job as they are: it stays with them, if that worker is still known. Where there is no room to
// keep it in mind its row is looked at from time to time.
Fate leave_with_worker(const Queue &queue, const ClaimedJob &job)
{
    const pg::Time now = pg::now();
    const workers::ExternalJob with_worker{job.id,
                                           queue.id,
                                           job.attempt,
                                           *job.worker_id,
                                           job::is_accepted(job),
                                           job::deadline_of(job)};
    switch (workers::enter_external_job(with_worker, limits::load_of(job))) {
    case workers::Entered::yes:
        return Fate::resolved;
    case workers::Entered::held_by_other:
        return Fate::held;
    case workers::Entered::no_worker:
        return fate_of(take_from_worker(queue, job, LeftBy::lost_worker, now));
    case workers::Entered::no_capacity:
        break;
    }
    const retry::Resolved resolved = resolve_overdue(queue, job, now);
    return resolved == retry::Resolved::stale ? Fate::held : fate_of(resolved);
}

retry::Resolved resolve(const Queue &queue, const ClaimedJob &job, const Left &left)
{
    const pg::Time now = pg::now();
    if (left.by == LeftBy::crash)
        return resolve_crash(queue, job, left.started, left.pid, now);
    if (left.by == LeftBy::restart || left.by == LeftBy::neighbour)
        return resolve_lost(queue, job, core::Reason::server_restart, now);
    if (const auto failure = stop_failure(left, job))
        return retry::resolve_failure(queue, job, *failure, now);
    return resolve_lost(queue, job, core::Reason::worker_lost, now);
}

// What the end of an executor tells about the retry handler that it asked. One that did not listen
// to its cancellation would not do so the next time either. False: it is not to be asked again.
bool may_ask_again(const Queue &queue, const ClaimedJob &job, const Left &left)
{
    if (left.by == LeftBy::crash)
        return resolve(queue, job, left) == retry::Resolved::ask_retry_handler;
    if (!left.asked_retry_handler)
        return true;
    if (!left.timed_out)
        return resolve_lost_decision(queue, job, left.started, pg::now()) ==
               retry::Resolved::ask_retry_handler;
    retry::end_undecided(queue, job, execute::overdue_retry_handler(), pg::now());
    return false;
}

// A job in `error`: its retry handler is asked by an executor; without one the policy decides here.
Fate decide(const Queue &queue, const ClaimedJob &job, const Left &left)
{
    if (!may_ask_again(queue, job, left))
        return Fate::resolved;
    const catalog::JobType *type = queue.find_job_type(job.type);
    if (type == nullptr || type->retry_handler == "NONE" || type->is_held()) {
        retry::decide_by_policy(queue, job, pg::now());
        return Fate::resolved;
    }
    return Fate::asks;
}

// An attempt that was claimed by lock left no trace in the row. After a restart it has not been;
// one that cost its process has to be remembered.
bool may_be_locked(const Left &left)
{
    return (left.by == LeftBy::crash || left.by == LeftBy::lost_executor) && left.attempt > 0;
}

// An attempt by lock that has not been gives its number to the next one, which may be under way.
// Asked with the row locked: as long as that one runs it is in flight.
bool is_claimed_anew(const Left &left)
{
    return !left.is_orphan && lanes::is_in_flight(MyDatabaseId, left.id);
}

// It was to be cancelled when its attempt was over already.
bool ends_cancelled(const Queue &queue, const Left &left)
{
    return left.cancelled.has_value() &&
           retry::end_cancelled(queue, left.id, retry::cancelled_failure(*left.cancelled, left.pid),
                                pg::now());
}

// One whose row says that it runs.
Fate rescue_running(const Queue &queue, const ClaimedJob &job, const Left &left)
{
    // Whoever has it in flight as one that waits has not seen yet that it runs.
    if (!left.is_orphan && lanes::is_running(MyDatabaseId, left.id))
        return Fate::gone;
    if (!job.worker_id.has_value())
        return fate_of(resolve(queue, job, left));
    return is_with_worker(left.by) ? fate_of(take_from_worker(queue, job, left.by, pg::now()))
                                   : leave_with_worker(queue, job);
}

Fate rescue(const Queue &queue, const Left &left)
{
    if (const auto job = job::take_running(queue, left.id, left.attempt))
        return rescue_running(queue, *job, left);
    if (may_be_locked(left))
        if (const auto job = job::take_locked(queue, left.id, left.attempt, left.started))
            return fate_of(resolve(queue, *job, left));
    if (ends_cancelled(queue, left))
        return Fate::resolved;
    if (const auto asking = job::take_for_decision(queue, left.id))
        return is_claimed_anew(left) || job::why_set_aside(queue, left.id).has_value()
                   ? Fate::gone
                   : decide(queue, *asking, left);
    if (is_claimed_anew(left))
        return Fate::gone;
    return is_left(queue, left.id, left.attempt, may_be_locked(left)) ? Fate::held : Fate::gone;
}

// ---- several jobs ----

void report_crash(const Queue &queue, const Left &left)
{
    const std::string name = queue.full_name();
    pg::call([&] {
        ereport(
            WARNING, errcode(ERRCODE_CRASH_SHUTDOWN),
            errmsg("job %lld in queue \"%s\" took the server down", static_cast<long long>(left.id),
                   name.c_str()),
            errdetail("It ran in the process with PID %d.", left.pid),
            errhint(
                "View hipq.attempts has its crashes; with hipq.max_crashes of them it is final."));
    });
}

void report_failure(const Queue &queue, const Left &left, const pg::Error &error)
{
    const std::string name = queue.full_name();
    const std::string message = pg::short_message(error);
    pg::call([&] {
        ereport(
            WARNING, errcode(error.sqlerrcode()),
            errmsg("cannot rescue job %lld in queue \"%s\": %s", static_cast<long long>(left.id),
                   name.c_str(), message.c_str()),
            is_with_worker(left.by)
                ? errdetail(
                      "Its worker took too long or is gone. It is tried again from time to time.")
                : errdetail(
                      "Its executor or the server ended while it ran. It is set aside and tried "
                      "again from time to time."));
    });
}

void postpone(PostponedJobs &postponed, const Left &left, std::int64_t delay)
{
    postponed[left.id].until = pg::now() + delay;
}

// As the attempt that was left, or as one that failed and is to be decided on.
bool set_aside_row(const Queue &queue, const Left &left, const pg::Error &error)
{
    const pg::Time now = pg::now();
    if (const auto job = job::take_running(queue, left.id, left.attempt))
        return job::set_aside(queue, *job, {core::Reason::worker_lost, "", "the attempt was left"},
                              error, now);
    const auto job = job::take_for_decision(queue, left.id);
    return job.has_value() && job::set_aside(queue, *job, retry::stored_failure(*job), error, now);
}

// It is left alone for good, once it has been tried often enough. False: not even that can be
// written.
bool set_aside_for_good(const Queue &queue, const Left &left, const pg::Error &error)
{
    bool is_aside = false;
    if (execute::try_to_write([&] { is_aside = set_aside_row(queue, left, error); }).has_value() ||
        !is_aside)
        return false;
    job::report_set_aside(queue, left.id, error);
    return true;
}

void set_aside(PostponedJobs &postponed, const Queue &queue, const Left &left,
               const pg::Error &error)
{
    Postponed &job = postponed[left.id];
    if (job.failures == 0)
        report_failure(queue, left, error);
    memory::raise_alert(memory::Alert::job_set_aside);
    job.until = pg::now() + (failure_delay << std::min(job.failures, most_doublings));
    ++job.failures;
}

// Shared memory says that a worker has the attempt, its row says otherwise. As a rule whoever ended
// it is just saying so; if it still is there the next time, it is forgotten.
Fate drop_entry(PostponedJobs &postponed, const Left &left)
{
    if (!workers::is_with_worker(MyDatabaseId, left.id)) {
        postponed.erase(left.id);
        return Fate::gone;
    }
    if (postponed[left.id].failures++ == 0) {
        postpone(postponed, left, short_delay);
        return Fate::held;
    }
    workers::drop_external_job(left.id, left.attempt);
    databases::jobs_restored(
        MyDatabaseId);  // should its row tell of an attempt that nobody knows of, it is found
    postponed.erase(left.id);
    pg::call([&] {
        ereport(WARNING,
                errmsg("attempt %d of job %lld, which worker " INT64_FORMAT
                       " was given, is not there any more",
                       left.attempt, static_cast<long long>(left.id), left.worker_id),
                errdetail("It is not looked for any longer."));
    });
    return Fate::gone;
}

// After the commit: what others have to know.
Fate follow_up(PostponedJobs &postponed, const Queue &queue, const Left &left, Fate fate)
{
    const bool was_taken = has_ended(fate);
    if (is_with_worker(left.by) && fate == Fate::gone)
        return drop_entry(postponed, left);
    if (left.by == LeftBy::crash && was_taken)
        report_crash(queue, left);
    if (fate == Fate::asks &&
        !executors::offer_decision({MyDatabaseId, queue.owner, queue.id, left.id}))
        fate = Fate::crowded;
    if (fate == Fate::put_off || fate == Fate::held || fate == Fate::crowded)
        postpone(postponed, left,
                 fate == Fate::held && !is_with_worker(left.by) ? held_delay : short_delay);
    else
        postponed.erase(left.id);
    return fate;
}

// Those whose rows say that a restart left them running go back together; nobody can have claimed
// such a row anew.
std::set<std::int64_t> put_back(const Queue &queue, std::span<const Left> jobs)
{
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> attempts;
    for (const Left &left : jobs) {
        if (left.by != LeftBy::restart)
            continue;
        ids.push_back(left.id);
        attempts.push_back(left.attempt);
    }
    if (ids.empty())
        return {};
    const auto done = put_back_after_restart(queue, ids, attempts, pg::now());
    return {done.begin(), done.end()};
}

void reach_point_before([[maybe_unused]] const Left &left)
{
    if (left.by == LeftBy::lost_executor)
        HIPQ_POINT("before-orphan");
    else
        HIPQ_POINT("before-recover");
}

void reach_point_after([[maybe_unused]] const Left &left)
{
    if (left.by == LeftBy::lost_executor)
        HIPQ_POINT("after-orphan");
    else
        HIPQ_POINT("after-recover");
}

// Nothing: an error told that one of them makes trouble, and none was rescued.
std::optional<std::vector<Fate>> rescue_together(const Queue &queue, std::span<const Left> jobs)
{
    std::vector<Fate> fates;
    try {
        reach_point_before(jobs.front());
        pg::with_transaction([&] {
            catalog::lock_or_raise(queue);
            const std::set<std::int64_t> done = put_back(queue, jobs);
            for (const Left &left : jobs)
                fates.push_back(done.contains(left.id) ? Fate::resolved : rescue(queue, left));
            reach_point_after(jobs.front());
        });
    } catch (const pg::Error &error) {
        if (!pg::is_fault_of_job(error) || catalog::is_lock_trouble(error))
            throw;
        return std::nullopt;
    }
    return fates;
}

Fate rescue_alone(PostponedJobs &postponed, const Queue &queue, const Left &left)
{
    std::optional<pg::Error> trouble;
    Fate fate = Fate::failed;
    try {
        pg::with_transaction([&] { fate = rescue(queue, left); });
    } catch (const pg::Error &error) {
        if (!pg::is_fault_of_job(error) || catalog::is_lock_trouble(error))
            throw;
        trouble = error;
    }
    if (!trouble.has_value())
        return follow_up(postponed, queue, left, fate);
    if (postponed[left.id].failures >= most_failures && set_aside_for_good(queue, left, *trouble)) {
        postponed.erase(left.id);
        return Fate::stays;
    }
    set_aside(postponed, queue, left, *trouble);
    return Fate::failed;
}

// Jobs of one queue.
std::vector<Fate> rescue_all(PostponedJobs &postponed, const Queue &queue,
                             std::span<const Left> jobs)
{
    std::vector<Fate> fates;
    if (auto together = rescue_together(queue, jobs)) {
        for (std::size_t i = 0; i < jobs.size(); ++i)
            fates.push_back(follow_up(postponed, queue, jobs[i], (*together)[i]));
        return fates;
    }
    for (const Left &left : jobs) {
        process::check_interrupts();
        fates.push_back(rescue_alone(postponed, queue, left));
    }
    return fates;
}

bool is_done(Fate fate)
{
    return has_ended(fate) || fate == Fate::stays || fate == Fate::gone;
}

// Takes the first jobs off the list that are of one queue.
std::vector<Left> take_off(std::vector<Left> &list)
{
    const auto limit =
        list.begin() + static_cast<std::ptrdiff_t>(std::min(list.size(), jobs_at_once));
    const auto end = std::find_if(list.begin(), limit, [&](const Left &left) {
        return left.queue_id != list.front().queue_id;
    });
    std::vector<Left> jobs(list.begin(), end);
    list.erase(list.begin(), end);
    return jobs;
}

// Those that were rescued before the trouble are found to be so the next time.
std::vector<Fate> put_all_off(PostponedJobs &postponed, const Queue &queue,
                              std::span<const Left> jobs)
{
    for (const Left &left : jobs)
        follow_up(postponed, queue, left, Fate::put_off);
    return std::vector<Fate>(jobs.size(), Fate::put_off);
}

// A queue that does not exist any more took its jobs along.
BroughtHome nothing_left(PostponedJobs &postponed, std::vector<Left> jobs)
{
    for (const Left &left : jobs) {
        postponed.erase(left.id);
        if (is_with_worker(left.by))
            workers::drop_external_job(left.id, left.attempt);
    }
    return {std::move(jobs), {}};
}

}  // namespace

bool is_postponed(const PostponedJobs &postponed, std::int64_t id, pg::Time now)
{
    const auto found = postponed.find(id);
    return found != postponed.end() && found->second.until > now;
}

BroughtHome rescue_first(PostponedJobs &postponed, std::vector<Left> &list)
{
    std::vector<Left> jobs = take_off(list);
    if (jobs.empty())
        return {};
    const auto catalogue = read_catalogue();
    const Queue *queue = catalogue->find(jobs.front().queue_id);
    if (queue == nullptr || queue->is_dropped)
        return nothing_left(postponed, std::move(jobs));
    std::vector<Fate> fates;
    if (!process::do_duty(core::Duty::recovery, queue,
                          [&] { fates = rescue_all(postponed, *queue, jobs); }))
        fates = put_all_off(postponed, *queue, jobs);
    BroughtHome result;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].has_ended = has_ended(fates[i]);
        (is_done(fates[i]) ? result.home : result.postponed).push_back(jobs[i]);
    }
    return result;
}

std::shared_ptr<const catalog::Catalogue> read_catalogue()
{
    std::shared_ptr<const catalog::Catalogue> catalogue;
    pg::with_transaction([&] { catalogue = catalog::catalogue(); });
    return catalogue;
}

}  // namespace hipq::recovery
