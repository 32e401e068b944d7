// Resolves an attempt that an external worker did not end.
//
// The result depends on whether the worker had accepted the attempt.
#include "recovery/resolve_external.hpp"

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "pg/internal_write.hpp"

namespace hipq::recovery {

namespace {

// $1 job, $2 queue, $3 its current worker, $4 when the worker got it, $5 now, $6 the queue's
// number, $7 the worker's name if it is not to be looked up. The texts of "error" and "message"
// come from the specification. The limit keeps the latest deaths, so that the whole text stays
// shorter than core::most_failure_text.
constinit pg::Statement select_expiry(R"(
    WITH death AS (
        SELECT attempt.reason, attempt.worker_id, NULL::text AS name, attempt.started_time, attempt.ended_time
        FROM hipq.attempt AS attempt
        WHERE attempt.queue_id = $6 AND attempt.job_id = $1 AND attempt.worker_id IS NOT NULL AND attempt.reason <> 'succeeded'
        UNION ALL
        SELECT 'queue_timeout', $3, $7, $4, $5
    ),
    counted AS (
        SELECT death.reason, coalesce(death.name, worker.name, death.worker_id::text) AS worker, count(*) AS count, min(death.ended_time) AS first_time,
               max(death.ended_time) AS last_time
        FROM death LEFT JOIN hipq.worker AS worker USING (worker_id)
        GROUP BY death.reason, death.worker_id, death.name, worker.name
        ORDER BY last_time DESC
        LIMIT 16
    )
    SELECT json_build_object(
               'error', 'Worker queue TTL expired', 'message', 'Worker did not process execution within configured TTL',
               'deaths', json_agg(json_build_object('reason', counted.reason, 'queue', $2, 'worker', counted.worker, 'count', counted.count,
                                                    'first_time', counted.first_time, 'last_time', counted.last_time)
                                  ORDER BY counted.last_time, counted.worker))::text
    FROM counted)");

job::Failure expiry_failure(const catalog::Queue &queue, const job::ClaimedJob &job, pg::Time now)
{
    const pg::Rows rows = pg::as_hipq([&] {
        return select_expiry.run(job.id, queue.full_name(), *job.worker_id, job.started, now,
                                 queue.id, std::optional<std::string>());
    });
    return {core::Reason::queue_timeout, "", rows.front().text(0)};
}

const char *sentence_for_worker(core::Reason reason)
{
    if (reason == core::Reason::worker_heartbeat_stale)
        return "worker was not heard of for too long";
    if (reason == core::Reason::released)
        return "the worker had not accepted it when the server ended";
    return "worker ended while it had the job";
}

// An attempt that was not accepted is not charged.
retry::Resolved resolve_by_acceptance(const catalog::Queue &queue, const job::ClaimedJob &job,
                                      const job::Failure &failure, pg::Time now)
{
    if (job::is_accepted(job))
        return retry::resolve_failure(queue, job, failure, now);
    job::record_attempt(queue, job, failure, now);
    return job::carry_out(queue, job, failure, core::Decision{true, 0, false}, now)
               ? retry::Resolved::decided
               : retry::Resolved::stale;
}

}  // namespace

job::Failure expiry_of_aim(const catalog::Queue &queue, const std::string &worker, pg::Time now)
{
    constexpr std::int64_t no_job = 0;
    const pg::Rows rows = pg::as_hipq([&] {
        return select_expiry.run(no_job, queue.full_name(), std::optional<std::int64_t>(), now, now,
                                 queue.id, std::optional<std::string>(worker));
    });
    return {core::Reason::queue_timeout, "", rows.front().text(0)};
}

retry::Resolved resolve_overdue(const catalog::Queue &queue, const job::ClaimedJob &job,
                                pg::Time now)
{
    if (job::deadline_of(job) > now)
        return retry::Resolved::stale;
    return retry::resolve_failure(
        queue, job,
        job::is_accepted(job) ? retry::timeout_failure(job) : expiry_failure(queue, job, now), now);
}

retry::Resolved resolve_abandoned(const catalog::Queue &queue, const job::ClaimedJob &job,
                                  core::Reason reason, pg::Time now)
{
    return resolve_by_acceptance(queue, job, {reason, "", sentence_for_worker(reason)}, now);
}

retry::Resolved resolve_revoked(const catalog::Queue &queue, const job::ClaimedJob &job,
                                pg::Time now)
{
    return resolve_by_acceptance(
        queue, job, {core::Reason::worker_lost, "", "its role may not work on the queue any more"},
        now);
}

}  // namespace hipq::recovery
