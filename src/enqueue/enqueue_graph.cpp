// hipq.enqueue_graph: enqueues jobs that come after each other, by their names, in one call.
//
// Jobs are written behind those that they come after, so that their ids grow along the graph. All
// of the graph becomes visible with the commit, and the ends of its jobs are watched before.
#include "core/flow/graph.hpp"

#include "catalog/rights.hpp"
#include "enqueue/after.hpp"
#include "enqueue/direct.hpp"
#include "enqueue/enqueue.hpp"
#include "enqueue/new_job.hpp"
#include "job/graph_rows.hpp"
#include "pg/arguments.hpp"
#include "pg/demand.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/watched_jobs.hpp"

namespace hipq::enqueue {

namespace {

using catalog::Catalogue;
using catalog::Queue;

// The keys of a job of the graph are the arguments of hipq.enqueue by their names, and its own
// name.
constinit pg::Statement select_unknown_key(R"(
    SELECT given.key, entry.value ->> 'name'
    FROM jsonb_array_elements($1) AS entry (value)
    CROSS JOIN LATERAL jsonb_object_keys(entry.value) AS given (key)
    WHERE given.key <> ALL ('{name, job_type, job_data, queue, job_key, scheduled_run_time,
        priority, timeout, throttle_factor, time_windows, max_retries, expires_time, throttle_key,
        queue_ttl, after, after_policy, on_failure}'::text[])
    LIMIT 1)");

constinit pg::Statement select_nodes(R"(
    SELECT entry.value ->> 'name', entry.value ->> 'job_type', entry.value -> 'job_data',
           entry.value ->> 'queue', entry.value ->> 'job_key',
           (entry.value ->> 'scheduled_run_time')::timestamptz,
           (entry.value ->> 'priority')::integer,
           ceil(extract(epoch FROM
               (entry.value ->> 'timeout')::hipq.duration::text::interval))::integer,
           (entry.value ->> 'throttle_factor')::float8, entry.value ->> 'time_windows',
           (entry.value ->> 'max_retries')::integer,
           (entry.value ->> 'expires_time')::timestamptz, entry.value ->> 'throttle_key',
           ceil(extract(epoch FROM
               (entry.value ->> 'queue_ttl')::hipq.duration::text::interval))::integer,
           entry.value ->> 'after_policy', entry.value ->> 'on_failure',
           jsonb_typeof(entry.value -> 'after')
    FROM jsonb_array_elements($1) WITH ORDINALITY AS entry (value, place)
    ORDER BY entry.place)");

// The names and ids in `after`, by the place of their job.
constinit pg::Statement select_after(R"(
    SELECT entry.place, jsonb_typeof(earlier.value), earlier.value #>> '{}',
           CASE WHEN jsonb_typeof(earlier.value) = 'number'
                     AND earlier.value #>> '{}' ~ '^[0-9]{1,18}$'
                THEN (earlier.value #>> '{}')::bigint END
    FROM jsonb_array_elements($1) WITH ORDINALITY AS entry (value, place)
    CROSS JOIN LATERAL jsonb_array_elements(entry.value -> 'after') AS earlier (value)
    WHERE jsonb_typeof(entry.value -> 'after') = 'array'
    ORDER BY entry.place)");

// A job of the graph, as given.
struct GraphJob {
    JobOptions options{};
    pg::RawValue data{JSONBOID, Datum{0}, true};
    std::optional<std::string> queue_name{};
    std::optional<std::string> key{};
    AfterWords words{};
    std::vector<std::int64_t> after_ids{};  // jobs that are not of the graph

    // Once it is known where it goes, and enqueued.
    const Queue *queue = nullptr;
    job::After after{};
    std::int64_t id = 0;
};

struct Graph {
    std::vector<core::GraphNode> names{};
    std::vector<GraphJob> nodes{};
    core::GraphOrder order{};
};

[[noreturn]] void refuse(const std::string &message, const char *hint)
{
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s", message.c_str()),
               errhint("%s", hint));
}

void demand_array_of_objects(pg::RawValue graph)
{
    static constinit pg::Statement select_form(
        "SELECT jsonb_typeof($1), CASE WHEN jsonb_typeof($1) = 'array' THEN (SELECT count(*) "
        "FROM jsonb_array_elements($1) AS entry (value) "
        "WHERE jsonb_typeof(entry.value) <> 'object') END, "
        "CASE WHEN jsonb_typeof($1) = 'array' THEN jsonb_array_length($1) END");
    constexpr const char *hint =
        "Give an array of objects: [{\"name\": \"a\", \"job_type\": \"...\"}, {\"name\": \"b\", "
        "\"job_type\": \"...\", \"after\": [\"a\"]}].";
    const pg::Rows rows = select_form.run(graph);
    const pg::Row form = rows.front();
    if (form.text(0) != "array" || form.integer(1) > 0)
        refuse("a graph is an array of jobs", hint);
    pg::demand(core::check_count_of("graph", static_cast<std::size_t>(form.integer(2)),
                                    core::most_jobs_at_once));
    for (const pg::Row row : select_unknown_key.run(graph))
        refuse("job \"" + row.text(1) + "\" of the graph has an unknown key \"" + row.text(0) +
                   "\"",
               "Use name, after, after_policy, on_failure, and the arguments of hipq.enqueue() but "
               "on_duplicate, worker, job_text, traceparent, batch and after_batch.");
}

template <class Value>
std::optional<Value> given(const pg::Row &row, int column)
{
    return row.null(column) ? std::nullopt
                            : std::optional<Value>(static_cast<Value>(row.integer(column)));
}

std::optional<pg::Time> time_given(const pg::Row &row, int column)
{
    return row.null(column) ? std::nullopt : std::optional(row.time(column));
}

std::optional<std::int16_t> priority_given(const std::optional<int> &priority)
{
    if (!priority.has_value())
        return std::nullopt;
    pg::demand(core::check_priority(*priority));
    return static_cast<std::int16_t>(*priority);
}

GraphJob node_of(const pg::Row &row)
{
    GraphJob node;
    node.options.type = row.text(1);
    node.data = row.raw(2);
    node.queue_name = row.maybe_text(3);
    node.key = row.maybe_text(4);
    node.options.scheduled_run_time = time_given(row, 5);
    node.options.priority = priority_given(given<int>(row, 6));
    node.options.timeout = given<int>(row, 7);
    node.options.throttle_factor =
        throttle_factor_of(row.null(8) ? std::nullopt : std::optional(row.number(8)));
    node.options.time_windows = row.maybe_text(9);
    node.options.max_retries = given<int>(row, 10);
    node.options.expires_time = time_given(row, 11);
    node.options.throttle_key = row.maybe_text(12);
    node.options.queue_ttl = given<int>(row, 13);
    node.words = {row.maybe_text(14), row.maybe_text(15)};
    return node;
}

void read_nodes(pg::RawValue graph, Graph &read)
{
    for (const pg::Row row : select_nodes.run(graph)) {
        if (row.null(1))
            refuse("job \"" + row.text(0) + "\" of the graph has no job_type",
                   "Give each job a job_type.");
        if (!row.null(16) && row.text(16) != "array" && row.text(16) != "null")
            refuse("after of job \"" + row.text(0) + "\" of the graph is not an array",
                   "Give an array of names, or of ids as numbers.");
        read.names.push_back({row.text(0), {}});
        read.nodes.push_back(node_of(row));
    }
    for (const pg::Row row : select_after.run(graph)) {
        const auto place = static_cast<std::size_t>(row.integer(0) - 1);
        if (row.text(1) == "string")
            read.names[place].after.push_back(row.text(2));
        else if (!row.null(3))
            read.nodes[place].after_ids.push_back(row.integer(3));
        else
            refuse("after of job \"" + read.names[place].name +
                       "\" of the graph has an element that is neither a name nor an id",
                   "Give an array of names, or of ids as numbers.");
    }
}

// Finds the queue of each job, and checks the rights and what it comes after.
void check_nodes(std::shared_ptr<const Catalogue> &catalogue, Graph &graph,
                 const std::optional<std::string> &queue_name)
{
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        GraphJob &node = graph.nodes[i];
        node.queue =
            &queue_for(catalogue, node.queue_name.has_value() ? node.queue_name : queue_name,
                       node.options.type);
        catalog::require(*node.queue, catalog::Privilege::enqueue);
        demand_dependencies(*node.queue);
        if (node.words.any() && graph.order.after[i].empty() && node.after_ids.empty())
            refuse("job \"" + graph.names[i].name + "\" of the graph comes after none",
                   "Give after_policy and on_failure with after.");
        node.after = after_of(node.words, *catalogue, *node.queue, node.after_ids);
        if (!graph.order.after[i].empty() || !node.after.jobs.empty())
            node.options.waits_for = core::WaitsFor::jobs;
    }
}

void enqueue_nodes(Graph &graph, std::optional<pg::Time> deadline)
{
    for (const std::size_t i : graph.order.order) {
        GraphJob &node = graph.nodes[i];
        if (deadline.has_value() && !node.options.expires_time.has_value())
            node.options.expires_time = deadline;
        node.id = enqueue(*node.queue, node.options, node.data, node.key, OnDuplicate::error).id;
        const bool is_late = !node.after.jobs.empty();
        for (const std::size_t earlier : graph.order.after[i])
            node.after.jobs.push_back({graph.nodes[earlier].id, graph.nodes[earlier].queue->id});
        if (!node.options.waits_for.has_value())
            continue;
        watch_jobs_before(node.after);
        if (is_late)
            wakeup::watch_older_job(node.after.jobs.back().id);
    }
}

void write_graph(const Graph &graph)
{
    job::GraphRows rows;
    for (const std::size_t i : graph.order.order) {
        const GraphJob &node = graph.nodes[i];
        rows.add(node.queue->id, node.id, graph.names[i].name, node.after);
    }
    rows.write();
}

// Another session may drop or change a queue meanwhile: the catalogue of the beginning stays valid.
void enqueue_graph(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    if (!arguments.has("graph"))
        HIPQ_RAISE(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("graph cannot be NULL"));
    const pg::RawValue given = arguments.raw("graph", JSONBOID);
    pg::ResultSet result(fcinfo);
    auto catalogue = catalog::catalogue();
    Graph graph;
    pg::as_hipq([&] {
        demand_array_of_objects(given);
        read_nodes(given, graph);
    });
    pg::demand(core::order_graph(graph.names, graph.order));
    check_nodes(catalogue, graph, arguments.maybe_text("queue"));
    enqueue_nodes(graph, arguments.maybe_time("deadline"));
    write_graph(graph);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
        result.add(graph.names[i].name, graph.nodes[i].id);
}

}  // namespace

}  // namespace hipq::enqueue

HIPQ_FUNCTION(hipq_enqueue_graph)
{
    hipq::enqueue::enqueue_graph(fcinfo);
    return hipq::pg::return_void();
}
