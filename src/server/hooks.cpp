// Installs the hooks into PostgreSQL.
//
// The hooks handle DROP and RENAME ROLE, commands on databases and the extension, two-phase commit,
// rights, COPY of jobs, what handlers do in a client's session, a NULL queue_id in an INSERT, and
// other servers that begin to read here.
#include "server/hooks.hpp"

#include "admin/admin.hpp"
#include "catalog/cache.hpp"
#include "catalog/queue_hold.hpp"
#include "catalog/visible_queues.hpp"
#include "enqueue/enqueue.hpp"
#include "execute/execute.hpp"
#include "job/two_phase.hpp"
#include "pg/transaction.hpp"
#include "server/database_commands.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/wakeup/commit.hpp"
#include "shared/workers/registered.hpp"

extern "C" {
#include "replication/walsender.h"

// Declared in libpq/auth.h, which includes Kerberos headers.
using AuthenticationHook = void (*)(struct Port *, int);
// NOLINTNEXTLINE(readability-identifier-naming): PostgreSQL's
extern PGDLLIMPORT AuthenticationHook ClientAuthentication_hook;
}

namespace hipq::server {

namespace {

constinit ProcessUtility_hook_type previous_utility = nullptr;
constinit planner_hook_type previous_planner = nullptr;
constinit AuthenticationHook previous_authentication = nullptr;

// ---- DROP ROLE, ALTER ROLE RENAME ----

void refuse_if_owner(Oid role)
{
    const auto catalogue = catalog::catalogue();
    for (const auto &entry : catalogue->queues) {
        const catalog::Queue &queue = entry.second;
        if (queue.owner != role || queue.is_dropped)
            continue;
        const char *name = pg::call([&] { return ::GetUserNameFromId(role, true); });
        const std::string queue_name = queue.full_name();
        HIPQ_RAISE(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                   errmsg("role \"%s\" cannot be dropped because it owns queue \"%s\"",
                          name == nullptr ? "?" : name, queue_name.c_str()),
                   errhint("Use hipq.alter_queue(owner => ...) or hipq.drop_queue() first."));
    }
}

void refuse_if_it_schedules(Oid role)
{
    const auto catalogue = catalog::catalogue();
    const auto title = admin::title_of_role(*catalogue, role);
    if (!title.has_value())
        return;
    const char *name = pg::call([&] { return ::GetUserNameFromId(role, true); });
    HIPQ_RAISE(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
               errmsg("role \"%s\" cannot be dropped because %s enqueues as it",
                      name == nullptr ? "?" : name, title->c_str()),
               errhint("End it with hipq.unschedule(), or make it another role's with "
                       "hipq.schedule() first."));
}

void check_drop_role(const DropRoleStmt &statement)
{
    if (!is_installed())
        return;
    const int count = list_length(statement.roles);
    for (int i = 0; i < count; ++i) {
        const Oid role = pg::call([&] {
            const auto *spec = static_cast<const RoleSpec *>(list_nth(statement.roles, i));
            return spec->roletype == ROLESPEC_CSTRING ? ::get_rolespec_oid(spec, true) : InvalidOid;
        });
        if (!OidIsValid(role))
            continue;
        refuse_if_owner(role);
        refuse_if_it_schedules(role);
    }
}

bool renames_role(const Node *statement)
{
    return IsA(statement, RenameStmt) &&
           reinterpret_cast<const RenameStmt *>(statement)->renameType == OBJECT_ROLE;
}

// pg_cron identifies a role by its name.
void after_rename_of_role()
{
    pg::call([] { ::CommandCounterIncrement(); });
    admin::mend_entries();
}

// ---- rights ----

// ALTER ROLE ... LOGIN, GRANT CONNECT.
bool may_let_somebody_in(const Node *statement)
{
    if (IsA(statement, GrantStmt))
        return reinterpret_cast<const GrantStmt *>(statement)->objtype == OBJECT_DATABASE;
    return IsA(statement, AlterRoleStmt) || IsA(statement, GrantRoleStmt);
}

// ---- workers ----

// A session that a worker is bound to and that stops listening no longer belongs to the worker: a
// pooler has reset it, or the program has finished. (DISCARD ALL unlistens without a statement of
// its own.)
bool stops_listening(const Node *statement)
{
    if (IsA(statement, DiscardStmt))
        return reinterpret_cast<const DiscardStmt *>(statement)->target == DISCARD_ALL;
    if (!IsA(statement, UnlistenStmt))
        return false;
    const char *channel = reinterpret_cast<const UnlistenStmt *>(statement)->conditionname;
    return channel == nullptr || std::string_view(channel).starts_with("hipq_worker_");
}

// ---- the utility hook ----

bool is_transaction_command(const PlannedStmt &planned, TransactionStmtKind kind)
{
    return IsA(planned.utilityStmt, TransactionStmt) &&
           reinterpret_cast<const TransactionStmt *>(planned.utilityStmt)->kind == kind;
}

void before_utility(const PlannedStmt &planned, ProcessUtilityContext context)
{
    execute::check_utility_in_visit(planned.utilityStmt);
    if (is_transaction_command(planned, TRANS_STMT_PREPARE))
        job::demand_two_phase();  // before the callback, which ends the transaction
    else if (IsA(planned.utilityStmt, DropRoleStmt))
        check_drop_role(*reinterpret_cast<const DropRoleStmt *>(planned.utilityStmt));
    else if (may_let_somebody_in(planned.utilityStmt))
        wakeup::note_change_of_rights();
    else if (stops_listening(planned.utilityStmt) && workers::has_own_workers())
        workers::note_end_of_listening();
    else
        before_database_command(planned, context);
}

extern "C" void hipq_process_utility(PlannedStmt *planned, const char *text, bool read_only_tree,
                                     ProcessUtilityContext context, ParamListInfo parameters,
                                     QueryEnvironment *environment, DestReceiver *receiver,
                                     QueryCompletion *completion)
{
    pg::enter([&] { before_utility(*planned, context); });
    const bool commits_prepared = is_transaction_command(*planned, TRANS_STMT_COMMIT_PREPARED) &&
                                  pg::enter([] { return is_installed(); });
    // CALL frees the statement when its procedure ends the transaction.
    const bool renames = renames_role(planned->utilityStmt);
    const bool feeds = IsA(planned->utilityStmt, CreateSubscriptionStmt) ||
                       IsA(planned->utilityStmt, AlterSubscriptionStmt);
    // Hooks of others that are called after this one must see the statement.
    if (IsA(planned->utilityStmt, CopyStmt) && previous_utility == nullptr && pg::enter([&] {
            return enqueue::copy_jobs(*reinterpret_cast<const CopyStmt *>(planned->utilityStmt),
                                      text, completion);
        }))
        return;
    const auto next = previous_utility != nullptr ? previous_utility : ::standard_ProcessUtility;
    next(planned, text, read_only_tree, context, parameters, environment, receiver, completion);
    if (feeds && pg::enter([] { return is_installed(); }))
        pg::enter([] { catalog::hold_all_fed_queues(); });
    if (renames && pg::enter([] { return is_installed(); }))
        pg::enter([] { after_rename_of_role(); });
    if (commits_prepared)  // its jobs became visible without our commit callback
        wakeup::note_unknown_jobs();
}

// ---- NULL for queue_id ----
//
// PostgreSQL checks the partition bound of a queue's table before any trigger can fill the column,
// so an ORM that writes every column would always fail. The planner sees the INSERT first, so its
// NULL is replaced by the queue's number here.

// Returns the queue of this table; 0 for every other relation.
int queue_of_table(Oid relation)
{
    const bool is_ours = pg::call([&] {
        return ::get_rel_relkind(relation) == RELKIND_PARTITIONED_TABLE &&
               ::get_rel_namespace(relation) == ::get_namespace_oid("hipq", true);
    });
    if (!is_ours)
        return 0;
    const std::string name = pg::call([&] { return ::get_rel_name(relation); });
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find("hipq." + name);
    if (queue == nullptr || queue->table == name)
        return queue == nullptr ? 0 : queue->id;
    for (const auto &entry : catalogue->queues)  // a queue has the name of this table
        if (entry.second.table == name)
            return entry.first;
    return 0;
}

// Call inside pg::call() only. `entries` is the target list of an INSERT.
void default_queue_id(List *entries, AttrNumber column, int queue_id)
{
    ListCell *cell = nullptr;
    foreach (cell, entries) {
        auto *entry = lfirst_node(TargetEntry, cell);
        if (entry->resno != column || entry->resjunk)
            continue;
        CoalesceExpr *coalesce = makeNode(CoalesceExpr);
        coalesce->coalescetype = INT4OID;
        coalesce->args =
            list_make2(entry->expr, ::makeConst(INT4OID, -1, InvalidOid, sizeof(std::int32_t),
                                                Int32GetDatum(queue_id), false, true));
        coalesce->location = -1;
        entry->expr = reinterpret_cast<Expr *>(coalesce);
    }
}

void default_queue_id_of_inserts(Query &query, int queue_id, Oid relation)
{
    pg::call([&] {
        const AttrNumber column = ::get_attnum(relation, "queue_id");
        if (query.commandType == CMD_INSERT)
            default_queue_id(query.targetList, column, queue_id);
        ListCell *cell = nullptr;
        foreach (cell, query.mergeActionList) {
            auto *action = lfirst_node(MergeAction, cell);
            if (action->commandType == CMD_INSERT)
                default_queue_id(action->targetList, column, queue_id);
        }
    });
}

// Handles the statement and its WITH clause, the only other place that can have an INSERT. Returns
// the statement itself, if it is an ordinary INSERT of jobs.
std::optional<enqueue::OrdinaryInsert> before_planning(Query &query)
{
    std::optional<enqueue::OrdinaryInsert> ordinary;
    if ((query.commandType == CMD_INSERT || query.commandType == CMD_MERGE) &&
        query.resultRelation != 0) {
        const Oid relation = rt_fetch(query.resultRelation, query.rtable)->relid;
        if (const int queue_id = queue_of_table(relation)) {
            ordinary = enqueue::ordinary_insert(query, queue_id);
            default_queue_id_of_inserts(query, queue_id, relation);
        }
    }
    const int count = list_length(query.cteList);
    for (int i = 0; i < count; ++i) {
        const auto *cte = static_cast<const CommonTableExpr *>(list_nth(query.cteList, i));
        if (IsA(cte->ctequery, Query))
            (void)before_planning(*reinterpret_cast<Query *>(cte->ctequery));
    }
    return ordinary;
}

// The further arguments depend on the version of PostgreSQL.
template <class... Arguments>
PlannedStmt *plan(Query *query, Arguments... arguments)
{
    const auto ordinary_insert = pg::enter([&] { return before_planning(*query); });
    const bool outer =
        catalog::set_planned_by_visible_queues(false);  // planning may plan other statements
    const auto next = previous_planner != nullptr ? previous_planner : ::standard_planner;
    PlannedStmt *planned = next(query, arguments...);
    if (catalog::set_planned_by_visible_queues(outer))
        planned->dependsOnRole = true;
    if (ordinary_insert.has_value())
        enqueue::insert_without_trigger(*planned, *ordinary_insert);
    return planned;
}

// ---- readers ----

// Notices a server that was restored to an earlier state of its disk: the only sign is that its
// subscription connects here again. Called before the session has a transaction.
extern "C" void hipq_authenticated(struct Port *port, int status)
{
    if (previous_authentication != nullptr)
        previous_authentication(port, status);
    if (status == STATUS_OK && am_db_walsender)
        databases::reader_came();
}

}  // namespace

bool is_installed()
{
    return pg::call(
        [] { return IsTransactionState() && OidIsValid(::get_extension_oid("hipq", true)); });
}

void install_hooks()
{
    previous_utility = ProcessUtility_hook;
    ProcessUtility_hook = hipq_process_utility;
    previous_planner = planner_hook;
    planner_hook = plan;
    previous_authentication = ClientAuthentication_hook;
    ClientAuthentication_hook = hipq_authenticated;
    execute::watch_visits();
    if (creating_extension && !process_shared_preload_libraries_in_progress)
        ereport(
            WARNING, errmsg("hipq is not preloaded: jobs can be enqueued, but nothing runs them"),
            errhint(
                "Add hipq to shared_preload_libraries in postgresql.conf and restart the server."));
}

}  // namespace hipq::server
