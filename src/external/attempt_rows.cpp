// Writes the rows of jobs that external workers have.
//
// Dispatch and acceptance go row by row without SQL (job/live_rows.hpp) where possible; everything
// else is done by statements.
#include "external/attempt_rows.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "job/claimed_job.hpp"
#include "job/job_row.hpp"
#include "job/live_rows.hpp"
#include "job/lock_attempt.hpp"
#include "job/two_phase.hpp"
#include "pg/internal_write.hpp"
#include "settings.hpp"
#include "shared/workers/jobs.hpp"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
}

namespace hipq::external {

using core::Column;

namespace {

// $1 jobs, $2 workers, $3 seconds to accept for jobs without queue_ttl, $4 now
constexpr const char *dispatch_sql = R"(
    UPDATE {live} AS job
    SET state = 'running', attempt = job.attempt + 1, error = 'NONE', worker_id = given.worker_id, update_time = $4,
        accepted_time = '9999-01-01 00:00:00+00', deadline = $4 + coalesce(job.queue_ttl, $3) * interval '1 second'
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
              AND job.accepted_time >= '9999-01-01 00:00:00+00' AND job.deadline > $4
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
      {+AND ($3 IS NULL OR job.shard_key COLLATE "C" = $3)+}
    FOR UPDATE)";

constexpr const char *deadline_sql =
    "UPDATE {live} AS job SET deadline = $2, update_time = $3 WHERE job.id = $1";

int seconds_to_accept(const catalog::Queue &queue, const catalog::JobType &type)
{
    return type.queue_ttl.value_or(queue.queue_ttl.value_or(settings::queue_ttl.whole_seconds()));
}

pg::Time deadline_in(pg::Time now, int seconds)
{
    return now + std::int64_t{seconds} * USECS_PER_SEC;
}

// ---- without SQL ----

std::optional<job::ClaimedJob> dispatch_directly(job::LiveRows &rows, const Assignment &assignment,
                                                 int seconds, pg::Time now)
{
    job::RowValues *row = rows.find({assignment.job_id, assignment.place});
    if (row == nullptr || !job::is_due(*row, now))
        return std::nullopt;
    const int to_accept = row->null(Column::queue_ttl) ? seconds : row->as_int32(Column::queue_ttl);
    job::make_running(*row, row->as_int32(Column::attempt) + 1, now, deadline_in(now, to_accept));
    row->set(Column::worker_id, Int64GetDatum(assignment.worker_id));
    row->set(Column::accepted_time, TimestampTzGetDatum(pg::far_time.value));
    constexpr std::array changed{Column::state,     Column::attempt,     Column::error,
                                 Column::worker_id, Column::update_time, Column::accepted_time,
                                 Column::deadline};
    return rows.change(*row, changed) ? std::optional(rows.job_of(*row)) : std::nullopt;
}

bool waits_for(std::int64_t worker_id, const job::RowValues &row, std::int64_t attempt,
               pg::Time now)
{
    return row.state() == core::JobState::running && row.as_int32(Column::attempt) == attempt &&
           row.as_int64(Column::worker_id) == worker_id &&
           row.as_time(Column::accepted_time) == pg::infinity &&
           row.as_int64(Column::deadline) > now.value;
}

std::optional<job::ClaimedJob> accept_directly(job::LiveRows &rows, std::int64_t worker_id,
                                               const Attempts &attempts, std::size_t i,
                                               pg::Time now)
{
    job::RowValues *row = rows.find({attempts.ids[i], attempts.places[i]});
    if (row == nullptr || !waits_for(worker_id, *row, attempts.numbers[i], now))
        return std::nullopt;
    job::make_running(*row, row->as_int32(Column::attempt), now,
                      deadline_in(now, row->as_int32(Column::timeout)));
    row->set(Column::worker_id, Int64GetDatum(worker_id));
    constexpr std::array changed{Column::update_time, Column::accepted_time, Column::deadline};
    return rows.change(*row, changed) ? std::optional(rows.job_of(*row)) : std::nullopt;
}

// ---- by SQL ----

std::vector<job::ClaimedJob> dispatch_by_sql(const catalog::Queue &queue,
                                             std::span<const Assignment> assignments, int seconds,
                                             pg::Time now)
{
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> workers;
    for (const Assignment &assignment : assignments) {
        ids.push_back(assignment.job_id);
        workers.push_back(assignment.worker_id);
    }
    return job::claimed_jobs_in_order(
        ids, pg::as_hipq([&] {
            return catalog::statement_for(queue, dispatch_sql).run(ids, workers, seconds, now);
        }));
}

std::vector<job::ClaimedJob> accept_by_sql(const catalog::Queue &queue, std::int64_t worker_id,
                                           const Attempts &attempts, pg::Time now)
{
    const pg::PlannerSettings planner;
    return job::claimed_jobs_in_order(attempts.ids, pg::as_hipq([&] {
                                          return catalog::statement_for(queue, accept_sql)
                                              .run(worker_id, attempts.ids, attempts.numbers, now);
                                      }));
}

// Returns nothing in a transaction that has one snapshot throughout: it must not change rows that
// its snapshot does not show. SQL checks that; direct access does not.
std::optional<job::LiveRows> rows_to_accept(const catalog::Queue &queue)
{
    pg::call([] { ::PreventCommandIfReadOnly("UPDATE"); });
    return IsolationUsesXactSnapshot() ? std::nullopt : job::LiveRows::open_to_write(queue);
}

std::optional<job::LiveRows> rows_to_hold(const catalog::Queue &queue)
{
    pg::call([] { ::PreventCommandIfReadOnly("SELECT FOR UPDATE"); });
    return IsolationUsesXactSnapshot() ? std::nullopt : job::LiveRows::open_to_lock(queue);
}

std::vector<job::ClaimedJob> take_accepted(const catalog::Queue &queue, std::int64_t worker_id,
                                           const Attempts &attempts, pg::Time now)
{
    auto rows = rows_to_accept(queue);
    if (!rows.has_value())
        return accept_by_sql(queue, worker_id, attempts, now);
    std::vector<job::ClaimedJob> jobs;
    pg::as_hipq([&] {  // an index may call functions
        for (std::size_t i = 0; i < attempts.count(); ++i)
            if (auto job = accept_directly(*rows, worker_id, attempts, i, now))
                jobs.push_back(std::move(*job));
        rows->close();
    });
    return jobs;
}

}  // namespace

std::vector<job::ClaimedJob> dispatch_rows(const catalog::Queue &queue,
                                           const catalog::JobType &type,
                                           std::span<const Assignment> assignments, pg::Time now)
{
    const int seconds = seconds_to_accept(queue, type);
    auto rows = job::LiveRows::open_to_write(queue);
    if (!rows.has_value())
        return dispatch_by_sql(queue, assignments, seconds, now);
    std::vector<job::ClaimedJob> jobs;
    for (const Assignment &assignment : assignments)
        if (auto job = dispatch_directly(*rows, assignment, seconds, now))
            jobs.push_back(std::move(*job));
    rows->close();
    return jobs;
}

void Attempts::add(std::int64_t id, std::int64_t number, ItemPointerData place)
{
    ids.push_back(id);
    numbers.push_back(number);
    places.push_back(place);
}

std::vector<job::ClaimedJob> accept_rows(const catalog::Queue &queue, std::int64_t worker_id,
                                         const Attempts &attempts, pg::Time now)
{
    std::vector<job::ClaimedJob> jobs = take_accepted(queue, worker_id, attempts, now);
    for (const job::ClaimedJob &job : jobs)
        workers::note_job_accepted(job.id, job.attempt, job::deadline_of(job), job.place);
    if (jobs.empty())
        return jobs;
    job::forbid_two_phase(job::NoTwoPhase::job_taken);
    ::ForceSyncCommit();  // of the acceptance and of the dispatch before it: after a crash, another
                          // worker would otherwise get the same attempt
    return jobs;
}

std::vector<std::int64_t> unknown_dispatches(const catalog::Queue &queue, std::int64_t worker_id,
                                             const Attempts &attempts)
{
    std::vector<std::int64_t> unknown;
    for (const pg::Row row : pg::as_hipq([&] {
             return catalog::statement_for(queue, unknown_sql)
                 .run_latest(worker_id, attempts.ids, attempts.numbers);
         }))
        unknown.push_back(row.integer(0));
    return unknown;
}

std::optional<job::ClaimedJob> hold_row(const catalog::Queue &queue, std::int64_t id, int attempt)
{
    return job::first_claimed_job(
        pg::as_hipq([&] { return catalog::statement_for(queue, hold_sql).run(id, attempt); }));
}

// For a row that cannot be locked at once, a statement waits, or finds that the attempt is over.
std::vector<job::ClaimedJob> hold_rows(const catalog::Queue &queue, const Attempts &attempts)
{
    auto rows = rows_to_hold(queue);
    std::vector<job::ClaimedJob> jobs;
    for (std::size_t i = 0; i < attempts.count(); ++i) {
        const job::DueJob named{attempts.ids[i], attempts.places[i]};
        auto job =
            rows.has_value() ? rows->lock_external(named, attempts.numbers[i]) : std::nullopt;
        if (!job.has_value())
            job = hold_row(queue, named.id, static_cast<int>(attempts.numbers[i]));
        if (job.has_value())
            jobs.push_back(std::move(*job));
    }
    if (rows.has_value())
        rows->close();
    return jobs;
}

std::optional<job::ClaimedJob> hold_row(const catalog::Queue &queue, std::string_view job_type,
                                        std::string_view job_key,
                                        const std::optional<std::string> &shard_key)
{
    return job::first_claimed_job(pg::as_hipq([&] {
        return catalog::statement_for(queue, hold_by_key_sql).run(job_type, job_key, shard_key);
    }));
}

void set_deadline(const catalog::Queue &queue, const job::ClaimedJob &job, pg::Time deadline,
                  pg::Time now)
{
    pg::as_hipq([&] { catalog::statement_for(queue, deadline_sql).run(job.id, deadline, now); });
    workers::note_job_extended(job.id, job.attempt, deadline);
    job::forbid_two_phase(job::NoTwoPhase::job_taken);
}

}  // namespace hipq::external
