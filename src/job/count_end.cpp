// Turns a job and its end into an event for the statistics.
#include "job/count_end.hpp"

#include "catalog/cache.hpp"
#include "job/job_row.hpp"
#include "pg/internal_write.hpp"
#include "shared/statistics/counters.hpp"

namespace hipq::job {

namespace {

using core::Ending;

void note(const catalog::Queue &queue, std::string_view job_type, const core::JobEvent &event,
          pg::Time now)
{
    statistics::note_event(queue.id, queue.owner, queue.instance, queue.name, job_type, event, now);
}

// A job is due when its scheduled time has come, but not before it exists.
std::int64_t waited(const ClaimedJob &job)
{
    if (job.values == nullptr)
        return -1;
    const std::int64_t due = std::max(job.values->as_int64(core::Column::scheduled_run_time),
                                      job.values->as_int64(core::Column::created_time));
    return std::max<std::int64_t>(job.started.value - due, 0);
}

// No worker could be offered the job, or the worker that was offered it has not accepted it.
bool never_began(const ClaimedJob &job, core::Reason reason)
{
    const bool is_with_worker =
        job.worker_id.has_value() && !job.is_locked && job.values != nullptr;
    return reason == core::Reason::worker_unavailable || reason == core::Reason::queue_timeout ||
           (is_with_worker && !is_accepted(job));
}

std::int64_t ran(const ClaimedJob &job, pg::Time now)
{
    return std::max<std::int64_t>(now.value - job.started.value, 0);
}

// The job was enqueued again by hand.
bool is_manual(const ClaimedJob &job)
{
    return job.values != nullptr && !job.values->null(core::Column::manual_reason);
}

constinit pg::Statement select_last_failure(R"(
    SELECT attempt.reason
    FROM hipq.attempt AS attempt
    WHERE attempt.queue_id = $1 AND attempt.job_id = $2 AND attempt.reason NOT IN ('released', 'snoozed', 'conflict', 'read_only', 'stale_session', 'succeeded')
    ORDER BY attempt.attempt DESC, attempt.ended_time DESC
    LIMIT 1)");

std::optional<core::Reason> last_failure(const catalog::Queue &queue, std::int64_t id)
{
    const pg::Rows rows = pg::as_hipq([&] { return select_last_failure.run(queue.id, id); });
    return rows.empty() ? std::nullopt : core::parse_reason(rows.front().text(0));
}

// The reason why the job was retried, by the policy or by hand as a new job. For a job that was put
// back, it is the reason of the last charged retry, which only its history has.
std::optional<core::Reason> reason_of_retry(const catalog::Queue &queue, const ClaimedJob &job)
{
    if (job.retry_reason == "NONE")
        return std::nullopt;
    const auto reason = core::parse_reason(job.retry_reason);
    if (!reason.has_value() || !core::is_uncharged(*reason))
        return reason;
    return job.retry_count > 0 ? last_failure(queue, job.id) : std::nullopt;
}

Ending ending_of(core::Reason reason, const core::Decision &decision)
{
    if (decision.retry)
        return decision.charged ? Ending::retried : Ending::put_back;
    if (reason == core::Reason::cancelled || reason == core::Reason::skipped)
        return Ending::cancelled;
    return reason == core::Reason::expired ? Ending::expired : Ending::failed;
}

}  // namespace

core::AttemptEnd end_of_attempt(const ClaimedJob &job, core::Reason reason)
{
    const bool counts = !core::is_uncharged(reason) && !core::is_unwanted(reason) &&
                        reason != core::Reason::manual_retry && !never_began(job, reason);
    return counts ? core::AttemptEnd::failed : core::AttemptEnd::uncounted;
}

void count_successes(const catalog::Queue &queue, std::span<const ClaimedJob> jobs, pg::Time now)
{
    for (const ClaimedJob &job : jobs)
        note(queue, job.type,
             {Ending::succeeded, reason_of_retry(queue, job), false, job.retry_count, waited(job),
              ran(job, now), is_manual(job)},
             now);
}

void count_failure(const catalog::Queue &queue, const ClaimedJob &job, core::Reason reason,
                   const core::Decision &decision, bool leaves_dead_letter, pg::Time now)
{
    note(queue, job.type,
         {ending_of(reason, decision), reason, leaves_dead_letter, job.retry_count, waited(job),
          never_began(job, reason) ? -1 : ran(job, now), is_manual(job)},
         now);
}

void count_unstarted(const catalog::Queue &queue, const ClaimedJob &job, core::Reason reason,
                     bool leaves_dead_letter, pg::Time now)
{
    note(queue, job.type,
         {ending_of(reason, {false, 0, false}), reason, leaves_dead_letter, 0, -1, -1,
          is_manual(job)},
         now);
}

void count_put_back(const catalog::Queue &queue, const std::string &job_type, core::Reason reason,
                    pg::Time now)
{
    note(queue, job_type, {Ending::put_back, reason}, now);
}

}  // namespace hipq::job
