// Finds jobs of the router from before its instance had shards, whose keys are in slots that leave.
//
// Their ids name only the router's slot, so they end where they are. But a new job is placed by its
// key: if one of these has the key, the new job has to wait on its shard, as for a job that still
// runs at a slot's previous node. In strict order it waits for jobs without a key too.
#include "shards/plain_jobs.hpp"

#include "catalog/queue_statements.hpp"
#include "core/shards/ids.hpp"
#include "job/job_row.hpp"
#include "nodes/nodes.hpp"

namespace hipq::shards {

namespace {

// $1 instance, $2 queue, $3 id to go on after, $4 first id that is not plain. One row without a job
// has the id where the portion ends; NULL: there is none. Rows are complete, because the shard key
// may be in job_data, so there are few of them.
constexpr const char *portion_sql = R"(
    WITH portion AS MATERIALIZED (
        SELECT job.id, job.job_key FROM {live} AS job WHERE job.id > $3 AND job.id < $4 ORDER BY job.id LIMIT 20000
    ),
    chosen AS MATERIALIZED (
        SELECT portion.id
        FROM portion
        WHERE portion.job_key <> 'NONE'
           OR EXISTS (SELECT FROM hipq.shard_leaving AS leaving WHERE leaving.instance_id = $1 AND $2 = ANY (leaving.in_order))
        ORDER BY portion.id
        LIMIT 1000
    )
    SELECT job.id, job FROM chosen JOIN {live} AS job ON job.id = chosen.id
    UNION ALL
    SELECT CASE WHEN (SELECT count(*) FROM chosen) = 1000 THEN (SELECT max(chosen.id) FROM chosen)
                ELSE (SELECT max(portion.id) FROM portion)
           END, NULL)";

constinit pg::Statement select_leaving(
    "SELECT leaving.slot FROM hipq.shard_leaving AS leaving WHERE leaving.instance_id = $1");

catalog::SlotSet leaving_slots(int instance_id)
{
    catalog::SlotSet slots;
    for (const pg::Row row : select_leaving.run(instance_id))
        slots.set(static_cast<std::size_t>(row.integer32(0)));
    return slots;
}

}  // namespace

std::optional<std::int64_t> look_at_plain_jobs(const catalog::Queue &queue, std::int64_t after,
                                               PlacedJobs &found)
{
    const catalog::SlotSet leaving = leaving_slots(queue.instance_id);
    std::optional<std::int64_t> end;
    for (const pg::Row row : catalog::statement_for(queue, portion_sql)
                                 .run(queue.instance_id, queue.name, after, core::first_id)) {
        if (row.null(1)) {
            end = row.maybe_integer(0);
            continue;
        }
        const std::int64_t id = row.integer(0);
        const int slot = nodes::slot_if_placed_now(job::row_values(row.raw(1)), queue, id);
        if (leaving.test(static_cast<std::size_t>(slot)))
            found.add(id, slot);
    }
    return end;
}

}  // namespace hipq::shards
