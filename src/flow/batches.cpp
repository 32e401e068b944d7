// hipq.close_batch(), hipq.current_batch(), and the numbers of the jobs of a batch.
#include "catalog/queue_statements.hpp"
#include "flow/flow.hpp"
#include "job/batches/batch_joins.hpp"
#include "job/batches/batch_rows.hpp"
#include "job/current_job.hpp"
#include "job/find_job.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"

namespace hipq::flow {

namespace {

using catalog::Catalogue;
using catalog::Queue;

bool close_batch(std::int64_t id)
{
    (void)job::require_batch(*catalog::catalogue(), id, catalog::Privilege::enqueue);
    return job::close_batch(id);
}

// ---- the batch of a job ----

constexpr const char *batch_sql = "SELECT {batch_id of job} FROM {table} AS job WHERE job.id = $1";

std::optional<std::int64_t> batch_of(const Queue &queue, std::int64_t id)
{
    const pg::Rows rows =
        pg::as_hipq([&] { return catalog::statement_for(queue, batch_sql).run(id); });
    if (!rows.empty() && !rows.front().null(0))
        return rows.front().integer(0);
    const std::vector<std::int64_t> before = job::batches_before(queue, id);
    return before.empty() ? std::nullopt : std::optional(before.front());
}

// The batch of a job is no secret to those who run it.
job::FoundJob find_job_to_run(const Catalogue &catalogue, std::int64_t id)
{
    const auto found = job::find_job(catalogue, id, std::nullopt);
    const auto may = [&](catalog::Privilege privilege) {
        return catalog::may(catalog::caller(), *found->queue, privilege);
    };
    if (!found.has_value() || (!may(catalog::Privilege::work) && !may(catalog::Privilege::read)))
        job::raise_unknown_job(id);
    return *found;
}

// A handler knows the batch of its job, whatever its role may read.
std::optional<std::int64_t> current_batch(const std::optional<std::int64_t> &given)
{
    const auto catalogue = catalog::catalogue();
    if (given.has_value())
        return batch_of(*find_job_to_run(*catalogue, *given).queue, *given);
    const job::CurrentJob &job = job::require_current_job(
        {"Give job => the id of a job.",
         "a handler that takes several jobs cannot ask for the batch of its job",
         "Each of its jobs has batch_id."});
    if (job.batch_id.has_value())
        return job.batch_id;
    const Queue *queue = catalogue->find(job.queue_id);
    return queue == nullptr ? std::nullopt : batch_of(*queue, job.id);
}

// ---- for views ----

constexpr const char *count_sql = "SELECT count(*) FROM {live} AS job WHERE job.batch_id = $1";

constinit pg::Statement select_counts(R"(
    SELECT (SELECT coalesce(sum(joined.jobs), 0)::bigint FROM hipq.batch_join AS joined WHERE joined.batch_id = $1),
           count(*) FILTER (WHERE failure.outcome <> 'skipped'), count(*) FILTER (WHERE failure.outcome = 'skipped')
    FROM hipq.batch_failure AS failure
    WHERE failure.batch_id = $1)");

const char *state_of(const job::Batch &batch, std::int64_t unfinished)
{
    if (batch.is_open(pg::now()))
        return "open";
    if (unfinished > 0)
        return "running";
    return batch.closed_time.has_value() ? "finished" : "abandoned";
}

std::int64_t count_unfinished(const Catalogue &catalogue, std::int64_t id)
{
    std::int64_t count = 0;
    for (const Queue *queue : job::queues_of_batch(catalogue, id))
        count += catalog::statement_for(*queue, count_sql).run_in_snapshot(id).front().integer(0);
    return count;
}

// Shows nothing of a queue that the caller may not read.
void list_counts(FunctionCallInfo fcinfo)
{
    const std::int64_t id = pg::Arguments(fcinfo).integer64("batch");
    pg::ResultSet result(fcinfo);
    const auto catalogue = catalog::catalogue();
    const auto batch = job::find_batch(id);
    const Queue *home = batch.has_value() ? catalogue->find(batch->queue_id) : nullptr;
    if (home == nullptr || home->is_dropped ||
        !catalog::may(catalog::caller(), *home, catalog::Privilege::read))
        return;
    pg::as_extension_owner([&] {
        const std::int64_t unfinished = count_unfinished(*catalogue, id);
        const pg::Row counts = select_counts.run_in_snapshot(id).front();
        result.add(state_of(*batch, unfinished), counts.integer(0) + job::added_to_batch(id).jobs,
                   unfinished, counts.integer(1), counts.integer(2));
    });
}

}  // namespace

}  // namespace hipq::flow

HIPQ_FUNCTION(hipq_close_batch)
{
    return hipq::pg::return_bool(
        hipq::flow::close_batch(hipq::pg::Arguments(fcinfo).integer64("batch")));
}

HIPQ_FUNCTION(hipq_current_batch)
{
    const auto id = hipq::flow::current_batch(hipq::pg::Arguments(fcinfo).maybe_int64("job"));
    fcinfo->isnull = !id.has_value();
    return Int64GetDatum(id.value_or(0));
}

HIPQ_FUNCTION(hipq__batch_counts)
{
    hipq::flow::list_counts(fcinfo);
    return hipq::pg::return_void();
}
