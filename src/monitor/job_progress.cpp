// hipq.report_progress, and the function behind view hipq.progress.
#include "shared/workers/jobs.hpp"
#include "shared/workers/progress.hpp"
#include "shared/workers/registered.hpp"

#include "catalog/cache.hpp"
#include "catalog/rights.hpp"
#include "catalog/visible_queues.hpp"
#include "external/external.hpp"
#include "job/current_job.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"

namespace hipq::monitor {

namespace {

using catalog::Privilege;

void check(std::int64_t done, std::optional<std::int64_t> total)
{
    if (done < 0)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("done cannot be negative"));
    if (total.has_value() && *total < 0)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("total cannot be negative"));
    if (total.has_value() && done > *total)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("done %lld is more than total %lld", static_cast<long long>(done),
                          static_cast<long long>(*total)));
}

workers::Progress progress_in(const pg::Arguments &arguments)
{
    const std::int64_t done = arguments.integer64("done");
    const std::optional<std::int64_t> total = arguments.maybe_int64("total");
    check(done, total);
    return workers::make_progress(
        done, total, arguments.maybe_text("message", core::any_length).value_or(""), pg::now());
}

void report_own(const workers::Progress &progress)
{
    const job::CurrentJob &job = job::require_current_job(
        {"An external worker names its job: hipq.report_progress(id, attempt, done, total).",
         "a handler that takes batches cannot report progress",
         "Its jobs share one fate. Use a handler of one job."});
    workers::note_own_progress(job.id, progress);
}

// A job's worker reports on it. If the handler left the job running, every role that may complete
// the job may report on it.
bool is_callers(const workers::ExternalJob &job)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(job.queue_id);
    if (queue == nullptr || !catalog::may(catalog::caller(), *queue, Privilege::work))
        return false;
    if (job.worker_id == 0)
        return true;
    const auto worker = workers::find_worker(job.worker_id);
    return worker.has_value() && worker->role == catalog::caller();
}

// Returns false if shared memory does not know the attempt as the caller's.
bool report_to_its_place(external::AttemptName name, const workers::Progress &progress)
{
    const auto job = workers::find_external_job(name.id);
    if (!job.has_value() || job->attempt != name.number || !is_callers(*job))
        return false;
    if (!workers::note_progress(name.id, name.number, progress))
        return false;
    workers::note_heartbeat(job->worker_id, nullptr);
    return true;
}

// After a start of the server, the jobs of workers are found again piece by piece. A report on a
// job that has not been found yet is dropped, and its worker goes on. A report on another worker's
// job raises the error of complete().
void report(external::AttemptName name, const workers::Progress &progress)
{
    if (!report_to_its_place(name, progress))
        external::look_at_attempt(*catalog::catalogue(), name);
}

// Lists the jobs that the caller may see.
void list_progress(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    catalog::VisibleQueues visible_queues;
    for (const workers::JobProgress &job : workers::list_progress()) {
        if (visible_queues.visible(job.queue_id) == nullptr)
            continue;
        const workers::Progress &progress = job.progress;
        const bool has_total = progress.total != workers::unknown_total;
        const bool shows_message =
            progress.message[0] != '\0' && visible_queues.readable(job.queue_id) != nullptr;
        result.add(std::int32_t{job.queue_id}, job.job_id, std::int32_t{job.attempt}, progress.done,
                   has_total ? std::optional(progress.total) : std::nullopt,
                   shows_message ? std::optional(std::string(progress.message)) : std::nullopt,
                   progress.reported,
                   job.pid != 0 ? std::optional<std::int32_t>(job.pid) : std::nullopt,
                   job.pid == 0 ? std::optional(job.worker_id) : std::nullopt);
    }
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq_report_own_progress)
{
    hipq::monitor::report_own(hipq::monitor::progress_in(hipq::pg::Arguments(fcinfo)));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_report_progress)
{
    const hipq::pg::Arguments arguments(fcinfo);
    const hipq::external::AttemptName name{arguments.integer64("id"), arguments.integer("attempt")};
    hipq::monitor::report(name, hipq::monitor::progress_in(arguments));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__progress)
{
    hipq::monitor::list_progress(fcinfo);
    return hipq::pg::return_void();
}
