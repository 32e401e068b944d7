// Lets the planner of views leave out the queues that the caller may not see.
#include "catalog/visible_queues.hpp"

#include "pg/postgres.hpp"
#include "catalog/rights.hpp"
#include "pg/arguments.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "catalog/pg_inherits.h"
#include "storage/lmgr.h"
}

namespace hipq::catalog {

namespace {

// ---- plans ----

// Hash values, as the plan cache uses them, of the functions that plans of this transaction were
// made with.
constinit std::array<std::uint32_t, 4> functions{};
constinit std::size_t function_count = 0;
constinit bool function_was_noted = false;

void note_function(Oid function)
{
    function_was_noted = true;
    const std::uint32_t hash =
        pg::call([&] { return GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function)); });
    const auto end = functions.begin() + static_cast<std::ptrdiff_t>(function_count);
    if (std::find(functions.begin(), end, hash) == end && function_count < functions.size())
        functions[function_count++] = hash;
}

void end_plans() noexcept
{
    const std::size_t count = std::exchange(function_count, 0);
    for (std::size_t i = 0; i < count; ++i)
        ::CallSyscacheCallbacks(PROCOID, functions[i]);
}

extern "C" void hipq_visible_queues_changed(Datum, pg::CacheId, uint32)
{
    end_plans();
}

extern "C" void hipq_visible_queues_end(XactEvent, void *)
{
    end_plans();
}

// ---- locks ----

// The queues for which this statement has raised a WARNING.
struct Warned {
    TimestampTz statement;
    std::set<int> queues;
};
constinit Warned *warned = nullptr;

void warn_once(const Queue &queue)
{
    if (warned == nullptr)
        warned = new Warned{};
    const TimestampTz statement = ::GetCurrentStatementStartTimestamp();
    if (warned->statement != statement)
        *warned = Warned{statement, {}};
    if (!warned->queues.insert(queue.id).second)
        return;
    const std::string name = queue.full_name();
    pg::call([&] {
        ereport(WARNING, errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                errmsg("queue \"%s\" is left out because its table is locked", name.c_str()),
                errhint("View hipq.alerts says who holds the lock."));
    });
}

// The lock on the table is kept until the transaction ends, as a reader's would be. Leaves are
// locked on trial and released, because a plan may not need all of them. Call inside pg::call()
// only.
bool try_to_lock(Oid table)
{
    if (!::ConditionalLockRelationOid(table, AccessShareLock))
        return false;
    ListCell *cell = nullptr;
    foreach (cell, ::find_all_inheritors(table, NoLock, nullptr)) {
        const Oid leaf = lfirst_oid(cell);
        if (leaf == table)
            continue;
        if (!::ConditionalLockRelationOid(leaf, AccessShareLock))
            return false;
        ::UnlockRelationOid(leaf, AccessShareLock);
    }
    return true;
}

bool is_reachable(const Queue &queue)
{
    return pg::call([&] {
        const Oid table =
            ::get_relname_relid(queue.table.c_str(), ::get_namespace_oid("hipq", false));
        return !OidIsValid(table) || try_to_lock(table);
    });
}

// hipq itself locks a queue's tables for some milliseconds to create and drop leaves. Readers wait
// this long for these locks, for all queues of a statement together. In microseconds.
constexpr std::int64_t longest_wait_for_leaves = 100'000;
constexpr long pause = 1'000;

bool is_reachable_in_time(const Queue &queue, std::int64_t latest)
{
    while (!is_reachable(queue)) {
        if (queue.is_dropped || ::GetCurrentTimestamp() >= latest)
            return false;
        pg::call([] {
            CHECK_FOR_INTERRUPTS();
            ::pg_usleep(pause);
        });
    }
    return true;
}

// ---- arrays ----

Datum array_of(const std::vector<std::int32_t> &ids)
{
    return pg::call([&] {
        auto *elements = static_cast<Datum *>(::palloc(sizeof(Datum) * (ids.size() + 1)));
        for (std::size_t i = 0; i < ids.size(); ++i)
            elements[i] = Int32GetDatum(ids[i]);
        return PointerGetDatum(::construct_array(elements, static_cast<int>(ids.size()), INT4OID,
                                                 sizeof(std::int32_t), true, TYPALIGN_INT));
    });
}

}  // namespace

bool is_monitor()
{
    return pg::call([] { return ::has_privs_of_role(::GetUserId(), ROLE_PG_MONITOR); });
}

VisibleQueues::VisibleQueues() : catalogue_(catalogue()), is_monitor_(is_monitor()) {}

const Queue *VisibleQueues::readable(int queue_id)
{
    const Queue *queue = catalogue_->find(queue_id);
    if (queue == nullptr)
        return nullptr;
    const auto [entry, is_new] = known_.try_emplace(queue_id, false);
    if (is_new)
        entry->second = may(caller(), *queue, Privilege::read);
    return entry->second ? queue : nullptr;
}

const Queue *VisibleQueues::visible(int queue_id)
{
    return is_monitor_ ? catalogue_->find(queue_id) : readable(queue_id);
}

std::vector<std::int32_t> VisibleQueues::readable()
{
    std::vector<std::int32_t> ids;
    for (const auto &entry : catalogue_->queues)
        if (readable(entry.first) != nullptr)
            ids.push_back(entry.first);
    return ids;
}

std::vector<std::int32_t> VisibleQueues::visible()
{
    std::vector<std::int32_t> ids;
    for (const auto &entry : catalogue_->queues)
        if (visible(entry.first) != nullptr)
            ids.push_back(entry.first);
    return ids;
}

std::vector<std::int32_t> reachable(const std::vector<std::int32_t> &queues)
{
    const std::int64_t latest = ::GetCurrentTimestamp() + longest_wait_for_leaves;
    VisibleQueues visible_queues;
    std::vector<std::int32_t> free;
    for (const std::int32_t id : queues) {
        const Queue *queue = visible_queues.visible(id);
        if (queue == nullptr)
            continue;
        if (is_reachable_in_time(*queue, latest))
            free.push_back(id);
        else if (!queue->is_dropped)
            warn_once(*queue);
    }
    return free;
}

bool set_planned_by_visible_queues(bool value)
{
    return std::exchange(function_was_noted, value);
}

void watch_visible_queues()
{
    ::RegisterXactCallback(hipq_visible_queues_end, nullptr);
    // Changes of rights on tables, of roles and of memberships.
    for (const pg::CacheId cache : {RELOID, AUTHOID, AUTHMEMROLEMEM})
        ::CacheRegisterSyscacheCallback(cache, hipq_visible_queues_changed, Datum{0});
}

}  // namespace hipq::catalog

HIPQ_FUNCTION(hipq__readable_queues)
{
    hipq::catalog::note_function(fcinfo->flinfo->fn_oid);
    return hipq::catalog::array_of(hipq::catalog::VisibleQueues().readable());
}

HIPQ_FUNCTION(hipq__visible_queues)
{
    hipq::catalog::note_function(fcinfo->flinfo->fn_oid);
    return hipq::catalog::array_of(hipq::catalog::VisibleQueues().visible());
}

HIPQ_FUNCTION(hipq__reachable_queues)
{
    hipq::catalog::note_function(fcinfo->flinfo->fn_oid);
    std::vector<std::int32_t> ids =
        hipq::catalog::reachable(hipq::pg::Arguments(fcinfo).integers({0, "queues"}));
    // The planner treats an empty array as no condition on partitions, and would wait for all
    // locks. No queue has number 0.
    if (ids.empty())
        ids.push_back(0);
    return hipq::catalog::array_of(ids);
}
