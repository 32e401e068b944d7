// hipq.outcome_of, hipq.result_of: how jobs ended that others come after, and what they returned.
//
// A job that comes after others may ask for their outcomes whatever its role may read, and for
// their results if its role may read their queue. Both stay known as long as the job itself is
// kept.
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "flow/flow.hpp"
#include "job/current_job.hpp"
#include "job/find_job.hpp"
#include "job/graph_rows.hpp"
#include "job/job_status.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"

#include <charconv>

namespace hipq::flow {

namespace {

using catalog::Catalogue;
using catalog::Queue;

// The outcome and the result of a job that may be gone.
struct Ending {
    std::string outcome;
    pg::RawValue result{JSONBOID, Datum{0}, true};
};

// The row that the job whose handler calls has for a job before it: it is allowed to know the
// outcome, and knows it when that job's own row is gone.
struct Known {
    int queue_id;
    std::optional<Ending> kept;
};

constinit pg::Statement select_dependency(R"(
    SELECT dependency.before_queue_id, dependency.outcome, dependency.result
    FROM hipq.dependency AS dependency
    WHERE dependency.queue_id = $1 AND dependency.job_id = ANY ($2) AND dependency.before_id = $3
    ORDER BY dependency.outcome
    LIMIT 1)");

const job::CurrentJob &require_job_of_handler()
{
    return job::require_current_job(
        {"Give job => the id of a job of the graph.",
         "a handler that takes batches cannot ask for the results of other jobs by name",
         "Its jobs may be of several graphs. Give job => the id of one of them."});
}

std::optional<Known> known_to_handler(std::int64_t id)
{
    const std::vector<std::int64_t> own = job::current_jobs();
    if (own.empty())
        return std::nullopt;
    const pg::Rows rows =
        pg::as_hipq([&] { return select_dependency.run(*job::current_queue(), own, id); });
    if (rows.empty())
        return std::nullopt;
    const pg::Row row = rows.front();
    Known known{row.integer32(0), std::nullopt};
    if (!row.null(1))
        known.kept = Ending{row.text(1), row.raw(2)};
    return known;
}

Ending ending_of(const job::JobStatus &status)
{
    return {status.outcome,
            status.is_final ? status.result : pg::RawValue{JSONBOID, Datum{0}, true}};
}

enum class Wanted : bool { outcome, result };

// Raises 42704 for a job that does not exist or that the caller may not read.
Ending find_ending(std::int64_t id, Wanted wanted)
{
    const auto catalogue = catalog::catalogue();
    const auto known = known_to_handler(id);
    const Queue *queue = known.has_value() ? catalogue->find(known->queue_id) : nullptr;
    const bool may_read = queue == nullptr || wanted == Wanted::outcome ||
                          catalog::may(catalog::caller(), *queue, catalog::Privilege::read);
    if (!may_read)
        job::raise_unknown_job(id);
    if (known.has_value() && known->kept.has_value())
        return *known->kept;
    if (queue == nullptr)
        queue = job::require_job(*catalogue, id, std::nullopt, catalog::Privilege::read).queue;
    const auto status = job::job_status_of(*queue, id);
    if (!status.has_value())
        job::raise_unknown_job(id);
    return ending_of(*status);
}

// A driver that gives its parameters no type calls the function of names for an id, too. No name is
// a number (core/flow/graph.cpp).
std::optional<std::int64_t> id_in(const std::string &name)
{
    std::int64_t id = 0;
    const char *const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data(), end, id);
    return error == std::errc{} && rest == end ? std::optional(id) : std::nullopt;
}

std::int64_t id_of_name(const pg::Arguments &arguments)
{
    const std::string name = arguments.text("name");
    const auto given = arguments.maybe_int64("job");
    if (const auto id = id_in(name); id.has_value() && !given.has_value())
        return *id;
    const std::int64_t job = given.has_value() ? *given : require_job_of_handler().id;
    const auto found = job::job_of_graph(job, name);
    if (found.has_value())
        return found->id;
    if (given.has_value())
        (void)job::require_job(*catalog::catalogue(), job, std::nullopt, catalog::Privilege::read);
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
               errmsg("the graph of job %lld has no job \"%s\"", static_cast<long long>(job),
                      name.c_str()),
               errhint("hipq.enqueue_graph() gives jobs their names; final jobs are removed after "
                       "the queue's retention."));
}

// ---- for views ----

// $1 the job
constexpr const char *member_sql = R"(
    SELECT job.job_type, job.created_time, job.accepted_time, CASE WHEN job.state = 'final' THEN job.update_time END,
           CASE WHEN job.state = 'final' AND job.error <> 'NONE' THEN job.error END, {waits_for of job}
    FROM {table} AS job
    WHERE job.id = $1)";

std::optional<pg::Time> time_of(const pg::Row &row, int column)
{
    return row.null(column) || row.time(column) == pg::infinity ? std::nullopt
                                                                : std::optional(row.time(column));
}

// Shows nothing of a queue that the caller may not read.
void list_member(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64("id");
    pg::ResultSet result(fcinfo);
    const auto catalogue = catalog::catalogue();
    const Queue *queue = catalogue->find(arguments.integer("queue_id"));
    if (queue == nullptr || queue->is_dropped ||
        !catalog::may(catalog::caller(), *queue, catalog::Privilege::read))
        return;
    const auto status = job::job_status_of(*queue, id);
    const pg::Rows rows =
        pg::as_extension_owner([&] { return catalog::statement_for(*queue, member_sql).run(id); });
    if (!status.has_value() || rows.empty())
        return;
    const pg::Row row = rows.front();
    result.add(row.text(0), status->outcome, row.maybe_text(5), time_of(row, 1), time_of(row, 2),
               time_of(row, 3), row.maybe_text(4));
}

Datum return_outcome(std::int64_t id)
{
    return pg::return_text(find_ending(id, Wanted::outcome).outcome);
}

Datum return_result(FunctionCallInfo fcinfo, std::int64_t id)
{
    const Ending ending = find_ending(id, Wanted::result);
    fcinfo->isnull = ending.result.null;
    return ending.result.value;
}

}  // namespace

}  // namespace hipq::flow

HIPQ_FUNCTION(hipq_outcome_of)
{
    return hipq::flow::return_outcome(hipq::pg::Arguments(fcinfo).integer64("id"));
}

HIPQ_FUNCTION(hipq_outcome_of_name)
{
    return hipq::flow::return_outcome(hipq::flow::id_of_name(hipq::pg::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq_result_of)
{
    return hipq::flow::return_result(fcinfo, hipq::pg::Arguments(fcinfo).integer64("id"));
}

HIPQ_FUNCTION(hipq_result_of_name)
{
    return hipq::flow::return_result(fcinfo, hipq::flow::id_of_name(hipq::pg::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq__graph_member)
{
    hipq::flow::list_member(fcinfo);
    return hipq::pg::return_void();
}
