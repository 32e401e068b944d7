// Holds each condition between a job and its start: one predicate each.
#include "conditions.hpp"

#include "catalog/catalog.hpp"
#include "core/text/length_text.hpp"
#include "executors/executors.hpp"
#include "flight/flight.hpp"
#include "limits/start_windows.hpp"
#include "limits/worker_condition.hpp"
#include "pg/clock.hpp"
#include "pg/extension.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"

extern "C" {
#include "utils/varlena.h"
}

namespace hipq::limits {

namespace {

Condition pass(const char *name, std::string explanation)
{
    return {name, true, std::move(explanation)};
}

Condition fail(const char *name, std::string explanation)
{
    return {name, false, std::move(explanation)};
}

bool is_database_listed()
{
    return pg::call([] {
        const char *own = ::get_database_name(MyDatabaseId);
        return own != nullptr && is_listed(own);
    });
}

// It is closed and shall be.
Condition hold_back(const char *name, std::string explanation)
{
    return {name, false, std::move(explanation), true};
}

struct RoleFacts {
    bool exists;
    bool may_log_in;
    bool may_connect;
    char name[NAMEDATALEN];
};

RoleFacts facts_of(Oid role)
{
    return pg::call([&] {
        RoleFacts facts{};
        HeapTuple tuple = ::SearchSysCache1(AUTHOID, ObjectIdGetDatum(role));
        if (!HeapTupleIsValid(tuple))
            return facts;
        const auto *form = reinterpret_cast<Form_pg_authid>(GETSTRUCT(tuple));
        facts.exists = true;
        facts.may_log_in = form->rolcanlogin;
        ::strlcpy(facts.name, NameStr(form->rolname), sizeof(facts.name));
        ::ReleaseSysCache(tuple);
        facts.may_connect = ::pg_database_aclcheck(MyDatabaseId, role, ACL_CONNECT) == ACLCHECK_OK;
        return facts;
    });
}

// A time to come, and how far away it is.
std::string time_ahead(pg::Time time, pg::Time now)
{
    return pg::clock_text(time) + ", in " + core::length_text(time.value - now.value);
}

std::string told_of_hold(const std::string &what, const catalog::Pause &pause,
                         const std::string &since)
{
    return what + " is held since " + since + ": its jobs took the server down " +
           std::to_string(*pause.crashes) +
           " times within 10 minutes. It goes on after hipq.resume(), or with a new handler "
           "(hipq.alter_job_type()).";
}

std::string told_of(const std::string &what, const catalog::Pause &pause)
{
    const std::string since = pg::clock_text(pause.since);
    if (pause.crashes.has_value())
        return told_of_hold(what, pause, since);
    const std::string reason = pause.reason == "NONE" ? "" : " (" + pause.reason + ")";
    return what + " is paused by " + pause.by + " since " + since + reason +
           ": it goes on after hipq.resume().";
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
    if (memory::is_loaded() && ::RecoveryInProgress())
        return hold_back(
            "loaded",
            "The server is a standby: jobs run in its primary, and here after a promotion.");
    if (memory::is_loaded())
        return pass("loaded", "hipq is loaded by shared_preload_libraries.");
    return fail("loaded",
                "hipq is not in shared_preload_libraries: add it and restart the server.");
}

Condition version_condition()
{
    const std::string installed = pg::installed_version().value_or("not installed");
    if (installed == HIPQ_VERSION)
        return pass("version", "Library and extension are version " HIPQ_VERSION ".");
    return fail("version", "The extension is version " + installed +
                               ", the library " HIPQ_VERSION
                               ": run ALTER EXTENSION hipq UPDATE, or restart the server.");
}

Condition enabled_condition()
{
    if (!settings::enabled)
        return fail("enabled", "hipq.enabled is off.");
    if (!is_database_listed())
        return fail("enabled", "hipq.databases does not list this database.");
    return pass("enabled", "hipq is enabled for this database.");
}

Condition hold_condition()
{
    if (catalog::is_held())
        return fail("hold", "The database or its server is a copy, or was restored: it stands "
                            "still until hipq.release_hold().");
    return pass("hold", "The jobs belong to this database.");
}

Condition owner_condition(const catalog::Queue &queue)
{
    const RoleFacts facts = facts_of(queue.owner);
    const std::string name = facts.name;
    if (!facts.exists)
        return fail("queue owner",
                    "The queue owner does not exist any more: use hipq.alter_queue(owner => ...).");
    if (!facts.may_log_in)
        return fail("queue owner",
                    "Queue owner \"" + name + "\" may not log in: ALTER ROLE " + name + " LOGIN.");
    if (!facts.may_connect)
        return fail("queue owner", "Queue owner \"" + name + "\" lacks CONNECT on this database.");
    return pass("queue owner", "Queue owner \"" + name + "\" may connect.");
}

Condition queue_condition(const catalog::Queue &queue)
{
    if (queue.is_dropped)
        return fail("queue", "Queue \"" + queue.full_name() + "\" is being dropped.");
    return pass("queue", "Queue \"" + queue.full_name() + "\" is open.");
}

Condition pause_condition(const catalog::Queue &queue, std::string_view job_type,
                          std::string_view throttle_key)
{
    if (queue.instance_pause.has_value())
        return hold_back("pause",
                         told_of("Instance \"" + queue.instance + "\"", *queue.instance_pause));
    if (queue.pause.has_value())
        return hold_back("pause", told_of("Queue \"" + queue.full_name() + "\"", *queue.pause));
    const catalog::JobType *type = queue.find_job_type(job_type);
    if (type == nullptr)
        return pass("pause", "Nothing of it is paused.");
    if (type->pause.has_value())
        return hold_back("pause", told_of("Job type \"" + type->name + "\"", *type->pause));
    if (const auto key = type->paused_keys.find(throttle_key); key != type->paused_keys.end())
        return hold_back("pause", told_of("Throttle key \"" + key->first + "\"", key->second));
    return pass("pause", "Nothing of it is paused.");
}

Condition handler_condition(const catalog::Queue &queue, std::string_view job_type)
{
    const catalog::JobType *type = queue.find_job_type(job_type);
    const std::string quoted = "\"" + std::string(job_type) + "\"";
    if (type == nullptr)
        return fail("handler", "Job type " + quoted + " is not registered yet.");
    if (runs_outside(queue, *type))
        return pass("handler", "External workers run jobs of type " + quoted + ".");
    if (type->handler_kind == catalog::HandlerKind::none)
        return fail("handler", "Job type " + quoted +
                                   " has no handler: use hipq.alter_job_type(handler => ...).");
    std::string problem;
    if (!catalog::resolve_handler(queue, *type, &problem).has_value() &&
        !type->fails_without_handler)
        return fail("handler", "The handler cannot run: " + problem + ".");
    return pass("handler", "Handler: " + type->handler + ".");
}

Condition state_condition(const WaitingJob &job)
{
    const std::string state(core::name(job.state));
    if (core::is_waiting(job.state))
        return pass("state", "The job waits (state " + state + ").");
    if (job.state == core::JobState::running)
        return fail("state", "The job runs.");
    if (job.state == core::JobState::error)
        return fail("state", "The job failed; its retry handler is being asked.");
    return fail("state", "The job is final.");
}

Condition time_condition(const WaitingJob &job, pg::Time now)
{
    if (job.due <= now)
        return pass("scheduled time", "Its time has come.");
    return hold_back("scheduled time", "It waits for its time, " + time_ahead(job.due, now) + ".");
}

Condition window_condition(const WaitingJob &job, pg::Time now)
{
    const std::string windows = "\"" + job.time_windows + "\" (" + job.time_zone + ")";
    const StartWindow window = start_window(job.time_windows, job.time_zone, now);
    if (window.problem != nullptr)
        return fail("time window", "Its time windows are " + windows + ": " + window.problem + ".");
    if (!window.is_open(now))
        return hold_back("time window", "It waits for its time windows " + windows +
                                            ", which open at " + time_ahead(window.from, now) +
                                            ".");
    if (window.until == pg::infinity)
        return pass("time window", "Its time windows " + windows + " are always open.");
    return pass("time window", "Its time windows " + windows + " are open until " +
                                   pg::clock_text(window.until) + ".");
}

Condition expiry_condition(const WaitingJob &job, pg::Time now)
{
    if (job.expires == pg::infinity)
        return pass("expiry", "It does not expire.");
    if (job.expires > now)
        return pass("expiry", "It expires at " + time_ahead(job.expires, now) + ".");
    return fail("expiry", "It has expired and will be ended.");
}

Condition crash_condition(const WaitingJob &job)
{
    switch (flight::suspicion_of(MyDatabaseId, job.id)) {
    case flight::Suspicion::none:
        return pass("crash", "It is not suspected of having crashed the server.");
    case flight::Suspicion::may_run:
        return pass(
            "crash",
            "It may have crashed the server: such jobs run one at a time, and none runs now.");
    case flight::Suspicion::has_to_pause:
        return hold_back("crash",
                         "It may have crashed the server: such jobs pause after a crash, for " +
                             core::length_text(flight::suspect_pause_left()) + " more.");
    case flight::Suspicion::has_to_wait:
        break;
    }
    return hold_back("crash", "It may have crashed the server: such jobs run one at a time, and "
                              "another one's turn has come.");
}

Condition executor_condition(const catalog::Queue &queue)
{
    if (!memory::is_loaded())
        return fail("executor", "No executor works for the queue owner.");
    if (settings::max_executors == 0)
        return fail("executor", "hipq.max_executors is 0.");
    const executors::ExecutorList executor_list =
        executors::executor_list_of(MyDatabaseId, queue.owner);
    const std::string own =
        std::to_string(executor_list.own) + " executor(s) work for the queue owner";
    if (executor_list.idle > 0)
        return pass("executor",
                    own + ", " + std::to_string(executor_list.idle) + " of them without a job.");
    if (executor_list.starting > 0)
        return pass("executor", "An executor is starting.");
    const pg::Time now = pg::now();
    if (const auto next = executors::next_try(MyDatabaseId, queue.owner, now))
        return fail(
            "executor",
            "The last executor of the queue owner failed to start; the next one is tried in " +
                core::length_text(next->value - now.value) + ". The server's log says why.");
    if (!executors::has_free_worker_slots())
        return fail("executor", "No background worker slot is free: raise max_worker_processes.");
    if (executor_list.requested > 0 || executor_list.has_place)
        return pass("executor", "An executor will be started.");
    if (executor_list.is_kept_back)
        return hold_back("executor", own + " and all have a job; what is left of "
                                           "hipq.max_executors is kept for queue owners that "
                                           "have none (hipq.reserved_executors).");
    if (executor_list.stranger_gives_way)
        return pass("executor",
                    "An executor will be started in place of one that has nothing to do.");
    if (executor_list.own == 0)
        return hold_back(
            "executor",
            "No executor works for the queue owner and hipq.max_executors are busy elsewhere.");
    return hold_back("executor", own + " and all have a job; hipq.max_executors allows no more.");
}

}  // namespace hipq::limits
