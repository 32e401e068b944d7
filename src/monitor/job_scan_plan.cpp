// Plans the scan of job_scan.hpp: in the place of the function hipq._jobs_queue_by_queue().
//
// A function in FROM is read to its end before the statement gets its first row. The node returns
// row by row.
#include "job/job_row.hpp"
#include "monitor/job_scan.hpp"
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

constexpr std::size_t most_comparisons = 8;

// ---- call inside pg::call() only ----

bool is_our_function(const RangeTblEntry *entry)
{
    if (entry->rtekind != RTE_FUNCTION || list_length(entry->functions) != 1 ||
        entry->funcordinality)
        return false;
    const Node *call = linitial_node(RangeTblFunction, entry->functions)->funcexpr;
    if (call == nullptr || !IsA(call, FuncExpr))
        return false;
    const Oid function = reinterpret_cast<const FuncExpr *>(call)->funcid;
    const char *name = ::get_func_name(function);
    return name != nullptr && std::strcmp(name, "_jobs_queue_by_queue") == 0 &&
           ::get_func_namespace(function) == ::get_namespace_oid("hipq", true);
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

bool is_update_time(const Var *column, Oid table)
{
    const char *name = ::get_attname(table, column->varattno, true);
    return name != nullptr && core::name(core::Column::update_time) == name;
}

struct FoundComparison {
    bool is_found;
    Comparison comparison;
    Node *value;
};

// Any equality that a btree index may serve.
bool is_btree_equality(Oid comparison)
{
    List *meanings = ::get_op_btree_interpretation(comparison);
    ListCell *cell = nullptr;
    foreach (cell, meanings)
        if (static_cast<OpBtreeInterpretation *>(lfirst(cell))->strategy == BTEqualStrategyNumber)
            return true;
    return false;
}

std::optional<Use> use_of(Oid comparison, const Var *column, Oid table)
{
    if (is_btree_equality(comparison))
        return Use::equality;
    if (!is_update_time(column, table))
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
                      Oid table)
{
    if (!OidIsValid(comparison) || !IsA(left, Var) || !is_value(right) ||
        !is_deterministic(collation))
        return {};
    const auto *column = reinterpret_cast<const Var *>(left);
    const std::optional<Use> use = use_of(comparison, column, table);
    if (!use.has_value() || (is_array && *use != Use::equality))
        return {};
    return {true, {*use, column->varattno, comparison, collation, is_array}, right};
}

FoundComparison comparison_in(Node *condition, Oid table)
{
    if (IsA(condition, ScalarArrayOpExpr)) {
        const auto *any = reinterpret_cast<const ScalarArrayOpExpr *>(condition);
        return any->useOr ? found(any->opno, any->inputcollid, true,
                                  static_cast<Node *>(linitial(any->args)),
                                  static_cast<Node *>(lsecond(any->args)), table)
                          : FoundComparison{};
    }
    if (!IsA(condition, OpExpr) || list_length(reinterpret_cast<OpExpr *>(condition)->args) != 2)
        return {};
    const auto *operation = reinterpret_cast<const OpExpr *>(condition);
    auto *left = static_cast<Node *>(linitial(operation->args));
    auto *right = static_cast<Node *>(lsecond(operation->args));
    const FoundComparison straight =
        found(operation->opno, operation->inputcollid, false, left, right, table);
    return straight.is_found ? straight
                             : found(::get_commutator(operation->opno), operation->inputcollid,
                                     false, right, left, table);
}

// state = 'final'
List *is_final(Index relation, Oid table, Datum final_state)
{
    const AttrNumber state = ::get_attnum(table, "state");
    const Oid type = ::get_atttype(table, state);
    auto *value = ::makeConst(type, -1, InvalidOid, sizeof(Oid), final_state, false, true);
    Expr *condition =
        ::make_opclause(::lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr, BOOLOID, false,
                        reinterpret_cast<Expr *>(
                            ::makeVar(static_cast<int>(relation), state, type, -1, InvalidOid, 0)),
                        reinterpret_cast<Expr *>(value), InvalidOid, InvalidOid);
    ::set_opfuncid(reinterpret_cast<OpExpr *>(condition));
    return list_make1(condition);
}

Plan *plan_scan(const RelOptInfo *rel, Oid table, Datum final_state, List *tlist, List *clauses,
                const CustomScanMethods *methods)
{
    auto *scan = makeNode(CustomScan);
    List *conditions = ::extract_actual_clauses(clauses, false);
    List *of_final = is_final(rel->relid, table, final_state);
    JobScanPlan plan{!::predicate_implied_by(of_final, conditions, false),
                     !::predicate_refuted_by(of_final, conditions, false), table, NIL};
    ListCell *cell = nullptr;
    foreach (cell, conditions) {
        const FoundComparison comparison = comparison_in(static_cast<Node *>(lfirst(cell)), table);
        if (!comparison.is_found || list_length(plan.comparisons) >= int{most_comparisons})
            continue;
        auto *kept = static_cast<Comparison *>(::palloc(sizeof(Comparison)));
        *kept = comparison.comparison;
        plan.comparisons = ::lappend(plan.comparisons, kept);
        scan->custom_exprs = ::lappend(scan->custom_exprs, ::copyObjectImpl(comparison.value));
    }
    scan->custom_scan_tlist = ::add_to_flat_tlist(NIL, columns_of(rel));
    scan->custom_private = plan.as_numbers();
    scan->scan.plan.targetlist = tlist;
    scan->scan.plan.qual = conditions;
    scan->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    scan->methods = methods;
    return &scan->scan.plan;
}

Oid row_table(const RelOptInfo *rel, const PlannerInfo *root)
{
    const RangeTblEntry *entry = planner_rt_fetch(rel->relid, root);
    const Node *call = linitial_node(RangeTblFunction, entry->functions)->funcexpr;
    return ::get_typ_typrelid(::exprType(call));
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
        return pg::call([&] {
            return plan_scan(rel, row_table(rel, root), final_state, tlist, clauses, &scan_methods);
        });
    });
}

const CustomPathMethods path_methods = {"hipq jobs", hipq_plan_job_scan, nullptr};

// A row as a whole, as in "SELECT job", is left to the function.
extern "C" void hipq_add_job_scan(PlannerInfo *root, RelOptInfo *rel, Index index,
                                  RangeTblEntry *entry)
{
    if (previous_hook != nullptr)
        previous_hook(root, rel, index, entry);
    if (is_our_function(entry) && !IS_DUMMY_REL(rel) && are_plain(columns_of(rel)))
        use_scan(rel);
}

}  // namespace

List *JobScanPlan::as_numbers() const
{
    List *numbers = list_make3_int(reads_live, reads_final, static_cast<int>(table));
    ListCell *cell = nullptr;
    foreach (cell, comparisons) {
        const auto *one = static_cast<const Comparison *>(lfirst(cell));
        for (const int number :
             {static_cast<int>(one->use), int{one->column}, static_cast<int>(one->comparison),
              static_cast<int>(one->collation), int{one->is_array}})
            numbers = ::lappend_int(numbers, number);
    }
    return numbers;
}

JobScanPlan JobScanPlan::from_numbers(const List *numbers)
{
    JobScanPlan plan{linitial_int(numbers) != 0, lsecond_int(numbers) != 0,
                     static_cast<Oid>(lthird_int(numbers)), NIL};
    for (int i = 3; i < list_length(numbers); i += 5) {
        auto *one = static_cast<Comparison *>(::palloc(sizeof(Comparison)));
        *one = {static_cast<Use>(list_nth_int(numbers, i)),
                static_cast<AttrNumber>(list_nth_int(numbers, i + 1)),
                static_cast<Oid>(list_nth_int(numbers, i + 2)),
                static_cast<Oid>(list_nth_int(numbers, i + 3)), list_nth_int(numbers, i + 4) != 0};
        plan.comparisons = ::lappend(plan.comparisons, one);
    }
    return plan;
}

void install_job_scan()
{
    ::RegisterCustomScanMethods(&scan_methods);
    previous_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = hipq_add_job_scan;
}

}  // namespace hipq::monitor

// The planner replaces it.
HIPQ_FUNCTION(hipq__jobs_queue_by_queue)
{
    HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("only view hipq.jobs_detail reads jobs this way"));
}
