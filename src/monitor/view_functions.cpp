// hipq.why and the functions behind the views.
#include "catalog/cache.hpp"
#include "catalog/identity.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "catalog/visible_queues.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "core/limits/breaker_text.hpp"
#include "job/current_job.hpp"
#include "job/find_job.hpp"
#include "monitor/job_conditions.hpp"
#include "monitor/remote_status.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/executors/executor_table.hpp"
#include "shared/executors/running_jobs.hpp"
#include "shared/lanes/capacity.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/lanes/rates.hpp"
#include "shared/workers/jobs.hpp"

#include <cmath>

namespace hipq::monitor {

namespace {

// ---- why ----

// $1 the job, $2 whether its error may be shown: only its first line, shortened.
constexpr const char *end_sql = R"(
    SELECT CASE
               WHEN job.error = 'NONE' THEN 'it succeeded'
               WHEN job.retry_reason = 'cancelled' THEN 'it was cancelled'
               WHEN job.retry_reason = 'expired' THEN 'it expired'
               WHEN job.retry_reason = 'skipped' THEN 'it was skipped'
               ELSE 'it failed'
           END, job.update_time, job.attempt,
           CASE WHEN $2 AND job.error <> 'NONE' THEN left(split_part(job.error, E'\n', 1), 200) END
    FROM {table} AS job
    WHERE job.id = $1 AND job.state = 'final')";

// Returns how a job ended; nothing if it is gone by now.
std::optional<std::string> end_of(const job::FoundJob &job, bool may_read)
{
    return pg::as_hipq([&]() -> std::optional<std::string> {
        const pg::Rows rows = catalog::statement_for(*job.queue, end_sql).run(job.id, may_read);
        if (rows.empty())
            return std::nullopt;
        const pg::Row row = rows.front();
        std::string end = "The job is final: " + row.text(0);
        const std::string error = row.text(3);
        const int attempts = row.integer32(2);
        end += " at " + pg::clock_text(row.time(1));
        if (attempts > 0)
            end += ", in attempt " + std::to_string(attempts);
        return end + (error.empty() ? "." : ": " + error);
    });
}

void why(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64("id");
    pg::ResultSet result(fcinfo);
    const auto catalogue = catalog::catalogue();
    const auto job = job::find_job(*catalogue, id, arguments.maybe_text("queue"));
    const Oid role = catalog::caller();
    const bool may_read =
        job.has_value() && catalog::may(role, *job->queue, catalog::Privilege::read);
    const bool may_know =
        may_read ||
        (job.has_value() && catalog::may(role, *job->queue, catalog::Privilege::operate));
    if (!may_know) {
        explain_elsewhere(result, *catalogue, id, arguments.maybe_text("queue"));
        return;
    }
    std::vector<claim::Condition> conditions = conditions_of(*job);
    if (core::is_waiting(job->state))
        conditions.push_back(lane_condition(*job));
    const std::optional<std::string> end =
        job->state == core::JobState::final ? end_of(*job, may_read) : std::nullopt;
    for (const claim::Condition &condition : conditions)
        result.add(core::name(condition.kind()), condition.passed(),
                   condition.finding() == core::Finding::job_is_final && end
                       ? *end
                       : claim::explain(condition));
}

// ---- what a kind of jobs waits for ----

// Returns nothing if the caller may not know.
std::optional<std::string> first_unmet_condition_of(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(arguments.integer("queue_id"));
    if (queue == nullptr || catalog::VisibleQueues().visible(queue->id) == nullptr)
        return std::nullopt;
    const std::string type = arguments.text("job_type");
    const double factor = arguments.maybe_number("throttle_factor").value_or(0);
    return first_unmet_condition(
        *queue,
        {0, core::JobState::initial, type, pg::now(), pg::infinity, arguments.text("time_windows"),
         claim::time_zone_of(queue->id, type), arguments.text("throttle_key"),
         static_cast<core::Weight>(std::llround(factor * core::weight_unit))});
}

// ---- executors ----

const char *status_of(const executors::ExecutorSlot &slot)
{
    switch (slot.state) {
    case executors::ExecutorState::requested:
        return "requested";
    case executors::ExecutorState::starting:
        return "starting";
    case executors::ExecutorState::idle:
        return "idle";
    case executors::ExecutorState::running:
        return slot.stop_control.reported ? "unresponsive" : "running";
    case executors::ExecutorState::orphaned:
        return "ended";
    case executors::ExecutorState::free:
        break;
    }
    return "free";
}

bool has_job(const executors::ExecutorSlot &slot)
{
    return slot.job.id != 0 && slot.job.attempt != 0;
}

// Monitors see the whole server. Others see the executors of this database that run a job of a
// queue that they may read and, of those without a job, the ones of roles whose rights they have.
bool is_visible(catalog::VisibleQueues &visible_queues, const executors::ExecutorSlot &slot)
{
    if (visible_queues.is_whole() || slot.database != MyDatabaseId)
        return visible_queues.is_whole();
    if (has_job(slot))
        return visible_queues.visible(slot.job.queue_id) != nullptr;
    return pg::call([&] { return ::has_privs_of_role(::GetUserId(), slot.role); });
}

void list_executors(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    catalog::VisibleQueues visible_queues;
    for (const executors::ExecutorSlot &slot : executors::list_executors()) {
        if (!is_visible(visible_queues, slot))
            continue;
        const bool has_process = slot.pid != 0;
        const auto if_job = [&](auto value) {
            return has_job(slot) ? std::optional(value) : std::nullopt;
        };
        result.add(has_process ? std::optional<std::int32_t>(slot.pid) : std::nullopt,
                   slot.database, slot.role, status_of(slot),
                   has_process ? std::optional<pg::Time>(slot.started) : std::nullopt,
                   if_job(std::int32_t{slot.job.queue_id}), if_job(slot.job.id),
                   if_job(std::int32_t{slot.job.attempt}), if_job(std::string(slot.job.type)),
                   if_job(slot.job.started), slot.jobs_done);
    }
}

// Lists the jobs of this database that the caller may see.
void list_running_jobs(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    catalog::VisibleQueues visible_queues;
    for (const executors::RunningEntry &entry : executors::list_running_jobs())
        if (entry.database == MyDatabaseId && entry.job.attempt != 0 &&
            visible_queues.visible(entry.job.queue_id) != nullptr)
            result.add(entry.pid, entry.job.queue_id, entry.job.id, entry.job.attempt,
                       std::string(entry.job.type), entry.job.started, entry.job.is_locked,
                       entry.deadline == pg::infinity ? std::nullopt
                                                      : std::optional(entry.deadline),
                       std::optional<std::int64_t>(), std::optional<bool>());
    for (const workers::ExternalJob &job : workers::list_external_jobs())
        if (visible_queues.visible(job.queue_id) != nullptr)
            result.add(std::optional<std::int32_t>(), std::int32_t{job.queue_id}, job.id,
                       std::int32_t{job.attempt}, std::optional<std::string>(),
                       std::optional<pg::Time>(), false, job.deadline, job.worker_id,
                       job.is_accepted);
}

// ---- lanes ----

void list_lanes(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    catalog::VisibleQueues visible_queues;
    for (const lanes::LaneInfo &info : lanes::list_lanes())
        if (const auto lane = visible_queues.visible(info.name.queue_id) != nullptr
                                  ? lanes::copy_lane(info.ref)
                                  : std::nullopt)
            result.add(std::int32_t{info.name.queue_id}, std::string(info.name.type),
                       std::int32_t{info.name.priority}, info.due, pg::Time{lane->frontier.time},
                       lane->frontier.id, static_cast<std::int32_t>(lane->pockets.count),
                       static_cast<std::int32_t>(lane->inbox_count), lane->owner != core::no_owner);
}

// ---- limiters ----

// What a limiter or a rate is of: a queue (no type) or a job type.
struct LimitedObject {
    std::int32_t queue_id;
    std::optional<std::string> type;
};

// Nothing: the catalogue does not know it, the caller may not see it, or it is a key, whose text is
// not stored.
std::optional<LimitedObject> object_of(catalog::VisibleQueues &visible_queues,
                                       const core::LimiterName &name)
{
    const catalog::Queue *queue = visible_queues.visible(name.queue_id);
    if (queue == nullptr || name.key != 0)
        return std::nullopt;
    if (name.type == 0)
        return LimitedObject{queue->id, std::nullopt};
    for (const auto &entry : queue->job_types())
        if (core::name_hash(entry.first) == name.type)
            return LimitedObject{queue->id, entry.first};
    return std::nullopt;
}

void list_limiters(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    catalog::VisibleQueues visible_queues;
    for (const core::Limiter &limiter : lanes::list_limiters())
        if (const auto found = object_of(visible_queues, limiter.name))
            result.add(found->queue_id, found->type, limiter.used, std::int32_t{limiter.jobs});
}

// The breaker of a type; nothing if the caller may not see it, or there is no such type.
std::optional<claim::ShownBreaker> find_shown_breaker(int queue_id, const std::string &job_type)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(queue_id);
    if (queue == nullptr || catalog::VisibleQueues().visible(queue_id) == nullptr)
        return std::nullopt;
    const catalog::JobType *type = queue->find_job_type(job_type);
    return type == nullptr ? std::nullopt : std::optional(claim::shown_breaker(*queue, *type));
}

Datum show_breaker(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const auto shown =
        find_shown_breaker(arguments.integer("queue_id"), arguments.text("job_type"));
    const bool is_open = shown.has_value() && shown->state != core::BreakerState::closed;
    const auto if_open = [&](auto value) {
        return is_open ? std::optional(value(*shown)) : std::nullopt;
    };
    const bool is_timed = is_open && shown->until != pg::infinity;
    return pg::return_row(
        fcinfo, shown.has_value() ? std::optional(core::name(shown->state)) : std::nullopt,
        if_open([](const claim::ShownBreaker &open) { return open.since; }),
        is_timed ? std::optional(shown->until) : std::nullopt,
        if_open([](const claim::ShownBreaker &open) { return open.cause; }));
}

void list_rates(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    catalog::VisibleQueues visible_queues;
    const pg::Time now = pg::now();
    for (const lanes::NamedUsage &each : lanes::list_rates())
        if (const auto found = object_of(visible_queues, each.name))
            result.add(found->queue_id, found->type, each.usage.used, now + each.usage.wait);
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq_why)
{
    hipq::monitor::why(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__first_unmet_condition)
{
    const auto condition = hipq::monitor::first_unmet_condition_of(fcinfo);
    if (!condition.has_value())
        PG_RETURN_NULL();
    return hipq::pg::return_text(*condition);
}

HIPQ_FUNCTION(hipq__executors)
{
    hipq::monitor::list_executors(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__lanes)
{
    hipq::monitor::list_lanes(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__limiters)
{
    hipq::monitor::list_limiters(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__breaker)
{
    return hipq::monitor::show_breaker(fcinfo);
}

HIPQ_FUNCTION(hipq__rates)
{
    hipq::monitor::list_rates(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__running_jobs)
{
    hipq::monitor::list_running_jobs(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__is_running)
{
    const std::int32_t queue_id = PG_GETARG_INT32(0);
    const bool is_running = hipq::job::is_running_in(queue_id, PG_GETARG_INT64(1));
    return BoolGetDatum(is_running && hipq::catalog::VisibleQueues().visible(queue_id) != nullptr);
}

HIPQ_FUNCTION(hipq__is_held)
{
    return BoolGetDatum(hipq::catalog::is_held());
}

HIPQ_FUNCTION(hipq_now)
{
    return TimestampTzGetDatum(hipq::pg::now().value);
}

HIPQ_FUNCTION(hipq_version)
{
    return hipq::pg::return_text(HIPQ_VERSION);
}
