// Lets a search on a column of a view use the index on the column of the table.
//
// A view shows nullif(column, 'NONE'). PostgreSQL does not know that a condition on that expression
// implies the same condition on the column, which has an index of the rows that are not 'NONE'. A
// view that reads the table twice, the rows with a value and those without, would tell it; but over
// the tables of all queues it takes twice as long to plan. So the view has
// hipq._is_as_asked(column) among its conditions. It is true, and the planner replaces it by what
// the other conditions imply.
#include "pg/postgres.hpp"
#include "pg/arguments.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
}

namespace hipq::monitor {

namespace {

// All functions here are to be called inside pg::call() only.

// Returns whether the expression is the view's nullif(column, 'NONE').
bool is_shown(Node *expression, Node *column)
{
    if (!IsA(expression, NullIfExpr))
        return false;
    const auto *shown = reinterpret_cast<NullIfExpr *>(expression);
    return ::equal(linitial(shown->args), column) && IsA(lsecond(shown->args), Const);
}

// Returns the arguments of a comparison that is not true for NULL, else NIL. A comparison with ALL
// elements of an array is excluded, because it is true if the array is empty.
List *compared(Node *condition)
{
    if (IsA(condition, OpExpr)) {
        const auto *comparison = reinterpret_cast<OpExpr *>(condition);
        return ::op_strict(comparison->opno) ? comparison->args : NIL;
    }
    if (IsA(condition, ScalarArrayOpExpr)) {
        const auto *comparison = reinterpret_cast<ScalarArrayOpExpr *>(condition);
        return comparison->useOr && ::op_strict(comparison->opno) ? comparison->args : NIL;
    }
    return NIL;
}

// column <> 'NONE'
Node *is_some(const NullIfExpr *shown)
{
    Expr *differs = ::make_opclause(
        ::get_negator(shown->opno), BOOLOID, false, static_cast<Expr *>(linitial(shown->args)),
        static_cast<Expr *>(lsecond(shown->args)), InvalidOid, shown->inputcollid);
    ::set_opfuncid(reinterpret_cast<OpExpr *>(differs));
    return reinterpret_cast<Node *>(::copyObjectImpl(differs));
}

// Returns what the condition implies for the column, and that the column is not 'NONE'; NIL if it
// implies nothing.
List *implied_by(Node *condition, Node *column)
{
    if (::contain_volatile_functions(condition) || ::contain_subplans(condition))
        return NIL;
    const List *arguments = compared(condition);
    for (int i = 0; i < list_length(arguments); ++i) {
        auto *argument = static_cast<Node *>(list_nth(arguments, i));
        if (!is_shown(argument, column))
            continue;
        auto *implied = static_cast<Node *>(::copyObjectImpl(condition));
        lfirst(list_nth_cell(compared(implied), i)) = ::copyObjectImpl(column);
        return list_make2(implied, is_some(reinterpret_cast<NullIfExpr *>(argument)));
    }
    return NIL;
}

// The same for nested ANDs, as a query has them before planning.
List *implied_by_all(Node *conditions, Node *column)
{
    if (conditions == nullptr)
        return NIL;
    if (!is_andclause(conditions))
        return implied_by(conditions, column);
    List *all = NIL;
    ListCell *cell = nullptr;
    foreach (cell, reinterpret_cast<BoolExpr *>(conditions)->args)
        all = ::list_concat_unique(all, implied_by_all(static_cast<Node *>(lfirst(cell)), column));
    return all;
}

// The same for the query that is being planned, including conditions that PostgreSQL pushed down.
Node *as_asked(PlannerInfo *root, const FuncExpr *call)
{
    List *implied = NIL;
    if (root != nullptr)
        implied =
            implied_by_all(root->parse->jointree->quals, static_cast<Node *>(linitial(call->args)));
    if (implied == NIL)
        return ::makeBoolConst(true, false);
    auto *condition = reinterpret_cast<Node *>(::make_ands_explicit(implied));
    return ::eval_const_expressions(root, condition);
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__is_as_asked)
{
    return hipq::pg::return_bool(true);
}

HIPQ_FUNCTION(hipq__is_as_asked_support)
{
    auto *request = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
    if (!IsA(request, SupportRequestSimplify))
        return Datum{0};
    const auto *simplify = reinterpret_cast<SupportRequestSimplify *>(request);
    Node *condition =
        hipq::pg::call([&] { return hipq::monitor::as_asked(simplify->root, simplify->fcall); });
    PG_RETURN_POINTER(condition);
}
