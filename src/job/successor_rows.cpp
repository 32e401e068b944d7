// Reads and deletes rows of hipq.successor.
//
// Only the extension owner may access the table. Each row contains the future job with its id and
// start values.
#include "job/successor_rows.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "core/job/validate.hpp"
#include "job/claimed_job.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"

namespace hipq::job {

namespace {

constexpr const char *find_by_key_sql = R"(
    SELECT successor.job_id
    FROM hipq.successor AS successor
    WHERE successor.queue_id = $1 AND successor.job_type = $2 AND successor.job_key = $3{+ AND successor.shard_key = $4+})";

constinit pg::Statement find_by_id(R"(
    SELECT successor.queue_id, successor.job_type, successor.job_key, job.scheduled_run_time, job.expires_time, job.time_windows::text,
           job.throttle_key, (job.throttle_factor * 1000)::bigint, job.priority::integer
    FROM hipq.successor AS successor
    CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, successor.job) AS job
    WHERE successor.job_id = $1)");

constinit pg::Statement
    remove_by_id("DELETE FROM hipq.successor AS successor WHERE successor.job_id = $1");

constinit pg::Statement select_queues_with_successors(
    "SELECT DISTINCT successor.queue_id FROM hipq.successor AS successor");

constexpr const char *select_sql = R"(
    SELECT successor.job_type, successor.job_key, holder.id{+, successor.shard_key+}
    FROM hipq.successor AS successor
    LEFT JOIN LATERAL (
        SELECT job.id FROM {live} AS job
        WHERE job.job_type = successor.job_type AND job.job_key = successor.job_key AND job.job_key <> 'NONE'
            {+AND job.shard_key COLLATE "C" = successor.shard_key+}
    ) AS holder ON true
    WHERE successor.queue_id = $1)";

constinit pg::Statement take_by_id(R"(
    WITH taken AS (
        DELETE FROM hipq.successor AS successor
        USING (SELECT job_id FROM hipq.successor WHERE job_id = $1 AND queue_id = $2 FOR UPDATE SKIP LOCKED) AS chosen
        WHERE successor.job_id = chosen.job_id
        RETURNING successor.job AS whole
    )
    SELECT job::hipq.job
    FROM taken
    CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, taken.whole) AS job)");

}  // namespace

std::optional<std::int64_t> successor_of_key(const catalog::Queue &queue,
                                             const core::UniqueKey &key)
{
    const pg::Rows rows = pg::as_hipq([&] {
        return catalog::statement_for(queue, find_by_key_sql)
            .run(queue.id, key.type, key.key, key.scope);
    });
    return rows.empty() ? std::nullopt : std::optional(rows.front().integer(0));
}

void remove_successor(std::int64_t id)
{
    pg::as_hipq([&] { remove_by_id.run(id); });
}

std::vector<Successor> successors(const catalog::Queue &queue)
{
    const pg::Rows rows =
        pg::as_hipq([&] { return catalog::statement_for(queue, select_sql).run(queue.id); });
    std::vector<Successor> result;
    for (const pg::Row row : rows)
        result.push_back({row.text(0), row.text(1),
                          queue.has_keys_by_shard() ? row.text(3) : std::string(core::none_text),
                          row.maybe_integer(2)});
    return result;
}

std::vector<int> queues_with_successors()
{
    const pg::Rows rows = pg::as_hipq([] { return select_queues_with_successors.run(); });
    std::vector<int> ids;
    for (const pg::Row row : rows)
        ids.push_back(row.integer32(0));
    return ids;
}

std::optional<ClaimedJob> take_successor(const catalog::Queue &queue, std::int64_t id)
{
    return first_claimed_job(pg::as_hipq([&] { return take_by_id.run(id, queue.id); }));
}

std::optional<WaitingSuccessor> find_successor(std::int64_t id)
{
    const pg::Rows rows = pg::as_hipq([&] { return find_by_id.run(id); });
    if (rows.empty())
        return std::nullopt;
    const pg::Row row = rows.front();
    return WaitingSuccessor{row.integer32(0), row.text(1),    row.text(2),
                            row.time(3),      row.time(4),    row.text(5),
                            row.text(6),      row.integer(7), row.integer32(8)};
}

}  // namespace hipq::job
