// Finds out, while a query is planned, which rows its conditions select.
#include "monitor/queried_values.hpp"

extern "C" {
#include "catalog/pg_opfamily.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
}

namespace hipq::monitor {

namespace {

// A longer list of ids is left to a scan.
constexpr int most_ids = 1'000;

bool is_equality(Oid comparison)
{
    return ::get_op_opfamily_strategy(comparison, INTEGER_BTREE_FAM_OID) == BTEqualStrategyNumber ||
           ::get_op_opfamily_strategy(comparison, TEXT_BTREE_FAM_OID) == BTEqualStrategyNumber;
}

// Flattens nested ANDs.
List *parts_of(Node *conditions)
{
    if (conditions == nullptr)
        return NIL;
    List *nested = nullptr;
    if (IsA(conditions, List))
        nested = reinterpret_cast<List *>(conditions);
    else if (is_andclause(conditions))
        nested = reinterpret_cast<BoolExpr *>(conditions)->args;
    else
        return list_make1(conditions);
    List *parts = NIL;
    ListCell *cell = nullptr;
    foreach (cell, nested)
        parts = ::list_concat(parts, parts_of(static_cast<Node *>(lfirst(cell))));
    return parts;
}

// ---- numbers ----

KnownNumbers elements_of(const Const *array)
{
    ArrayType *value = DatumGetArrayTypeP(array->constvalue);
    if (ARR_ELEMTYPE(value) != INT4OID || ARR_HASNULL(value))
        return {false, NIL};
    const auto *first = reinterpret_cast<const std::int32_t *>(ARR_DATA_PTR(value));
    const int count = ::ArrayGetNItems(ARR_NDIM(value), ARR_DIMS(value));
    List *numbers = NIL;
    for (int i = 0; i < count; ++i)
        numbers = ::lappend_int(numbers, first[i]);
    return {true, numbers};
}

KnownNumbers constants_in(const Asked &asked)
{
    const auto *constant = reinterpret_cast<const Const *>(asked.value);
    if (constant->constisnull)
        return {false, NIL};
    if (asked.is_array)
        return elements_of(constant);
    if (constant->consttype != INT4OID)
        return {false, NIL};
    return {true, list_make1_int(DatumGetInt32(constant->constvalue))};
}

KnownNumbers numbers_in(const PlannerInfo *root, const Asked &asked)
{
    if (asked.value == nullptr)
        return {false, NIL};
    if (IsA(asked.value, Const))
        return constants_in(asked);
    if (asked.is_array || !IsA(asked.value, Var))
        return {false, NIL};
    auto *column = static_cast<Var *>(::copyObjectImpl(asked.value));
    const PlannerInfo *outer = column->varlevelsup == 0 ? nullptr : root;
    for (; outer != nullptr && column->varlevelsup > 0; --column->varlevelsup)
        outer = outer->parent_root;
    return known_numbers(outer, reinterpret_cast<Node *>(column));
}

// ---- ids ----

bool is_id(const PlannerInfo *root, Node *expression)
{
    if (!IsA(expression, Var))
        return false;
    const auto *column = reinterpret_cast<Var *>(expression);
    if (column->varlevelsup != 0 || column->varattno <= 0)
        return false;
    RangeTblEntry *source = rt_fetch(column->varno, root->parse->rtable);
    return std::strcmp(::get_rte_attribute_name(source, column->varattno), "id") == 0;
}

// Returns whether the value is the same for all rows: a constant, a parameter, or the current value
// of an outer query.
bool is_given(Node *value)
{
    if (IsA(value, Const))
        return true;
    if (!IsA(value, Param))
        return false;
    const ParamKind kind = reinterpret_cast<Param *>(value)->paramkind;
    return kind == PARAM_EXTERN || kind == PARAM_EXEC;
}

Node *as_bigint(Node *value)
{
    const Oid type = ::exprType(value);
    if (type == INT8OID)
        return value;
    if (type != INT4OID && type != INT2OID)
        return nullptr;
    return reinterpret_cast<Node *>(::makeFuncExpr(type == INT4OID ? F_INT8_INT4 : F_INT8_INT2,
                                                   INT8OID, list_make1(value), InvalidOid,
                                                   InvalidOid, COERCE_IMPLICIT_CAST));
}

Node *array_of_one(PlannerInfo *root, Node *value)
{
    Node *id = as_bigint(static_cast<Node *>(::copyObjectImpl(value)));
    if (id == nullptr)
        return nullptr;
    auto *array = makeNode(ArrayExpr);
    array->array_typeid = INT8ARRAYOID;
    array->element_typeid = INT8OID;
    array->elements = list_make1(id);
    array->location = -1;
    return ::eval_const_expressions(root, reinterpret_cast<Node *>(array));
}

// Returns it as bigint[]; null if it is too long, not known yet, or of another type.
Node *short_array_of_ids(PlannerInfo *root, Node *value)
{
    if (!IsA(value, Const))
        return nullptr;
    const auto *constant = reinterpret_cast<const Const *>(value);
    if (constant->constisnull ||
        (constant->consttype != INT8ARRAYOID && constant->consttype != INT4ARRAYOID))
        return nullptr;
    ArrayType *array = DatumGetArrayTypeP(constant->constvalue);
    if (::ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) > most_ids)
        return nullptr;
    return ::eval_const_expressions(
        root, ::coerce_to_target_type(nullptr, static_cast<Node *>(::copyObjectImpl(value)),
                                      constant->consttype, INT8ARRAYOID, -1, COERCION_EXPLICIT,
                                      COERCE_IMPLICIT_CAST, -1));
}

Node *ids_in(PlannerInfo *root, const Asked &asked)
{
    if (asked.value == nullptr || !is_given(asked.value))
        return nullptr;
    if (!asked.is_array)
        return array_of_one(root, asked.value);
    return short_array_of_ids(root, asked.value);
}

// Returns the column id in a comparison; null if it has none.
Node *id_in(const PlannerInfo *root, Node *condition)
{
    const List *sides = NIL;
    if (IsA(condition, OpExpr))
        sides = reinterpret_cast<OpExpr *>(condition)->args;
    else if (IsA(condition, ScalarArrayOpExpr))
        sides = reinterpret_cast<ScalarArrayOpExpr *>(condition)->args;
    ListCell *cell = nullptr;
    foreach (cell, sides)
        if (is_id(root, static_cast<Node *>(lfirst(cell))))
            return static_cast<Node *>(lfirst(cell));
    return nullptr;
}

}  // namespace

Asked equal_to(Node *condition, Node *column)
{
    if (IsA(condition, OpExpr)) {
        const auto *comparison = reinterpret_cast<OpExpr *>(condition);
        if (list_length(comparison->args) != 2 || !is_equality(comparison->opno))
            return {};
        auto *left = static_cast<Node *>(linitial(comparison->args));
        auto *right = static_cast<Node *>(lsecond(comparison->args));
        if (::equal(left, column))
            return {right, false};
        return ::equal(right, column) ? Asked{left, false} : Asked{};
    }
    if (IsA(condition, ScalarArrayOpExpr)) {
        const auto *comparison = reinterpret_cast<ScalarArrayOpExpr *>(condition);
        if (comparison->useOr && is_equality(comparison->opno) &&
            ::equal(linitial(comparison->args), column))
            return {static_cast<Node *>(lsecond(comparison->args)), true};
    }
    return {};
}

List *conditions_of(const PlannerInfo *root)
{
    return root == nullptr ? NIL : parts_of(root->parse->jointree->quals);
}

KnownNumbers known_numbers(const PlannerInfo *root, Node *column)
{
    ListCell *cell = nullptr;
    foreach (cell, conditions_of(root)) {
        const Asked asked = equal_to(static_cast<Node *>(lfirst(cell)), column);
        const KnownNumbers known = numbers_in(root, asked);
        if (known.are_known)
            return known;
    }
    return {false, NIL};
}

Node *asked_ids(PlannerInfo *root)
{
    ListCell *cell = nullptr;
    foreach (cell, conditions_of(root)) {
        auto *condition = static_cast<Node *>(lfirst(cell));
        Node *id = id_in(root, condition);
        Node *ids = id == nullptr ? nullptr : ids_in(root, equal_to(condition, id));
        if (ids != nullptr)
            return ids;
    }
    return nullptr;
}

}  // namespace hipq::monitor
