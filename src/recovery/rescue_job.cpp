// Rescues one job: back into the lane, to a retry decision, or to the end.
#include "recovery/rescue_job.hpp"

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "execute/execute.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "job/lock_attempt.hpp"
#include "job/set_aside.hpp"
#include "pg/clock.hpp"
#include "recovery/left_jobs.hpp"
#include "recovery/resolve_external.hpp"
#include "recovery/resolve_lost.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/workers/jobs.hpp"

namespace hipq::recovery {

namespace {

using catalog::Queue;
using job::ClaimedJob;

// Returns the failure of a job that hipq was about to stop when its executor ended; nothing if the
// end was chance.
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

Fate fate_of(retry::Resolved resolved)
{
    if (resolved == retry::Resolved::ask_retry_handler)
        return Fate::asks;
    return resolved == retry::Resolved::stale ? Fate::stays : Fate::resolved;
}

// The worker took too long, or is gone.
retry::Resolved take_from_worker(const Queue &queue, const ClaimedJob &job, LeftBy by, pg::Time now)
{
    switch (by) {
    case LeftBy::late_worker:
        return resolve_overdue(queue, job, now);
    case LeftBy::silent_worker:
        return resolve_abandoned(queue, job, core::Reason::worker_heartbeat_stale, now);
    case LeftBy::revoked_worker:
        return resolve_revoked(queue, job, now);
    case LeftBy::late_offer:
    case LeftBy::lost_worker:
    case LeftBy::restart:
    case LeftBy::neighbour:
    case LeftBy::crash:
    case LeftBy::lost_executor:
        break;
    }
    return resolve_abandoned(queue, job, core::Reason::worker_lost, now);
}

// The end of the server, or of the executor whose handler left the job running, does not concern
// the external worker that has the job: the worker keeps it if hipq still knows the worker. If
// shared memory has no room for the entry, hipq looks at the row from time to time.
Fate leave_with_worker(const Queue &queue, const ClaimedJob &job)
{
    const pg::Time now = pg::now();
    if (!job::is_accepted(job))  // hipq 0.2.0 gave it to a worker, which had not begun with it
        return fate_of(resolve_abandoned(queue, job, core::Reason::released, now));
    const workers::ExternalJob with_worker{job.id,         queue.id, job.attempt,
                                           *job.worker_id, true,     job::deadline_of(job)};
    switch (workers::enter_external_job(with_worker, claim::load_of(job))) {
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

// What the end of an executor says about the retry handler that it called. A handler that did not
// react to its cancellation would not do so the next time either. Returns false if it must not be
// called again.
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

// A job in `error`. An executor calls its retry handler; without one, the policy decides here.
Fate decide(const Queue &queue, const ClaimedJob &job, const Left &left)
{
    if (!may_ask_again(queue, job, left))
        return Fate::resolved;
    const catalog::JobType *type = queue.find_job_type(job.type);
    if (type == nullptr || type->retry_handler == "NONE" || queue.is_held(job.type)) {
        retry::decide_by_policy(queue, job, pg::now());
        return Fate::resolved;
    }
    return Fate::asks;
}

// An attempt that was claimed by lock left no trace in the row. After a restart it counts as if it
// had never started, but an attempt that cost its process must be recorded.
bool may_be_locked(const Left &left)
{
    return (left.by == LeftBy::crash || left.by == LeftBy::lost_executor) && left.attempt > 0;
}

// A lost attempt that was claimed by lock gives its number to the next attempt, which may be under
// way. Call with the row locked: while the next attempt runs, the job is in flight.
bool is_claimed_anew(const Left &left)
{
    return !left.is_orphan && lanes::is_in_flight(MyDatabaseId, left.id);
}

// The job was to be cancelled after its attempt had ended.
bool ends_cancelled(const Queue &queue, const Left &left)
{
    return left.cancelled.has_value() &&
           retry::end_cancelled(queue, left.id, retry::cancelled_failure(*left.cancelled, left.pid),
                                pg::now());
}

// Rescues a job whose row says that it runs.
Fate rescue_running(const Queue &queue, const ClaimedJob &job, const Left &left)
{
    // A process that has the job in flight as waiting has not yet seen that it runs.
    if (!left.is_orphan && lanes::is_running(MyDatabaseId, left.id))
        return Fate::gone;
    if (!job.worker_id.has_value())
        return fate_of(resolve(queue, job, left));
    return is_with_worker(left.by) ? fate_of(take_from_worker(queue, job, left.by, pg::now()))
                                   : leave_with_worker(queue, job);
}

}  // namespace

bool has_ended(Fate fate)
{
    return fate == Fate::resolved || fate == Fate::asks;
}

bool is_with_worker(LeftBy by)
{
    return by == LeftBy::late_worker || by == LeftBy::lost_worker || by == LeftBy::silent_worker ||
           by == LeftBy::revoked_worker;
}

// An offer that the worker did not accept in time is recorded as an attempt, which fails.
Fate end_offer(const Queue &queue, const Left &left)
{
    const pg::Time now = pg::now();
    const auto job = job::take_unaccepted(queue, left.id, left.worker_id, now);
    return job.has_value() ? fate_of(resolve_overdue(queue, *job, now)) : Fate::gone;
}

Fate rescue_job(const Queue &queue, const Left &left)
{
    if (left.by == LeftBy::late_offer)
        return end_offer(queue, left);
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

}  // namespace hipq::recovery
