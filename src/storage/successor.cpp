// Rows of hipq.successor, which nobody but the extension owner may touch. The job is written as it will be, id and start values
// included.
#include "successor.hpp"

#include "pg/transaction.hpp"
#include "storage/direct_enqueue.hpp"
#include "storage/known_table.hpp"
#include "storage/permit.hpp"
#include "storage/queue_statements.hpp"

namespace hipq::storage {

namespace {

constinit pg::Statement find_by_key(R"(
    SELECT successor.job_id
    FROM hipq.successor AS successor
    WHERE successor.queue_id = $1 AND successor.job_type = $2 AND successor.job_key = $3)");

constinit pg::Statement find_by_id(R"(
    SELECT successor.queue_id, successor.job_type, successor.job_key, job.scheduled_run_time, job.expires_time, job.time_windows::text,
           job.throttle_key, (job.throttle_factor * 1000)::bigint, job.priority::integer
    FROM hipq.successor AS successor
    CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, successor.job) AS job
    WHERE successor.job_id = $1)");

constinit pg::Statement insert(R"(
    INSERT INTO hipq.successor (queue_id, job_type, job_key, job_id, job)
    VALUES ($1, $2, $3, $4, to_jsonb($5))
    ON CONFLICT (queue_id, job_type, job_key) DO NOTHING)");

constinit pg::Statement remove_by_id("DELETE FROM hipq.successor AS successor WHERE successor.job_id = $1");

constinit pg::Statement select_queues("SELECT DISTINCT successor.queue_id FROM hipq.successor AS successor");

constexpr const char *select_sql = R"(
    SELECT successor.job_type, successor.job_key, holder.id
    FROM hipq.successor AS successor
    LEFT JOIN LATERAL (
        SELECT job.id FROM {live} AS job
        WHERE job.job_type = successor.job_type AND job.job_key = successor.job_key AND job.job_key <> 'NONE'
    ) AS holder ON true
    WHERE successor.queue_id = $1)";

// The successor goes only if the job has come. $1 queue, $2 job type, $3 key
constexpr const char *make_job_sql = R"(
    WITH job AS (
        SELECT entry.*
        FROM hipq.successor AS chosen
        CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, chosen.job) AS entry
        WHERE chosen.queue_id = $1 AND chosen.job_type = $2 AND chosen.job_key = $3
        FOR UPDATE OF chosen SKIP LOCKED
    ),
    made AS (
        INSERT INTO {table} (id, original_job_id, retry_of, worker_id, scheduled_run_time, update_time, created_time, accepted_time, deadline,
                             expires_time, queue_id, state, timeout, attempt, retry_count, max_retries, queue_ttl, priority, throttle_factor,
                             job_type, job_key, error, throttle_key, time_windows, retry_reason, shard_key, job_data, result,
                             manual_reason)
        SELECT job.id, job.original_job_id, job.retry_of, job.worker_id, job.scheduled_run_time, job.update_time, job.created_time, job.accepted_time,
               job.deadline, job.expires_time, job.queue_id, job.state, job.timeout, job.attempt, job.retry_count, job.max_retries, job.queue_ttl,
               job.priority, job.throttle_factor, job.job_type, job.job_key, job.error, job.throttle_key, job.time_windows, job.retry_reason,
               job.shard_key, job.job_data, job.result, job.manual_reason
        FROM job
        ON CONFLICT DO NOTHING
        RETURNING id
    )
    DELETE FROM hipq.successor AS successor USING made WHERE successor.job_id = made.id)";

constinit pg::Statement take_by_id(R"(
    WITH taken AS (
        DELETE FROM hipq.successor AS successor
        USING (SELECT job_id FROM hipq.successor WHERE job_id = $1 AND queue_id = $2 FOR UPDATE SKIP LOCKED) AS chosen
        WHERE successor.job_id = chosen.job_id
        RETURNING successor.job AS whole
    )
    SELECT )" HIPQ_CLAIMED_COLUMNS R"(
    FROM taken
    CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, taken.whole) AS job)");

Oid job_row_type()
{
    return pg::call([] {
        const KnownTable *job = known_table("job");
        return job == nullptr ? InvalidOid : job->row_type;
    });
}

}  // namespace

std::optional<std::int64_t> successor_of_key(const Queue &queue, std::string_view type, std::string_view key)
{
    const pg::Rows rows = as_hipq([&] { return find_by_key.run(queue.id, type, key); });
    return rows.empty() ? std::nullopt : std::optional(rows.front().integer(0));
}

std::optional<std::int64_t> add_successor(const Newcomer &newcomer)
{
    const KnownCatalogue catalogue = storage::catalogue();
    const RowValues job = new_job(catalogue, newcomer.queue, newcomer.options, newcomer.data, newcomer.key);
    const std::int64_t id = job.as_int64(core::Column::id);
    const pg::RawValue row = row_of(job, job_row_type());
    const bool is_added =
        as_hipq([&] { return insert.run(newcomer.queue.id, newcomer.options.type, newcomer.key, id, row).processed() == 1; });
    return is_added ? std::optional(id) : std::nullopt;
}

void remove_successor(std::int64_t id)
{
    as_hipq([&] { remove_by_id.run(id); });
}

std::vector<Successor> successors(const Queue &queue)
{
    const pg::Rows rows = as_hipq([&] { return statement_for(queue, select_sql).run(queue.id); });
    std::vector<Successor> result;
    for (const pg::Row row : rows)
        result.push_back({row.text(0), row.text(1), row.maybe_integer(2)});
    return result;
}

std::vector<int> queues_with_successors()
{
    const pg::Rows rows = as_hipq([] { return select_queues.run(); });
    std::vector<int> ids;
    for (const pg::Row row : rows)
        ids.push_back(row.integer32(0));
    return ids;
}

bool make_successor_a_job(const Queue &queue, std::string_view type, std::string_view key)
{
    return as_hipq([&] { return statement_for(queue, make_job_sql).run(queue.id, type, key).processed() == 1; });
}

std::optional<ClaimedJob> take_successor(const Queue &queue, std::int64_t id)
{
    return first_claimed_job(as_hipq([&] { return take_by_id.run(id, queue.id); }));
}

std::optional<WaitingSuccessor> find_successor(std::int64_t id)
{
    const pg::Rows rows = as_hipq([&] { return find_by_id.run(id); });
    if (rows.empty())
        return std::nullopt;
    const pg::Row row = rows.front();
    return WaitingSuccessor{row.integer32(0), row.text(1), row.text(2),    row.time(3),     row.time(4),
                            row.text(5),      row.text(6), row.integer(7), row.integer32(8)};
}

}  // namespace hipq::storage
