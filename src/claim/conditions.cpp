// Implements the conditions between a job and its start, one predicate each.
#include "claim/conditions.hpp"

#include "catalog/handler.hpp"
#include "catalog/identity.hpp"
#include "catalog/queue_hold.hpp"
#include "core/limits/versions.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "pg/extension.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"
#include "shared/executors/executor_list.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/executors/start_failures.hpp"
#include "shared/flight/crash_cases.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/memory/registry.hpp"

extern "C" {
#include "utils/varlena.h"
}

namespace hipq::claim {

namespace {

using core::Finding;

bool is_database_listed()
{
    return pg::call([] {
        const char *own = ::get_database_name(MyDatabaseId);
        return own != nullptr && is_listed(own);
    });
}

core::Finding look_at_owner(Oid role)
{
    return pg::call([&] {
        HeapTuple tuple = ::SearchSysCache1(AUTHOID, ObjectIdGetDatum(role));
        if (!HeapTupleIsValid(tuple))
            return Finding::owner_is_gone;
        const bool may_log_in = reinterpret_cast<Form_pg_authid>(GETSTRUCT(tuple))->rolcanlogin;
        ::ReleaseSysCache(tuple);
        if (!may_log_in)
            return Finding::owner_may_not_log_in;
        return pg::has_right(DatabaseRelationId, MyDatabaseId, role, ACL_CONNECT)
                   ? Finding::owner_may_connect
                   : Finding::owner_may_not_connect;
    });
}

}  // namespace

bool is_listed(const char *database)
{
    List *names = NIL;
    if (!::SplitIdentifierString(::pstrdup(settings::databases), ',', &names))
        return false;
    ListCell *cell = nullptr;
    foreach (cell, names) {
        const auto *name = static_cast<const char *>(lfirst(cell));
        if (std::strcmp(name, "*") == 0 || std::strcmp(name, database) == 0)
            return true;
    }
    return false;
}

Condition loaded_condition()
{
    if (!memory::is_loaded())
        return Finding::library_is_not_loaded;
    return ::RecoveryInProgress() ? Finding::server_is_standby : Finding::library_is_loaded;
}

Condition version_condition()
{
    std::string installed = pg::installed_version().value_or("not installed");
    switch (core::fit_of_versions(HIPQ_VERSION, installed)) {
    case core::VersionFit::same:
        return Finding::versions_agree;
    case core::VersionFit::together:
        return {Finding::versions_work_together, std::move(installed)};
    case core::VersionFit::apart:
        break;
    }
    return {Finding::versions_differ, std::move(installed)};
}

Condition enabled_condition()
{
    if (!settings::enabled)
        return Finding::is_disabled;
    return is_database_listed() ? Finding::is_enabled : Finding::database_is_not_listed;
}

Condition hold_condition()
{
    return catalog::is_held() ? Finding::database_is_copy : Finding::jobs_belong_here;
}

Condition replica_condition(const catalog::Queue &queue)
{
    if (queue.is_out_of_step())
        return {Finding::node_is_out_of_step, &queue};
    if (!queue.hold.has_value())
        return {Finding::queue_is_no_replica, &queue};
    return {catalog::feeding_subscription(queue).has_value() ? Finding::queue_is_fed
                                                             : Finding::queue_was_fed,
            &queue};
}

Condition owner_condition(const catalog::Queue &queue)
{
    return {look_at_owner(queue.owner), &queue};
}

Condition queue_condition(const catalog::Queue &queue)
{
    return {queue.is_dropped ? Finding::queue_is_dropped : Finding::queue_is_open, &queue};
}

Condition pause_condition(const catalog::Queue &queue, std::string_view job_type,
                          std::string_view throttle_key)
{
    if (queue.instance_pause.has_value())
        return {Finding::instance_is_paused, PauseFacts{&queue, &*queue.instance_pause}};
    if (queue.pause.has_value())
        return {Finding::queue_is_paused, PauseFacts{&queue, &*queue.pause}};
    if (const catalog::Pause *of_type = queue.find_type_pause(job_type))
        return {Finding::type_is_paused, PauseFacts{&queue, of_type, job_type}};
    if (const auto *of_key = queue.find_key_pause(job_type, throttle_key))
        return {Finding::key_is_paused, PauseFacts{&queue, &of_key->second, of_key->first}};
    return Finding::nothing_is_paused;
}

Condition handler_condition(const catalog::Queue &queue, std::string_view job_type)
{
    const catalog::JobType *type = queue.find_job_type(job_type);
    if (type == nullptr)
        return {Finding::type_is_not_registered, HandlerFacts{job_type}};
    if (runs_outside(queue, *type))
        return {Finding::workers_run_type, HandlerFacts{job_type}};
    if (type->handler_kind == catalog::HandlerKind::none)
        return {Finding::type_has_no_handler, HandlerFacts{job_type}};
    std::string problem;
    if (!catalog::resolve_handler(queue, *type, &problem).has_value() &&
        !type->fails_without_handler)
        return {Finding::handler_cannot_run,
                HandlerFacts{job_type, type->handler, std::move(problem)}};
    return {Finding::handler_can_run, HandlerFacts{job_type, type->handler}};
}

Condition state_condition(const JobFacts &job)
{
    if (core::is_waiting(job.state))
        return {Finding::job_waits, job.state};
    if (job.state == core::JobState::running)
        return Finding::job_runs;
    return job.state == core::JobState::error ? Finding::retry_is_decided : Finding::job_is_final;
}

Condition time_condition(const JobFacts &job, pg::Time now)
{
    if (job.due <= now)
        return Finding::time_has_come;
    return {Finding::time_is_ahead, TimeFacts{job.due, now}};
}

Condition window_condition(const JobFacts &job, pg::Time now)
{
    WindowFacts facts{job.time_windows, job.time_zone,
                      start_window(job.time_windows, job.time_zone, now), now};
    const StartWindow window = facts.window;
    const auto found = [&](Finding finding) { return Condition(finding, std::move(facts)); };
    if (window.problem != nullptr)
        return found(Finding::window_is_unclear);
    if (!window.is_open(now))
        return found(Finding::window_is_closed);
    return found(window.until == pg::infinity ? Finding::window_never_closes
                                              : Finding::window_is_open);
}

Condition expiry_condition(const JobFacts &job, pg::Time now)
{
    if (job.expires == pg::infinity)
        return Finding::never_expires;
    if (job.expires > now)
        return {Finding::expires_later, TimeFacts{job.expires, now}};
    return Finding::has_expired;
}

Condition crash_condition(const JobFacts &job)
{
    switch (lanes::suspicion_of(MyDatabaseId, job.id)) {
    case flight::Suspicion::none:
        return Finding::is_no_suspect;
    case flight::Suspicion::may_run:
        return Finding::suspect_may_run;
    case flight::Suspicion::has_to_pause:
        return {Finding::suspect_pauses, std::int64_t{flight::suspect_pause_left()}};
    case flight::Suspicion::has_to_wait:
        break;
    }
    return Finding::suspect_waits;
}

namespace {

// Whether a new executor can be started for a queue owner whose executors are all busy.
Condition new_executor_condition(const executors::ExecutorList &list, Oid owner)
{
    const ExecutorFacts facts{list.own, list.idle};
    const pg::Time now = pg::now();
    if (const auto next = executors::next_try(MyDatabaseId, owner, now))
        return {Finding::executor_failed_to_start,
                ExecutorFacts{list.own, list.idle, next->value - now.value}};
    if (!executors::has_free_worker_slots())
        return Finding::no_process_is_free;
    if (list.requested > 0 || list.has_place)
        return Finding::executor_will_start;
    if (list.is_kept_back)
        return {Finding::rest_is_reserved, facts};
    if (list.stranger_gives_way)
        return Finding::executor_gives_way;
    if (list.own == 0)
        return Finding::executors_are_elsewhere;
    return {Finding::executors_are_busy, facts};
}

}  // namespace

Condition executor_condition(const catalog::Queue &queue)
{
    if (!memory::is_loaded())
        return Finding::no_executor;
    if (settings::max_executors == 0)
        return Finding::executors_are_off;
    if (executors::is_read_only(MyDatabaseId, queue.owner))
        return Finding::sessions_are_read_only;
    const executors::ExecutorList list = executors::executor_list_of(MyDatabaseId, queue.owner);
    if (list.idle > 0)
        return {Finding::executor_is_idle, ExecutorFacts{list.own, list.idle}};
    if (list.starting > 0)
        return Finding::executor_is_starting;
    return new_executor_condition(list, queue.owner);
}

}  // namespace hipq::claim
