// hipq.enqueued, run_until_idle and dry_run: for the tests of those who use hipq.
#include "api/arguments.hpp"
#include "api/checks.hpp"
#include "settings.hpp"
#include "storage/current_job.hpp"
#include "storage/find_job.hpp"
#include "storage/permit.hpp"
#include "storage/quote.hpp"
#include "worker/run_in_session.hpp"

namespace hipq::api {

namespace {

using storage::Privilege;
using storage::Queue;

// ---- enqueued ----

// $1 queues, $2 job type. One that follows another job has no row of its own yet.
constinit pg::Statement select_waiting(R"(
    SELECT waiting.job
    FROM (
        SELECT job.id, job
        FROM hipq.job AS job
        WHERE job.queue_id = ANY ($1) AND job.state IN ('initial', 'retry') AND NOT hipq._is_running(job.queue_id, job.id)
        UNION ALL
        SELECT entry.id, entry
        FROM hipq.successor AS successor
        CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, successor.job) AS entry
        WHERE successor.queue_id = ANY ($1)
    ) AS waiting
    WHERE $2 IS NULL OR (waiting.job).job_type = $2
    ORDER BY waiting.id)");

std::vector<std::int64_t> queues_to_read(const storage::Catalogue &catalogue, const std::optional<std::string> &name)
{
    std::vector<std::int64_t> ids;
    if (name.has_value()) {
        const Queue &queue = storage::require_known_queue(catalogue, *name);
        storage::require(queue, Privilege::read);
        ids.push_back(queue.id);
        return ids;
    }
    for (const auto &[id, queue] : catalogue.queues)
        if (!queue.is_dropped && storage::may(storage::caller(), queue, Privilege::read))
            ids.push_back(id);
    return ids;
}

void list_enqueued(FunctionCallInfo fcinfo)
{
    const Arguments arguments(fcinfo);
    ResultSet result(fcinfo);
    const auto catalogue = storage::catalogue();
    const std::vector<std::int64_t> queues = queues_to_read(*catalogue, arguments.maybe_text(1));
    const pg::Rows rows = storage::as_hipq([&] { return select_waiting.run(queues, arguments.maybe_text(0)); });
    for (const pg::Row row : rows)
        result.add_composite(row.raw(0));
}

// ---- running jobs here ----

// A handler would run jobs within a job; the snapshot of another isolation level would not see what others have done meanwhile.
void demand_a_place_to_run(const char *function)
{
    if (storage::runs_jobs())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("a handler cannot run other jobs"),
                   errhint("It can enqueue them: they run when it has ended."));
    if (IsolationUsesXactSnapshot())
        HIPQ_RAISE(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
                   errmsg("cannot run jobs in a transaction of isolation level %s",
                          XactIsoLevel == XACT_SERIALIZABLE ? "SERIALIZABLE" : "REPEATABLE READ"),
                   errhint("Use a transaction of isolation level READ COMMITTED."));
    pg::call([&] { ::PreventCommandIfReadOnly(function); });
}

// In a session of its owner's a handler can do nothing that its owner could not do anyway. In another there are rights and things
// that are not the owner's.
void demand_own_session(const Queue &queue)
{
    if (settings::allow_foreign_handlers || (::GetUserId() == queue.owner && ::GetSessionUserId() == queue.owner))
        return;
    const std::string name = queue.full_name();
    const std::string owner = storage::quote_name(require_role(queue.owner));
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("handlers of queue \"%s\" would run in the session of another role", name.c_str()),
               errdetail("They are the queue owner's code, and you may have rights that the owner has not."),
               errhint("Run SET SESSION AUTHORIZATION %s first, or SET hipq.allow_foreign_handlers = on if you trust them.",
                       owner.c_str()));
}

std::int32_t run_until_idle(const std::string &name, std::int32_t max_jobs)
{
    demand_a_place_to_run("hipq.run_until_idle()");
    const auto most = static_cast<int>(check_most(max_jobs));
    const auto catalogue = storage::catalogue();
    const Queue &queue = require_own_queue(*catalogue, name);
    demand_own_session(queue);
    return worker::run_until_idle(queue.id, most);
}

void refuse_state(const storage::FoundJob &job)
{
    const std::string state(core::name(job.state));
    if (job.follows || job.state == core::JobState::running || job.state == core::JobState::error)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("cannot try job %lld", static_cast<long long>(job.id)),
                   job.follows ? errdetail("It has no row of its own before the job that holds its key has finished.")
                               : errdetail("It is in state \"%s\".", state.c_str()),
                   errhint("A waiting or final job can be tried."));
}

Datum dry_run(FunctionCallInfo fcinfo)
{
    const Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64(0, "id");
    demand_a_place_to_run("hipq.dry_run()");
    const auto catalogue = storage::catalogue();
    const storage::FoundJob job = storage::require_job(*catalogue, id, arguments.maybe_text(1), Privilege::control);
    storage::require_owner(*job.queue);
    demand_own_session(*job.queue);
    refuse_state(job);
    const worker::Trial trial = worker::try_handler(*job.queue, id);
    const std::string error = trial.error.has_value() ? trial.error->message() : std::string(core::none_text);
    const auto sqlstate = trial.error.has_value() ? std::optional(trial.error->sqlstate()) : std::nullopt;
    return return_row(fcinfo, trial.result, error, sqlstate, interval_of(trial.duration));
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_enqueued)
{
    hipq::api::list_enqueued(fcinfo);
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq_run_until_idle)
{
    const hipq::api::Arguments arguments(fcinfo);
    return hipq::api::return_int(hipq::api::run_until_idle(arguments.text(0, "queue"), arguments.integer(1, "max_jobs")));
}

HIPQ_FUNCTION(hipq_dry_run)
{
    return hipq::api::dry_run(fcinfo);
}
