// Shows jobs that are on other nodes: hipq.find_job(), and the lines of hipq.why().
#include "monitor/remote_status.hpp"

#include "catalog/cache.hpp"
#include "catalog/rights.hpp"
#include "nodes/nodes.hpp"
#include "pg/transaction.hpp"

namespace hipq::monitor {

namespace {

// ---- why ----

constexpr const char *node_condition = "node";

constinit pg::Statement read_lines(R"(
    SELECT line.value ->> 'condition', (line.value ->> 'passed')::boolean, line.value ->> 'explanation'
    FROM jsonb_array_elements($1) WITH ORDINALITY AS line (value, place)
    ORDER BY line.place)");

// A router that has passed the call on says itself where the job is.
void add_lines(pg::ResultSet &result, const nodes::Found &found)
{
    const pg::RawValue json = nodes::json_of(found.answer);
    const pg::Rows lines = pg::as_extension_owner([&] { return read_lines.run(json); });
    if (lines.empty() || lines.front().text(0) != node_condition)
        result.add(node_condition, true, "The job is on " + found.node + ".");
    for (const pg::Row line : lines)
        result.add(line.text(0), line.boolean(1), line.text(2));
}

// ---- the row ----

// $1: the queue
std::string select_job(std::int64_t id)
{
    return "SELECT job FROM hipq.jobs_detail AS job WHERE job.id = " + std::to_string(id) +
           " AND ($1 IS NULL OR job.queue = $1)";
}

// A JSON null becomes NULL in a record, unless the key is missing and the given record has the
// value.
constinit pg::Statement read_job(R"(
    SELECT jsonb_populate_record(blank.job, CASE WHEN $1 -> 'job_data' = 'null' THEN $1 - 'job_data' ELSE $1 END)
    FROM (
        SELECT ('(' || string_agg(CASE attribute.attname WHEN 'job_data' THEN 'null' ELSE '' END, ',' ORDER BY attribute.attnum) || ')')::hipq.jobs_detail AS job
        FROM pg_catalog.pg_attribute AS attribute
        WHERE attribute.attrelid = 'hipq.jobs_detail'::regclass AND attribute.attnum > 0
    ) AS blank)");

// Reads the job as the caller, on this node.
bool add_job_here(pg::ResultSet &result, std::int64_t id, const std::optional<std::string> &queue)
{
    const Oid caller = catalog::caller();
    const pg::Rows rows = pg::as_extension_owner(
        [&] { return pg::as_role(caller, [&] { return pg::run_once(select_job(id), queue); }); });
    for (const pg::Row row : rows)
        result.add_composite(row.raw(0));
    return !rows.empty();
}

void find_job(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64("id");
    const auto queue = arguments.maybe_text("queue");
    pg::ResultSet result(fcinfo);
    const auto catalogue = catalog::catalogue();
    if (queue.has_value())
        (void)catalog::require_known_queue(*catalogue, *queue);
    if (add_job_here(result, id, queue))
        return;
    const auto answer = nodes::call(*catalogue, {"find_job", id, {queue}, queue});
    if (!answer.has_value())
        return;
    const pg::RawValue json = nodes::json_of(*answer);
    result.add_composite(pg::as_extension_owner([&] { return read_job.run(json).front().raw(0); }));
}

}  // namespace

void explain_elsewhere(pg::ResultSet &result, const catalog::Catalogue &catalogue, std::int64_t id,
                       const std::optional<std::string> &queue)
{
    const nodes::Found found = nodes::search(catalogue, {"why", id, {queue}, queue});
    switch (found.place) {
    case nodes::Place::elsewhere:
        add_lines(result, found);
        return;
    case nodes::Place::held:
        result.add("exists", true,
                   found.keeps_order
                       ? "The job has come to this node, and is held until its slot has come."
                       : "The job has come to this node, and is held until its key is free.");
        result.add(found.keeps_order ? "order" : "key", false, found.reason);
        return;
    case nodes::Place::unknown:
        result.add(node_condition, false,
                   "The job is not here, and not all servers that may have it have answered. " +
                       found.reason);
        return;
    case nodes::Place::nowhere:
        break;
    }
    result.add("exists", false,
               found.reason.empty()
                   ? "There is no such job; final jobs are removed after the queue's retention."
                   : found.reason);
}

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq_find_job)
{
    hipq::monitor::find_job(fcinfo);
    return hipq::pg::return_void();
}
