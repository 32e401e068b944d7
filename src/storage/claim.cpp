// Claims over SQL. One recursive walk finds the lanes: each step is one index descent, however many jobs wait.
#include "claim.hpp"

#include "storage/permit.hpp"
#include "storage/queue_statements.hpp"

namespace hipq::storage {

namespace {

constexpr const char *heads_sql = R"(
    WITH RECURSIVE lane AS (
        (SELECT job.job_type, job.priority FROM {live} AS job ORDER BY job.job_type, job.priority LIMIT 1)
        UNION ALL
        SELECT next.job_type, next.priority
        FROM lane
        CROSS JOIN LATERAL (
            SELECT job.job_type, job.priority
            FROM {live} AS job
            WHERE (job.job_type, job.priority) > (lane.job_type, lane.priority)
            ORDER BY job.job_type, job.priority
            LIMIT 1
        ) AS next
    )
    SELECT lane.job_type, lane.priority::integer, head.scheduled_run_time, head.id
    FROM lane
    CROSS JOIN LATERAL (
        SELECT job.scheduled_run_time, job.id
        FROM {live} AS job
        WHERE job.job_type = lane.job_type AND job.priority = lane.priority
          AND job.state IN ('initial', 'retry') AND job.expires_time > $1
        ORDER BY job.scheduled_run_time, job.id
        LIMIT 1
    ) AS head)";

constexpr const char *claim_sql = R"(
    UPDATE {live} AS job
    SET state = 'running', attempt = job.attempt + 1, error = 'NONE', update_time = $3, accepted_time = $3,
        deadline = $3 + job.timeout * interval '1 second'
    FROM (
        SELECT waiting.id
        FROM {live} AS waiting
        WHERE waiting.job_type = $1 AND waiting.priority = $2::smallint AND waiting.state IN ('initial', 'retry')
          AND waiting.scheduled_run_time <= $3 AND waiting.expires_time > $3
        ORDER BY waiting.scheduled_run_time, waiting.id
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS next
    WHERE job.id = next.id
    RETURNING )" HIPQ_CLAIMED_COLUMNS;

constexpr const char *decision_sql = R"(
    SELECT )" HIPQ_CLAIMED_COLUMNS R"(
    FROM {live} AS job
    WHERE job.id = $1 AND job.state = 'error'
    FOR UPDATE SKIP LOCKED)";

constexpr const char *running_sql = R"(
    SELECT )" HIPQ_CLAIMED_COLUMNS R"(
    FROM {live} AS job
    WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running'
    FOR UPDATE SKIP LOCKED)";

constexpr const char *left_sql =
    "SELECT job.id, job.attempt, job.state::text FROM {live} AS job WHERE job.state IN ('running', 'error')";

}  // namespace

std::optional<ClaimedJob> claimed_job(const pg::Rows &rows)
{
    if (rows.empty())
        return std::nullopt;
    const pg::Row row = rows.front();
    return ClaimedJob{row.integer32(0), row.integer(1),   row.integer32(2), row.text(3), row.text(4),
                      row.integer32(5), row.integer32(6), row.integer32(7), row.time(8), row.raw(9),
                      row.raw(10),      row.text(11),     row.text(12)};
}

std::vector<LaneHead> lane_heads(const Queue &queue, pg::Time now)
{
    const pg::Rows rows = as_hipq([&] { return statement_for(queue, heads_sql).run(now); });
    std::vector<LaneHead> heads;
    for (const pg::Row row : rows)
        heads.push_back(LaneHead{row.text(0), row.integer32(1), row.time(2), row.integer(3)});
    return heads;
}

bool runs_before(const LaneHead &left, const LaneHead &right)
{
    return std::tie(left.priority, left.due, left.id) < std::tie(right.priority, right.due, right.id);
}

std::optional<ClaimedJob> claim(const Queue &queue, const LaneHead &lane, pg::Time now)
{
    return claimed_job(as_hipq([&] { return statement_for(queue, claim_sql).run(lane.job_type, lane.priority, now); }));
}

std::vector<LeftJob> left_jobs(const Queue &queue)
{
    const pg::Rows rows = as_hipq([&] { return statement_for(queue, left_sql).run(); });
    std::vector<LeftJob> jobs;
    for (const pg::Row row : rows)
        jobs.push_back(LeftJob{row.integer(0), row.integer32(1), core::parse_job_state(row.text(2)).value()});
    return jobs;
}

std::optional<ClaimedJob> take_running(const Queue &queue, std::int64_t id, int attempt)
{
    return claimed_job(as_hipq([&] { return statement_for(queue, running_sql).run(id, attempt); }));
}

std::optional<ClaimedJob> take_for_decision(const Queue &queue, std::int64_t id)
{
    return claimed_job(as_hipq([&] { return statement_for(queue, decision_sql).run(id); }));
}

}  // namespace hipq::storage
