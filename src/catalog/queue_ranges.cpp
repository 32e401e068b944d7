// Answers whether a queue is one of an array, and puts ranges of numbers in the place of the
// question where the planner can use them.
//
// With an array the planner estimates, for each table of each queue, a comparison with each of its
// elements: with 1,000 queues a plan over all jobs took seconds. Numbers of queues are given in
// order, so those that somebody may see stand in a few ranges as a rule.
#include "catalog/cache.hpp"
#include "pg/arguments.hpp"

extern "C" {
#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
}

namespace hipq::catalog {

namespace {

// With more of them the array is cheaper.
constexpr std::size_t most_ranges = 32;

// Both ends belong to it.
struct Range {
    int first;
    int last;
};

// That hold these queues and no other that there is: from one to the next where there is none in
// between.
std::vector<Range> ranges_of(std::span<const std::int32_t> ids, const Catalogue &catalogue)
{
    std::vector<Range> ranges;
    for (const int id : ids) {
        const auto next = ranges.empty() ? catalogue.queues.end()
                                         : catalogue.queues.upper_bound(ranges.back().last);
        if (next != catalogue.queues.end() && next->first == id)
            ranges.back().last = id;
        else
            ranges.push_back({id, id});
    }
    return ranges;
}

// ---- the PostgreSQL regime ----

// Of an array without NULL.
std::span<const std::int32_t> elements_of(ArrayType *array)
{
    const auto *first = reinterpret_cast<const std::int32_t *>(ARR_DATA_PTR(array));
    return {first, static_cast<std::size_t>(::ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)))};
}

bool is_one_of(std::int32_t id, ArrayType *queues)
{
    if (ARR_HASNULL(queues))
        return false;
    const auto ids = elements_of(queues);
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

Expr *compare(Node *column, StrategyNumber strategy, int value)
{
    const Oid compares = ::get_opfamily_member(INTEGER_BTREE_FAM_OID, INT4OID, INT4OID,
                                               static_cast<int16>(strategy));
    auto *constant = ::makeConst(INT4OID, -1, InvalidOid, sizeof(std::int32_t),
                                 Int32GetDatum(value), false, true);
    Expr *expression =
        ::make_opclause(compares, BOOLOID, false, static_cast<Expr *>(::copyObjectImpl(column)),
                        reinterpret_cast<Expr *>(constant), InvalidOid, InvalidOid);
    ::set_opfuncid(reinterpret_cast<OpExpr *>(expression));
    return expression;
}

Expr *is_in_range(Node *column, Range range)
{
    if (range.first == range.last)
        return compare(column, BTEqualStrategyNumber, range.first);
    return ::makeBoolExpr(AND_EXPR,
                          list_make2(compare(column, BTGreaterEqualStrategyNumber, range.first),
                                     compare(column, BTLessEqualStrategyNumber, range.last)),
                          -1);
}

// At least one of them.
Expr *is_in_ranges(Node *column, std::span<const Range> ranges)
{
    if (ranges.size() == 1)
        return is_in_range(column, ranges.front());
    List *any = NIL;
    for (const Range &range : ranges)
        any = ::lappend(any, is_in_range(column, range));
    return ::makeBoolExpr(OR_EXPR, any, -1);
}

Expr *is_any_of(Node *column, Const *array)
{
    auto *any = makeNode(ScalarArrayOpExpr);
    any->opno = Int4EqualOperator;
    any->opfuncid = F_INT4EQ;
    any->useOr = true;
    any->args = list_make2(::copyObjectImpl(column), array);
    any->location = -1;
    return reinterpret_cast<Expr *>(any);
}

// The array that a call of _is_in_reach() has been given, if it is known; else null.
Const *array_in(const FuncExpr *call)
{
    auto *argument = static_cast<Node *>(lsecond(call->args));
    if (!IsA(argument, Const))
        return nullptr;
    auto *array = reinterpret_cast<Const *>(argument);
    return array->constisnull || ARR_HASNULL(DatumGetArrayTypeP(array->constvalue)) ? nullptr
                                                                                    : array;
}

// ---- the C++ regime ----

Node *in_other_words(const FuncExpr *call)
{
    Const *array = pg::call([&] { return array_in(call); });
    if (array == nullptr)
        return nullptr;
    const auto ids = pg::call([&] { return elements_of(DatumGetArrayTypeP(array->constvalue)); });
    const std::vector<Range> ranges = ranges_of(ids, *catalogue());
    return pg::call([&] {
        auto *column = static_cast<Node *>(linitial(call->args));
        return reinterpret_cast<Node *>(ranges.empty() || ranges.size() > most_ranges
                                            ? is_any_of(column, array)
                                            : is_in_ranges(column, ranges));
    });
}

}  // namespace

}  // namespace hipq::catalog

HIPQ_FUNCTION(hipq__is_one_of)
{
    return hipq::pg::call([&] {
        return BoolGetDatum(hipq::catalog::is_one_of(PG_GETARG_INT32(0), PG_GETARG_ARRAYTYPE_P(1)));
    });
}

// It stands beside an index condition that says the same, and shall not count twice.
HIPQ_FUNCTION(hipq__is_one_of_support)
{
    auto *request = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
    if (!IsA(request, SupportRequestSelectivity))
        PG_RETURN_POINTER(nullptr);
    reinterpret_cast<SupportRequestSelectivity *>(request)->selectivity = 1;
    PG_RETURN_POINTER(request);
}

HIPQ_FUNCTION(hipq__is_in_reach_support)
{
    auto *request = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
    if (!IsA(request, SupportRequestSimplify))
        PG_RETURN_POINTER(nullptr);
    PG_RETURN_POINTER(
        hipq::catalog::in_other_words(reinterpret_cast<SupportRequestSimplify *>(request)->fcall));
}
