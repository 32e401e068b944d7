// hipq.fail_job: an operator gives up an attempt, or a job, that nothing else ends.
//
// An executor stops what it runs itself (timeout, hipq.cancel), so its jobs are left to it. What an external worker has fails
// like any attempt that went wrong on the way; that worker's own answer comes too late then. A job without an attempt to give up
// is given up itself, and a dead letter keeps it.
#include "api/arguments.hpp"
#include "api/checks.hpp"
#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "shmem/decisions.hpp"
#include "shmem/external_jobs.hpp"
#include "storage/find_job.hpp"
#include "storage/lock_attempt.hpp"
#include "storage/permit.hpp"
#include "storage/queue_statements.hpp"
#include "storage/settle.hpp"

namespace hipq::api {

namespace {

using storage::FoundJob;

constexpr const char *select_attempt_sql = "SELECT job.attempt, job.state::text FROM {table} AS job WHERE job.id = $1";

pg::Rows attempt_of(const FoundJob &job)
{
    return storage::as_hipq([&] { return storage::statement_for(*job.queue, select_attempt_sql).run(job.id); });
}

[[noreturn]] void refuse(const FoundJob &job, const char *detail, const char *hint)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("cannot fail job %lld", static_cast<long long>(job.id)),
               errdetail("%s", detail), errhint("%s", hint));
}

bool fail_running(const FoundJob &job, const std::string &error)
{
    const storage::Queue &queue = *job.queue;
    const pg::Rows rows = attempt_of(job);
    const auto running = rows.empty() ? std::nullopt : storage::take_running(queue, job.id, rows.front().integer32(0));
    if (!running.has_value())
        return false;
    const storage::Settled settled =
        storage::settle_failure(queue, *running, {core::Reason::transient_error, "", error}, pg::now());
    if (settled == storage::Settled::ask_retry_handler)
        shmem::note_decision({MyDatabaseId, queue.owner, queue.id, job.id});
    return settled != storage::Settled::stale;
}

bool fail(const FoundJob &job, const std::string &error)
{
    if (job.state == core::JobState::running)
        return fail_running(job, error);
    return storage::end_cancelled(*job.queue, job.id, {core::Reason::explicit_failure, "", error}, pg::now());
}

// As its row has it: until this transaction has committed, shared memory tells everybody that the attempt runs. A final job has
// none in a queue that keeps no such rows.
std::string state_after(const FoundJob &job)
{
    const pg::Rows rows = attempt_of(job);
    return rows.empty() ? std::string(core::name(core::JobState::final)) : rows.front().text(1);
}

std::string fail_job(std::int64_t id, const std::string &error, const std::optional<std::string> &queue)
{
    check_error(error);
    const auto catalogue = storage::catalogue();
    const FoundJob job = storage::require_job(*catalogue, id, queue, storage::Privilege::control);
    if (job.state == core::JobState::final)
        refuse(job, "It is final.", "Use hipq.retry() to run it again as a new job.");
    if (shmem::is_loaded() && shmem::is_running(MyDatabaseId, id) && !shmem::is_with_worker(MyDatabaseId, id))
        refuse(job, "An executor runs it.", "Use hipq.cancel() to stop it; its timeout stops it too.");
    if (!fail(job, error))
        refuse(job, "Another session holds it, or it has just changed.", "Try again.");
    return state_after(job);
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_fail_job)
{
    const hipq::api::Arguments arguments(fcinfo);
    return hipq::api::return_text(hipq::api::fail_job(
        arguments.integer64(0, "id"), arguments.text(1, "error", hipq::core::any_length), arguments.maybe_text(2)));
}
