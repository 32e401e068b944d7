// hipq.fail_job: an operator gives up an attempt, or a job, that nothing else ends.
//
// An executor itself stops the jobs that it runs (timeout, hipq.cancel), so they are refused. The
// attempt of an external worker fails with a transient error; the worker's own answer then comes
// too late. A job that has no attempt to give up is given up itself, and a dead letter keeps it.
#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "job/find_job.hpp"
#include "job/lock_attempt.hpp"
#include "nodes/nodes.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "retry/retry.hpp"
#include "shared/executors/pending_decisions.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/memory/registry.hpp"
#include "shared/workers/jobs.hpp"

namespace hipq::admin {

namespace {

using job::FoundJob;

constexpr const char *select_attempt_sql =
    "SELECT job.attempt, job.state::text FROM {table} AS job WHERE job.id = $1";

pg::Rows attempt_of(const FoundJob &job)
{
    return pg::as_hipq(
        [&] { return catalog::statement_for(*job.queue, select_attempt_sql).run(job.id); });
}

[[noreturn]] void refuse(const FoundJob &job, const char *detail, const char *hint)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("cannot fail job %lld", static_cast<long long>(job.id)),
               errdetail("%s", detail), errhint("%s", hint));
}

bool fail_running(const FoundJob &job, const std::string &error)
{
    const catalog::Queue &queue = *job.queue;
    const pg::Rows rows = attempt_of(job);
    const auto running =
        rows.empty() ? std::nullopt : job::take_running(queue, job.id, rows.front().integer32(0));
    if (!running.has_value())
        return false;
    const retry::Resolved resolved = retry::resolve_failure(
        queue, *running, {core::Reason::transient_error, "", error}, pg::now());
    if (resolved == retry::Resolved::ask_retry_handler)
        executors::note_decision({MyDatabaseId, queue.owner, queue.id, job.id});
    return resolved != retry::Resolved::stale;
}

bool fail(const FoundJob &job, const std::string &error)
{
    if (job.state == core::JobState::running)
        return fail_running(job, error);
    return retry::end_cancelled(*job.queue, job.id, {core::Reason::explicit_failure, "", error},
                                pg::now());
}

// Returns the state in the row: until this transaction has committed, shared memory still says that
// the attempt runs. A final job has no row in a queue that keeps no final rows.
std::string state_after(const FoundJob &job)
{
    const pg::Rows rows = attempt_of(job);
    return rows.empty() ? std::string(core::name(core::JobState::final)) : rows.front().text(1);
}

// Refuses bad text, because an operator can try again. A failure that a worker reports always
// counts.
void check_error(const std::string &error)
{
    if (error.empty() || error == "NONE")
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("error cannot be empty or \"NONE\""), errhint("Say why the job failed."));
}

std::string fail_job(std::int64_t id, const std::string &error,
                     const std::optional<std::string> &queue)
{
    check_error(error);
    const auto catalogue = catalog::catalogue();
    const auto found = job::find_permitted_job(*catalogue, id, queue, catalog::Privilege::operate);
    if (!found.has_value())
        return nodes::call_for_job(*catalogue, {"fail_job", id, {error, queue}, queue});
    const FoundJob &job = *found;
    if (job.state == core::JobState::final)
        refuse(job, "It is final.", "Use hipq.retry() to run it again as a new job.");
    if (memory::is_loaded() && lanes::is_running(MyDatabaseId, id) &&
        !workers::is_with_worker(MyDatabaseId, id))
        refuse(job, "An executor runs it.",
               "Use hipq.cancel() to stop it; its timeout stops it too.");
    if (!fail(job, error))
        refuse(job, "Another session holds it, or it has just changed.", "Try again.");
    return state_after(job);
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_fail_job)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return hipq::pg::return_text(hipq::admin::fail_job(
        arguments.integer64("id"), arguments.text("error", hipq::core::any_length),
        arguments.maybe_text("queue")));
}
