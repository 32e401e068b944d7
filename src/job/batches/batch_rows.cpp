// Reads and writes the rows of batches.
//
// Only the extension owner may access the tables.
#include "job/batches/batch_rows.hpp"

#include "catalog/queue_statements.hpp"
#include "job/batches/batch_joins.hpp"
#include "pg/internal_write.hpp"
#include "pg/known_table.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/watched_jobs.hpp"

namespace hipq::job {

namespace {

// The id is of the sequence of jobs, so that no job has it.
constinit pg::Statement insert_row(R"(
    INSERT INTO hipq.batch (batch_id, queue_id, name, created_time, closed_time, expires_time)
    VALUES (nextval('hipq.job_id_seq'), $1, $2, now(), CASE WHEN $3 THEN now() END, $4)
    RETURNING batch_id)");

constinit pg::Statement select_batch(R"(
    SELECT batch.queue_id, batch.closed_time, batch.expires_time
    FROM hipq.batch AS batch
    WHERE batch.batch_id = $1)");

constinit pg::Statement update_closed(R"(
    UPDATE hipq.batch SET closed_time = $2 WHERE batch_id = $1 AND closed_time IS NULL)");

// A loose index scan, which steps from one queue to the next: a batch may have a row for each of a
// million transactions.
constinit pg::Statement select_queues_of_batch(R"(
    WITH RECURSIVE queue AS (
        SELECT min(joined.queue_id) AS queue_id FROM hipq.batch_join AS joined WHERE joined.batch_id = $1
        UNION ALL
        SELECT (SELECT min(joined.queue_id) FROM hipq.batch_join AS joined WHERE joined.batch_id = $1 AND joined.queue_id > queue.queue_id)
        FROM queue
        WHERE queue.queue_id IS NOT NULL
    )
    SELECT queue.queue_id FROM queue WHERE queue.queue_id IS NOT NULL)");

// For each outcome the job with the lowest id, by the primary key.
constinit pg::Statement select_failures(R"(
    SELECT min(first.job_id) FILTER (WHERE known.outcome <> 'skipped'), min(first.job_id) FILTER (WHERE known.outcome = 'skipped')
    FROM unnest(ARRAY['failed', 'cancelled', 'expired', 'skipped']) AS known (outcome)
    CROSS JOIN LATERAL (
        SELECT failure.job_id
        FROM hipq.batch_failure AS failure
        WHERE failure.batch_id = $1 AND failure.outcome = known.outcome
        ORDER BY failure.job_id
        LIMIT 1
    ) AS first)");

constinit pg::Statement insert_failure(R"(
    INSERT INTO hipq.batch_failure (batch_id, outcome, job_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING)");

constexpr const char *last_unfinished_sql = R"(
    SELECT job.id FROM {live} AS job WHERE job.batch_id = $1 ORDER BY job.batch_id DESC, job.id DESC LIMIT 1)";

constexpr const char *unfinished_sql =
    "SELECT job.id FROM {live} AS job WHERE job.batch_id = $1 ORDER BY job.id";

constexpr const char *batches_sql = "SELECT DISTINCT job.batch_id FROM {live} AS job WHERE job.id "
                                    "= ANY ($1) AND job.batch_id IS NOT "
                                    "NULL";

// $1 the queue that they are in now, $2 ids
constexpr const char *join_moved_sql = R"(
    INSERT INTO hipq.batch_join (batch_id, queue_id, jobs)
    SELECT DISTINCT job.batch_id, $1, 0 FROM {live} AS job WHERE job.id = ANY ($2) AND job.batch_id IS NOT NULL)";

constinit pg::Statement select_old(R"(
    SELECT batch.batch_id
    FROM hipq.batch AS batch
    WHERE batch.queue_id = $1 AND least(batch.closed_time, batch.expires_time) < $2
      AND NOT EXISTS (SELECT FROM hipq.dependency AS dependency WHERE dependency.before_id = batch.batch_id)
    ORDER BY batch.batch_id
    LIMIT $3)");

std::optional<std::int64_t> last_unfinished(const catalog::Queue &queue, std::int64_t id)
{
    const pg::Rows rows = catalog::statement_for(queue, last_unfinished_sql).run_in_snapshot(id);
    return rows.empty() ? std::nullopt : std::optional(rows.front().integer(0));
}

std::vector<const catalog::Queue *> read_queues(const catalog::Catalogue &catalogue,
                                                std::int64_t id)
{
    std::set<int> numbers = added_to_batch(id).queue_ids;
    for (const pg::Row row : select_queues_of_batch.run_in_snapshot(id))
        numbers.insert(row.integer32(0));
    std::vector<const catalog::Queue *> queues;
    for (const int number : numbers)
        if (const catalog::Queue *queue = catalogue.find(number);
            queue != nullptr && !queue->is_dropped && queue->has_waits)
            queues.push_back(queue);
    return queues;
}

// Runs `read` with a snapshot that sees what is committed now, and what this transaction has done.
template <class Read>
void in_latest_snapshot(const Read &read)
{
    pg::call([] {
        ::CommandCounterIncrement();
        ::PushActiveSnapshot(::GetLatestSnapshot());
    });
    read();
    pg::call([] { ::PopActiveSnapshot(); });
}

void delete_batches(const std::vector<std::int64_t> &ids)
{
    static constinit pg::Statement delete_joins(
        "DELETE FROM hipq.batch_join WHERE batch_id = ANY ($1)");
    static constinit pg::Statement delete_failures(
        "DELETE FROM hipq.batch_failure WHERE batch_id = ANY ($1)");
    static constinit pg::Statement delete_rows("DELETE FROM hipq.batch WHERE batch_id = ANY ($1)");
    for (pg::Statement *const statement : {&delete_joins, &delete_failures, &delete_rows})
        statement->run(ids);
}

}  // namespace

std::int64_t insert_batch(const catalog::Queue &queue, const std::optional<std::string> &name,
                          bool is_closed, pg::Time expires_time)
{
    return pg::as_hipq(
        [&] { return insert_row.run(queue.id, name, is_closed, expires_time).front().integer(0); });
}

std::optional<Batch> find_batch(std::int64_t id)
{
    const pg::Rows rows = pg::as_hipq([&] { return select_batch.run_latest(id); });
    if (rows.empty())
        return std::nullopt;
    const pg::Row row = rows.front();
    return Batch{id, row.integer32(0), row.null(1) ? std::nullopt : std::optional(row.time(1)),
                 row.time(2)};
}

Batch require_batch(const catalog::Catalogue &catalogue, std::int64_t id,
                    catalog::Privilege privilege)
{
    const auto batch = find_batch(id);
    const catalog::Queue *queue = batch.has_value() ? catalogue.find(batch->queue_id) : nullptr;
    if (queue == nullptr || queue->is_dropped || !catalog::has_any_right(catalog::caller(), *queue))
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("batch %lld does not exist", static_cast<long long>(id)),
                   errhint("hipq.create_batch() makes batches; view hipq.batches shows them."));
    catalog::require(*queue, privilege);
    return *batch;
}

bool close_batch(std::int64_t id)
{
    wakeup::watch_older_job(id);
    return pg::as_hipq([&] { return update_closed.run(id, pg::now()).processed() == 1; });
}

std::vector<const catalog::Queue *> queues_of_batch(const catalog::Catalogue &catalogue,
                                                    std::int64_t id)
{
    std::vector<const catalog::Queue *> queues;
    pg::as_hipq([&] { in_latest_snapshot([&] { queues = read_queues(catalogue, id); }); });
    return queues;
}

std::vector<std::int64_t> unfinished_jobs_of(const catalog::Queue &queue, std::int64_t id)
{
    std::vector<std::int64_t> ids;
    for (const pg::Row row :
         pg::as_hipq([&] { return catalog::statement_for(queue, unfinished_sql).run(id); }))
        ids.push_back(row.integer(0));
    return ids;
}

std::vector<std::int64_t> batches_of(const catalog::Queue &queue,
                                     const std::vector<std::int64_t> &job_ids)
{
    std::vector<std::int64_t> ids;
    if (queue.has_waits)
        for (const pg::Row row :
             pg::as_hipq([&] { return catalog::statement_for(queue, batches_sql).run(job_ids); }))
            ids.push_back(row.integer(0));
    return ids;
}

std::optional<BatchState> state_of_batch(const catalog::Catalogue &catalogue, std::int64_t id)
{
    const auto batch = find_batch(id);
    if (!batch.has_value())
        return std::nullopt;
    BatchState state;
    if (batch->is_open(pg::now()))
        state.open_until = batch->expires_time;
    else
        state.is_joined = is_batch_joined(id);
    pg::as_hipq([&] {
        in_latest_snapshot([&] {
            for (const catalog::Queue *queue : read_queues(catalogue, id))
                state.unfinished = std::max(state.unfinished, last_unfinished(*queue, id));
            const pg::Rows failures = select_failures.run_in_snapshot(id);
            state.failed = failures.front().maybe_integer(0);
            state.skipped = failures.front().maybe_integer(1);
        });
    });
    return state;
}

void note_batch_failure(std::int64_t batch_id, std::int64_t job_id, std::string_view outcome)
{
    pg::as_hipq([&] { insert_failure.run(batch_id, outcome, job_id); });
}

void forget_batch_failure(std::int64_t batch_id, std::int64_t job_id)
{
    static constinit pg::Statement delete_failure(
        "DELETE FROM hipq.batch_failure WHERE batch_id = $1 AND job_id = $2");
    pg::as_hipq([&] { delete_failure.run(batch_id, job_id); });
}

void fail_members(const catalog::Queue &queue)
{
    static constexpr const char *insert_failures_sql = R"(
        INSERT INTO hipq.batch_failure (batch_id, outcome, job_id)
        SELECT job.batch_id, 'cancelled', job.id FROM {live} AS job WHERE job.batch_id IS NOT NULL
        ON CONFLICT DO NOTHING)";
    const std::string live = queue.live_table();
    if (queue.has_waits && pg::call([&] { return pg::known_table(live.c_str()); }) != nullptr)
        pg::as_hipq([&] { catalog::statement_for(queue, insert_failures_sql).run(); });
}

void move_members(const catalog::Queue &to, const std::vector<std::int64_t> &job_ids)
{
    if (to.has_waits)
        pg::as_hipq(
            [&] { catalog::statement_for(to, join_moved_sql).run(std::int32_t{to.id}, job_ids); });
}

std::int64_t prune_batches(const catalog::Catalogue &catalogue, const catalog::Queue &queue,
                           pg::Time closed_before, std::int64_t most)
{
    std::vector<std::int64_t> ids;
    for (const pg::Row row :
         pg::as_hipq([&] { return select_old.run(std::int32_t{queue.id}, closed_before, most); }))
        if (const auto state = state_of_batch(catalogue, row.integer(0));
            state.has_value() && state->is_complete())
            ids.push_back(row.integer(0));
    if (!ids.empty())
        pg::as_hipq([&] { delete_batches(ids); });
    return static_cast<std::int64_t>(ids.size());
}

}  // namespace hipq::job
