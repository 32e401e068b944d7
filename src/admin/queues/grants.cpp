// Grants and revokes rights on queues (grant_queue, revoke_queue, _may).
//
// A right on a queue is stored where PostgreSQL stores rights, in the ACLs of the queue's tables,
// and comes with USAGE on the schema.
#include "admin/queues/grants.hpp"

#include "admin/admin.hpp"
#include "admin/schedules/cron_entries.hpp"
#include "admin/schedules/restore_schedules.hpp"
#include "admin/schedules/schedule_rows.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/name_lock.hpp"
#include "catalog/rights.hpp"
#include "core/job/columns.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::admin {

namespace {

using catalog::Privilege;

constinit pg::Statement select_schema_grant(R"(
    SELECT EXISTS (
        SELECT FROM pg_namespace
        CROSS JOIN aclexplode(nspacl) AS acl
        WHERE nspname = 'hipq' AND acl.grantee = $1 AND acl.privilege_type = 'USAGE'))");

// Whether role $1 has USAGE on the schema but nothing in it: no right on an object, and no queue. A
// grant made when the extension was installed does not count.
constinit pg::Statement select_needless_schema_grant(R"(
    SELECT EXISTS (
        SELECT FROM pg_namespace
        CROSS JOIN aclexplode(nspacl) AS acl
        WHERE nspname = 'hipq' AND acl.grantee = $1 AND acl.privilege_type = 'USAGE'
    ) AND NOT EXISTS (
        SELECT FROM pg_init_privs AS first
        CROSS JOIN aclexplode(first.initprivs) AS acl
        WHERE first.classoid = 'pg_namespace'::regclass AND first.objoid = 'hipq'::regnamespace AND acl.grantee = $1
    ) AND NOT EXISTS (
        SELECT FROM hipq.queue AS queue WHERE queue.owner = $1 AND NOT queue.is_dropped
    ) AND NOT EXISTS (
        SELECT FROM pg_proc AS object
        CROSS JOIN aclexplode(object.proacl) AS acl
        WHERE object.pronamespace = 'hipq'::regnamespace AND acl.grantee = $1
    ) AND NOT EXISTS (
        SELECT FROM pg_class AS object
        CROSS JOIN aclexplode(object.relacl) AS acl
        WHERE object.relnamespace = 'hipq'::regnamespace AND acl.grantee = $1
    ) AND NOT EXISTS (
        SELECT FROM pg_class AS object
        JOIN pg_attribute AS place ON place.attrelid = object.oid
        CROSS JOIN aclexplode(place.attacl) AS acl
        WHERE object.relnamespace = 'hipq'::regnamespace AND acl.grantee = $1
    ))");

// Whether the role itself was granted INSERT.
constinit pg::Statement select_insert_grant(R"(
    SELECT EXISTS (
        SELECT FROM pg_class AS relation
        CROSS JOIN aclexplode(relation.relacl) AS acl
        WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = $1
          AND acl.grantee = $2 AND acl.privilege_type = 'INSERT'))");

// Whether the role itself was granted UPDATE of the priority.
constinit pg::Statement select_control_grant(R"(
    SELECT EXISTS (
        SELECT FROM pg_class AS relation
        JOIN pg_attribute AS place ON place.attrelid = relation.oid AND place.attname = 'priority'
        CROSS JOIN aclexplode(place.attacl) AS acl
        WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = $1
          AND acl.grantee = $2 AND acl.privilege_type = 'UPDATE'))");

// The roles that were granted a right on the queue tables $1.
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
    WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = ANY ($1))");

std::string role_name(Oid role)
{
    return pg::quote_name(catalog::require_role(role));
}

// The rights on the tables of a queue: "INSERT, SELECT (id) ON TABLE hipq.app_mail". UPDATE is
// granted on columns only: on the table it would allow LOCK TABLE in every mode.
std::string table_part(const catalog::Queue &queue, Privilege privilege)
{
    switch (privilege) {
    case Privilege::enqueue:
        return "INSERT, SELECT (id) ON TABLE " + queue.qualified_table();
    case Privilege::work:
        return "UPDATE (" + core::column_list(core::ColumnKind::chosen) + ") ON TABLE " +
               queue.qualified_table();
    case Privilege::read:
        return "SELECT ON TABLE " + queue.qualified_table();
    case Privilege::operate:
        return "UPDATE (scheduled_run_time) ON TABLE " + queue.qualified_live_table();
    case Privilege::control:
        return "UPDATE (scheduled_run_time, priority) ON TABLE " + queue.qualified_live_table();
    }
    return {};
}

// The same for REVOKE. Revoking a right on a table also revokes it on all columns.
std::string whole_table_part(const catalog::Queue &queue, Privilege privilege)
{
    if (privilege == Privilege::work)
        return "UPDATE ON TABLE " + queue.qualified_table();
    if (privilege == Privilege::control)
        return "UPDATE ON TABLE " + queue.qualified_live_table();
    return table_part(queue, privilege);
}

bool is_true(pg::Statement &question, Oid role)
{
    return question.run_latest(role).front().boolean(0);
}

// Grants USAGE on the schema, once per role. Only one transaction at a time can write the schema's
// ACL, so do not touch it if there is nothing to do. Call both functions as the extension owner.
void give_schema(Oid role)
{
    if (is_true(select_schema_grant, role))
        return;
    catalog::lock_schema_rights();
    if (!is_true(select_schema_grant, role))
        pg::run_once("GRANT USAGE ON SCHEMA hipq TO " + role_name(role));
}

void take_needless_schema(Oid role)
{
    if (!is_true(select_needless_schema_grant, role))
        return;
    catalog::lock_schema_rights();
    if (is_true(select_needless_schema_grant, role))
        pg::run_once("REVOKE USAGE ON SCHEMA hipq FROM " + role_name(role));
}

Privilege require_privilege(const std::string &text)
{
    const std::optional<Privilege> privilege = catalog::parse_privilege(text);
    if (!privilege.has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown privilege \"%s\"", text.c_str()),
                   errhint("Privileges on a queue are enqueue, work, read, operate and control."));
    return *privilege;
}

}  // namespace

void give_privilege(const catalog::Queue &queue, Oid role, Privilege privilege)
{
    const std::string name = role_name(role);
    pg::as_hipq([&] {
        pg::run_once("GRANT " + table_part(queue, privilege) + " TO " + name);
        give_schema(role);
    });
}

namespace {

// Call as the extension owner.
void take_table_part(const catalog::Queue &queue, Oid role, Privilege privilege)
{
    const std::string name = role_name(role);
    pg::run_once("REVOKE " + whole_table_part(queue, privilege) + " FROM " + name);
    // Revoking SELECT on a table also revokes it on the columns.
    if (privilege == Privilege::read &&
        select_insert_grant.run(queue.table, role).front().boolean(0))
        pg::run_once("GRANT SELECT (id) ON TABLE " + queue.qualified_table() + " TO " + name);
    // A role with 'control' may operate too.
    if (privilege == Privilege::operate &&
        select_control_grant.run(queue.live_table(), role).front().boolean(0))
        pg::run_once("GRANT " + table_part(queue, Privilege::control) + " TO " + name);
}

}  // namespace

void take_privilege(const catalog::Queue &queue, Oid role, Privilege privilege)
{
    pg::as_hipq([&] {
        take_table_part(queue, role, privilege);
        take_needless_schema(role);
    });
    if (privilege == Privilege::work)
        wakeup::note_look();  // workers of the role lose their jobs
}

void give_ownership(const catalog::Queue &queue, Oid role)
{
    for (const Privilege privilege : catalog::all_privileges)
        give_privilege(queue, role, privilege);
}

void take_ownership(const catalog::Queue &queue, Oid role)
{
    if (pg::call([&] { return ::GetUserNameFromId(role, true); }) == nullptr)
        return;
    pg::as_hipq([&] {
        for (const Privilege privilege : catalog::all_privileges)
            take_table_part(queue, role, privilege);
        take_needless_schema(role);
    });
}

std::vector<Oid> holders_of_rights(const catalog::Queue &queue)
{
    std::vector<Oid> roles;
    const pg::Rows rows = pg::as_hipq([&] {
        return select_holders.run(std::vector{queue.table, queue.live_table()});
    });
    for (const pg::Row row : rows)
        if (row.oid(0) != pg::extension_owner())
            roles.push_back(row.oid(0));
    return roles;
}

void take_needless_schema(const std::vector<Oid> &roles)
{
    pg::as_hipq([&] {
        for (const Oid role : roles)
            take_needless_schema(role);
    });
}

namespace {

void grant_queue(const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue &queue = catalog::require_own_queue(*catalogue, arguments.text("queue"));
    const Oid role = arguments.oid("role");
    give_privilege(queue, role, require_privilege(arguments.text("privilege")));
}

void warn_of_schedules(const catalog::Queue &queue, Oid role)
{
    const std::string names = schedules_without_right(queue, role);
    if (names.empty())
        return;
    const std::string name = queue.full_name();
    pg::call([&] {
        ereport(
            WARNING,
            errmsg("schedules of queue \"%s\" enqueue no more: %s", name.c_str(), names.c_str()),
            errdetail("Their roles have no right to enqueue."),
            errhint("End them with hipq.unschedule(), or grant the right again."));
    });
}

void revoke_queue(const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue &queue = catalog::require_own_queue(*catalogue, arguments.text("queue"));
    const Oid role = arguments.oid("role");
    const Privilege privilege = require_privilege(arguments.text("privilege"));
    if (role == queue.owner) {
        const std::string name = queue.full_name();
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("cannot revoke rights of the owner of queue \"%s\"", name.c_str()),
                   errhint("Give the queue to another role with hipq.alter_queue(owner => ...)."));
    }
    take_privilege(queue, role, privilege);
    if (privilege == Privilege::enqueue)
        warn_of_schedules(queue, role);
}

bool may(const pg::Arguments &arguments)
{
    const Privilege privilege = require_privilege(arguments.text("privilege"));
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(arguments.maybe_int("queue_id").value_or(0));
    return queue != nullptr && catalog::may(catalog::caller(), *queue, privilege);
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_grant_queue)
{
    hipq::admin::grant_queue(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_revoke_queue)
{
    hipq::admin::revoke_queue(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__may)
{
    return hipq::pg::return_bool(hipq::admin::may(hipq::pg::Arguments(fcinfo)));
}
