// Finds the newest graphs and batches, hipq._newest_graphs() and hipq._newest_batches(). Their
// views look up the jobs of each, so that a list that begins with a view reads all.
#include "catalog/visible_queues.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/spi.hpp"

namespace hipq::flow {

namespace {

// Both take $1 the queues, $2 the graph or batch that all must be older than, or NULL, $3 how many.
// The first one goes from graph to graph in the index, past their other jobs.
constinit pg::Statement select_graphs(R"(
    WITH RECURSIVE newest AS (
        SELECT (
            SELECT max(member.graph_id)
            FROM hipq.graph_job AS member
            WHERE member.queue_id = ANY ($1) AND member.graph_id < coalesce($2, 9223372036854775807)
        ) AS graph_id, 1 AS number
        UNION ALL
        SELECT (
            SELECT max(member.graph_id)
            FROM hipq.graph_job AS member
            WHERE member.queue_id = ANY ($1) AND member.graph_id < newest.graph_id
        ), newest.number + 1
        FROM newest
        WHERE newest.graph_id IS NOT NULL AND newest.number < $3
    )
    SELECT newest.graph_id
    FROM newest
    WHERE newest.graph_id IS NOT NULL
    ORDER BY newest.number)");

constinit pg::Statement select_batches(R"(
    SELECT batch.batch_id
    FROM hipq.batch AS batch
    WHERE batch.queue_id = ANY ($1) AND batch.batch_id < coalesce($2, 9223372036854775807)
    ORDER BY batch.batch_id DESC
    LIMIT $3)");

Datum list_newest(FunctionCallInfo fcinfo, pg::Statement &select)
{
    const pg::Arguments arguments(fcinfo);
    const auto before = arguments.maybe_int64("before");
    const std::int32_t most = arguments.integer("most");
    const std::vector<std::int32_t> readable = catalog::VisibleQueues().readable();
    const std::vector<std::int64_t> queues(readable.begin(), readable.end());
    std::vector<std::int64_t> newest;
    if (queues.empty())
        return pg::return_ids(newest);
    const pg::Rows rows = pg::as_hipq([&] { return select.run(queues, before, most); });
    newest.reserve(rows.size());
    for (const pg::Row row : rows)
        newest.push_back(row.integer(0));
    return pg::return_ids(newest);
}

}  // namespace

}  // namespace hipq::flow

HIPQ_FUNCTION(hipq__newest_graphs)
{
    return hipq::flow::list_newest(fcinfo, hipq::flow::select_graphs);
}

HIPQ_FUNCTION(hipq__newest_batches)
{
    return hipq::flow::list_newest(fcinfo, hipq::flow::select_batches);
}
