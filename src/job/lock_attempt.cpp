// Locks the row of an attempt in progress.
//
// Each function runs one statement; none waits for a lock on the row.
#include "job/lock_attempt.hpp"

#include "catalog/queue_statements.hpp"
#include "job/claimed_job.hpp"
#include "pg/internal_write.hpp"

namespace hipq::job {

namespace {

// $1 id, $2 the attempt that waited, $3 when the handler started
constexpr const char *record_locked_sql = R"(
    UPDATE {live} AS job
    SET state = 'running', attempt = job.attempt + 1, error = 'NONE', worker_id = NULL, update_time = $3, accepted_time = $3,
        deadline = $3 + job.timeout * interval '1 second'
    FROM (
        SELECT waiting.id
        FROM {live} AS waiting
        WHERE waiting.id = $1 AND waiting.attempt = $2 AND waiting.state IN ('initial', 'retry')
        FOR UPDATE SKIP LOCKED
    ) AS next
    WHERE job.id = next.id
    RETURNING job::hipq.job)";

// $1 job, $2 worker, $3 now
constexpr const char *unaccepted_sql = R"(
    UPDATE {live} AS job
    SET state = 'running', attempt = job.attempt + 1, error = 'NONE', worker_id = $2, update_time = $3,
        accepted_time = '9999-01-01 00:00:00+00', deadline = $3
    FROM (
        SELECT job.id
        FROM {live} AS job
        WHERE job.id = $1 AND job.state IN ('initial', 'retry') AND job.scheduled_run_time <= $3 AND job.expires_time > $3
        FOR UPDATE SKIP LOCKED
    ) AS waiting
    WHERE job.id = waiting.id
    RETURNING job::hipq.job)";

constexpr const char *decision_sql = R"(
    SELECT job::hipq.job
    FROM {live} AS job
    WHERE job.id = $1 AND job.state = 'error'
    FOR UPDATE SKIP LOCKED)";

constexpr const char *running_sql = R"(
    SELECT job::hipq.job
    FROM {live} AS job
    WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running'
    FOR UPDATE SKIP LOCKED)";

constexpr const char *with_worker_sql = R"(
    SELECT job::hipq.job
    FROM {live} AS job
    WHERE job.id = $1 AND job.state = 'running' AND job.worker_id IS NOT NULL
    FOR UPDATE SKIP LOCKED)";

}  // namespace

std::optional<ClaimedJob> take_locked(const catalog::Queue &queue, std::int64_t id, int attempt,
                                      pg::Time started)
{
    return first_claimed_job(pg::as_hipq([&] {
        return catalog::statement_for(queue, record_locked_sql).run(id, attempt - 1, started);
    }));
}

bool record_locked(const catalog::Queue &queue, ClaimedJob &job)
{
    auto recorded = take_locked(queue, job.id, job.attempt, job.started);
    if (!recorded.has_value())
        return false;
    recorded->has_breaker = job.has_breaker;
    job = std::move(*recorded);
    return true;
}

std::optional<ClaimedJob> take_running(const catalog::Queue &queue, std::int64_t id, int attempt)
{
    return first_claimed_job(
        pg::as_hipq([&] { return catalog::statement_for(queue, running_sql).run(id, attempt); }));
}

std::optional<ClaimedJob> take_from_worker(const catalog::Queue &queue, std::int64_t id)
{
    return first_claimed_job(
        pg::as_hipq([&] { return catalog::statement_for(queue, with_worker_sql).run(id); }));
}

std::optional<ClaimedJob> take_unaccepted(const catalog::Queue &queue, std::int64_t id,
                                          std::int64_t worker_id, pg::Time now)
{
    return first_claimed_job(pg::as_hipq(
        [&] { return catalog::statement_for(queue, unaccepted_sql).run(id, worker_id, now); }));
}

std::optional<ClaimedJob> take_for_decision(const catalog::Queue &queue, std::int64_t id)
{
    return first_claimed_job(
        pg::as_hipq([&] { return catalog::statement_for(queue, decision_sql).run(id); }));
}

}  // namespace hipq::job
