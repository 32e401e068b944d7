// The statements of dispatch and acceptance.
#include "dispatch.hpp"

#include "settings.hpp"
#include "shmem/external_jobs.hpp"
#include "storage/job_row.hpp"
#include "storage/permit.hpp"
#include "storage/queue_statements.hpp"
#include "storage/two_phase.hpp"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
}
#include "storage/weight.hpp"

namespace hipq::storage {

namespace {

// $1 jobs, $2 workers, $3 seconds to accept where the job does not say, $4 now
constexpr const char *dispatch_sql = R"(
    UPDATE {live} AS job
    SET state = 'running', attempt = job.attempt + 1, error = 'NONE', worker_id = given.worker_id, update_time = $4,
        accepted_time = 'infinity', deadline = $4 + coalesce(job.queue_ttl, $3) * interval '1 second'
    FROM (
        SELECT free.id, assigned.worker_id
        FROM unnest($1, $2) AS assigned(id, worker_id)
        CROSS JOIN LATERAL (
            SELECT job.id
            FROM {live} AS job
            WHERE job.id = assigned.id AND job.state IN ('initial', 'retry') AND job.scheduled_run_time <= $4 AND job.expires_time > $4
            FOR UPDATE SKIP LOCKED
        ) AS free
    ) AS given
    WHERE job.id = given.id
    RETURNING )" HIPQ_CLAIMED_COLUMNS;

// $1 worker, $2 jobs, $3 attempts, $4 now
constexpr const char *accept_sql = R"(
    UPDATE {live} AS job
    SET accepted_time = $4, update_time = $4, deadline = $4 + job.timeout * interval '1 second'
    FROM (
        SELECT given.id
        FROM unnest($2, $3) AS dispatched(id, attempt)
        CROSS JOIN LATERAL (
            SELECT job.id
            FROM {live} AS job
            WHERE job.id = dispatched.id AND job.attempt = dispatched.attempt AND job.state = 'running' AND job.worker_id = $1
              AND job.accepted_time = 'infinity' AND job.deadline > $4
            FOR UPDATE SKIP LOCKED
        ) AS given
    ) AS taken
    WHERE job.id = taken.id
    RETURNING )" HIPQ_CLAIMED_COLUMNS;

// $1 worker, $2 jobs, $3 attempts
constexpr const char *unknown_sql = R"(
    SELECT given.id
    FROM unnest($2, $3) AS given(id, attempt)
    WHERE NOT EXISTS (
        SELECT FROM {live} AS job
        WHERE job.id = given.id AND job.attempt = given.attempt AND job.state = 'running' AND job.worker_id = $1
    ))";

constexpr const char *hold_sql = R"(
    SELECT )" HIPQ_CLAIMED_COLUMNS R"(
    FROM {live} AS job
    WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running' AND job.worker_id IS NOT NULL
    FOR UPDATE)";

constexpr const char *hold_by_key_sql = R"(
    SELECT )" HIPQ_CLAIMED_COLUMNS R"(
    FROM {live} AS job
    WHERE job.job_type = $1 AND job.job_key = $2 AND job.job_key <> 'NONE' AND job.state = 'running' AND job.worker_id IS NOT NULL
    FOR UPDATE)";

constexpr const char *deadline_sql = "UPDATE {live} AS job SET deadline = $2, update_time = $3 WHERE job.id = $1";

// $1 job, $2 attempt, $3 now
constexpr const char *leave_running_sql = R"(
    UPDATE {live} AS job
    SET worker_id = 0, update_time = $3, deadline = $3 + job.timeout * interval '1 second'
    WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running')";

std::vector<ClaimedJob> claimed_jobs(const pg::Rows &rows)
{
    std::vector<ClaimedJob> jobs;
    for (std::size_t i = 0; i < rows.size(); ++i)
        jobs.push_back(claimed_job(rows[i]));
    return jobs;
}

// A dispatch does not wait for the disk. The commit of a session that does not wait either must not be what a worker begins on:
// after a crash another one would get the same attempt.
void make_dispatch_durable()
{
    if (synchronous_commit == SYNCHRONOUS_COMMIT_OFF)
        pg::call([] { ::XLogFlush(::GetXLogInsertRecPtr()); });
}

int seconds_to_accept(const Queue &queue, const JobType &type)
{
    return type.queue_ttl.value_or(queue.queue_ttl.value_or(settings::queue_ttl));
}

}  // namespace

std::vector<ClaimedJob> dispatch(const Queue &queue, const JobType &type, std::span<const Assignment> assignments, pg::Time now)
{
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> workers;
    for (const Assignment &assignment : assignments) {
        ids.push_back(assignment.job_id);
        workers.push_back(assignment.worker_id);
    }
    std::vector<ClaimedJob> jobs = claimed_jobs(
        as_hipq([&] { return statement_for(queue, dispatch_sql).run(ids, workers, seconds_to_accept(queue, type), now); }));
    const auto position = [&](const ClaimedJob &job) { return std::find(ids.begin(), ids.end(), job.id); };
    std::sort(jobs.begin(), jobs.end(),
              [&](const ClaimedJob &left, const ClaimedJob &right) { return position(left) < position(right); });
    return jobs;
}

std::vector<ClaimedJob> accept(const Queue &queue, std::int64_t worker_id, const std::vector<std::int64_t> &ids,
                               const std::vector<std::int64_t> &attempts, pg::Time now)
{
    const pg::PlannerSettings planner;
    std::vector<ClaimedJob> jobs =
        claimed_jobs(as_hipq([&] { return statement_for(queue, accept_sql).run(worker_id, ids, attempts, now); }));
    for (const ClaimedJob &job : jobs)
        shmem::note_job_accepted(job.id, job.attempt, deadline_of(job));
    if (jobs.empty())
        return jobs;
    forbid_two_phase(NoTwoPhase::job_taken);
    make_dispatch_durable();
    return jobs;
}

std::vector<std::int64_t> unknown_dispatches(const Queue &queue, std::int64_t worker_id, const std::vector<std::int64_t> &ids,
                                             const std::vector<std::int64_t> &attempts)
{
    std::vector<std::int64_t> unknown;
    for (const pg::Row row : as_hipq([&] { return statement_for(queue, unknown_sql).run_latest(worker_id, ids, attempts); }))
        unknown.push_back(row.integer(0));
    return unknown;
}

std::optional<ClaimedJob> hold_attempt(const Queue &queue, std::int64_t id, int attempt)
{
    return first_claimed_job(as_hipq([&] { return statement_for(queue, hold_sql).run(id, attempt); }));
}

std::optional<ClaimedJob> hold_attempt(const Queue &queue, std::string_view job_type, std::string_view job_key)
{
    return first_claimed_job(as_hipq([&] { return statement_for(queue, hold_by_key_sql).run(job_type, job_key); }));
}

bool is_accepted(const ClaimedJob &job)
{
    return job.values->as_int64(core::Column::accepted_time) != pg::infinity.value;
}

pg::Time deadline_of(const ClaimedJob &job)
{
    return pg::Time{job.values->as_int64(core::Column::deadline)};
}

void set_deadline(const Queue &queue, const ClaimedJob &job, pg::Time deadline, pg::Time now)
{
    as_hipq([&] { statement_for(queue, deadline_sql).run(job.id, deadline, now); });
    shmem::note_job_extended(job.id, job.attempt, deadline);
    forbid_two_phase(NoTwoPhase::job_taken);
}

void leave_running(const Queue &queue, ClaimedJob job, pg::Time now)
{
    const bool is_mine = !job.is_locked || record_locked(queue, job);
    const bool is_left = is_mine && as_hipq([&] {
                             return statement_for(queue, leave_running_sql).run(job.id, job.attempt, now).processed() == 1;
                         });
    if (!is_left)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("job %lld cannot be completed later", static_cast<long long>(job.id)),
                   errdetail("It has enqueued its own successor, or was taken from this attempt."));
    const pg::Time deadline = now + std::int64_t{job.timeout} * USECS_PER_SEC;
    shmem::note_job_left_running(job.queue_id, job.id, job.attempt, load_of(job), deadline);
    forbid_two_phase(NoTwoPhase::job_taken);
}

}  // namespace hipq::storage
