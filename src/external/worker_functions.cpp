// hipq.register_worker, heartbeat, heartbeat_attempts, drain_worker and deregister_worker.
//
// A worker belongs to the role that registered it: no other role can send its heartbeats. An
// administrator may drain and deregister it.
#include "pg/compat.hpp"
#include "shared/workers/registered.hpp"

#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/rights.hpp"
#include "catalog/worker_rows.hpp"
#include "core/job/validate.hpp"
#include "core/text/names.hpp"
#include "execute/execute.hpp"
#include "external/held_attempt.hpp"
#include "external/own_worker.hpp"
#include "external/self_report.hpp"
#include "job/two_phase.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/wakeup/commit.hpp"

extern "C" {
#include "access/detoast.h"
#include "commands/async.h"
}

namespace hipq::external {

namespace {

using catalog::Queue;
using workers::WorkerSlot;

constexpr std::int32_t most_jobs_of_worker = 1'000'000;
// Limits: each dispatch in the database reads this much of each worker.
constexpr std::size_t most_queues = 100;
constexpr std::size_t most_job_types = 100;
constexpr std::size_t longest_report = 8'192;  // bytes

constinit pg::Statement
    lock_worker("SELECT worker_id FROM hipq.worker WHERE role = $1 AND name = $2 FOR UPDATE");
constinit pg::Statement insert_worker(R"(
    INSERT INTO hipq.worker (name, role, queues, job_types, capacity, prefetch, capabilities, is_bound)
    VALUES ($1, $2, $3, $4, $5, $6, coalesce($7, '{}'), $8)
    ON CONFLICT (role, name) DO NOTHING
    RETURNING worker_id)");
constinit pg::Statement
    drain_row("UPDATE hipq.worker SET is_draining = true WHERE worker_id = $1 AND NOT is_draining");

// ---- what a worker serves ----

std::vector<std::string> without_repetition(std::vector<std::string> names)
{
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::vector<std::string> names_in(const pg::Arguments &arguments, const char *name,
                                  std::size_t most)
{
    if (!arguments.has(name))
        HIPQ_RAISE(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                   errmsg("argument \"%s\" must not be null", name));
    std::vector<std::string> names = without_repetition(arguments.texts_without_nulls(name));
    if (names.empty())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("%s must name at least one", name));
    if (names.size() > most)
        HIPQ_RAISE(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                   errmsg("%s must name no more than %zu", name, most),
                   errdetail("There are %zu.", names.size()), errhint("Register several workers."));
    return names;
}

std::size_t size_of(Datum json)
{
    return pg::call([&] { return ::toast_raw_datum_size(json); });
}

void check_capabilities(const pg::Arguments &arguments)
{
    if (arguments.has("capabilities") &&
        size_of(arguments.raw("capabilities", JSONBOID).value) > core::most_description)
        HIPQ_RAISE(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                   errmsg("capabilities are larger than %zu bytes", core::most_description),
                   errhint("Name only what job types require."));
    catalog::require_object(arguments, "capabilities");
}

std::vector<const Queue *> queues_to_serve(const catalog::Catalogue &catalogue,
                                           const std::vector<std::string> &names)
{
    std::vector<const Queue *> queues;
    for (const std::string &name : names) {
        const Queue &queue = catalog::require_known_queue(catalogue, name);
        catalog::require(queue, catalog::Privilege::work);
        queues.push_back(&queue);
    }
    return queues;
}

// A queue can be named in two ways; the table stores one.
std::vector<std::string> full_names(const std::vector<const Queue *> &queues)
{
    std::vector<std::string> names(queues.size());
    std::transform(queues.begin(), queues.end(), names.begin(),
                   [](const Queue *queue) { return queue->full_name(); });
    return without_repetition(std::move(names));
}

void check_job_type_to_serve(const std::vector<const Queue *> &queues, const std::string &name)
{
    bool exists = false;
    for (const Queue *queue : queues) {
        const catalog::JobType *type = queue->find_job_type(name);
        exists = exists || type != nullptr;
        if (type != nullptr && type->is_without_handler())
            return;
    }
    if (!exists)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("job type \"%s\" does not exist in these queues", name.c_str()),
                   errhint("Register it with hipq.register_job_type(queue, job_type, handler_kind "
                           "=> 'notify')."));
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("job type \"%s\" is run by the server", name.c_str()),
               errhint("External workers serve types with handler_kind => 'notify'."));
}

void check_number(const char *name, std::int32_t value, std::int32_t least)
{
    if (value < least || value > most_jobs_of_worker)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("%s %d is out of range", name, value),
                   errhint("Give a number between %d and %d.", least, most_jobs_of_worker));
}

void require_session(bool listens)
{
    if (listens && MyBackendType != B_BACKEND)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("only the session of a client can listen"),
                   errhint("Register without listen, and send heartbeats."));
    if (listens && execute::is_visit())
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("a handler cannot listen in a client's session"),
                   errhint("Register without listen, and send heartbeats."));
}

// ---- the name ----

pg::RawValue as_role(Oid role)
{
    return {REGROLEOID, ObjectIdGetDatum(role)};
}

// Each role has names of its own, and no role can take another's. A name is free when no worker of
// the role has it, or when the worker that has it is not live. Returns the worker that had it.
std::optional<std::int64_t> free_name(const std::string &name, Oid role, bool takes_over)
{
    const pg::Rows rows = pg::as_hipq([&] { return lock_worker.run(as_role(role), name); });
    if (rows.empty())
        return std::nullopt;
    const std::int64_t present = rows.front().integer(0);
    const std::optional<WorkerSlot> slot = catalog::find_worker(present);
    const bool is_live = slot.has_value() &&
                         !core::is_stale(slot->record, workers::health_limits(), pg::now().value);
    if (is_live && !takes_over)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
                   errmsg("worker \"%s\" is already there", name.c_str()),
                   slot->record.is_bound
                       ? errdetail("It is the session with pid %d.", slot->pid)
                       : errdetail("It was heard of less than hipq.heartbeat_timeout ago."),
                   errhint("Choose another name, or use take_over => true if it is the same "
                           "program: the other one loses its jobs."));
    catalog::forget_worker(present);
    return present;
}

// ---- register ----

core::SelfReport first_report(const pg::Arguments &arguments, const std::string &name)
{
    if (!arguments.has("capabilities"))
        return {};
    const auto health = health_in(arguments.raw("capabilities", JSONBOID).value);
    if (!health.has_value())
        return {};
    const ReadReport report = read_self_report(*health);
    if (const auto *problem = std::get_if<std::string>(&report)) {
        warn_of_report(name, *problem);
        return {};
    }
    return std::get<core::SelfReport>(report);
}

std::int64_t insert(const pg::Arguments &arguments, const std::string &name, Oid role,
                    const std::vector<std::string> &queues,
                    const std::vector<std::string> &job_types, bool listens)
{
    const pg::Rows rows = pg::as_hipq([&] {
        return insert_worker.run(name, as_role(role), queues, job_types,
                                 arguments.maybe_int("capacity"), arguments.maybe_int("prefetch"),
                                 arguments.raw("capabilities", JSONBOID), listens);
    });
    if (rows.empty())  // another session has registered the name meanwhile
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
                   errmsg("worker \"%s\" is already there", name.c_str()),
                   errhint("Choose another name, or use take_over => true if it is the same "
                           "program: the other one loses its jobs."));
    return rows.front().integer(0);
}

void take_place(const workers::NewWorker &worker, std::optional<std::int64_t> predecessor)
{
    const workers::Registered registered = workers::register_worker(worker, predecessor);
    if (registered == workers::Registered::yes)
        return;
    const std::string role = pg::call([&] { return ::GetUserNameFromId(worker.role, false); });
    if (registered == workers::Registered::too_often)
        HIPQ_RAISE(
            errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
            errmsg("workers of role \"%s\" register too often", role.c_str()),
            errdetail("A role may register 1000 workers at once, and 20 each second from then on."),
            errhint("Try again in a second; let a worker stay for many jobs."));
    memory::raise_alert(memory::Alert::worker_quota);
    databases::work_due(MyDatabaseId,
                        pg::now());  // there may be workers that are not needed any more
    if (registered == workers::Registered::no_share)
        HIPQ_RAISE(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                   errmsg("role \"%s\" has as many workers as it may have", role.c_str()),
                   errdetail("What is left of hipq.max_workers is kept for other roles."),
                   errhint("Deregister workers that are not needed, or give them more jobs at a "
                           "time; a superuser can raise "
                           "hipq.max_workers or hipq.max_owner_share."));
    HIPQ_RAISE(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
               errmsg("there is no room for another worker"),
               errhint("Deregister workers that are not needed, or raise hipq.max_workers and "
                       "restart the server."));
}

std::int64_t register_worker(const pg::Arguments &arguments)
{
    require_shared_memory();
    const std::string name = arguments.text("name");
    pg::demand(core::check_worker_name(name));
    const std::vector<std::string> queue_names = names_in(arguments, "queues", most_queues);
    const std::vector<std::string> job_types = names_in(arguments, "job_types", most_job_types);
    check_number("capacity", arguments.integer("capacity"), 1);
    check_number("prefetch", arguments.integer("prefetch"), 0);
    check_capabilities(arguments);
    const bool listens = arguments.maybe_bool("listen").value_or(false);
    require_session(listens);
    const auto catalogue = catalog::catalogue();
    const std::vector<const Queue *> queues = queues_to_serve(*catalogue, queue_names);
    for (const std::string &type : job_types)
        check_job_type_to_serve(queues, type);
    const Oid role = catalog::caller();
    const auto predecessor =
        free_name(name, role, arguments.maybe_bool("take_over").value_or(false));
    const std::int64_t id = insert(arguments, name, role, full_names(queues), job_types, listens);
    take_place({id, role, *arguments.maybe_int("capacity"), *arguments.maybe_int("prefetch"), false,
                listens, name, first_report(arguments, name)},
               predecessor);
    job::forbid_two_phase(job::NoTwoPhase::worker_changed);
    const std::string channel = core::worker_channel(id);
    if (listens)
        pg::call([&] { ::Async_Listen(channel.c_str()); });
    wakeup::note_look();  // jobs may have waited for this worker
    return id;
}

// ---- access to a registered worker ----

// Permits the worker's role, superusers and the extension owner.
void require_control(std::int64_t id)
{
    const Oid role = require_role_of(id);
    const Oid owner = pg::extension_owner();
    if (role != catalog::caller() &&
        !pg::call([&] { return ::has_privs_of_role(::GetUserId(), owner); }))
        raise_strange_worker(id);
}

// ---- heartbeat ----

std::string heartbeat(std::int64_t id, const std::optional<ReadReport> &report)
{
    const std::string name = require_own_worker(id).name;
    const auto *problem = report.has_value() ? std::get_if<std::string>(&*report) : nullptr;
    const auto *good = report.has_value() ? std::get_if<core::SelfReport>(&*report) : nullptr;
    workers::note_heartbeat(id, good);
    if (problem != nullptr)
        warn_of_report(name, *problem);
    const WorkerSlot slot = require_worker(id);
    return std::string(
        core::name(core::judge(slot.record, workers::health_limits(), pg::now().value)));
}

ReadReport too_long()
{
    return "It is longer than " + std::to_string(longest_report) + " bytes.";
}

std::optional<ReadReport> report_in_text(const std::optional<std::string> &text)
{
    if (!text.has_value())
        return std::nullopt;
    if (text->size() > longest_report)
        return too_long();
    const std::optional<Datum> json = parse_json(*text);
    return json.has_value() ? read_self_report(*json) : ReadReport("It is not JSON.");
}

ReadReport report_in_json(Datum json)
{
    return size_of(json) > longest_report ? too_long() : read_self_report(json);
}

// ---- drain, deregister ----

void drain(std::int64_t id)
{
    require_control(id);
    pg::as_hipq([&] { drain_row.run(id); });
    workers::note_draining(id);
    wakeup::note_look();  // other workers get what it has not begun
    job::forbid_two_phase(job::NoTwoPhase::worker_changed);
}

void deregister(std::int64_t id)
{
    require_control(id);
    const std::optional<WorkerSlot> slot = catalog::find_worker(id);
    catalog::forget_worker(id);
    job::forbid_two_phase(job::NoTwoPhase::worker_changed);
    const std::string channel = core::worker_channel(id);
    if (slot.has_value() && slot->process == pg::own_number())
        pg::call([&] { ::Async_Unlisten(channel.c_str()); });
    wakeup::note_look();  // other workers get what it had
}

}  // namespace

}  // namespace hipq::external

HIPQ_FUNCTION(hipq_register_worker)
{
    return Int64GetDatum(hipq::external::register_worker(hipq::pg::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq_heartbeat)
{
    const hipq::pg::Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64("worker");
    return hipq::pg::return_text(hipq::external::heartbeat(
        id,
        hipq::external::report_in_text(arguments.maybe_text("health", hipq::core::any_length))));
}

HIPQ_FUNCTION(hipq_heartbeat_attempts)
{
    const hipq::pg::Arguments arguments(fcinfo);
    const auto catalogue = hipq::catalog::catalogue();
    return hipq::pg::return_ids(
        hipq::external::look_at_attempts(*catalogue, hipq::external::attempt_names(arguments)));
}

HIPQ_FUNCTION(hipq_heartbeat_jsonb)
{
    const hipq::pg::Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64("worker");
    std::optional<hipq::external::ReadReport> report;
    if (arguments.has("health"))
        report = hipq::external::report_in_json(arguments.raw("health", JSONBOID).value);
    return hipq::pg::return_text(hipq::external::heartbeat(id, report));
}

HIPQ_FUNCTION(hipq_drain_worker)
{
    hipq::external::drain(hipq::pg::Arguments(fcinfo).integer64("worker"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_deregister_worker)
{
    hipq::external::deregister(hipq::pg::Arguments(fcinfo).integer64("worker"));
    return hipq::pg::return_void();
}
