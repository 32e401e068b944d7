// Executes the scan of job_scan.hpp.
//
// The executor calls it for each row, so all but the choice of the queues is written as PostgreSQL
// is: call inside pg::call() only.
#include "monitor/job_scan.hpp"

#include "catalog/visible_queues.hpp"
#include "core/text/names.hpp"
#include "monitor/leaf_scan.hpp"

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

struct QueueToRead {
    const char *table;
    const char *live_leaf;
    bool is_readable;
};

// What the comparisons of a statement say in one execution.
struct Conditions {
    bool is_never_met;  // a comparison with NULL
    Equality *equalities;
    std::size_t equality_count;
    List *queues;          // their numbers; NIL: any
    TimestampTz from, to;  // of update_time, both included
};

struct JobScan {
    CustomScanState node;  // first
    JobScanPlan plan;
    List *values;         // of the comparisons
    AttrNumber *numbers;  // of the columns in the open leaf
    AttrNumber last;      // the greatest of them
    int key;              // which column is the key; -1: none
    // Until the next execution:
    MemoryContext memory;
    bool is_begun;
    Conditions conditions;
    List *queues;  // of QueueToRead
    int next_queue;
    bool hides_key;  // of that queue
    List *leaves;    // of that queue
    int next_leaf;
    LeafScan leaf;
};

JobScan *as_job_scan(void *node)
{
    return static_cast<JobScan *>(node);
}

// ---- the conditions ----

List *numbers_in(Datum value, bool is_array)
{
    if (!is_array)
        return list_make1_int(DatumGetInt32(value));
    Datum *elements = nullptr;
    bool *nulls = nullptr;
    int count = 0;
    ::deconstruct_array(DatumGetArrayTypeP(value), INT4OID, sizeof(std::int32_t), true,
                        TYPALIGN_INT, &elements, &nulls, &count);
    List *numbers = NIL;
    for (int i = 0; i < count; ++i)
        if (!nulls[i])
            numbers = ::list_append_unique_int(numbers, DatumGetInt32(elements[i]));
    return numbers;
}

void add_equality(Conditions &conditions, const Comparison &comparison, Datum value)
{
    conditions.equalities[conditions.equality_count++] = {
        comparison.column, comparison.comparison, comparison.collation, comparison.is_array, value};
    if (core::name(core::Column::queue_id) == comparison.column &&
        comparison.comparison == Int4EqualOperator && conditions.queues == NIL)
        conditions.queues = numbers_in(value, comparison.is_array);
}

void add_comparison(Conditions &conditions, const Comparison &comparison, Datum value)
{
    switch (comparison.use) {
    case Use::equality:
        add_equality(conditions, comparison, value);
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
    scan.conditions.equalities =
        static_cast<Equality *>(::palloc0(sizeof(Equality) * static_cast<std::size_t>(count + 1)));
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
        add_comparison(scan.conditions,
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

std::vector<std::int32_t> sorted(const List *numbers)
{
    std::vector<std::int32_t> all;
    all.reserve(static_cast<std::size_t>(list_length(numbers)));
    for (int i = 0; i < list_length(numbers); ++i)
        all.push_back(list_nth_int(numbers, i));
    std::ranges::sort(all);
    return all;
}

// Returns the queues to be read. Warns of each queue that another session has locked, and leaves it
// out.
List *queues_of(JobSource source, const List *asked)
{
    catalog::VisibleQueues visible_queues;
    const auto may_see = [&](int id) {
        return source == JobSource::readable ? visible_queues.readable(id)
                                             : visible_queues.visible(id);
    };
    std::vector<std::int32_t> ids = asked != NIL ? sorted(asked) : visible_queues.visible();
    std::erase_if(ids, [&](int id) { return may_see(id) == nullptr; });
    List *queues = NIL;
    for (const int id : catalog::reachable(ids)) {
        const std::string &table = may_see(id)->table;
        const QueueToRead queue{copied(table), copied(core::live_leaf_name(table)),
                                visible_queues.readable(id) != nullptr};
        pg::call([&] {
            auto *kept = static_cast<QueueToRead *>(::palloc(sizeof(QueueToRead)));
            *kept = queue;
            queues = ::lappend(queues, kept);
        });
    }
    return queues;
}

// ---- the leaves ----

Leaves leaves_in(const JobScanPlan &plan)
{
    if (plan.reads_live && plan.reads_final)
        return Leaves::all;
    return plan.reads_live ? Leaves::live : Leaves::final;
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

// A leaf has all columns of hipq.job, in any order.
AttrNumber number_of(const char *column, TupleDesc row)
{
    AttrNumber number = 1;
    while (std::strcmp(NameStr(TupleDescAttr(row, number - 1)->attname), column) != 0)
        ++number;
    return number;
}

void find_columns(JobScan &scan)
{
    scan.last = 0;
    ListCell *cell = nullptr;
    foreach (cell, scan.plan.columns) {
        const AttrNumber number =
            number_of(static_cast<const char *>(lfirst(cell)), RelationGetDescr(scan.leaf.leaf()));
        scan.numbers[foreach_current_index(cell)] = number;
        scan.last = std::max(scan.last, number);
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
        scan.queues =
            pg::enter([&] { return queues_of(scan.plan.source, scan.conditions.queues); });
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
            const auto *queue =
                static_cast<QueueToRead *>(list_nth(scan.queues, scan.next_queue++));
            scan.leaves = leaves_of(queue->table, queue->live_leaf, leaves_in(scan.plan));
            scan.next_leaf = 0;
            scan.hides_key = !queue->is_readable;
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
    for (int i = 0; i < list_length(scan.plan.columns); ++i) {
        slot->tts_values[i] = row->tts_values[scan.numbers[i] - 1];
        slot->tts_isnull[i] = row->tts_isnull[scan.numbers[i] - 1];
    }
    if (scan.key >= 0 && scan.hides_key)
        slot->tts_isnull[scan.key] = true;
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
    scan.plan = JobScanPlan::from_list(plan->custom_private);
    scan.values = ::ExecInitExprList(plan->custom_exprs, &node->ss.ps);
    scan.numbers = static_cast<AttrNumber *>(::palloc0(
        sizeof(AttrNumber) * static_cast<std::size_t>(list_length(scan.plan.columns) + 1)));
    scan.key = -1;
    ListCell *cell = nullptr;
    foreach (cell, scan.plan.columns)
        if (core::name(core::Column::job_key) == static_cast<const char *>(lfirst(cell)))
            scan.key = foreach_current_index(cell);
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
