// Counts the jobs of a queue that wait for other jobs, hipq._held(): programs that show all queues
// each second cannot read their tables. The index "held" of the live leaf has only these jobs.
#include "catalog/cache.hpp"
#include "catalog/queue_by_queue.hpp"
#include "catalog/visible_queues.hpp"
#include "job/plain_table.hpp"
#include "pg/arguments.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "access/tableam.h"
#include "storage/lmgr.h"
}

namespace hipq::monitor {

namespace {

constexpr std::int64_t most_counted = 1000;  // some 0.5 ms

// ---- call inside pg::call() only ----

std::int64_t entries_of(Relation live, Relation index)
{
    std::int64_t entries = 0;
    TupleTableSlot *slot = ::table_slot_create(live, nullptr);
    IndexScanDesc scan = pg::begin_index_scan(live, index, 0);
    ::index_rescan(scan, nullptr, 0, nullptr, 0);
    while (entries < most_counted && ::index_getnext_slot(scan, ForwardScanDirection, slot))
        ++entries;
    ::index_endscan(scan);
    ::ExecDropSingleTupleTableSlot(slot);
    return entries;
}

// Returns -1 if another session has locked the index. The caller's subtransaction ends the lock.
std::int64_t count_held(const char *live_name, const char *index_name)
{
    Relation live = job::open_table(live_name, AccessShareLock);
    const Oid oid = ::get_relname_relid(index_name, RelationGetNamespace(live));
    std::int64_t held = OidIsValid(oid) ? -1 : 0;
    if (OidIsValid(oid) && ::ConditionalLockRelationOid(oid, AccessShareLock)) {
        Relation index = ::index_open(oid, NoLock);
        held = entries_of(live, index);
        ::index_close(index, NoLock);
    }
    ::relation_close(live, NoLock);
    return held;
}

// ---- C++ ----

// Returns -1 as well for a queue that is being dropped, that the caller may not see, or that
// another session has locked.
std::int64_t held_in(const std::string &queue_name)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(queue_name);
    std::int64_t held = -1;
    if (queue == nullptr || queue->is_dropped ||
        catalog::VisibleQueues().visible(queue->id) == nullptr)
        return held;
    catalog::read_or_leave_out(*queue, [&] {
        const std::string live = queue->live_table();
        const std::string index = live + "_held";
        held = pg::call([&] { return count_held(live.c_str(), index.c_str()); });
    });
    return held;
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__held)
{
    const std::int64_t held =
        hipq::monitor::held_in(hipq::pg::Arguments(fcinfo).text({0, "queue"}));
    fcinfo->isnull = held < 0;
    return Int64GetDatum(held);
}
