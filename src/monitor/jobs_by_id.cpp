// Finds jobs by their ids, for views: hipq._jobs_by_id(), and hipq._unfinished_job() for a job
// whose queue is known.
#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/visible_queues.hpp"
#include "job/id_index.hpp"
#include "pg/arguments.hpp"
#include "pg/transaction.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/builtins.h"
}

namespace hipq::monitor {

namespace {

constexpr const char *jobs_sql = "SELECT job::hipq.job FROM {table} AS job WHERE job.id = ANY ($1)";

constexpr const char *unfinished_sql = R"(
    SELECT job.state::text, job.job_type, job.job_key, job.throttle_key, job.throttle_factor::text, job.timeout,
           CASE WHEN job.accepted_time < '9999-01-01 00:00:00+00' THEN job.accepted_time END
    FROM {live} AS job
    WHERE job.id = $1)";

// ---- call inside pg::call() only ----

Datum numeric(const char *text)
{
    return DirectFunctionCall3(::numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid),
                               Int32GetDatum(-1));
}

// Skips NULL elements.
List *pointers_to_ids(Datum array)
{
    Datum *elements = nullptr;
    bool *nulls = nullptr;
    int count = 0;
    ::deconstruct_array(DatumGetArrayTypeP(array), INT8OID, sizeof(std::int64_t), true,
                        TYPALIGN_DOUBLE, &elements, &nulls, &count);
    List *ids = NIL;
    for (int i = 0; i < count; ++i)
        if (!nulls[i])
            ids = ::lappend(ids, &elements[i]);
    return ids;
}

// ---- C++ ----

std::vector<std::int64_t> ids_in(FunctionCallInfo fcinfo)
{
    const List *pointers = pg::call([&] { return pointers_to_ids(PG_GETARG_DATUM(0)); });
    std::vector<std::int64_t> ids;
    ids.reserve(static_cast<std::size_t>(list_length(pointers)));
    for (int i = 0; i < list_length(pointers); ++i)
        ids.push_back(DatumGetInt64(*static_cast<Datum *>(list_nth(pointers, i))));
    return ids;
}

// Returns the queues that the caller may read and that may have one of the ids.
std::vector<std::int32_t> queues_that_may_have(catalog::VisibleQueues &visible_queues,
                                               const std::vector<std::int64_t> &ids)
{
    std::vector<std::int32_t> queues = visible_queues.readable();
    std::erase_if(queues, [&](int queue_id) {
        return !job::may_have(*visible_queues.readable(queue_id), ids);
    });
    return queues;
}

pg::Rows jobs_of(const catalog::Queue &queue, const std::vector<std::int64_t> &ids)
{
    return pg::as_extension_owner(
        [&] { return catalog::statement_for(queue, jobs_sql).run_in_snapshot(ids); });
}

void list_jobs(FunctionCallInfo fcinfo)
{
    const std::vector<std::int64_t> ids = ids_in(fcinfo);
    pg::ResultSet result(fcinfo);
    catalog::VisibleQueues visible_queues;
    for (const int queue_id : catalog::reachable(queues_that_may_have(visible_queues, ids)))
        for (const pg::Row job : jobs_of(*visible_queues.readable(queue_id), ids))
            result.add_composite(job.raw(0));
}

void list_unfinished(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const int queue_id = arguments.integer("queue_id");
    const std::int64_t id = arguments.integer64("id");
    pg::ResultSet result(fcinfo);
    catalog::VisibleQueues visible_queues;
    const catalog::Queue *queue = visible_queues.visible(queue_id);
    if (queue == nullptr || catalog::reachable({queue_id}).empty())
        return;
    const pg::Rows rows = pg::as_extension_owner(
        [&] { return catalog::statement_for(*queue, unfinished_sql).run_in_snapshot(id); });
    const bool may_see_key = visible_queues.readable(queue_id) != nullptr;
    for (const pg::Row job : rows) {
        const std::string factor = job.text(4);
        const Datum throttle_factor = pg::call([&] { return numeric(factor.c_str()); });
        result.add(job.text(0), job.text(1),
                   may_see_key ? job.maybe_text(2) : std::optional<std::string>(), job.text(3),
                   pg::RawValue{NUMERICOID, throttle_factor}, job.integer32(5),
                   job.null(6) ? std::nullopt : std::optional(job.time(6)));
    }
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__jobs_by_id)
{
    hipq::monitor::list_jobs(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__unfinished_job)
{
    hipq::monitor::list_unfinished(fcinfo);
    return hipq::pg::return_void();
}
