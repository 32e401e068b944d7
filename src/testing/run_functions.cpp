// hipq.enqueued, run_until_idle, dry_run and dry_fail: for the tests of hipq's users.
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/rights.hpp"
#include "job/current_job.hpp"
#include "job/find_job.hpp"
#include "job/finish.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "settings.hpp"
#include "testing/run_in_session.hpp"

namespace hipq::testing {

namespace {

using catalog::Privilege;
using catalog::Queue;

// ---- enqueued ----

// $1 queues, $2 job type
constinit pg::Statement select_waiting(R"(
    SELECT job
    FROM hipq.job AS job
    WHERE job.queue_id = ANY ($1) AND job.state IN ('initial', 'retry') AND NOT hipq._is_running(job.queue_id, job.id)
      AND ($2 IS NULL OR job.job_type = $2)
    ORDER BY job.id)");

std::vector<std::int64_t> queues_to_read(const catalog::Catalogue &catalogue,
                                         const std::optional<std::string> &name)
{
    std::vector<std::int64_t> ids;
    if (name.has_value()) {
        const Queue &queue = catalog::require_known_queue(catalogue, *name);
        catalog::require(queue, Privilege::read);
        ids.push_back(queue.id);
        return ids;
    }
    for (const auto &[id, queue] : catalogue.queues)
        if (!queue.is_dropped && catalog::may(catalog::caller(), queue, Privilege::read))
            ids.push_back(id);
    return ids;
}

void list_enqueued(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    pg::ResultSet result(fcinfo);
    const auto catalogue = catalog::catalogue();
    const std::vector<std::int64_t> queues =
        queues_to_read(*catalogue, arguments.maybe_text("queue"));
    if (queues.empty())  // without a queue the statement would open, and lock, the tables of all
                         // queues
        return;
    const pg::Rows rows =
        pg::as_hipq([&] { return select_waiting.run(queues, arguments.maybe_text("job_type")); });
    for (const pg::Row row : rows)
        result.add_composite(row.raw(0));
}

// ---- running jobs here ----

// A handler would run jobs within a job, and the snapshot of another isolation level would not see
// later changes by others.
void demand_a_place_to_run(const char *function)
{
    if (job::runs_jobs())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("a handler cannot run other jobs"),
                   errhint("It can enqueue them: they run when it has ended."));
    if (IsolationUsesXactSnapshot())
        HIPQ_RAISE(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
                   errmsg("cannot run jobs in a transaction of isolation level %s",
                          XactIsoLevel == XACT_SERIALIZABLE ? "SERIALIZABLE" : "REPEATABLE READ"),
                   errhint("Use a transaction of isolation level READ COMMITTED."));
    pg::call([&] { ::PreventCommandIfReadOnly(function); });
}

// In a session of the queue owner, a handler can do nothing that the owner could not do anyway.
// Another session has rights and objects that are not the owner's.
void demand_own_session(const Queue &queue)
{
    if (settings::allow_foreign_handlers ||
        (::GetUserId() == queue.owner && ::GetSessionUserId() == queue.owner))
        return;
    const std::string name = queue.full_name();
    const std::string owner = pg::quote_name(catalog::require_role(queue.owner));
    HIPQ_RAISE(
        errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
        errmsg("handlers of queue \"%s\" would run in the session of another role", name.c_str()),
        errdetail(
            "They are the queue owner's code, and you may have rights that the owner has not."),
        errhint("Run SET SESSION AUTHORIZATION %s first, or SET hipq.allow_foreign_handlers = on "
                "if you trust them.",
                owner.c_str()));
}

std::int32_t run_until_queue_is_idle(const std::string &name, std::int32_t max_jobs)
{
    demand_a_place_to_run("hipq.run_until_idle()");
    const auto most = static_cast<int>(catalog::check_most(max_jobs));
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_own_queue(*catalogue, name);
    demand_own_session(queue);
    return run_until_idle(queue.id, most);
}

void refuse_state(const job::FoundJob &job)
{
    const std::string state(core::name(job.state));
    if (job.state == core::JobState::running || job.state == core::JobState::error)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("cannot try job %lld", static_cast<long long>(job.id)),
                   errdetail("It is in state \"%s\".", state.c_str()),
                   errhint("A waiting or final job can be tried."));
}

Datum dry_run(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64("id");
    demand_a_place_to_run("hipq.dry_run()");
    const auto catalogue = catalog::catalogue();
    const job::FoundJob job =
        job::require_job(*catalogue, id, arguments.maybe_text("queue"), Privilege::control);
    catalog::require_owner(*job.queue);
    demand_own_session(*job.queue);
    refuse_state(job);
    const Trial trial = try_handler(*job.queue, id);
    const auto error =
        trial.error.has_value() ? std::optional(trial.error->message()) : std::nullopt;
    const auto sqlstate =
        trial.error.has_value() ? std::optional(trial.error->sqlstate()) : std::nullopt;
    return pg::return_row(fcinfo, trial.result, error, sqlstate, pg::interval_of(trial.duration));
}

// A retry handler is the owner's code, as a handler is; a policy is not secret.
Datum dry_fail(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64("id");
    const bool is_retriable = arguments.boolean("retriable");
    job::Failure failure{is_retriable ? core::Reason::transient_error
                                      : core::Reason::explicit_failure,
                         "", arguments.text("error", core::any_length)};
    if (arguments.has("retry_after"))
        failure.retry_after =
            catalog::check_delay("retry_after", *arguments.maybe_duration("retry_after"));
    demand_a_place_to_run("hipq.dry_fail()");
    const auto catalogue = catalog::catalogue();
    const job::FoundJob job =
        job::require_job(*catalogue, id, arguments.maybe_text("queue"), Privilege::control);
    const catalog::JobType *type = job.queue->find_job_type(job.type);
    if (type != nullptr && type->retry_handler != "NONE") {
        catalog::require_owner(*job.queue);
        demand_own_session(*job.queue);
    }
    refuse_state(job);
    const pg::RawValue delay = pg::interval_of(try_failure(*job.queue, id, failure));
    fcinfo->isnull = delay.null;
    return delay.value;
}

}  // namespace

}  // namespace hipq::testing

HIPQ_FUNCTION(hipq_enqueued)
{
    hipq::testing::list_enqueued(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_run_until_idle)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return hipq::pg::return_int(hipq::testing::run_until_queue_is_idle(
        arguments.text("queue"), arguments.integer("max_jobs")));
}

HIPQ_FUNCTION(hipq_dry_run)
{
    return hipq::testing::dry_run(fcinfo);
}

HIPQ_FUNCTION(hipq_dry_fail)
{
    return hipq::testing::dry_fail(fcinfo);
}
