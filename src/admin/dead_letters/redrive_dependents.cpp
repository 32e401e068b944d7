// hipq.redrive(id, with_dependents => true): makes the jobs again that did not start because a job
// failed, together with what they come after.
#include "admin/dead_letters/redrive_dependents.hpp"

#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "core/job/columns.hpp"
#include "job/batches/batch_rows.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::admin {

namespace {

using catalog::Queue;
using Ids = std::vector<std::int64_t>;

// The jobs that come after a job or its batch, directly or by way of others.
constinit pg::Statement select_later(R"(
    WITH RECURSIVE later AS (
        SELECT dependency.queue_id, dependency.job_id FROM hipq.dependency AS dependency WHERE dependency.before_id = ANY ($1)
        UNION
        SELECT dependency.queue_id, dependency.job_id
        FROM later
        JOIN hipq.dependency AS dependency ON dependency.before_id = later.job_id
    )
    SELECT later.queue_id, later.job_id FROM later ORDER BY later.queue_id, later.job_id)");

// $1 ids, $2 the cause, $3 now. A job whose key an unfinished job holds stays as it is.
constexpr const char *remake_sql = R"(
    INSERT INTO {table} (original_job_id, retry_of, retry_reason, manual_reason, scheduled_run_time, max_retries, job_data, waits_for{, schedule_time})" HIPQ_GIVEN_COLUMNS("") R"()
    SELECT coalesce(job.original_job_id, job.id), job.id, 'redriven', 'redriven', $3, job.max_retries, job.job_data, 'jobs'{, schedule_time of job})" HIPQ_GIVEN_COLUMNS(
    "job.") R"(
    FROM {table} AS job
    WHERE job.id = ANY ($1) AND job.state = 'final' AND job.retry_reason IN ('predecessor_failed', 'skipped')
      AND (job.result ->> 'cause')::bigint = $2
    ORDER BY job.id
    ON CONFLICT DO NOTHING
    RETURNING retry_of, id)";

// $1 old ids, $2 new ids, $3 queues of the new jobs
constinit pg::Statement copy_dependencies(R"(
    INSERT INTO hipq.dependency (queue_id, job_id, before_id, before_queue_id, after_policy, on_failure, outcome, result)
    SELECT made.queue_id::integer, made.new_id, coalesce(earlier.new_id, dependency.before_id),
           coalesce(earlier.queue_id::integer, dependency.before_queue_id), dependency.after_policy, dependency.on_failure,
           CASE WHEN earlier.new_id IS NULL THEN dependency.outcome END, CASE WHEN earlier.new_id IS NULL THEN dependency.result END
    FROM unnest($1, $2, $3) AS made (old_id, new_id, queue_id)
    JOIN hipq.dependency AS dependency ON dependency.job_id = made.old_id
    LEFT JOIN unnest($1, $2, $3) AS earlier (old_id, new_id, queue_id) ON earlier.old_id = dependency.before_id)");

constinit pg::Statement hand_names_on(R"(
    UPDATE hipq.graph_job AS known
    SET job_id = made.new_id, queue_id = made.queue_id::integer
    FROM unnest($1, $2, $3) AS made (old_id, new_id, queue_id)
    WHERE known.job_id = made.old_id)");

constexpr const char *batch_sql = "SELECT {batch_id of job} FROM {table} AS job WHERE job.id = $1";

constexpr const char *join_sql = "UPDATE {live} AS job SET batch_id = $2 WHERE job.id = $1";

struct Map {
    Ids old_ids{};
    Ids new_ids{};
    Ids queues{};

    void add(const Remade &made)
    {
        old_ids.push_back(made.old_id);
        new_ids.push_back(made.new_id);
        queues.push_back(made.queue_id);
    }
};

void remake(const Queue &queue, const Ids &ids, std::int64_t cause, Map &map)
{
    catalog::require(queue, catalog::Privilege::control);
    const pg::Rows rows = pg::as_hipq(
        [&] { return catalog::statement_for(queue, remake_sql).run(ids, cause, pg::now()); });
    for (const pg::Row row : rows)
        map.add({row.integer(0), row.integer(1), queue.id});
}

// The new job takes the place of the old one in its batch, so that jobs after the batch wait for
// it. Returns the batch.
std::optional<std::int64_t> take_place_in_batch(const Queue &queue, const Remade &cause)
{
    return pg::as_hipq([&]() -> std::optional<std::int64_t> {
        const pg::Rows rows = catalog::statement_for(queue, batch_sql).run(cause.old_id);
        if (rows.empty() || rows.front().null(0))
            return std::nullopt;
        const std::int64_t batch_id = rows.front().integer(0);
        catalog::statement_for(queue, join_sql).run(cause.new_id, batch_id);
        job::forget_batch_failure(batch_id, cause.old_id);
        return batch_id;
    });
}

}  // namespace

void redrive_dependents(const catalog::Catalogue &catalogue, const Remade &cause)
{
    Ids before{cause.old_id};
    if (const Queue *queue = catalogue.find(cause.queue_id))
        if (const auto batch_id = take_place_in_batch(*queue, cause))
            before.push_back(*batch_id);
    std::map<int, Ids> later;
    for (const pg::Row row : pg::as_hipq([&] { return select_later.run(before); }))
        later[row.integer32(0)].push_back(row.integer(1));
    Map map;
    map.add(cause);
    for (const auto &[queue_id, ids] : later)
        if (const Queue *queue = catalogue.find(queue_id); queue != nullptr && !queue->is_dropped)
            remake(*queue, ids, cause.old_id, map);
    pg::as_hipq([&] {
        copy_dependencies.run(map.old_ids, map.new_ids, map.queues);
        hand_names_on.run(map.old_ids, map.new_ids, map.queues);
    });
    wakeup::note_unknown_waits();
}

}  // namespace hipq::admin
