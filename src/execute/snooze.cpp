// hipq.snooze, hipq.complete_later and hipq.extend: more time for a job, which comes again later,
// which another session completes, or which runs.
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/rights.hpp"
#include "job/current_job.hpp"
#include "job/find_job.hpp"
#include "nodes/nodes.hpp"
#include "pg/arguments.hpp"
#include "shared/executors/stop_control.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::execute {

namespace {

// How often to look again at a job whose handler is about to start, or has just ended.
constexpr int most_looks = 50;
constexpr long pause_microseconds = 10'000;

[[noreturn]] void raise_stopping()
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("the job is being stopped"),
               errdetail("It has exceeded its timeout, or was cancelled."));
}

// The longest time, in seconds, that jobs of this session's queue may run.
std::int64_t longest_of_current()
{
    const auto catalogue = catalog::catalogue();
    const auto id = job::current_queue();
    const catalog::Queue *queue = id.has_value() ? catalogue->find(*id) : nullptr;
    return queue == nullptr ? core::JobCaps{}.max_timeout : queue->caps.max_timeout;
}

pg::Time extend_own(std::int64_t more)
{
    const std::int64_t seconds = catalog::check_more(more);
    const std::int64_t most = longest_of_current();
    const executors::Extended extended =
        memory::is_loaded() ? executors::extend_own_deadline(seconds, most)
                            : executors::Extended{executors::ExtendAnswer::not_running, {}};
    if (extended.answer == executors::ExtendAnswer::too_long)
        catalog::raise_too_long(most);
    if (extended.answer == executors::ExtendAnswer::stopping)
        raise_stopping();
    if (extended.answer != executors::ExtendAnswer::extended && job::runs_jobs())
        return pg::infinity;  // in a client's session jobs have no deadline
    if (extended.answer != executors::ExtendAnswer::extended)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("no job runs in this session"),
                   errhint("Name the job: hipq.extend_job(id, more)."));
    return extended.deadline;
}

[[noreturn]] void raise_not_running(const job::FoundJob &job)
{
    const std::string state(core::name(job.state));
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("job %lld does not run", static_cast<long long>(job.id)),
               job.state == core::JobState::running
                   ? errdetail("It is just being started or finished.")
                   : errdetail("It is in state \"%s\".", state.c_str()),
               job.state == core::JobState::final
                   ? errhint("Use hipq.retry() to run it again as a new job.")
                   : errhint("Only a job whose handler runs can be given more time."));
}

executors::Extended try_to_extend(std::int64_t id, std::int64_t seconds, std::int64_t most)
{
    return memory::is_loaded() ? executors::extend_deadline(MyDatabaseId, id, seconds, most)
                               : executors::Extended{executors::ExtendAnswer::not_running, {}};
}

pg::Time extend_elsewhere(const catalog::Catalogue &catalogue, std::int64_t id,
                          std::int64_t seconds, const std::optional<std::string> &queue)
{
    const std::string more = std::to_string(seconds) + " s";
    return nodes::time_of(nodes::call_for_job(catalogue, {"extend_job", id, {more, queue}, queue}));
}

// A handler that extends its own job does not open the queue's tables: their locks would keep the
// tables from being changed until the handler ends.
pg::Time extend(std::int64_t id, std::int64_t more, const std::optional<std::string> &queue)
{
    if (job::is_current_job(id))
        return extend_own(more);
    const std::int64_t seconds = catalog::check_more(more);
    const auto catalogue = catalog::catalogue();
    const auto job = job::find_permitted_job(*catalogue, id, queue, catalog::Privilege::operate);
    if (!job.has_value())
        return extend_elsewhere(*catalogue, id, seconds, queue);
    const std::int64_t most = job->queue->caps.max_timeout;
    executors::Extended extended = try_to_extend(id, seconds, most);
    for (int look = 1; look < most_looks && extended.answer == executors::ExtendAnswer::changing;
         ++look) {
        pg::call([] {
            CHECK_FOR_INTERRUPTS();
            ::pg_usleep(pause_microseconds);
        });
        extended = try_to_extend(id, seconds, most);
    }
    if (extended.answer == executors::ExtendAnswer::stopping)
        raise_stopping();
    if (extended.answer == executors::ExtendAnswer::too_long)
        catalog::raise_too_long(most);
    if (extended.answer != executors::ExtendAnswer::extended)
        raise_not_running(job::require_job(*catalogue, id, queue, catalog::Privilege::operate));
    return extended.deadline;
}

}  // namespace

}  // namespace hipq::execute

HIPQ_FUNCTION(hipq_snooze)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::job::request_snooze(hipq::catalog::check_delay("delay", arguments.duration("delay")));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_complete_later)
{
    (void)fcinfo;
    hipq::job::request_complete_later();
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_extend)
{
    const hipq::pg::Arguments arguments(fcinfo);
    const hipq::pg::Time deadline = hipq::execute::extend(
        arguments.integer64("id"), arguments.duration("more"), arguments.maybe_text("queue"));
    if (deadline == hipq::pg::infinity)
        PG_RETURN_NULL();
    return TimestampTzGetDatum(deadline.value);
}

HIPQ_FUNCTION(hipq_extend_own)
{
    const hipq::pg::Time deadline =
        hipq::execute::extend_own(hipq::pg::Arguments(fcinfo).duration("more"));
    if (deadline == hipq::pg::infinity)
        PG_RETURN_NULL();
    return TimestampTzGetDatum(deadline.value);
}
