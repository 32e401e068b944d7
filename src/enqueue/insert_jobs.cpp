// Runs an ordinary INSERT into a queue's table without the guard trigger, by a node of hipq's own.
//
// The planner hook puts the node in the place of ModifyTable, which becomes its child. When the
// statement starts, the node takes the child of ModifyTable instead, makes jobs of its rows, and
// writes them as enqueue_many() does. If NewRows leaves the leaf to SQL, it runs ModifyTable.
//
// Every other INSERT is left to PostgreSQL when it is planned: with ON CONFLICT, policies, system
// columns in RETURNING, or values for hipq's own columns (a restore).
#include "enqueue/enqueue.hpp"

#include "enqueue/job_writer.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "nodes/extensible.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/datum.h"
}

namespace hipq::enqueue {

namespace {

using core::Column;

// ---- is it an ordinary INSERT of new jobs? Call inside pg::call() only ----

// Whether the value is NULL or the column's default, so that nothing was chosen.
bool is_left_out(const TargetEntry &entry, Relation table)
{
    if (IsA(entry.expr, Const) && reinterpret_cast<const Const *>(entry.expr)->constisnull)
        return true;
    Node *start = ::build_column_default(table, entry.resno);
    return start != nullptr && ::equal(entry.expr, start);
}

bool is_bookkeeping(const char *name)
{
    const auto column = core::find_column(name);
    return !column.has_value() || core::kind(*column) == core::ColumnKind::bookkeeping;
}

bool has_chosen_columns_only(const List *entries, Relation table)
{
    for (int i = 0; i < list_length(entries); ++i) {
        const auto *entry = static_cast<const TargetEntry *>(list_nth(entries, i));
        const FormData_pg_attribute *column =
            TupleDescAttr(RelationGetDescr(table), entry->resno - 1);
        if (!entry->resjunk && is_bookkeeping(NameStr(column->attname)) &&
            !is_left_out(*entry, table))
            return false;
    }
    return true;
}

// Whether the node can return what is asked for.
bool can_return(const List *returned)
{
    auto *expressions = reinterpret_cast<Node *>(const_cast<List *>(returned));
    if (::checkExprHasSubLink(expressions))
        return false;
    const List *columns = ::pull_var_clause(expressions, 0);
    for (int i = 0; i < list_length(columns); ++i)
        if (!pg::is_plain_column(*static_cast<const Var *>(list_nth(columns, i))))
            return false;
    return true;
}

// ---- the plan. Call inside pg::call() only ----

extern "C" Node *hipq_make_insert_state(CustomScan *scan);

constexpr const char *node_name = "HipqInsert";  // in EXPLAIN
constexpr CustomScanMethods scan_methods{node_name, hipq_make_insert_state};

// Returns the columns of the table, as the rows that RETURNING reads.
List *columns_of(Oid table, Index place)
{
    List *columns = NIL;
    Relation relation = ::table_open(table, NoLock);
    const TupleDesc descriptor = RelationGetDescr(relation);
    for (int i = 0; i < descriptor->natts; ++i) {
        const FormData_pg_attribute *column = TupleDescAttr(descriptor, i);
        Node *value = column->attisdropped
                          ? reinterpret_cast<Node *>(::makeNullConst(INT4OID, -1, InvalidOid))
                          : reinterpret_cast<Node *>(
                                ::makeVar(static_cast<int>(place), column->attnum, column->atttypid,
                                          column->atttypmod, column->attcollation, 0));
        columns =
            ::lappend(columns, ::makeTargetEntry(reinterpret_cast<Expr *>(value),
                                                 static_cast<AttrNumber>(i + 1), nullptr, false));
    }
    ::table_close(relation, NoLock);
    return columns;
}

Plan *insert_plan(const PlannedStmt &planned, ModifyTable *insert, const OrdinaryInsert &ordinary)
{
    const int place = linitial_int(insert->resultRelations);
    auto *scan = makeNode(CustomScan);
    scan->scan.plan = insert->plan;
    scan->scan.plan.type = T_CustomScan;
    scan->scan.plan.lefttree = nullptr;
    insert->plan.initPlan = NIL;  // run by the new node
    if (planned.hasReturning) {
        scan->scan.plan.targetlist = static_cast<List *>(::copyObjectImpl(insert->plan.targetlist));
        ::ChangeVarNodes(reinterpret_cast<Node *>(scan->scan.plan.targetlist), place, INDEX_VAR, 0);
        scan->custom_scan_tlist =
            columns_of(rt_fetch(place, planned.rtable)->relid, static_cast<Index>(place));
    }
    scan->custom_plans = list_make1(insert);
    scan->custom_private = list_make2_int(ordinary.queue_id, ordinary.is_seen ? 1 : 0);
    scan->methods = &scan_methods;
    return &scan->scan.plan;
}

// ---- the run ----

struct InsertState {
    CustomScanState scan;
    bool writes_each;   // a row at a time
    JobWriter *writer;  // null: ModifyTable is run
    job::ColumnMap map;
};

MemoryContext memory_of(const InsertState &state)
{
    return state.scan.ss.ps.ps_ExprContext->ecxt_per_tuple_memory;
}

// Opens the queue for new rows. Nothing: PostgreSQL must insert.
JobWriter *open_writer(int queue_id)
{
    const KnownCatalogue catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(queue_id);
    if (queue == nullptr || queue->shards != nullptr)
        return nullptr;
    const auto rows = NewRows::open(*queue, NewRows::With::no_keys);
    return rows.has_value() ? new JobWriter(*rows, queue_id) : nullptr;
}

// Deletes the writer when the statement's memory is freed, which also happens after an error.
void delete_with(MemoryContext memory, JobWriter *writer)
{
    auto *callback = pg::call([&] {
        return static_cast<MemoryContextCallback *>(
            ::MemoryContextAllocZero(memory, sizeof(MemoryContextCallback)));
    });
    callback->func = [](void *given) { delete static_cast<JobWriter *>(given); };
    callback->arg = writer;
    ::MemoryContextRegisterResetCallback(memory, callback);
}

void begin(InsertState &state, EState &executor, int flags)
{
    auto *scan = reinterpret_cast<CustomScan *>(state.scan.ss.ps.plan);
    auto *insert = static_cast<ModifyTable *>(linitial(scan->custom_plans));
    const bool explains = (flags & EXEC_FLAG_EXPLAIN_ONLY) != 0;
    if (!explains)
        state.writer = open_writer(linitial_int(scan->custom_private));
    if (state.writer != nullptr) {
        delete_with(executor.es_query_cxt, state.writer);
        const int place = linitial_int(insert->resultRelations);
        Relation table = pg::call([&] {
            return ::table_open(exec_rt_fetch(static_cast<Index>(place), &executor)->relid, NoLock);
        });
        state.map = job::column_map(table);
        pg::call([&] { ::table_close(table, NoLock); });
    }
    state.writes_each = lsecond_int(scan->custom_private) != 0 || scan->scan.plan.targetlist != NIL;
    Plan *child = explains || state.writer != nullptr ? outerPlan(insert) : &insert->plan;
    pg::call([&] { state.scan.custom_ps = list_make1(::ExecInitNode(child, &executor, flags)); });
}

job::RowValues chosen_row(const InsertState &state, TupleTableSlot *slot)
{
    pg::call([&] { slot_getallattrs(slot); });
    return enqueue::chosen_row(state.map, slot->tts_values, slot->tts_isnull);
}

// Copies the values into the current memory context, because those of the slot do not stay.
void keep(job::RowValues &row, TupleTableSlot *slot, const job::ColumnMap &map)
{
    pg::call([&] {
        for (std::size_t i = 0; i < core::column_count; ++i) {
            if (row.nulls[i])
                continue;
            const FormData_pg_attribute *column =
                TupleDescAttr(slot->tts_tupleDescriptor, map[i] - 1);
            row.values[i] = ::datumCopy(row.values[i], column->attbyval, column->attlen);
        }
    });
}

TupleTableSlot *returned(InsertState &state, const job::RowValues &job)
{
    return pg::call([&] {
        TupleTableSlot *slot = state.scan.ss.ss_ScanTupleSlot;
        job::fill_slot(slot, state.map, job);
        state.scan.ss.ps.ps_ExprContext->ecxt_scantuple = slot;
        return ::ExecProject(state.scan.ss.ps.ps_ProjInfo);
    });
}

void forget_rows(InsertState &state)
{
    pg::call([&] { ResetExprContext(state.scan.ss.ps.ps_ExprContext); });
}

void write_pending(InsertState &state)
{
    state.writer->write_pending();
    forget_rows(state);
    state.writer->look_at_catalogue();
}

// Makes a job of a row, which is pending afterwards unless the node writes each row.
job::RowValues write(InsertState &state, TupleTableSlot *slot)
{
    MemoryContext before = ::MemoryContextSwitchTo(memory_of(state));
    job::RowValues row = chosen_row(state, slot);
    if (state.writes_each) {
        row = state.writer->write_now(row);
    } else {
        keep(row, slot, state.map);
        state.writer->write(row);
    }
    ::MemoryContextSwitchTo(before);
    ++state.scan.ss.ps.state->es_processed;
    return row;
}

TupleTableSlot *next_row(const InsertState &state)
{
    auto *child = static_cast<PlanState *>(linitial(state.scan.custom_ps));
    return pg::call([&] {
        CHECK_FOR_INTERRUPTS();
        return ::ExecProcNode(child);
    });
}

// Inserts all rows, or one of which something is returned; null: there are no more.
TupleTableSlot *insert_rows(InsertState &state)
{
    if (state.writer == nullptr)
        return next_row(state);
    for (;;) {
        TupleTableSlot *slot = next_row(state);
        if (TupIsNull(slot))
            break;
        const job::RowValues job = write(state, slot);
        if (state.scan.ss.ps.plan->targetlist != NIL)
            return returned(state, job);
        if (state.writes_each)
            forget_rows(state);
        else if (state.writer->is_full(memory_of(state)))
            write_pending(state);
    }
    state.writer->write_pending();
    return nullptr;
}

InsertState &insert_state(CustomScanState *scan)
{
    return *reinterpret_cast<InsertState *>(scan);
}

extern "C" void hipq_begin_insert(CustomScanState *scan, EState *executor, int flags)
{
    pg::enter([&] { begin(insert_state(scan), *executor, flags); });
}

extern "C" TupleTableSlot *hipq_insert(CustomScanState *scan)
{
    ResetExprContext(scan->ss.ps.ps_ExprContext);
    return pg::enter([&] { return insert_rows(insert_state(scan)); });
}

extern "C" void hipq_end_insert(CustomScanState *scan)
{
    ::ExecEndNode(static_cast<PlanState *>(linitial(scan->custom_ps)));
    if (JobWriter *writer = insert_state(scan).writer)
        pg::enter([&] { writer->close(); });
}

extern "C" void hipq_rescan_insert(CustomScanState *)
{
    elog(ERROR, "an INSERT cannot be run again");
}

constexpr CustomExecMethods exec_methods = [] {
    CustomExecMethods methods{};
    methods.CustomName = node_name;
    methods.BeginCustomScan = hipq_begin_insert;
    methods.ExecCustomScan = hipq_insert;
    methods.EndCustomScan = hipq_end_insert;
    methods.ReScanCustomScan = hipq_rescan_insert;
    return methods;
}();

extern "C" Node *hipq_make_insert_state(CustomScan *)
{
    auto *state = static_cast<InsertState *>(::palloc0(sizeof(InsertState)));
    NodeSetTag(&state->scan, T_CustomScanState);
    state->scan.methods = &exec_methods;
    return reinterpret_cast<Node *>(state);
}

}  // namespace

std::optional<OrdinaryInsert> ordinary_insert(const Query &query, int queue_id)
{
    if (query.commandType != CMD_INSERT || query.onConflict != nullptr ||
        query.withCheckOptions != NIL)
        return std::nullopt;
    const Oid table = rt_fetch(query.resultRelation, query.rtable)->relid;
    auto *whole = const_cast<Query *>(&query);
    bool is_seen = false;
    const bool is_ordinary = pg::call([&] {
        Relation relation = ::table_open(table, NoLock);
        const bool answer =
            has_chosen_columns_only(query.targetList, relation) && can_return(query.returningList);
        ::table_close(relation, NoLock);
        is_seen = ::contain_volatile_functions_not_nextval(reinterpret_cast<Node *>(whole));
        return answer;
    });
    return is_ordinary ? std::optional(OrdinaryInsert{queue_id, is_seen}) : std::nullopt;
}

void insert_without_trigger(PlannedStmt &planned, const OrdinaryInsert &ordinary)
{
    if (IsA(planned.planTree, ModifyTable))
        planned.planTree =
            insert_plan(planned, reinterpret_cast<ModifyTable *>(planned.planTree), ordinary);
}

}  // namespace hipq::enqueue
