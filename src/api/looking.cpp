// hipq.why and the functions behind the views.
#include "api/arguments.hpp"
#include "api/sight.hpp"
#include "pg/clock.hpp"
#include "shmem/executors.hpp"
#include "shmem/external_jobs.hpp"
#include "shmem/hands.hpp"
#include "shmem/room.hpp"
#include "shmem/running_jobs.hpp"
#include "storage/current_job.hpp"
#include "storage/identity.hpp"
#include "storage/job_gates.hpp"
#include "storage/start_windows.hpp"

#include <cmath>

namespace hipq::api {

namespace {

// ---- why ----

void why(FunctionCallInfo fcinfo)
{
    const Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64(0, "id");
    ResultSet result(fcinfo);
    const auto catalogue = storage::catalogue();
    const auto job = storage::find_job(*catalogue, id, arguments.maybe_text(1));
    const Oid role = storage::caller();
    const bool may_know = job.has_value() && (storage::may(role, *job->queue, storage::Privilege::read) ||
                                              storage::may(role, *job->queue, storage::Privilege::control));
    if (!may_know) {
        result.add("exists", false, "There is no such job; final jobs are removed after the queue's retention.");
        return;
    }
    std::vector<storage::Gate> gates = storage::gates_of(*job);
    if (core::is_waiting(job->state))
        gates.push_back(storage::line_gate(*job));
    for (const storage::Gate &gate : gates)
        result.add(gate.name, gate.passed, gate.explanation);
}

// ---- what a kind of jobs waits for ----

// Nothing for who may not know.
std::optional<std::string> first_closed_gate(FunctionCallInfo fcinfo)
{
    const Arguments arguments(fcinfo);
    const auto catalogue = storage::catalogue();
    const storage::Queue *queue = catalogue->find(arguments.integer(0, "queue_id"));
    if (queue == nullptr || Sight().visible(queue->id) == nullptr)
        return std::nullopt;
    const std::string type = arguments.text(1, "job_type");
    const double factor = arguments.maybe_number(4).value_or(0);
    return storage::first_closed_gate(*queue, {0, core::JobState::initial, type, pg::now(), pg::infinity,
                                               arguments.text(2, "time_windows"), storage::time_zone_of(queue->id, type),
                                               arguments.text(3, "throttle_key"),
                                               static_cast<core::Weight>(std::llround(factor * core::weight_unit))});
}

// ---- executors ----

const char *status_of(const shmem::ExecutorSlot &slot)
{
    switch (slot.state) {
    case shmem::ExecutorState::requested:
        return "requested";
    case shmem::ExecutorState::starting:
        return "starting";
    case shmem::ExecutorState::idle:
        return "idle";
    case shmem::ExecutorState::running:
        return slot.watch.reported ? "unresponsive" : "running";
    case shmem::ExecutorState::orphaned:
        return "ended";
    case shmem::ExecutorState::free:
        break;
    }
    return "free";
}

bool has_job(const shmem::ExecutorSlot &slot)
{
    return slot.job.id != 0 && slot.job.attempt != 0;
}

// The whole server to monitors; to others the executors of this database that run a job of a queue they may read, and, without
// job, those of roles whose rights they have.
bool is_visible(Sight &sight, const shmem::ExecutorSlot &slot)
{
    if (sight.is_whole() || slot.database != MyDatabaseId)
        return sight.is_whole();
    if (has_job(slot))
        return sight.visible(slot.job.queue_id) != nullptr;
    return pg::call([&] { return ::has_privs_of_role(::GetUserId(), slot.role); });
}

void list_executors(FunctionCallInfo fcinfo)
{
    ResultSet result(fcinfo);
    Sight sight;
    for (const shmem::ExecutorSlot &slot : shmem::list_executors()) {
        if (!is_visible(sight, slot))
            continue;
        const bool has_process = slot.pid != 0;
        const auto if_job = [&](auto value) { return has_job(slot) ? std::optional(value) : std::nullopt; };
        result.add(has_process ? std::optional<std::int32_t>(slot.pid) : std::nullopt, slot.database, slot.role, status_of(slot),
                   has_process ? std::optional<pg::Time>(slot.started) : std::nullopt, if_job(std::int32_t{slot.job.queue_id}),
                   if_job(slot.job.id), if_job(std::int32_t{slot.job.attempt}), if_job(std::string(slot.job.type)),
                   if_job(slot.job.started), slot.jobs_done);
    }
}

// Those of this database that the caller may see.
void list_running_jobs(FunctionCallInfo fcinfo)
{
    ResultSet result(fcinfo);
    Sight sight;
    for (const shmem::RunningEntry &entry : shmem::list_running_jobs())
        if (entry.database == MyDatabaseId && entry.job.attempt != 0 && sight.visible(entry.job.queue_id) != nullptr)
            result.add(entry.pid, entry.job.queue_id, entry.job.id, entry.job.attempt, std::string(entry.job.type),
                       entry.job.started, entry.job.is_locked,
                       entry.deadline == pg::infinity ? std::nullopt : std::optional(entry.deadline),
                       std::optional<std::int64_t>(), std::optional<bool>());
    for (const shmem::ExternalJob &job : shmem::list_external_jobs())
        if (sight.visible(job.queue_id) != nullptr)
            result.add(std::optional<std::int32_t>(), std::int32_t{job.queue_id}, job.id, std::int32_t{job.attempt},
                       std::optional<std::string>(), std::optional<pg::Time>(), false, job.deadline, job.worker_id,
                       job.is_accepted);
}

// ---- lanes ----

void list_lanes(FunctionCallInfo fcinfo)
{
    ResultSet result(fcinfo);
    Sight sight;
    for (const shmem::LaneInfo &info : shmem::list_lanes())
        if (const auto lane = sight.visible(info.name.queue_id) != nullptr ? shmem::copy_lane(info.ref) : std::nullopt)
            result.add(std::int32_t{info.name.queue_id}, std::string(info.name.type), std::int32_t{info.name.priority}, info.due,
                       pg::Time{lane->frontier.time}, lane->frontier.id, static_cast<std::int32_t>(lane->pockets.count),
                       static_cast<std::int32_t>(lane->inbox_count), lane->owner != core::no_owner);
}

// ---- gauges ----

// Of queues (no type) and job types that the catalogue knows and the caller may see; keys stand for texts that nobody keeps.
void list_gauges(FunctionCallInfo fcinfo)
{
    ResultSet result(fcinfo);
    Sight sight;
    for (const core::Gauge &gauge : shmem::list_gauges()) {
        const storage::Queue *queue = sight.visible(gauge.name.queue_id);
        if (queue == nullptr || gauge.name.key != 0)
            continue;
        std::optional<std::string> type;
        for (const auto &entry : queue->job_types)
            if (core::name_hash(entry.first) == gauge.name.type)
                type = entry.first;
        if (gauge.name.type == 0 || type.has_value())
            result.add(std::int32_t{queue->id}, type, gauge.used, std::int32_t{gauge.jobs});
    }
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_why)
{
    hipq::api::why(fcinfo);
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq__first_closed_gate)
{
    const auto gate = hipq::api::first_closed_gate(fcinfo);
    if (!gate.has_value())
        PG_RETURN_NULL();
    return hipq::api::return_text(*gate);
}

HIPQ_FUNCTION(hipq__executors)
{
    hipq::api::list_executors(fcinfo);
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq__lanes)
{
    hipq::api::list_lanes(fcinfo);
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq__gauges)
{
    hipq::api::list_gauges(fcinfo);
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq__running_jobs)
{
    hipq::api::list_running_jobs(fcinfo);
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq__is_running)
{
    const bool is_running = hipq::storage::is_running(PG_GETARG_INT64(1));
    return BoolGetDatum(is_running && hipq::api::Sight().visible(PG_GETARG_INT32(0)) != nullptr);
}

HIPQ_FUNCTION(hipq__is_held)
{
    return BoolGetDatum(hipq::storage::is_held());
}

HIPQ_FUNCTION(hipq_now)
{
    return TimestampTzGetDatum(hipq::pg::now().value);
}

HIPQ_FUNCTION(hipq_version)
{
    return hipq::api::return_text(HIPQ_VERSION);
}
