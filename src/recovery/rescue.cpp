// Rescues many jobs in one transaction; after an error each job gets its own. rescue_job.cpp
// rescues one job.
#include "recovery/rescue.hpp"

#include "catalog/queue_lock.hpp"
#include "execute/execute.hpp"
#include "job/lock_attempt.hpp"
#include "job/set_aside.hpp"
#include "pg/clock.hpp"
#include "pg/error_classes.hpp"
#include "pg/point.hpp"
#include "process/process.hpp"
#include "recovery/rescue_job.hpp"
#include "recovery/resolve_lost.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/pending_decisions.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/workers/jobs.hpp"
#include "shared/workers/offers.hpp"

namespace hipq::recovery {

namespace {

using catalog::Queue;

constexpr std::int64_t held_delay = 10'000'000;  // us; another session has the row locked
constexpr std::int64_t short_delay =
    200'000;  // the list of decisions is full, or a worker's session is just ending the job
constexpr std::int64_t failure_delay = 10'000'000;  // after the first failure; doubles
constexpr int most_failures = 2;                    // after this the job is set aside for good
constexpr int most_doublings =
    2;  // then every 40 s; the scheduler stays while something is set aside

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
            is_with_worker(left.by) || left.by == LeftBy::late_offer
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

// Sets the row aside as the attempt that was left, or as a failed attempt that waits for a
// decision.
bool set_aside_row(const Queue &queue, const Left &left, const pg::Error &error)
{
    const pg::Time now = pg::now();
    if (const auto job = job::take_running(queue, left.id, left.attempt))
        return job::set_aside(queue, *job, {core::Reason::worker_lost, "", "the attempt was left"},
                              error, now);
    const auto job = job::take_for_decision(queue, left.id);
    return job.has_value() &&
           job::set_aside(queue, *job, retry::stored_failure(*job, now), error, now);
}

// Leaves the job alone for good, after enough tries. Returns false if even that cannot be written.
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

// Shared memory says that a worker has the attempt, but its row says otherwise. Usually the session
// that ended the attempt is just about to remove the entry. If the entry is still there the next
// time, drop it.
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
    databases::jobs_restored(MyDatabaseId);  // if its row shows an attempt that no process has,
                                             // reading the leaves again finds it
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

// The job does not wait any more. If another session only holds its row, its lane is read again.
Fate end_offer(PostponedJobs &postponed, const Left &left)
{
    workers::drop_offer(left.id);
    postponed.erase(left.id);
    return Fate::gone;
}

// After the commit, tells other processes what they must know.
Fate follow_up(PostponedJobs &postponed, const Queue &queue, const Left &left, Fate fate)
{
    const bool was_taken = has_ended(fate);
    if (left.by == LeftBy::late_offer && fate == Fate::gone)
        return end_offer(postponed, left);
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

// Puts back, in one statement, the jobs whose rows say that a restart left them running. No session
// can have claimed such a row again.
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

// Returns nothing if an error showed that one of the jobs is bad; then none was rescued.
std::optional<std::vector<Fate>> rescue_together(const Queue &queue, std::span<const Left> jobs)
{
    std::vector<Fate> fates;
    try {
        reach_point_before(jobs.front());
        pg::with_transaction([&] {
            catalog::lock_or_raise(queue);
            const std::set<std::int64_t> done = put_back(queue, jobs);
            for (const Left &left : jobs)
                fates.push_back(done.contains(left.id) ? Fate::resolved : rescue_job(queue, left));
            reach_point_after(jobs.front());
        });
    } catch (const pg::Error &error) {
        if (!pg::is_fault_of_job(error) || pg::is_lock_trouble(error))
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
        pg::with_transaction([&] { fate = rescue_job(queue, left); });
    } catch (const pg::Error &error) {
        if (!pg::is_fault_of_job(error) || pg::is_lock_trouble(error))
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

// Rescues jobs of one queue.
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

// Takes the first jobs, all of one queue, off the list.
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

// Puts all jobs off, also those that were rescued before the error: the next try finds that they
// need no rescue.
std::vector<Fate> put_all_off(PostponedJobs &postponed, const Queue &queue,
                              std::span<const Left> jobs)
{
    for (const Left &left : jobs)
        follow_up(postponed, queue, left, Fate::put_off);
    return std::vector<Fate>(jobs.size(), Fate::put_off);
}

// A queue that does not exist any more took its jobs with it.
BroughtHome nothing_left(PostponedJobs &postponed, std::vector<Left> jobs)
{
    for (const Left &left : jobs) {
        postponed.erase(left.id);
        if (is_with_worker(left.by) || left.by == LeftBy::late_offer)
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
    pg::with_transaction([&] { catalogue = catalog::working_catalogue(); });
    return catalogue;
}

}  // namespace hipq::recovery
