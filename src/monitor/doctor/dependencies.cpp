// Checks whether the jobs that come after others can ever start.
#include "catalog/cache.hpp"
#include "catalog/queue_by_queue.hpp"
#include "catalog/queue_statements.hpp"
#include "monitor/doctor/findings.hpp"

namespace hipq::monitor {

namespace {

// The queues that may have held jobs. The index of a queue that never had any is one page.
constexpr const char *queues_sql = R"(
    SELECT queue.queue_id
    FROM hipq.queue
    JOIN pg_class AS top ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
    JOIN pg_inherits AS of_top ON of_top.inhparent = top.oid
    JOIN pg_class AS leaf ON leaf.oid = of_top.inhrelid AND leaf.relkind = 'r'
    JOIN pg_index AS of_leaf ON of_leaf.indrelid = leaf.oid
    JOIN pg_class AS held ON held.oid = of_leaf.indexrelid AND held.relname = leaf.relname || '_held'
    WHERE NOT queue.is_dropped AND pg_relation_size(held.oid) > current_setting('block_size')::integer
    ORDER BY queue.queue_id)";

// $1 the queue. There may be millions of held jobs, so this reads the ten oldest of each of the
// first hundred types: where the rows of hipq.dependency are lost, the oldest jobs lack them. Each
// step to the next type is one index descent.
constexpr const char *lost_sql = R"(
    WITH RECURSIVE type AS (
        (SELECT job.job_type AS name, 1 AS place FROM {live} AS job WHERE {held job} ORDER BY job.job_type LIMIT 1)
        UNION ALL
        SELECT next.job_type, type.place + 1
        FROM type
        CROSS JOIN LATERAL (
            SELECT job.job_type FROM {live} AS job WHERE {held job} AND job.job_type > type.name ORDER BY job.job_type LIMIT 1
        ) AS next
        WHERE type.place < 100
    )
    SELECT min(held.id), count(*)
    FROM type
    CROSS JOIN LATERAL (
        SELECT job.id, job.waits_for FROM {live} AS job WHERE {held job} AND job.job_type = type.name ORDER BY job.id LIMIT 10
    ) AS held
    WHERE held.waits_for = 'jobs'
      AND NOT EXISTS (SELECT FROM hipq.dependency WHERE dependency.queue_id = $1 AND dependency.job_id = held.id)
    HAVING count(*) > 0)";

void look_at_queue(const catalog::Queue &queue, Diagnoses &found)
{
    for (const pg::Row row : catalog::statement_for(queue, lost_sql).run(std::int32_t{queue.id}))
        found.push_back({Severity::error, "queue \"" + queue.full_name() + "\"",
                         "lost dependencies",
                         "At least " + std::to_string(row.integer(1)) +
                             " of its jobs come after others, the oldest is job " +
                             std::to_string(row.integer(0)) +
                             ", and hipq.dependency has no row for them: they wait until they are "
                             "cancelled.",
                         "Load the rows of hipq.dependency from where the jobs came from, and call "
                         "hipq.release_hold(); or cancel the jobs.",
                         std::nullopt, queue.id});
}

// Leaves out queues that it cannot lock at once.
void look_at_dependencies(Diagnoses &found)
{
    const auto catalogue = catalog::catalogue();
    for (const pg::Row row : pg::run_once(queues_sql))
        if (const catalog::Queue *queue = catalogue->find(row.integer32(0)))
            catalog::read_or_leave_out(*queue, [&] { look_at_queue(*queue, found); });
}

}  // namespace

std::span<const Look> dependency_looks()
{
    static constexpr Look looks[] = {
        {"dependencies of jobs", Audience::monitors, look_at_dependencies}};
    return looks;
}

}  // namespace hipq::monitor
