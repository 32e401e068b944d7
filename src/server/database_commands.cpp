// Recognizes commands that need a database to themselves, and waits until hipq's processes are
// gone.
#include "server/database_commands.hpp"

#include "admin/admin.hpp"
#include "core/limits/versions.hpp"
#include "job/two_phase.hpp"
#include "pg/compat.hpp"
#include "pg/extension.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"
#include "shared/databases/stand_aside.hpp"
#include "shared/executors/clear_database.hpp"
#include "shared/memory/registry.hpp"
#include "shared/wakeup/commit.hpp"

extern "C" {
#include "access/twophase.h"
#include "commands/defrem.h"
}

namespace hipq::server {

namespace {

using executors::Afterwards;

// DROP DATABASE itself waits this long for other sessions.
constexpr std::int64_t longest_wait = 5 * USECS_PER_SEC;

// ---- the wait ----

// Ends the workers of a database and waits until they are gone. A worker that does not react is
// left to the command, which reports what is in its way.
void clear_the_way(Oid database, Afterwards afterwards)
{
    if (!memory::is_loaded())
        return;
    executors::stand_aside(database, afterwards);
    const TimestampTz end = ::GetCurrentTimestamp() + longest_wait;
    while (executors::has_workers(database) && ::GetCurrentTimestamp() < end)
        databases::wait_for_departure(end - ::GetCurrentTimestamp());
    databases::end_wait_for_departure();
}

// ---- databases ----

Oid database_named(const char *name)
{
    return pg::call([&] { return ::get_database_oid(name, true); });
}

bool owns(Oid database)
{
    return pg::call([&] { return pg::owns(DatabaseRelationId, database, ::GetUserId()); });
}

bool may_create_databases()
{
    return pg::call([] {
        if (::superuser())
            return true;
        HeapTuple tuple = ::SearchSysCache1(AUTHOID, ObjectIdGetDatum(::GetUserId()));
        const bool may = HeapTupleIsValid(tuple) &&
                         reinterpret_cast<Form_pg_authid>(GETSTRUCT(tuple))->rolcreatedb;
        if (HeapTupleIsValid(tuple))
            ::ReleaseSysCache(tuple);
        return may;
    });
}

// Returns whether every role that may create databases may copy this one.
bool is_template(Oid database)
{
    return pg::call([&] {
        HeapTuple tuple = ::SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
        const bool is = HeapTupleIsValid(tuple) &&
                        reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple))->datistemplate;
        if (HeapTupleIsValid(tuple))
            ::ReleaseSysCache(tuple);
        return is;
    });
}

// Returns null without that option.
DefElem *option_named(const List *options, const char *name)
{
    ListCell *cell = nullptr;
    foreach (cell, options) {
        auto *option = static_cast<DefElem *>(lfirst(cell));
        if (std::strcmp(option->defname, name) == 0)
            return option;
    }
    return nullptr;
}

bool has_option(const List *options, const char *name)
{
    return option_named(options, name) != nullptr;
}

bool exists(const char *name)
{
    return OidIsValid(database_named(name));
}

// A role that drops, renames or moves a database owns it and is connected to another one.
void clear_for_owner(const char *name, Afterwards afterwards)
{
    const Oid database = database_named(name);
    if (OidIsValid(database) && database != MyDatabaseId && owns(database))
        clear_the_way(database, afterwards);
}

// Commands that must not run in a transaction block fail there by themselves.
bool runs_alone(ProcessUtilityContext context)
{
    return !pg::call([&] { return ::IsInTransactionBlock(context == PROCESS_UTILITY_TOPLEVEL); });
}

void before_alter_database(const AlterDatabaseStmt &statement, ProcessUtilityContext context)
{
    if (has_option(statement.options, "tablespace") && runs_alone(context))
        clear_for_owner(statement.dbname, Afterwards::come_back);
    // Existing sessions stay, but connections that were refused may be accepted now.
    if (has_option(statement.options, "allow_connections"))
        wakeup::note_change_of_database(database_named(statement.dbname));
}

void before_create_database(const CreatedbStmt &statement)
{
    DefElem *option = option_named(statement.options, "template");
    const bool names_template = option != nullptr && option->arg != nullptr;
    const Oid database = database_named(
        names_template ? pg::call([&] { return ::defGetString(option); }) : "template1");
    const bool may_copy =
        OidIsValid(database) && may_create_databases() && (is_template(database) || owns(database));
    if (may_copy && !exists(statement.dbname))
        clear_the_way(database, Afterwards::come_back);
}

// ---- DROP EXTENSION ----

// In the order in which a schedule's run locks them.
constinit pg::Statement lock_tables("LOCK TABLE hipq.schedule, hipq.job IN ACCESS EXCLUSIVE MODE");
constinit pg::Statement
    find_unfinished("SELECT 1 FROM hipq.job AS job WHERE job.state <> 'final' LIMIT 1");

// What the command drops: of its queues, the tables with their indexes, TOAST tables, types,
// constraints, triggers and defaults of columns.
constinit pg::Statement count_objects(R"(
    WITH relation AS (SELECT oid, reltoastrelid FROM pg_class WHERE relnamespace = 'hipq'::regnamespace)
    SELECT (SELECT count(*) + 2 * count(*) FILTER (WHERE reltoastrelid <> 0) FROM relation)
         + (SELECT count(*) FROM pg_attrdef WHERE adrelid IN (SELECT oid FROM relation))
         + (SELECT count(*) FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM relation))
         + (SELECT count(*) FROM pg_type WHERE typnamespace = 'hipq'::regnamespace)
         + (SELECT count(*) FROM pg_constraint WHERE connamespace = 'hipq'::regnamespace)
         + (SELECT count(*) FROM pg_proc WHERE pronamespace = 'hipq'::regnamespace))");

bool names_hipq(const DropStmt &statement)
{
    ListCell *cell = nullptr;
    foreach (cell, statement.objects)
        if (std::strcmp(strVal(lfirst(cell)), "hipq") == 0)
            return true;
    return false;
}

bool owns_extension()
{
    return pg::call([] {
        const Oid extension = ::get_extension_oid("hipq", true);
        return OidIsValid(extension) && pg::owns(ExtensionRelationId, extension, ::GetUserId());
    });
}

void refuse_if_unfinished()
{
    if (settings::allow_drop)
        return;
    const bool has_unfinished =
        pg::as_extension_owner([] { return !find_unfinished.run_latest().empty(); });
    if (has_unfinished)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
                   errmsg("extension \"hipq\" cannot be dropped: there are unfinished jobs"),
                   errhint("Wait for them, cancel them, or SET hipq.allow_drop = on."));
}

// PostgreSQL would fill the lock table, in which other sessions find no room then, and fail with
// "out of shared memory". Up to 18 it has a little more room than it promises, which is left to
// others.
void refuse_if_too_large()
{
    const std::int64_t room =
        std::int64_t{max_locks_per_xact} * (std::int64_t{MaxBackends} + max_prepared_xacts);
    const std::int64_t objects =
        pg::as_extension_owner([] { return count_objects.run_latest().front().integer(0); });
    if (objects > room)
        HIPQ_RAISE(errcode(ERRCODE_OUT_OF_MEMORY),
                   errmsg("no room for the locks of a transaction that drops extension \"hipq\""),
                   errdetail("It locks " INT64_FORMAT " objects, most of them of queues, and there "
                             "is room for " INT64_FORMAT " locks.",
                             objects, room),
                   errhint("First drop queues with hipq.drop_queue(), each in a transaction of its "
                           "own. Or increase max_locks_per_transaction, which needs a restart."));
}

// Checks first, so that a refusal disturbs no process, and again under the lock, when no session
// can enqueue or schedule any more. Removes hipq's entries in pg_cron while hipq's functions and
// tables exist, in the same transaction.
void before_drop_extension()
{
    if (!owns_extension())
        return;
    refuse_if_unfinished();
    refuse_if_too_large();
    job::forbid_two_phase(job::NoTwoPhase::extension_dropped);
    clear_the_way(MyDatabaseId, Afterwards::forget);
    pg::as_extension_owner([] { lock_tables.run(); });
    refuse_if_unfinished();
    admin::remove_all_entries();
}

// Returns the version in ALTER EXTENSION ... UPDATE TO; null if there is none.
const char *wanted_version(const AlterExtensionStmt &statement)
{
    ListCell *cell = nullptr;
    foreach (cell, statement.options) {
        auto *option = static_cast<DefElem *>(lfirst(cell));
        if (std::strcmp(option->defname, "new_version") == 0)
            return ::defGetString(option);
    }
    return nullptr;
}

// Update scripts lead only from older versions to newer ones.
void refuse_downgrade(const AlterExtensionStmt &statement)
{
    const char *wanted = pg::call([&] { return wanted_version(statement); });
    const std::string installed = pg::installed_version().value_or("");
    if (wanted == nullptr || !core::is_earlier(wanted, installed))
        return;
    HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("extension \"hipq\" cannot go back from version %s to version %s",
                      installed.c_str(), wanted),
               errhint("A library that is one minor version older works with this extension. What "
                       "is older needs a backup that was made before the update."));
}

// ALTER EXTENSION hipq UPDATE and the like: the workers come back and check the new version.
void before_alter_extension(const AlterExtensionStmt &statement)
{
    if (std::strcmp(statement.extname, "hipq") != 0 || !owns_extension())
        return;
    refuse_downgrade(statement);
    clear_the_way(MyDatabaseId, Afterwards::look_again);
}

// DROP OWNED BY the extension owner drops the extension too.
bool names_extension_owner(const DropOwnedStmt &statement)
{
    if (!owns_extension())
        return false;
    const Oid owner = pg::extension_owner();
    return pg::call([&] {
        ListCell *cell = nullptr;
        foreach (cell, statement.roles)
            if (::get_rolespec_oid(static_cast<const RoleSpec *>(lfirst(cell)), true) == owner)
                return true;
        return false;
    });
}

// ---- statements ----

void before_command_on_database(const Node *statement, ProcessUtilityContext context)
{
    switch (nodeTag(statement)) {
    case T_DropdbStmt:
        if (runs_alone(context))
            clear_for_owner(reinterpret_cast<const DropdbStmt *>(statement)->dbname,
                            Afterwards::forget);
        break;
    case T_CreatedbStmt:
        if (runs_alone(context))
            before_create_database(*reinterpret_cast<const CreatedbStmt *>(statement));
        break;
    case T_AlterDatabaseStmt:
        before_alter_database(*reinterpret_cast<const AlterDatabaseStmt *>(statement), context);
        break;
    case T_RenameStmt: {
        const auto &rename = *reinterpret_cast<const RenameStmt *>(statement);
        if (rename.renameType == OBJECT_DATABASE && may_create_databases() &&
            !exists(rename.newname))
            clear_for_owner(rename.subname,
                            Afterwards::look_again);  // found again under the new name
        break;
    }
    default:
        break;
    }
}

bool is_drop_extension(const Node *statement)
{
    if (!IsA(statement, DropStmt))
        return false;
    const auto &drop = *reinterpret_cast<const DropStmt *>(statement);
    return drop.removeType == OBJECT_EXTENSION && names_hipq(drop);
}

bool drops_extension(const Node *statement)
{
    return is_drop_extension(statement) ||
           (IsA(statement, DropOwnedStmt) &&
            names_extension_owner(*reinterpret_cast<const DropOwnedStmt *>(statement)));
}

}  // namespace

void before_database_command(const PlannedStmt &planned, ProcessUtilityContext context)
{
    // Outside a transaction nothing can be looked up, and no command that matters here runs there.
    if (!pg::call([] { return IsTransactionState(); }))
        return;
    if (drops_extension(planned.utilityStmt))
        before_drop_extension();
    else if (IsA(planned.utilityStmt, AlterExtensionStmt))
        before_alter_extension(*reinterpret_cast<const AlterExtensionStmt *>(planned.utilityStmt));
    else
        before_command_on_database(planned.utilityStmt, context);
}

}  // namespace hipq::server
