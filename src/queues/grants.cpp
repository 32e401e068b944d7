// grant_queue, revoke_queue, _may: rights are kept where PostgreSQL keeps them, in the ACLs of
// tables and functions.
#include "queues/grants.hpp"

#include "catalog/catalog.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "wakeup/wakeup.hpp"

namespace hipq::queues {

namespace {

using catalog::Privilege;

constexpr std::array all_privileges{Privilege::enqueue, Privilege::work, Privilege::read,
                                    Privilege::control};

using Names = std::vector<std::string>;

Names functions_for(Privilege privilege)
{
    switch (privilege) {
    case Privilege::enqueue:
        return {"enqueue",    "enqueue_unique", "enqueue_many", "schedule",
                "unschedule", "_run_schedule",  "now"};
    case Privilege::work:
        return {"fail_retriable",
                "fail_permanently",
                "snooze",
                "complete_later",
                "report_progress",
                "extend",
                "register_worker",
                "heartbeat",
                "drain_worker",
                "deregister_worker",
                "claim",
                "complete",
                "fail",
                "release",
                "_workers",
                "_may",
                "worker_queue_depth",
                "now",
                "_readable_queues"};
    case Privilege::read:
        return {"why",
                "wait_for",
                "retry_schedule",
                "now",
                "_may",
                "_readable_queues",
                "_visible_queues",
                "_reachable_queues",
                "_is_one_of",
                "_executors",
                "_limiters",
                "_lanes",
                "_running_jobs",
                "_progress",
                "_is_running",
                "_masked",
                "_masked_job",
                "_first_unmet_condition",
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
      AND NOT EXISTS (SELECT FROM aclexplode(proacl) AS acl WHERE acl.grantee = $2 AND acl.privilege_type = 'EXECUTE')
    ORDER BY 1)");

constinit pg::Statement select_views(R"(
    SELECT 'TABLE hipq.' || quote_ident(relname)
    FROM pg_class
    WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v' AND relname = ANY ($1)
      AND NOT EXISTS (SELECT FROM aclexplode(relacl) AS acl WHERE acl.grantee = $2 AND acl.privilege_type = 'SELECT')
    ORDER BY 1)");

constinit pg::Statement select_schema(R"(
    SELECT 'SCHEMA hipq'
    FROM pg_namespace
    WHERE nspname = 'hipq'
      AND NOT EXISTS (SELECT FROM aclexplode(nspacl) AS acl WHERE acl.grantee = $1 AND acl.privilege_type = 'USAGE'))");

// Whether the role itself was given INSERT.
constinit pg::Statement select_insert_grant(R"(
    SELECT EXISTS (
        SELECT FROM pg_class AS relation
        CROSS JOIN aclexplode(relation.relacl) AS acl
        WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = $1
          AND acl.grantee = $2 AND acl.privilege_type = 'INSERT'))");

// What a role was itself given on queues that are there: enqueue, work, read, control; and whether
// it owns one. $1 role
constinit pg::Statement select_held(R"(
    WITH part AS (
        SELECT relation.oid, relation.relacl, relation.relname <> queue.table_name AS is_live
        FROM hipq.queue AS queue
        JOIN pg_class AS relation
          ON relation.relnamespace = 'hipq'::regnamespace AND relation.relname IN (queue.table_name, queue.table_name || '_live')
        WHERE NOT queue.is_dropped
    ),
    given AS (
        SELECT part.is_live, acl.privilege_type
        FROM part
        CROSS JOIN LATERAL aclexplode(part.relacl) AS acl
        WHERE acl.grantee = $1
        UNION ALL
        SELECT part.is_live, acl.privilege_type
        FROM part
        JOIN pg_attribute AS place ON place.attrelid = part.oid
        CROSS JOIN LATERAL aclexplode(place.attacl) AS acl
        WHERE acl.grantee = $1 AND acl.privilege_type = 'UPDATE'
    )
    SELECT coalesce(bool_or(NOT given.is_live AND given.privilege_type = 'INSERT'), false),
           coalesce(bool_or(NOT given.is_live AND given.privilege_type = 'UPDATE'), false),
           coalesce(bool_or(NOT given.is_live AND given.privilege_type = 'SELECT'), false),
           coalesce(bool_or(given.is_live AND given.privilege_type = 'UPDATE'), false),
           EXISTS (SELECT FROM hipq.queue AS queue WHERE queue.owner = $1 AND NOT queue.is_dropped)
    FROM given)");

// Of the functions and views named in $1 and not in $2 those that role $3 was given since the
// extension was installed.
constinit pg::Statement select_given_functions(R"(
    SELECT 'FUNCTION ' || object.oid::regprocedure::text
    FROM pg_proc AS object
    WHERE object.pronamespace = 'hipq'::regnamespace AND object.proname = ANY ($1) AND object.proname <> ALL ($2)
      AND EXISTS (SELECT FROM aclexplode(object.proacl) AS acl WHERE acl.grantee = $3)
      AND NOT EXISTS (
          SELECT FROM pg_init_privs AS first
          CROSS JOIN LATERAL aclexplode(first.initprivs) AS acl
          WHERE first.classoid = 'pg_proc'::regclass AND first.objoid = object.oid AND acl.grantee = $3))");

constinit pg::Statement select_given_views(R"(
    SELECT 'TABLE hipq.' || quote_ident(object.relname)
    FROM pg_class AS object
    WHERE object.relnamespace = 'hipq'::regnamespace AND object.relkind = 'v' AND object.relname = ANY ($1) AND object.relname <> ALL ($2)
      AND EXISTS (SELECT FROM aclexplode(object.relacl) AS acl WHERE acl.grantee = $3)
      AND NOT EXISTS (
          SELECT FROM pg_init_privs AS first
          CROSS JOIN LATERAL aclexplode(first.initprivs) AS acl
          WHERE first.classoid = 'pg_class'::regclass AND first.objoid = object.oid AND acl.grantee = $3))");

// Whether role $1 was given anything that is in the schema.
constinit pg::Statement select_needs_schema(R"(
    SELECT EXISTS (
        SELECT FROM pg_proc AS object
        CROSS JOIN LATERAL aclexplode(object.proacl) AS acl
        WHERE object.pronamespace = 'hipq'::regnamespace AND acl.grantee = $1
    ) OR EXISTS (
        SELECT FROM pg_class AS object
        CROSS JOIN LATERAL aclexplode(object.relacl) AS acl
        WHERE object.relnamespace = 'hipq'::regnamespace AND acl.grantee = $1
    ) OR EXISTS (
        SELECT FROM pg_class AS object
        JOIN pg_attribute AS place ON place.attrelid = object.oid
        CROSS JOIN LATERAL aclexplode(place.attacl) AS acl
        WHERE object.relnamespace = 'hipq'::regnamespace AND acl.grantee = $1
    ))");

constinit pg::Statement select_holders(R"(
    SELECT DISTINCT acl.grantee
    FROM pg_class AS relation
    LEFT JOIN pg_attribute AS place ON place.attrelid = relation.oid
    CROSS JOIN LATERAL (
        SELECT given.grantee FROM aclexplode(relation.relacl) AS given
        UNION ALL
        SELECT given.grantee FROM aclexplode(place.attacl) AS given
    ) AS acl
    JOIN pg_roles AS role ON role.oid = acl.grantee
    WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname IN ($1, $1 || '_live'))");

std::string role_name(Oid role)
{
    return pg::quote_name(catalog::require_role(role));
}

// What stands on the tables of a queue: "INSERT, SELECT (id) ON TABLE hipq.app_mail". UPDATE is
// given on columns alone: on the table it would allow LOCK TABLE in every mode.
std::string table_part(const catalog::Queue &queue, Privilege privilege)
{
    switch (privilege) {
    case Privilege::enqueue:
        return "INSERT, SELECT (id) ON TABLE " + queue.qualified_table();
    case Privilege::work:
        return "UPDATE (job_data, scheduled_run_time, expires_time, timeout, max_retries, "
               "priority, throttle_factor, "
               "throttle_key, "
               "time_windows) ON TABLE " +
               queue.qualified_table();
    case Privilege::read:
        return "SELECT ON TABLE " + queue.qualified_table();
    case Privilege::control:
        return "UPDATE (scheduled_run_time, priority) ON TABLE " + queue.qualified_live_table();
    }
    return {};
}

// The same for REVOKE. Taking a right on a table takes it on all columns too.
std::string whole_table_part(const catalog::Queue &queue, Privilege privilege)
{
    switch (privilege) {
    case Privilege::work:
        return "UPDATE ON TABLE " + queue.qualified_table();
    case Privilege::control:
        return "UPDATE ON TABLE " + queue.qualified_live_table();
    default:
        return table_part(queue, privilege);
    }
}

void grant_on(const pg::Rows &objects, const char *privilege, const std::string &role)
{
    for (const pg::Row row : objects)
        pg::run_once(std::string("GRANT ") + privilege + " ON " + row.text(0) + " TO " + role);
}

void revoke_on(const pg::Rows &objects, const char *privilege, const std::string &role)
{
    for (const pg::Row row : objects)
        pg::run_once(std::string("REVOKE ") + privilege + " ON " + row.text(0) + " FROM " + role);
}

struct Needs {
    Names functions;
    Names views;

    void add(Privilege privilege)
    {
        const Names more_functions = functions_for(privilege);
        const Names more_views = views_for(privilege);
        functions.insert(functions.end(), more_functions.begin(), more_functions.end());
        views.insert(views.end(), more_views.begin(), more_views.end());
    }
    void add_owners()
    {
        const Names more = functions_for_owner();
        functions.insert(functions.end(), more.begin(), more.end());
    }
};

// What the role needs for the rights that it has itself. As the extension owner.
Needs needs_of(Oid role)
{
    const pg::Rows rows = select_held.run(role);
    const pg::Row held = rows.front();
    Needs needs;
    for (std::size_t i = 0; i < all_privileges.size(); ++i)
        if (held.boolean(static_cast<int>(i)))
            needs.add(all_privileges[i]);
    if (held.boolean(static_cast<int>(all_privileges.size())))
        needs.add_owners();
    return needs;
}

// Takes from a role what came with rights that it has no more, and no other right of its own on a
// queue needs. What hipq does not give with them stays, and so does the schema for it. As the
// extension owner.
void take_what_came_with(const Needs &taken, Oid role)
{
    const std::string name = role_name(role);
    const Needs needs = needs_of(role);
    revoke_on(select_given_functions.run(taken.functions, needs.functions, role), "EXECUTE", name);
    revoke_on(select_given_views.run(taken.views, needs.views, role), "SELECT", name);
    if (!select_needs_schema.run(role).front().boolean(0))
        pg::run_once("REVOKE USAGE ON SCHEMA hipq FROM " + name);
}

Needs all_needs()
{
    Needs all;
    for (const Privilege privilege : all_privileges)
        all.add(privilege);
    all.add_owners();
    return all;
}

struct Shared {
    Names functions;
    Names views;
};

// What all queues share: each right once per role. That can be written by one transaction at a
// time, so what is there already is left alone.
void give_shared(Oid role, const Shared &wanted)
{
    const auto missing = [&] {
        return std::array{select_schema.run_latest(role),
                          select_functions.run_latest(wanted.functions, role),
                          select_views.run_latest(wanted.views, role)};
    };
    const auto before = missing();
    if (std::all_of(before.begin(), before.end(),
                    [](const pg::Rows &rows) { return rows.empty(); }))
        return;
    catalog::lock_shared_objects();
    const auto objects = missing();
    const std::string name = role_name(role);
    grant_on(objects[0], "USAGE", name);
    grant_on(objects[1], "EXECUTE", name);
    grant_on(objects[2], "SELECT", name);
}

Privilege require_privilege(const std::string &text)
{
    const std::optional<Privilege> privilege = catalog::parse_privilege(text);
    if (!privilege.has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown privilege \"%s\"", text.c_str()),
                   errhint("Privileges on a queue are enqueue, work, read and control."));
    return *privilege;
}

}  // namespace

void give_privilege(const catalog::Queue &queue, Oid role, Privilege privilege)
{
    const std::string name = role_name(role);
    pg::as_hipq([&] {
        pg::run_once("GRANT " + table_part(queue, privilege) + " TO " + name);
        give_shared(role, {functions_for(privilege), views_for(privilege)});
    });
}

namespace {

// As the extension owner.
void take_table_part(const catalog::Queue &queue, Oid role, Privilege privilege)
{
    const std::string name = role_name(role);
    pg::run_once("REVOKE " + whole_table_part(queue, privilege) + " FROM " + name);
    // Taking SELECT on a table takes it on the columns too.
    if (privilege == Privilege::read &&
        select_insert_grant.run(queue.table, role).front().boolean(0))
        pg::run_once("GRANT SELECT (id) ON TABLE " + queue.qualified_table() + " TO " + name);
}

}  // namespace

void take_privilege(const catalog::Queue &queue, Oid role, Privilege privilege)
{
    pg::as_hipq([&] {
        take_table_part(queue, role, privilege);
        Needs taken;
        taken.add(privilege);
        take_what_came_with(taken, role);
    });
    if (privilege == Privilege::work)
        wakeup::note_look();  // what workers of the role have is somebody else's now
}

void give_ownership(const catalog::Queue &queue, Oid role)
{
    for (const Privilege privilege : all_privileges)
        give_privilege(queue, role, privilege);
    pg::as_hipq([&] { give_shared(role, {functions_for_owner(), {}}); });
}

void take_ownership(const catalog::Queue &queue, Oid role)
{
    if (pg::call([&] { return ::GetUserNameFromId(role, true); }) == nullptr)
        return;
    pg::as_hipq([&] {
        for (const Privilege privilege : all_privileges)
            take_table_part(queue, role, privilege);
        take_what_came_with(all_needs(), role);
    });
}

std::vector<Oid> holders_of_rights(const catalog::Queue &queue)
{
    std::vector<Oid> roles;
    const pg::Rows rows = pg::as_hipq([&] { return select_holders.run(queue.table); });
    for (const pg::Row row : rows)
        if (row.oid(0) != pg::extension_owner())
            roles.push_back(row.oid(0));
    return roles;
}

void take_what_came_with_queues(const std::vector<Oid> &roles)
{
    pg::as_hipq([&] {
        for (const Oid role : roles)
            take_what_came_with(all_needs(), role);
    });
}

namespace {

void grant_queue(const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue &queue =
        catalog::require_own_queue(*catalogue, arguments.text(0, "queue"));
    const Oid role = arguments.oid(1, "role");
    give_privilege(queue, role, require_privilege(arguments.text(2, "privilege")));
}

void revoke_queue(const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue &queue =
        catalog::require_own_queue(*catalogue, arguments.text(0, "queue"));
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

bool may(const pg::Arguments &arguments)
{
    const Privilege privilege = require_privilege(arguments.text(1, "privilege"));
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(arguments.maybe_int(0).value_or(0));
    return queue != nullptr && catalog::may(catalog::caller(), *queue, privilege);
}

}  // namespace

}  // namespace hipq::queues

HIPQ_FUNCTION(hipq_grant_queue)
{
    hipq::queues::grant_queue(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_revoke_queue)
{
    hipq::queues::revoke_queue(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__may)
{
    return hipq::pg::return_bool(hipq::queues::may(hipq::pg::Arguments(fcinfo)));
}
