// hipq.report_progress, and the function behind view hipq.progress.
#include "shmem/progress.hpp"

#include "api/arguments.hpp"
#include "api/held_attempt.hpp"
#include "api/sight.hpp"
#include "pg/clock.hpp"
#include "shmem/external_jobs.hpp"
#include "storage/catalogue.hpp"
#include "storage/current_job.hpp"
#include "storage/rights.hpp"

namespace hipq::api {

namespace {

using storage::Privilege;

void check(std::int64_t done, std::optional<std::int64_t> total)
{
    if (done < 0)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("done cannot be negative"));
    if (total.has_value() && *total < 0)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("total cannot be negative"));
    if (total.has_value() && done > *total)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("done %lld is more than total %lld", static_cast<long long>(done), static_cast<long long>(*total)));
}

// Done, total and message, from there on.
shmem::Progress progress_in(const Arguments &arguments, int first)
{
    const std::int64_t done = arguments.integer64(first, "done");
    const std::optional<std::int64_t> total = arguments.maybe_int64(first + 1);
    check(done, total);
    return shmem::make_progress(done, total, arguments.maybe_text(first + 2, core::any_length).value_or(""), pg::now());
}

void report_own(const shmem::Progress &progress)
{
    const storage::CurrentJob &job = storage::require_current_job(
        {"An external worker names its job: hipq.report_progress(id, attempt, done, total).",
         "a handler that takes batches cannot report progress", "Its jobs share one fate. Use a handler of one job."});
    shmem::note_own_progress(job.id, progress);
}

// A job is reported on by the worker that has it, and one that its handler has left running by whoever may complete it.
bool is_callers(const shmem::ExternalJob &job)
{
    const auto catalogue = storage::catalogue();
    const storage::Queue *queue = catalogue->find(job.queue_id);
    if (queue == nullptr || !storage::may(storage::caller(), *queue, Privilege::work))
        return false;
    if (job.worker_id == 0)
        return true;
    const auto worker = shmem::find_worker(job.worker_id);
    return worker.has_value() && worker->role == storage::caller();
}

// False: shared memory does not know the attempt as the caller's.
bool report_to_its_place(AttemptName name, const shmem::Progress &progress)
{
    const auto job = shmem::find_external_job(name.id);
    if (!job.has_value() || job->attempt != name.number || !is_callers(*job))
        return false;
    if (!shmem::note_progress(name.id, name.number, progress))
        return false;
    shmem::note_heartbeat(job->worker_id, nullptr);
    return true;
}

// After a start of the server what workers have is found again piece by piece. A report of such an attempt has no place yet and
// is dropped; its worker is to go on. One of a job of somebody else's gets the error of complete().
void report(AttemptName name, const shmem::Progress &progress)
{
    if (!report_to_its_place(name, progress))
        look_at_attempt(*storage::catalogue(), name);
}

// Of the jobs that the caller may see.
void list_progress(FunctionCallInfo fcinfo)
{
    ResultSet result(fcinfo);
    Sight sight;
    for (const shmem::JobProgress &job : shmem::list_progress()) {
        if (sight.visible(job.queue_id) == nullptr)
            continue;
        const shmem::Progress &progress = job.progress;
        const bool has_total = progress.total != shmem::unknown_total;
        const bool shows_message = progress.message[0] != '\0' && sight.readable(job.queue_id) != nullptr;
        result.add(std::int32_t{job.queue_id}, job.job_id, std::int32_t{job.attempt}, progress.done,
                   has_total ? std::optional(progress.total) : std::nullopt,
                   shows_message ? std::optional(std::string(progress.message)) : std::nullopt, progress.reported,
                   job.pid != 0 ? std::optional<std::int32_t>(job.pid) : std::nullopt,
                   job.pid == 0 ? std::optional(job.worker_id) : std::nullopt);
    }
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_report_own_progress)
{
    hipq::api::report_own(hipq::api::progress_in(hipq::api::Arguments(fcinfo), 0));
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq_report_progress)
{
    const hipq::api::Arguments arguments(fcinfo);
    const hipq::api::AttemptName name{arguments.integer64(0, "id"), arguments.integer(1, "attempt")};
    hipq::api::report(name, hipq::api::progress_in(arguments, 2));
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq__progress)
{
    hipq::api::list_progress(fcinfo);
    return hipq::api::return_void();
}
