// Checks whether a queue is one of an array, and lets the planner replace the check by ranges of
// queue numbers.
//
// With an array the planner estimates, for each table of each queue, a comparison with each
// element: with 1,000 queues, planning a query over all jobs took seconds. Queue numbers are
// assigned in order, so the queues that a role may see usually form a few ranges.
//
// Planning over the tables of 500 queues takes a fifth of a second, and twice that in a new
// session. So the plan has only the queues that the query selects: by name, which
// hipq._is_asked_for() turns into numbers, or by the ids of jobs, for which no table is scanned.
#include "catalog/cache.hpp"
#include "catalog/visible_queues.hpp"
#include "monitor/queried_values.hpp"
#include "pg/arguments.hpp"

extern "C" {
#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
}

namespace hipq::monitor {

namespace {

// With more ranges the array is cheaper.
constexpr std::size_t most_ranges = 32;

// Both ends are included.
struct Range {
    int first;
    int last;
};

// Returns ranges that contain these queues and no other existing queue.
std::vector<Range> ranges_of(std::span<const std::int32_t> ids, const catalog::Catalogue &catalogue)
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

// ---- call inside pg::call() only ----

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

// At least one of the ranges.
Expr *is_in_ranges(Node *column, std::span<const Range> ranges)
{
    if (ranges.size() == 1)
        return is_in_range(column, ranges.front());
    List *any = NIL;
    for (const Range &range : ranges)
        any = ::lappend(any, is_in_range(column, range));
    return ::makeBoolExpr(OR_EXPR, any, -1);
}

Expr *is_any_of(Node *column, std::span<const std::int32_t> ids)
{
    auto *elements = static_cast<Datum *>(::palloc(sizeof(Datum) * (ids.size() + 1)));
    for (std::size_t i = 0; i < ids.size(); ++i)
        elements[i] = Int32GetDatum(ids[i]);
    ArrayType *array = ::construct_array(elements, static_cast<int>(ids.size()), INT4OID,
                                         sizeof(std::int32_t), true, TYPALIGN_INT);
    auto *any = makeNode(ScalarArrayOpExpr);
    any->opno = Int4EqualOperator;
    any->opfuncid = F_INT4EQ;
    any->useOr = true;
    any->args =
        list_make2(::copyObjectImpl(column), ::makeConst(INT4ARRAYOID, -1, InvalidOid, -1,
                                                         PointerGetDatum(array), false, false));
    any->location = -1;
    return reinterpret_cast<Expr *>(any);
}

// Returns the array argument of a call if it is known, else null.
Const *array_in(const FuncExpr *call)
{
    auto *argument = static_cast<Node *>(lsecond(call->args));
    if (!IsA(argument, Const))
        return nullptr;
    auto *array = reinterpret_cast<Const *>(argument);
    return array->constisnull || ARR_HASNULL(DatumGetArrayTypeP(array->constvalue)) ? nullptr
                                                                                    : array;
}

// The selected texts; NIL and false: any, or not known.
struct Names {
    bool are_known;
    List *names;  // of C strings
};

Names names_in(const Asked &asked)
{
    if (asked.value == nullptr || !IsA(asked.value, Const))
        return {false, NIL};
    const auto *constant = reinterpret_cast<const Const *>(asked.value);
    if (constant->constisnull || constant->consttype != (asked.is_array ? TEXTARRAYOID : TEXTOID))
        return {false, NIL};
    if (!asked.is_array)
        return {true, list_make1(TextDatumGetCString(constant->constvalue))};
    Datum *elements = nullptr;
    bool *nulls = nullptr;
    int count = 0;
    ::deconstruct_array(DatumGetArrayTypeP(constant->constvalue), TEXTOID, -1, false, TYPALIGN_INT,
                        &elements, &nulls, &count);
    List *names = NIL;
    for (int i = 0; i < count; ++i)
        if (!nulls[i])
            names = ::lappend(names, TextDatumGetCString(elements[i]));
    return {true, names};
}

Names names_asked_for(const PlannerInfo *root, Node *column)
{
    ListCell *cell = nullptr;
    foreach (cell, conditions_of(root)) {
        const Names found = names_in(equal_to(static_cast<Node *>(lfirst(cell)), column));
        if (found.are_known)
            return found;
    }
    return {false, NIL};
}

// ---- C++ ----

Node *is_any_of(const FuncExpr *call, int argument, const std::vector<std::int32_t> &ids)
{
    const std::vector<Range> ranges = ranges_of(ids, *catalog::catalogue());
    return pg::call([&] {
        auto *column = static_cast<Node *>(list_nth(call->args, argument));
        return reinterpret_cast<Node *>(ranges.empty() || ranges.size() > most_ranges
                                            ? is_any_of(column, ids)
                                            : is_in_ranges(column, ranges));
    });
}

// Returns the queues among these that the query can concern.
std::vector<std::int32_t> asked_for(const PlannerInfo *root, const FuncExpr *call,
                                    std::span<const std::int32_t> ids)
{
    std::vector<std::int32_t> asked(ids.begin(), ids.end());
    const KnownNumbers known =
        pg::call([&] { return known_numbers(root, static_cast<Node *>(linitial(call->args))); });
    if (known.are_known)
        std::erase_if(asked, [&](int id) { return !::list_member_int(known.numbers, id); });
    return asked;
}

// Queue 0 does not exist. PostgreSQL's planner takes an empty array for no condition on partitions,
// and would wait for all locks.
Node *is_none(const FuncExpr *call, int argument)
{
    return is_any_of(call, argument, {0});
}

Node *in_other_words(PlannerInfo *root, const FuncExpr *call)
{
    Const *array = pg::call([&] { return array_in(call); });
    if (array == nullptr)
        return nullptr;
    const auto ids = pg::call([&] { return elements_of(DatumGetArrayTypeP(array->constvalue)); });
    const std::vector<std::int32_t> free = catalog::reachable(asked_for(root, call, ids));
    return free.empty() ? is_none(call, 0) : is_any_of(call, 0, free);
}

// ---- queue by queue ----

// Planning takes 0.3 ms for each queue, and three times that in a new session: more than reading it
// through an index, without a plan.
constexpr std::size_t most_planned = 32;

// A view reads the same queues in two ways, and the planner must leave out one of them. So the
// choice is made once in a statement, although queues may come and go meanwhile.
struct Choice {
    const PlannerGlobal *planned;
    TimestampTz statement;
    std::vector<std::int32_t> named;  // empty: any
    bool is_one_by_one;
};
constinit Choice *choice = nullptr;

bool reads_one_by_one(const PlannerInfo *root, const FuncExpr *call,
                      std::span<const std::int32_t> ids)
{
    if (root == nullptr)
        return false;
    const KnownNumbers known =
        pg::call([&] { return known_numbers(root, static_cast<Node *>(linitial(call->args))); });
    std::vector<std::int32_t> named;
    named.reserve(static_cast<std::size_t>(list_length(known.numbers)));
    for (int i = 0; i < list_length(known.numbers); ++i)
        named.push_back(list_nth_int(known.numbers, i));
    const TimestampTz statement = ::GetCurrentStatementStartTimestamp();
    if (choice == nullptr || choice->planned != root->glob || choice->statement != statement ||
        choice->named != named) {
        delete std::exchange(choice, nullptr);
        choice = new Choice{root->glob, statement, named,
                            asked_for(root, call, ids).size() > most_planned};
    }
    return choice->is_one_by_one;
}

bool selects_ids(PlannerInfo *root)
{
    return pg::call([&] { return root != nullptr && asked_ids(root) != nullptr; });
}

Node *is_false()
{
    return pg::call([] { return ::makeBoolConst(false, false); });
}

// The scan that reads queues one by one checks the caller's rights itself.
Node *by_one_by_one(PlannerInfo *root, const FuncExpr *call, std::span<const std::int32_t> ids)
{
    return !selects_ids(root) && reads_one_by_one(root, call, ids)
               ? pg::call([] { return ::makeBoolConst(true, false); })
               : is_false();
}

// Whether the condition is for the scan of queues one by one. Views of 0.2.0 do not say.
bool is_for_one_by_one(const FuncExpr *call)
{
    return list_length(call->args) == 3 &&
           DatumGetBool(castNode(Const, lthird(call->args))->constvalue);
}

Node *in_other_words_by_scan(PlannerInfo *root, const FuncExpr *call)
{
    const Const *array = pg::call([&] { return array_in(call); });
    if (array == nullptr)
        return nullptr;
    const auto ids = pg::call([&] { return elements_of(DatumGetArrayTypeP(array->constvalue)); });
    if (is_for_one_by_one(call))
        return by_one_by_one(root, call, ids);
    const bool is_left_out =
        selects_ids(root) || (list_length(call->args) == 3 && reads_one_by_one(root, call, ids));
    return is_left_out ? is_none(call, 0) : in_other_words(root, call);
}

// Treats names that the caller may not know like names that do not exist.
Node *asked_for_by_name(const PlannerInfo *root, const FuncExpr *call)
{
    const Names asked =
        pg::call([&] { return names_asked_for(root, static_cast<Node *>(linitial(call->args))); });
    if (!asked.are_known)
        return pg::call([] { return ::makeBoolConst(true, false); });
    const auto known = catalog::catalogue();
    catalog::VisibleQueues visible_queues;
    std::vector<std::int32_t> ids;
    for (int i = 0; i < list_length(asked.names); ++i) {
        const catalog::Queue *queue =
            known->find(static_cast<const char *>(list_nth(asked.names, i)));
        if (queue != nullptr && visible_queues.visible(queue->id) != nullptr)
            ids.push_back(queue->id);
    }
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    if (ids.empty())
        return is_none(call, 1);
    // known_numbers() reads no ranges.
    return ids.size() == 1 ? is_any_of(call, 1, ids) : pg::call([&] {
        return reinterpret_cast<Node *>(is_any_of(static_cast<Node *>(lsecond(call->args)), ids));
    });
}

template <class Function>
Datum simplified(FunctionCallInfo fcinfo, Function &&fn)
{
    auto *request = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
    if (!IsA(request, SupportRequestSimplify))
        return Datum{0};
    const auto *simplify = reinterpret_cast<SupportRequestSimplify *>(request);
    PG_RETURN_POINTER(fn(simplify->root, simplify->fcall));
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__is_one_of)
{
    return hipq::pg::call([&] {
        return BoolGetDatum(hipq::monitor::is_one_of(PG_GETARG_INT32(0), PG_GETARG_ARRAYTYPE_P(1)));
    });
}

// The condition comes on top of an index condition that says the same, so it must not reduce the
// estimate twice.
HIPQ_FUNCTION(hipq__is_one_of_support)
{
    auto *request = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
    if (!IsA(request, SupportRequestSelectivity))
        return Datum{0};
    reinterpret_cast<SupportRequestSelectivity *>(request)->selectivity = 1;
    PG_RETURN_POINTER(request);
}

// Of views of 0.2.0.
HIPQ_FUNCTION(hipq__is_in_reach_support)
{
    return hipq::monitor::simplified(fcinfo, hipq::monitor::in_other_words);
}

HIPQ_FUNCTION(hipq__is_in_reach_by_scan_support)
{
    return hipq::monitor::simplified(fcinfo, hipq::monitor::in_other_words_by_scan);
}

HIPQ_FUNCTION(hipq__is_asked_for)
{
    return hipq::pg::return_bool(true);
}

HIPQ_FUNCTION(hipq__is_asked_for_support)
{
    return hipq::monitor::simplified(fcinfo, hipq::monitor::asked_for_by_name);
}

// NULL if the planner has not replaced it: a query that selects no ids gets no jobs by them.
HIPQ_FUNCTION(hipq__asked_ids)
{
    PG_RETURN_NULL();
}

HIPQ_FUNCTION(hipq__asked_ids_support)
{
    return hipq::monitor::simplified(fcinfo, [](PlannerInfo *root, const FuncExpr *) {
        return hipq::pg::call(
            [&] { return root == nullptr ? nullptr : hipq::monitor::asked_ids(root); });
    });
}
