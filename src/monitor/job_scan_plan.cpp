// Plans the scan of job_scan.hpp in the place of two functions in FROM.
//
// A function in FROM is read to its end before the statement gets its first row. The node returns
// row by row.
#include "job/job_row.hpp"
#include "monitor/job_scan.hpp"
#include "monitor/leaf_scan.hpp"
#include "monitor/monitor.hpp"
#include "pg/arguments.hpp"

extern "C" {
#include "access/sysattr.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
}

namespace hipq::monitor {

namespace {

constinit set_rel_pathlist_hook_type previous_hook = nullptr;

// ---- call inside pg::call() only ----

struct SourceFunction {
    const char *name;
    JobSource source;
};
constexpr SourceFunction source_functions[] = {
    {"_jobs_queue_by_queue", JobSource::readable},
    {"_unfinished_queue_by_queue", JobSource::unfinished},
};

// Null: it is not a call of one function.
const FuncExpr *call_in(const RangeTblEntry *entry)
{
    if (entry->rtekind != RTE_FUNCTION || list_length(entry->functions) != 1 ||
        entry->funcordinality)
        return nullptr;
    const Node *call = linitial_node(RangeTblFunction, entry->functions)->funcexpr;
    return call != nullptr && IsA(call, FuncExpr) ? reinterpret_cast<const FuncExpr *>(call)
                                                  : nullptr;
}

std::optional<JobSource> source_in(const RangeTblEntry *entry)
{
    const FuncExpr *call = call_in(entry);
    const char *name = call == nullptr ? nullptr : ::get_func_name(call->funcid);
    for (const SourceFunction &function : source_functions)
        if (name != nullptr && std::strcmp(name, function.name) == 0 &&
            ::get_func_namespace(call->funcid) == ::get_namespace_oid("hipq", true))
            return function.source;
    return std::nullopt;
}

// The columns that the rows and the conditions have. (The target list of the plan may be replaced
// by one that computes more of these columns.)
List *columns_of(const RelOptInfo *rel)
{
    List *expressions = ::list_concat_copy(rel->reltarget->exprs,
                                           ::extract_actual_clauses(rel->baserestrictinfo, false));
    return ::pull_var_clause(reinterpret_cast<Node *>(expressions), PVC_RECURSE_PLACEHOLDERS);
}

bool are_plain(const List *columns)
{
    ListCell *cell = nullptr;
    foreach (cell, columns)
        if (lfirst_node(Var, cell)->varattno <= 0)
            return false;
    return true;
}

// Whether the value is the same for all rows of one execution.
bool is_value(Node *value)
{
    return !::contain_var_clause(value) && !::contain_volatile_functions(value) &&
           !::contain_subplans(value);
}

bool is_deterministic(Oid collation)
{
    return !OidIsValid(collation) || ::get_collation_isdeterministic(collation);
}

// The name that the function gives to a column, whatever the statement calls it.
const char *name_of(const Var *column, TupleDesc row)
{
    return NameStr(TupleDescAttr(row, column->varattno - 1)->attname);
}

struct FoundComparison {
    bool is_found;
    Comparison comparison;
    Node *value;
};

std::optional<Use> use_of(Oid comparison, Oid type, const char *column)
{
    if (::op_mergejoinable(comparison, type))  // an equality of a btree operator family
        return Use::equality;
    if (core::name(core::Column::update_time) != column)
        return std::nullopt;
    switch (::get_opcode(comparison)) {
    case F_TIMESTAMPTZ_GT:
    case F_TIMESTAMPTZ_GE:
        return Use::lower_bound;
    case F_TIMESTAMPTZ_LT:
    case F_TIMESTAMPTZ_LE:
        return Use::upper_bound;
    default:
        return std::nullopt;
    }
}

FoundComparison found(Oid comparison, Oid collation, bool is_array, Node *left, Node *right,
                      TupleDesc row)
{
    if (!OidIsValid(comparison) || !IsA(left, Var) || !is_value(right) ||
        !is_deterministic(collation))
        return {};
    const char *column = name_of(reinterpret_cast<const Var *>(left), row);
    const std::optional<Use> use = use_of(comparison, ::exprType(left), column);
    if (!use.has_value() || (is_array && *use != Use::equality))
        return {};
    return {true, {column, *use, comparison, collation, is_array}, right};
}

FoundComparison comparison_in(Node *condition, TupleDesc row)
{
    if (IsA(condition, ScalarArrayOpExpr)) {
        const auto *any = reinterpret_cast<const ScalarArrayOpExpr *>(condition);
        return any->useOr ? found(any->opno, any->inputcollid, true,
                                  static_cast<Node *>(linitial(any->args)),
                                  static_cast<Node *>(lsecond(any->args)), row)
                          : FoundComparison{};
    }
    if (!IsA(condition, OpExpr) || list_length(reinterpret_cast<OpExpr *>(condition)->args) != 2)
        return {};
    const auto *operation = reinterpret_cast<const OpExpr *>(condition);
    auto *left = static_cast<Node *>(linitial(operation->args));
    auto *right = static_cast<Node *>(lsecond(operation->args));
    const FoundComparison straight =
        found(operation->opno, operation->inputcollid, false, left, right, row);
    return straight.is_found ? straight
                             : found(::get_commutator(operation->opno), operation->inputcollid,
                                     false, right, left, row);
}

// state = 'final'
List *is_final(Index relation, TupleDesc row, Datum final_state)
{
    AttrNumber state = 1;
    while (core::name(core::Column::state) != NameStr(TupleDescAttr(row, state - 1)->attname))
        ++state;
    const Oid type = TupleDescAttr(row, state - 1)->atttypid;
    auto *value = ::makeConst(type, -1, InvalidOid, sizeof(Oid), final_state, false, true);
    Expr *condition =
        ::make_opclause(::lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr, BOOLOID, false,
                        reinterpret_cast<Expr *>(
                            ::makeVar(static_cast<int>(relation), state, type, -1, InvalidOid, 0)),
                        reinterpret_cast<Expr *>(value), InvalidOid, InvalidOid);
    ::set_opfuncid(reinterpret_cast<OpExpr *>(condition));
    return list_make1(condition);
}

void add_comparisons(CustomScan *scan, JobScanPlan &plan, TupleDesc row)
{
    ListCell *cell = nullptr;
    foreach (cell, scan->scan.plan.qual) {
        const FoundComparison found = comparison_in(static_cast<Node *>(lfirst(cell)), row);
        if (!found.is_found || list_length(plan.comparisons) >= most_equalities)
            continue;
        auto *kept = static_cast<Comparison *>(::palloc(sizeof(Comparison)));
        *kept = found.comparison;
        plan.comparisons = ::lappend(plan.comparisons, kept);
        scan->custom_exprs = ::lappend(scan->custom_exprs, ::copyObjectImpl(found.value));
    }
}

void add_columns(CustomScan *scan, JobScanPlan &plan, TupleDesc row)
{
    ListCell *cell = nullptr;
    foreach (cell, scan->custom_scan_tlist) {
        const auto *column = castNode(Var, lfirst_node(TargetEntry, cell)->expr);
        plan.columns = ::lappend(plan.columns, const_cast<char *>(name_of(column, row)));
    }
}

Plan *plan_scan(const PlannerInfo *root, const RelOptInfo *rel, Datum final_state, List *tlist,
                List *clauses, const CustomScanMethods *methods)
{
    const RangeTblEntry *entry = planner_rt_fetch(rel->relid, root);
    const FuncExpr *call = call_in(entry);
    TupleDesc row =
        ::get_expr_result_tupdesc(const_cast<Node *>(reinterpret_cast<const Node *>(call)), false);
    auto *scan = makeNode(CustomScan);
    scan->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    scan->methods = methods;
    scan->scan.plan.targetlist = tlist;
    scan->scan.plan.qual = ::extract_actual_clauses(clauses, false);
    scan->custom_scan_tlist = ::add_to_flat_tlist(NIL, columns_of(rel));
    JobScanPlan plan{*source_in(entry), true, false, NIL, NIL};
    if (plan.source == JobSource::readable) {
        List *of_final = is_final(rel->relid, row, final_state);
        plan.reads_live = !::predicate_implied_by(of_final, scan->scan.plan.qual, false);
        plan.reads_final = !::predicate_refuted_by(of_final, scan->scan.plan.qual, false);
    }
    add_comparisons(scan, plan, row);
    add_columns(scan, plan, row);
    scan->custom_private = plan.as_list();
    return &scan->scan.plan;
}

extern const CustomPathMethods path_methods;

void use_scan(RelOptInfo *rel)
{
    auto *path = makeNode(CustomPath);
    path->path.pathtype = T_CustomScan;
    path->path.parent = rel;
    path->path.pathtarget = rel->reltarget;
    path->path.rows = rel->rows;
    path->path.total_cost = rel->tuples * (cpu_tuple_cost + rel->baserestrictcost.per_tuple);
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    path->methods = &path_methods;
    rel->pathlist = list_make1(path);
}

// ---- callbacks ----

constexpr CustomScanMethods scan_methods = {"hipq jobs", make_job_scan_state};

extern "C" Plan *hipq_plan_job_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *, List *tlist,
                                    List *clauses, List *)
{
    return pg::enter([&] {
        const Datum final_state = job::state_datum(core::JobState::final);
        return pg::call(
            [&] { return plan_scan(root, rel, final_state, tlist, clauses, &scan_methods); });
    });
}

const CustomPathMethods path_methods = {"hipq jobs", hipq_plan_job_scan, nullptr};

// A row as a whole, as in "SELECT job", is left to the function.
extern "C" void hipq_add_job_scan(PlannerInfo *root, RelOptInfo *rel, Index index,
                                  RangeTblEntry *entry)
{
    if (previous_hook != nullptr)
        previous_hook(root, rel, index, entry);
    if (source_in(entry).has_value() && !IS_DUMMY_REL(rel) && are_plain(columns_of(rel)))
        use_scan(rel);
}

}  // namespace

List *JobScanPlan::as_list() const
{
    List *numbers = list_make3_int(static_cast<int>(source), reads_live, reads_final);
    List *names = NIL;
    ListCell *cell = nullptr;
    foreach (cell, comparisons) {
        const auto *one = static_cast<const Comparison *>(lfirst(cell));
        for (const int number : {static_cast<int>(one->use), static_cast<int>(one->comparison),
                                 static_cast<int>(one->collation), int{one->is_array}})
            numbers = ::lappend_int(numbers, number);
        names = ::lappend(names, ::makeString(::pstrdup(one->column)));
    }
    foreach (cell, columns)
        names = ::lappend(names, ::makeString(::pstrdup(static_cast<char *>(lfirst(cell)))));
    return list_make2(numbers, names);
}

JobScanPlan JobScanPlan::from_list(const List *list)
{
    const auto *numbers = static_cast<const List *>(linitial(list));
    const auto *names = static_cast<const List *>(lsecond(list));
    JobScanPlan plan{static_cast<JobSource>(linitial_int(numbers)), lsecond_int(numbers) != 0,
                     lthird_int(numbers) != 0, NIL, NIL};
    for (int i = 3; i < list_length(numbers); i += 4) {
        auto *one = static_cast<Comparison *>(::palloc(sizeof(Comparison)));
        *one = {strVal(list_nth(names, list_length(plan.comparisons))),
                static_cast<Use>(list_nth_int(numbers, i)),
                static_cast<Oid>(list_nth_int(numbers, i + 1)),
                static_cast<Oid>(list_nth_int(numbers, i + 2)), list_nth_int(numbers, i + 3) != 0};
        plan.comparisons = ::lappend(plan.comparisons, one);
    }
    for (int i = list_length(plan.comparisons); i < list_length(names); ++i)
        plan.columns = ::lappend(plan.columns, strVal(list_nth(names, i)));
    return plan;
}

void install_job_scan()
{
    ::RegisterCustomScanMethods(&scan_methods);
    previous_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = hipq_add_job_scan;
}

}  // namespace hipq::monitor

// The planner replaces both, unless a statement asks for their rows as wholes.
HIPQ_FUNCTION(hipq__jobs_queue_by_queue)
{
    HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("only views of hipq read jobs this way"));
}

HIPQ_FUNCTION(hipq__unfinished_queue_by_queue)
{
    return hipq__jobs_queue_by_queue_body(fcinfo);
}
