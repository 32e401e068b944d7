// Executes the scan of job_scan.hpp.
//
// The executor calls it for each row, so all but the choice of the queues is written as PostgreSQL
// is: call inside pg::call() only.
#include "monitor/job_scan.hpp"

#include "catalog/visible_queues.hpp"
#include "core/text/names.hpp"
#include "job/leaf_scan.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
}

namespace hipq::monitor {

namespace {

// The names of a queue's table and of its live leaf.
struct Tables {
    const char *table;
    const char *live;
};

// What the comparisons of a statement say in one execution.
struct Conditions {
    bool is_never_met;  // a comparison with NULL
    job::Equality *equalities;
    std::size_t equality_count;
    List *queues;          // NIL: any
    TimestampTz from, to;  // of update_time, both included
};

struct JobScan {
    CustomScanState node;  // first
    JobScanPlan plan;
    List *values;         // of the comparisons
    List *columns;        // of hipq.job, in the order of the node's row
    const char **names;   // of these columns
    AttrNumber *numbers;  // of these columns in the open leaf
    AttrNumber last;      // the greatest of them
    // Until the next execution:
    MemoryContext memory;
    bool is_begun;
    Conditions conditions;
    List *queues;  // of Tables
    int next_queue;
    List *leaves;  // of that queue
    int next_leaf;
    job::LeafScan leaf;
};

JobScan *as_job_scan(void *node)
{
    return static_cast<JobScan *>(node);
}

// ---- the conditions ----

void add_equality(Conditions &conditions, const JobScan &scan, const Comparison &comparison,
                  Datum value)
{
    const char *column = ::get_attname(scan.plan.table, comparison.column, false);
    conditions.equalities[conditions.equality_count++] = {
        column, comparison.comparison, comparison.collation, comparison.is_array, value};
    if (std::strcmp(column, "queue_id") == 0 && !comparison.is_array &&
        comparison.comparison == Int4EqualOperator)
        conditions.queues = list_make1_int(DatumGetInt32(value));
}

void add_comparison(Conditions &conditions, const JobScan &scan, const Comparison &comparison,
                    Datum value)
{
    switch (comparison.use) {
    case Use::equality:
        add_equality(conditions, scan, comparison, value);
        break;
    case Use::lower_bound:
        conditions.from = std::max(conditions.from, DatumGetTimestampTz(value));
        break;
    case Use::upper_bound:
        conditions.to = std::min(conditions.to, DatumGetTimestampTz(value));
        break;
    }
}

void find_conditions(JobScan &scan)
{
    const int count = list_length(scan.values);
    scan.conditions = {};
    scan.conditions.from = DT_NOBEGIN;
    scan.conditions.to = DT_NOEND;
    scan.conditions.equalities = static_cast<job::Equality *>(
        ::palloc0(sizeof(job::Equality) * static_cast<std::size_t>(count + 1)));
    for (int i = 0; i < count; ++i) {
        auto *expression = static_cast<ExprState *>(list_nth(scan.values, i));
        bool is_null = false;
        const Datum value = ::ExecEvalExpr(expression, scan.node.ss.ps.ps_ExprContext, &is_null);
        if (is_null) {
            scan.conditions.is_never_met = true;
            return;
        }
        std::int16_t length = 0;
        bool by_value = false;
        ::get_typlenbyval(::exprType(reinterpret_cast<Node *>(expression->expr)), &length,
                          &by_value);
        add_comparison(scan.conditions, scan,
                       *static_cast<Comparison *>(list_nth(scan.plan.comparisons, i)),
                       ::datumCopy(value, by_value, length));
    }
}

// ---- the queues ----

// Copies into the current memory context.
const char *copied(const std::string &name)
{
    return pg::call([&] { return ::pstrdup(name.c_str()); });
}

// Returns the queues that the caller may read. Leaves out those that another session has locked,
// with a WARNING for each.
List *readable_queues(const List *asked)
{
    catalog::VisibleQueues visible_queues;
    std::vector<std::int32_t> ids = visible_queues.readable();
    if (asked != NIL)
        std::erase_if(ids, [&](int id) { return !::list_member_int(asked, id); });
    List *queues = NIL;
    for (const int id : catalog::reachable(ids)) {
        const std::string &table = visible_queues.readable(id)->table;
        const char *name = copied(table);
        const char *live = copied(core::live_leaf_name(table));
        pg::call([&] {
            auto *tables = static_cast<Tables *>(::palloc(sizeof(Tables)));
            *tables = {name, live};
            queues = ::lappend(queues, tables);
        });
    }
    return queues;
}

// ---- the leaves ----

job::Leaves leaves_in(const JobScanPlan &plan)
{
    if (plan.reads_live && plan.reads_final)
        return job::Leaves::all;
    return plan.reads_live ? job::Leaves::live : job::Leaves::final;
}

TimestampTz time_in(const List *bound, TimestampTz if_unbounded)
{
    const auto *datum = linitial_node(PartitionRangeDatum, bound);
    return datum->kind == PARTITION_RANGE_DATUM_VALUE
               ? DatumGetTimestampTz(castNode(Const, datum->value)->constvalue)
               : if_unbounded;
}

// Whether a leaf may have rows with such an update_time.
bool is_in_time(Oid leaf, TimestampTz from, TimestampTz to)
{
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(leaf));
    if (!HeapTupleIsValid(tuple))
        return false;
    bool is_null = false;
    const Datum stored = ::SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &is_null);
    bool may_have = true;
    if (!is_null) {
        const auto *bound =
            static_cast<PartitionBoundSpec *>(::stringToNode(TextDatumGetCString(stored)));
        if (!bound->is_default && bound->strategy == PARTITION_STRATEGY_RANGE)
            may_have = time_in(bound->lowerdatums, DT_NOBEGIN) <= to &&
                       time_in(bound->upperdatums, DT_NOEND) > from;
    }
    ::ReleaseSysCache(tuple);
    return may_have;
}

void find_columns(JobScan &scan)
{
    scan.last = 0;
    const TupleDesc row = RelationGetDescr(scan.leaf.leaf());
    ListCell *cell = nullptr;
    foreach (cell, scan.columns) {
        const int i = foreach_current_index(cell);
        const int expected = lfirst_int(cell);
        // Columns of a leaf are nearly always in the order of hipq.job.
        if (expected <= row->natts &&
            std::strcmp(NameStr(TupleDescAttr(row, expected - 1)->attname), scan.names[i]) == 0)
            scan.numbers[i] = static_cast<AttrNumber>(expected);
        else
            scan.numbers[i] = ::get_attnum(RelationGetRelid(scan.leaf.leaf()), scan.names[i]);
        scan.last = std::max(scan.last, scan.numbers[i]);
    }
}

bool begin_leaf(JobScan &scan, Oid leaf)
{
    const Conditions &conditions = scan.conditions;
    const bool has_range = conditions.from != DT_NOBEGIN || conditions.to != DT_NOEND;
    if (has_range && !is_in_time(leaf, conditions.from, conditions.to))
        return false;
    ::PushActiveSnapshot(scan.node.ss.ps.state->es_snapshot);
    const bool is_open = scan.leaf.begin(leaf, {conditions.equalities, conditions.equality_count});
    ::PopActiveSnapshot();
    if (is_open)
        find_columns(scan);
    return is_open;
}

void begin(JobScan &scan)
{
    scan.is_begun = true;
    find_conditions(scan);
    if (!scan.conditions.is_never_met)
        scan.queues = pg::enter([&] { return readable_queues(scan.conditions.queues); });
}

// Returns false after the last leaf.
bool begin_next_leaf(JobScan &scan)
{
    MemoryContext before = ::MemoryContextSwitchTo(scan.memory);
    if (!scan.is_begun)
        begin(scan);
    while (!scan.leaf.is_open()) {
        CHECK_FOR_INTERRUPTS();
        if (scan.next_leaf < list_length(scan.leaves)) {
            begin_leaf(scan, list_nth_oid(scan.leaves, scan.next_leaf++));
        } else if (scan.next_queue < list_length(scan.queues)) {
            const auto *queue = static_cast<Tables *>(list_nth(scan.queues, scan.next_queue++));
            scan.leaves = job::leaves_of(queue->table, queue->live, leaves_in(scan.plan));
            scan.next_leaf = 0;
        } else {
            break;
        }
    }
    ::MemoryContextSwitchTo(before);
    return scan.leaf.is_open();
}

// ---- the rows ----

TupleTableSlot *next_row(ScanState *node)
{
    JobScan &scan = *as_job_scan(node);
    TupleTableSlot *slot = ::ExecClearTuple(node->ss_ScanTupleSlot);
    TupleTableSlot *row = nullptr;
    while (row == nullptr && (scan.leaf.is_open() || begin_next_leaf(scan))) {
        row = scan.leaf.next();
        if (row == nullptr)
            scan.leaf.end();
    }
    if (row == nullptr)
        return slot;
    slot_getsomeattrs(row, scan.last);
    for (int i = 0; i < list_length(scan.columns); ++i) {
        slot->tts_values[i] = row->tts_values[scan.numbers[i] - 1];
        slot->tts_isnull[i] = row->tts_isnull[scan.numbers[i] - 1];
    }
    return ::ExecStoreVirtualTuple(slot);
}

bool recheck(ScanState *, TupleTableSlot *)
{
    return true;
}

void reset(JobScan &scan)
{
    scan.leaf.end();
    ::MemoryContextReset(scan.memory);
    scan.is_begun = false;
    scan.queues = NIL;
    scan.next_queue = 0;
    scan.leaves = NIL;
    scan.next_leaf = 0;
}

// ---- callbacks ----

extern "C" void hipq_begin_job_scan(CustomScanState *node, EState *, int)
{
    JobScan &scan = *as_job_scan(node);
    const auto *plan = castNode(CustomScan, node->ss.ps.plan);
    scan.plan = JobScanPlan::from_numbers(plan->custom_private);
    scan.values = ::ExecInitExprList(plan->custom_exprs, &node->ss.ps);
    const auto count = static_cast<std::size_t>(list_length(plan->custom_scan_tlist));
    scan.names = static_cast<const char **>(::palloc0(sizeof(char *) * (count + 1)));
    scan.numbers = static_cast<AttrNumber *>(::palloc0(sizeof(AttrNumber) * (count + 1)));
    ListCell *cell = nullptr;
    foreach (cell, plan->custom_scan_tlist) {
        const auto *column = castNode(Var, lfirst_node(TargetEntry, cell)->expr);
        scan.names[list_length(scan.columns)] =
            ::get_attname(scan.plan.table, column->varattno, false);
        scan.columns = ::lappend_int(scan.columns, column->varattno);
    }
    scan.memory = AllocSetContextCreate(CurrentMemoryContext, "hipq jobs", ALLOCSET_SMALL_SIZES);
}

extern "C" TupleTableSlot *hipq_next_of_job_scan(CustomScanState *node)
{
    return ::ExecScan(&node->ss, next_row, recheck);
}

extern "C" void hipq_rescan_jobs(CustomScanState *node)
{
    reset(*as_job_scan(node));
    ::ExecScanReScan(&node->ss);
}

extern "C" void hipq_end_job_scan(CustomScanState *node)
{
    as_job_scan(node)->leaf.end();
}

constexpr CustomExecMethods exec_methods = {"hipq jobs",
                                            hipq_begin_job_scan,
                                            hipq_next_of_job_scan,
                                            hipq_end_job_scan,
                                            hipq_rescan_jobs,
                                            nullptr,
                                            nullptr,
                                            nullptr,
                                            nullptr,
                                            nullptr,
                                            nullptr,
                                            nullptr,
                                            nullptr};

}  // namespace

Node *make_job_scan_state(CustomScan *)
{
    auto *scan = static_cast<JobScan *>(::palloc0(sizeof(JobScan)));
    scan->node.ss.ps.type = T_CustomScanState;
    scan->node.methods = &exec_methods;
    return reinterpret_cast<Node *>(scan);
}

}  // namespace hipq::monitor
