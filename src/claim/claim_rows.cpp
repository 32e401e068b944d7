// Claims waiting jobs, and finds the first job of each lane.
//
// A claim by lock needs no SQL (job/live_rows.hpp); everything else is done by statements. Shared
// memory decides before the claim which process may take a job (shared/lanes/in_flight.hpp); the
// row lock and the state only confirm that the job can still be taken. One recursive query finds
// the lanes: each step is one index descent, however many jobs wait.
#include "claim/claim.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "core/job/validate.hpp"
#include "job/aimed_jobs.hpp"
#include "job/claimed_job.hpp"
#include "job/job_row.hpp"
#include "job/live_rows.hpp"
#include "pg/internal_write.hpp"

namespace hipq::claim {

namespace {

constexpr const char *heads_sql = R"(
    WITH RECURSIVE lane AS (
        (SELECT job.job_type, job.priority, 1 AS place FROM {live} AS job
         WHERE {free job} AND (job.job_type, job.priority) > ($2, $3::smallint) ORDER BY job.job_type, job.priority LIMIT 1)
        UNION ALL
        SELECT next.job_type, next.priority, lane.place + 1
        FROM lane
        CROSS JOIN LATERAL (
            SELECT job.job_type, job.priority
            FROM {live} AS job
            WHERE {free job} AND (job.job_type, job.priority) > (lane.job_type, lane.priority)
            ORDER BY job.job_type, job.priority
            LIMIT 1
        ) AS next
        WHERE lane.place < $4
    )
    SELECT lane.job_type, lane.priority::integer, head.scheduled_run_time, head.id
    FROM lane
    LEFT JOIN LATERAL (
        SELECT job.scheduled_run_time, job.id
        FROM {live} AS job
        WHERE {free job} AND job.job_type = lane.job_type AND job.priority = lane.priority
          AND job.state IN ('initial', 'retry') AND job.expires_time > $1
        ORDER BY job.scheduled_run_time, job.id
        LIMIT 1
    ) AS head ON true
    ORDER BY lane.job_type, lane.priority)";

// $1 job type, $2 priority, $3 and $4 the key, $5 now, $6 limit
constexpr const char *first_due_sql = R"(
    SELECT job.scheduled_run_time
    FROM {live} AS job
    WHERE {free job} AND job.job_type = $1 AND job.priority = $2::smallint AND (job.scheduled_run_time, job.id) >= ($3, $4)
      AND job.state IN ('initial', 'retry') AND NOT )" HIPQ_IS_AIMED R"( AND job.expires_time > $5
    ORDER BY job.scheduled_run_time, job.id
    LIMIT $6)";

// $1 job type, $2 priority, $3 now, $4 limit, $5 closed time windows, $6 paused and full throttle
// keys, $7 and $8 the key
constexpr const char *due_sql = R"(
    SELECT job.id, job.scheduled_run_time, job.ctid, job.time_windows::text, job.attempt + 1, coalesce(job.queue_ttl, 0),
           (job.throttle_factor * 1000)::bigint, job.throttle_key
    FROM {live} AS job
    WHERE {free job} AND job.job_type = $1 AND job.priority = $2::smallint AND job.state IN ('initial', 'retry')
      AND (job.scheduled_run_time, job.id) >= ($7, $8) AND job.scheduled_run_time <= $3 AND job.expires_time > $3
      AND job.time_windows <> ALL ($5) AND job.throttle_key <> ALL ($6) AND NOT )" HIPQ_IS_AIMED R"(
    ORDER BY job.scheduled_run_time, job.id
    LIMIT $4)";

constexpr const char *record_sql = R"(
    UPDATE {live} AS job
    SET state = 'running', attempt = job.attempt + 1, error = 'NONE', worker_id = NULL, update_time = $2, accepted_time = $2,
        deadline = $2 + job.timeout * interval '1 second'
    FROM (
        SELECT waiting.id
        FROM {live} AS waiting
        WHERE waiting.id = ANY ($1) AND waiting.state IN ('initial', 'retry')
          AND waiting.scheduled_run_time <= $2 AND waiting.expires_time > $2
        FOR UPDATE SKIP LOCKED
    ) AS next
    WHERE job.id = next.id
    RETURNING job::hipq.job)";

constexpr const char *lock_sql = R"(
    SELECT job::hipq.job
    FROM {live} AS job
    WHERE job.id = ANY ($1) AND job.state IN ('initial', 'retry') AND job.scheduled_run_time <= $2 AND job.expires_time > $2
    FOR UPDATE SKIP LOCKED)";

constexpr const char *waiting_sql = R"(
    SELECT job::hipq.job
    FROM {live} AS job
    WHERE job.id = $1 AND job.state IN ('initial', 'retry')
    FOR UPDATE SKIP LOCKED)";

constexpr const char *final_sql = R"(
    SELECT job::hipq.job
    FROM {table} AS job
    WHERE job.id = $1 AND job.state = 'final')";

std::vector<std::int64_t> ids_of(std::span<const job::DueJob> waiting)
{
    std::vector<std::int64_t> ids;
    for (const job::DueJob &job : waiting)
        ids.push_back(job.id);
    return ids;
}

// Changes a waiting job to what it looks like while its attempt runs.
void make_running(job::ClaimedJob &job, pg::Time now)
{
    job.is_locked = true;
    job.worker_id.reset();
    ++job.attempt;
    job.started = now;
    job.error = "NONE";
    job::RowValues values = *job.values;
    job::make_running(values, job.attempt, now, now + job.timeout * USECS_PER_SEC);
    job.values = job::kept(values);
}

std::vector<job::ClaimedJob> lock_directly(job::LiveRows &rows,
                                           std::span<const job::DueJob> waiting, pg::Time now)
{
    std::vector<job::ClaimedJob> jobs;
    jobs.reserve(waiting.size());
    for (const job::DueJob &candidate : waiting)
        if (auto job = rows.lock_due(candidate, now))
            jobs.push_back(std::move(*job));
    rows.close();
    return jobs;
}

}  // namespace

std::vector<LaneHead> lane_heads(const catalog::Queue &queue, pg::Time now, LanePlace &after,
                                 int most)
{
    const pg::Rows rows = pg::as_hipq([&] {
        return catalog::statement_for(queue, heads_sql)
            .run(now, after.job_type, std::int32_t{after.priority}, std::int32_t{most});
    });
    std::vector<LaneHead> heads;
    for (const pg::Row row : rows) {
        after = {row.text(0), row.integer32(1)};
        if (!row.null(3))
            heads.push_back(LaneHead{row.text(0), row.integer32(1), row.time(2), row.integer(3)});
    }
    if (rows.size() < static_cast<std::size_t>(most))
        after = LanePlace{};
    return heads;
}

std::vector<LaneHead> lane_heads(const catalog::Queue &queue, pg::Time now)
{
    LanePlace start;
    return lane_heads(queue, now, start, std::numeric_limits<int>::max());
}

std::vector<pg::Time> first_due_times(const catalog::Queue &queue, std::string_view job_type,
                                      int priority, core::LaneKey from, pg::Time now, int limit)
{
    const pg::Rows rows = pg::as_hipq([&] {
        return catalog::statement_for(queue, first_due_sql)
            .run(job_type, priority, pg::Time{from.time}, from.id, now,
                 static_cast<std::int64_t>(limit));
    });
    std::vector<pg::Time> times;
    for (const pg::Row row : rows)
        times.push_back(row.time(0));
    return times;
}

bool runs_before(const LaneHead &left, const LaneHead &right)
{
    return std::tie(left.priority, left.due, left.id) <
           std::tie(right.priority, right.due, right.id);
}

namespace {

// Reads the due jobs of a lane in pieces, by one statement for each. A piece leaves out the rows
// with the time windows and throttle keys for which earlier pieces had rows that may not start.
class DueRows {
public:
    DueRows(const catalog::Queue &queue, const LaneHead &lane, pg::Time now, StartWindows &windows,
            const std::vector<std::string> &paused_keys)
        : queue_(queue), lane_(lane), now_(now), windows_(windows), keys_(paused_keys)
    {
    }

    std::vector<job::DueJob> read(std::size_t limit, const HasKeyCapacity &has_key_capacity)
    {
        std::vector<job::DueJob> waiting;
        bool goes_on = true;
        while (goes_on && waiting.size() < limit)
            goes_on = read_piece(waiting, limit, has_key_capacity);
        return waiting;
    }

private:
    // Returns whether the piece had rows that may not start, and the next piece may have others.
    bool read_piece(std::vector<job::DueJob> &waiting, std::size_t limit,
                    const HasKeyCapacity &has_key_capacity)
    {
        const std::size_t size = std::max(limit - waiting.size(), least_);
        const pg::Rows rows = pg::as_hipq([&] {
            return catalog::statement_for(queue_, due_sql)
                .run(lane_.job_type, lane_.priority, now_, static_cast<std::int64_t>(size), closed_,
                     keys_, pg::Time{from_.time}, from_.id);
        });
        const std::size_t before = closed_.size() + keys_.size();
        for (const pg::Row row : rows) {
            if (waiting.size() == limit)
                return false;
            from_ = core::after({row.time(1).value, row.integer(0)});
            if (!queue_.has_left_in_order(row.integer(0)) && is_open(row.text(3)) &&
                has_capacity(row, has_key_capacity))
                waiting.push_back(due_job(row));
        }
        return closed_.size() + keys_.size() > before;
    }

    static job::DueJob due_job(const pg::Row &row)
    {
        return {row.integer(0),
                row.place(2),
                row.time(1),
                true,
                row.integer(6),
                core::throttle_key_hash(row.text(7)),
                {row.integer32(4), row.integer32(5)}};
    }

    bool is_open(const std::string &text)
    {
        if (text == core::none_text || windows_.opens(text) <= now_)
            return true;
        note(closed_, text);
        return false;
    }

    // There may be more full keys than rows in a piece, so the next pieces are larger.
    bool has_capacity(const pg::Row &row, const HasKeyCapacity &has_key_capacity)
    {
        const std::string key = row.text(7);
        if (has_key_capacity(row.integer(6), core::throttle_key_hash(key)))
            return true;
        note(keys_, key);
        least_ = least_with_full_keys;
        return false;
    }

    static void note(std::vector<std::string> &texts, const std::string &text)
    {
        if (std::find(texts.begin(), texts.end(), text) == texts.end())
            texts.push_back(text);
    }

    static constexpr std::size_t least_with_full_keys = 100;

    const catalog::Queue &queue_;
    const LaneHead &lane_;
    pg::Time now_;
    StartWindows &windows_;
    std::vector<std::string> closed_{};
    std::vector<std::string> keys_;
    core::LaneKey from_ = core::lane_start;
    std::size_t least_ = 0;
};

}  // namespace

std::vector<job::DueJob> due_jobs(const catalog::Queue &queue, const LaneHead &lane, pg::Time now,
                                  std::size_t limit, StartWindows &windows,
                                  const std::vector<std::string> &paused_keys,
                                  const HasKeyCapacity &has_key_capacity)
{
    return DueRows(queue, lane, now, windows, paused_keys).read(limit, has_key_capacity);
}

std::vector<job::ClaimedJob> claim_by_record(const catalog::Queue &queue,
                                             std::span<const job::DueJob> waiting, pg::Time now)
{
    const std::vector<std::int64_t> ids = ids_of(waiting);
    return job::claimed_jobs_in_order(
        ids, pg::as_hipq([&] { return catalog::statement_for(queue, record_sql).run(ids, now); }));
}

std::vector<job::ClaimedJob> lock_by_sql(const catalog::Queue &queue,
                                         const std::vector<std::int64_t> &ids, pg::Time now)
{
    std::vector<job::ClaimedJob> jobs = job::claimed_jobs_in_order(
        ids, pg::as_hipq([&] { return catalog::statement_for(queue, lock_sql).run(ids, now); }));
    for (job::ClaimedJob &job : jobs)
        make_running(job, now);
    return jobs;
}

std::vector<job::ClaimedJob> claim_by_lock(const catalog::Queue &queue,
                                           std::span<const job::DueJob> waiting, pg::Time now)
{
    auto rows = job::LiveRows::open_to_lock(queue);
    return rows.has_value() ? lock_directly(*rows, waiting, now)
                            : lock_by_sql(queue, ids_of(waiting), now);
}

bool have_left(const catalog::Queue &queue, std::span<const job::ClaimedJob> jobs)
{
    if (queue.shards == nullptr)
        return false;
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *present = catalogue->find(queue.id);
    return present != nullptr && std::any_of(jobs.begin(), jobs.end(), [&](const auto &job) {
               return present->has_left_in_order(job.id);
           });
}

std::optional<job::ClaimedJob> claim_for_trial(const catalog::Queue &queue, std::int64_t id,
                                               pg::Time now)
{
    auto job = job::first_claimed_job(
        pg::as_hipq([&] { return catalog::statement_for(queue, waiting_sql).run(id); }));
    if (!job.has_value())
        job = job::first_claimed_job(
            pg::as_hipq([&] { return catalog::statement_for(queue, final_sql).run(id); }));
    if (job.has_value())
        make_running(*job, now);
    return job;
}

}  // namespace hipq::claim
