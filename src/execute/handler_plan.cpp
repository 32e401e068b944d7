// Keeps a prepared statement for each handler.
#include "execute/handler_plan.hpp"

#include "pg/guard.hpp"

namespace hipq::execute {

namespace {

using Key = std::pair<std::string, Oid>;  // text and type of the first parameter: hipq.job may be
                                          // another type after DROP EXTENSION
using Plans = std::map<Key, CachedPlanSource *>;

constexpr std::size_t most_plans = 1'000;
constinit Plans *plans = nullptr;  // on the heap: no destructor at exit

// Call inside pg::call() only.
CachedPlanSource *prepare(const char *sql, const Oid *types, int type_count)
{
    List *statements = ::pg_parse_query(sql);
    if (list_length(statements) != 1)
        ereport(ERROR, errcode(ERRCODE_SYNTAX_ERROR), errmsg("a handler is exactly one statement"));
    auto *statement = linitial_node(RawStmt, statements);
    CachedPlanSource *plan =
        ::CreateCachedPlan(statement, sql, ::CreateCommandTag(statement->stmt));
    const bool needs_snapshot = ::analyze_requires_snapshot(statement);
    if (needs_snapshot)
        ::PushActiveSnapshot(::GetTransactionSnapshot());
    List *queries =
        ::pg_analyze_and_rewrite_fixedparams(statement, sql, types, type_count, nullptr);
    if (needs_snapshot)
        ::PopActiveSnapshot();
    ::CompleteCachedPlan(plan, queries, nullptr, const_cast<Oid *>(types), type_count, nullptr,
                         nullptr, CURSOR_OPT_PARALLEL_OK, false);
    ::SaveCachedPlan(plan);
    return plan;
}

void forget_all()
{
    for (const auto &entry : *plans)
        pg::call([&] { ::DropCachedPlan(entry.second); });
    plans->clear();
}

}  // namespace

CachedPlanSource *handler_plan(const std::string &sql, std::span<const Oid> types)
{
    if (plans == nullptr)
        plans = new Plans();
    const Key key{sql, types.empty() ? InvalidOid : types.front()};
    if (const auto known = plans->find(key); known != plans->end())
        return known->second;
    if (plans->size() >= most_plans)
        forget_all();
    CachedPlanSource *plan = pg::call(
        [&] { return prepare(sql.c_str(), types.data(), static_cast<int>(types.size())); });
    (*plans)[key] = plan;
    return plan;
}

}  // namespace hipq::execute
