// grant_queue, revoke_queue, _may: rights are kept where PostgreSQL keeps them, in the ACLs of tables and functions.
#include "api/grants.hpp"

#include "api/arguments.hpp"
#include "api/checks.hpp"
#include "storage/permit.hpp"
#include "storage/quote.hpp"

namespace hipq::api {

namespace {

using storage::Privilege;

constexpr std::array all_privileges{Privilege::enqueue, Privilege::work, Privilege::read, Privilege::control};

using Names = std::vector<std::string>;

Names functions_for(Privilege privilege)
{
    switch (privilege) {
    case Privilege::enqueue:
        return {"enqueue", "enqueue_unique", "enqueue_many", "schedule", "unschedule", "_run_schedule", "now"};
    case Privilege::work:
        return {"fail_retriable", "fail_permanently",   "snooze",    "complete_later", "report_progress",
                "extend",         "register_worker",    "heartbeat", "drain_worker",   "deregister_worker",
                "claim",          "complete",           "fail",      "release",        "_workers",
                "_may",           "worker_queue_depth", "now"};
    case Privilege::read:
        return {"why",
                "wait_for",
                "retry_schedule",
                "now",
                "_may",
                "_executors",
                "_gauges",
                "_lanes",
                "_running_jobs",
                "_progress",
                "_is_running",
                "_first_closed_gate",
                "enqueued",
                "_next_run",
                "_has_cron_entry",
                "_workers",
                "_worker_services",
                "worker_queue_depth",
                "is_job_retriable",
                "retry_chain",
                "_statistics",
                "_retry_distribution",
                "_failure_statistics",
                "_throughput"};
    case Privilege::control:
        return {"cancel",
                "cancel_jobs",
                "retry",
                "retry_jobs",
                "reschedule",
                "move_jobs",
                "erase",
                "pause",
                "resume",
                "extend",
                "why",
                "redrive",
                "dismiss_dead_letters",
                "purge_dead_letters",
                "fail_job",
                "stat_reset"};
    }
    return {};
}

Names views_for(Privilege privilege)
{
    if (privilege == Privilege::work)
        return {"workers", "healthy_workers", "worker_health"};
    if (privilege != Privilege::read)
        return {};
    return {"instances",
            "queues",
            "job_types",
            "pauses",
            "jobs",
            "running",
            "progress",
            "attempts",
            "dead_letters",
            "executors",
            "lanes",
            "sizes",
            "throttle_keys",
            "statistics",
            "retry_distribution",
            "failure_statistics",
            "throughput",
            "dead_letter_rates",
            "dead_letter_stats",
            "dead_letter_reasons",
            "schedules",
            "workers",
            "healthy_workers",
            "worker_health"};
}

// Each checks inside that its caller is the queue owner.
Names functions_for_owner()
{
    return {"alter_queue",    "drop_queue",    "grant_queue", "revoke_queue",   "register_job_type",
            "alter_job_type", "drop_job_type", "version",     "run_until_idle", "dry_run"};
}

constinit pg::Statement select_functions(R"(
    SELECT 'FUNCTION ' || oid::regprocedure::text
    FROM pg_proc
    WHERE pronamespace = 'hipq'::regnamespace AND proname = ANY ($1)
    ORDER BY 1)");

constinit pg::Statement select_views(R"(
    SELECT 'TABLE hipq.' || quote_ident(relname)
    FROM pg_class
    WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v' AND relname = ANY ($1)
    ORDER BY 1)");

// Whether the role itself was given INSERT.
constinit pg::Statement select_insert_grant(R"(
    SELECT EXISTS (
        SELECT FROM pg_class AS relation
        CROSS JOIN aclexplode(relation.relacl) AS acl
        WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = $1
          AND acl.grantee = $2 AND acl.privilege_type = 'INSERT'))");

std::string role_name(Oid role)
{
    return storage::quote_name(require_role(role));
}

// What stands on the tables of a queue: "INSERT, SELECT (id) ON TABLE hipq.app_mail".
std::string table_part(const storage::Queue &queue, Privilege privilege)
{
    switch (privilege) {
    case Privilege::enqueue:
        return "INSERT, SELECT (id) ON TABLE " + queue.qualified_table();
    case Privilege::work:
        return "UPDATE ON TABLE " + queue.qualified_table();
    case Privilege::read:
        return "SELECT ON TABLE " + queue.qualified_table();
    case Privilege::control:
        return "UPDATE ON TABLE " + queue.qualified_live_table();
    }
    return {};
}

void grant_on(const pg::Rows &objects, const char *privilege, const std::string &role)
{
    for (const pg::Row row : objects)
        pg::run_once(std::string("GRANT ") + privilege + " ON " + row.text(0) + " TO " + role);
}

Privilege require_privilege(const std::string &text)
{
    const std::optional<Privilege> privilege = storage::parse_privilege(text);
    if (!privilege.has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown privilege \"%s\"", text.c_str()),
                   errhint("Privileges on a queue are enqueue, work, read and control."));
    return *privilege;
}

}  // namespace

void give_privilege(const storage::Queue &queue, Oid role, Privilege privilege)
{
    const std::string name = role_name(role);
    storage::as_hipq([&] {
        pg::run_once("GRANT USAGE ON SCHEMA hipq TO " + name);
        pg::run_once("GRANT " + table_part(queue, privilege) + " TO " + name);
        grant_on(select_functions.run(functions_for(privilege)), "EXECUTE", name);
        grant_on(select_views.run(views_for(privilege)), "SELECT", name);
    });
}

void take_privilege(const storage::Queue &queue, Oid role, Privilege privilege)
{
    const std::string name = role_name(role);
    storage::as_hipq([&] {
        pg::run_once("REVOKE " + table_part(queue, privilege) + " FROM " + name);
        // Taking SELECT on a table takes it on the columns too.
        if (privilege == Privilege::read && select_insert_grant.run(queue.table, role).front().boolean(0))
            pg::run_once("GRANT SELECT (id) ON TABLE " + queue.qualified_table() + " TO " + name);
    });
}

void give_ownership(const storage::Queue &queue, Oid role)
{
    for (const Privilege privilege : all_privileges)
        give_privilege(queue, role, privilege);
    const std::string name = role_name(role);
    storage::as_hipq([&] { grant_on(select_functions.run(functions_for_owner()), "EXECUTE", name); });
}

void take_ownership(const storage::Queue &queue, Oid role)
{
    if (pg::call([&] { return ::GetUserNameFromId(role, true); }) == nullptr)
        return;
    for (const Privilege privilege : all_privileges)
        take_privilege(queue, role, privilege);
}

namespace {

void grant_queue(const Arguments &arguments)
{
    const auto catalogue = storage::catalogue();
    const storage::Queue &queue = require_own_queue(*catalogue, arguments.text(0, "queue"));
    const Oid role = arguments.oid(1, "role");
    give_privilege(queue, role, require_privilege(arguments.text(2, "privilege")));
}

void revoke_queue(const Arguments &arguments)
{
    const auto catalogue = storage::catalogue();
    const storage::Queue &queue = require_own_queue(*catalogue, arguments.text(0, "queue"));
    const Oid role = arguments.oid(1, "role");
    const Privilege privilege = require_privilege(arguments.text(2, "privilege"));
    if (role == queue.owner) {
        const std::string name = queue.full_name();
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("cannot revoke rights of the owner of queue \"%s\"", name.c_str()),
                   errhint("Give the queue to another role with hipq.alter_queue(owner => ...)."));
    }
    take_privilege(queue, role, privilege);
}

bool may(const Arguments &arguments)
{
    const Privilege privilege = require_privilege(arguments.text(1, "privilege"));
    const auto catalogue = storage::catalogue();
    const storage::Queue *queue = catalogue->find(arguments.maybe_int(0).value_or(0));
    return queue != nullptr && storage::may(storage::caller(), *queue, privilege);
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_grant_queue)
{
    hipq::api::grant_queue(hipq::api::Arguments(fcinfo));
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq_revoke_queue)
{
    hipq::api::revoke_queue(hipq::api::Arguments(fcinfo));
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq__may)
{
    return hipq::api::return_bool(hipq::api::may(hipq::api::Arguments(fcinfo)));
}
