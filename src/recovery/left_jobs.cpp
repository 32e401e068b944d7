// Finds jobs in the tables whose executors are gone.
#include "recovery/left_jobs.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "job/set_aside.hpp"
#include "pg/internal_write.hpp"

namespace hipq::recovery {

namespace {

constinit pg::Statement
    pages("SELECT pg_relation_size(to_regclass($1)) / current_setting('block_size')::bigint");

constexpr const char *left_sql = R"(
    SELECT job.id, job.attempt
    FROM {live} AS job
    WHERE job.ctid >= ('(' || $1 || ',0)')::tid AND job.ctid < ('(' || $2 || ',0)')::tid
      AND (job.state = 'running' OR (job.state = 'error' AND NOT )" HIPQ_IS_SET_ASIDE "))";

constexpr const char *is_left_sql = R"(
    SELECT 1
    FROM {live} AS job
    WHERE job.id = $1 AND ((job.state = 'error' AND NOT )" HIPQ_IS_SET_ASIDE
                                    R"() OR (job.attempt = $2 AND job.state = 'running')
                           OR ($3 AND job.attempt = $2 - 1 AND job.state IN ('initial', 'retry'))))";

constexpr const char *unfinished_sql = "SELECT job.id FROM {live} AS job WHERE job.id = ANY ($1)";

}  // namespace

std::int64_t live_pages(const catalog::Queue &queue)
{
    const pg::Rows rows = pg::as_hipq([&] { return pages.run(queue.qualified_live_table()); });
    return rows.front().null(0) ? 0 : rows.front().integer(0);
}

std::vector<LeftJob> left_jobs(const catalog::Queue &queue, std::int64_t first_page,
                               std::int64_t end_page)
{
    const pg::Rows rows = pg::as_hipq(
        [&] { return catalog::statement_for(queue, left_sql).run(first_page, end_page); });
    std::vector<LeftJob> jobs;
    for (const pg::Row row : rows)
        jobs.push_back(LeftJob{row.integer(0), row.integer32(1)});
    return jobs;
}

bool is_left(const catalog::Queue &queue, std::int64_t id, int attempt, bool may_be_locked)
{
    return pg::as_hipq([&] {
        return !catalog::statement_for(queue, is_left_sql).run(id, attempt, may_be_locked).empty();
    });
}

std::vector<std::int64_t> unfinished_jobs(const catalog::Queue &queue,
                                          const std::vector<std::int64_t> &ids)
{
    const pg::Rows rows =
        pg::as_hipq([&] { return catalog::statement_for(queue, unfinished_sql).run(ids); });
    std::vector<std::int64_t> result;
    for (const pg::Row row : rows)
        result.push_back(row.integer(0));
    return result;
}

}  // namespace hipq::recovery
