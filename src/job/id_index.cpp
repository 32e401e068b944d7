// Searches ids in the indexes of a queue's tables.
//
// A statement over the tables of many queues takes long to plan, one statement per queue takes long
// to prepare, and each table takes long to open for the first time. Most queues do not have the
// job.
#include "job/id_index.hpp"

#include "catalog/cache.hpp"
#include "pg/compat.hpp"
#include "pg/spi.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "nodes/tidbitmap.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

namespace hipq::job {

namespace {

// Call all of these inside pg::call() only.

constexpr long memory_for_places = 64 * 1024L;

// A lock that is tried, and released if it was obtained.
class TriedLock {
public:
    explicit TriedLock(Oid relation)
        : relation_(relation), is_held_(::ConditionalLockRelationOid(relation, AccessShareLock))
    {
    }
    bool is_held() const { return is_held_; }
    void end() const
    {
        if (is_held_)
            ::UnlockRelationOid(relation_, AccessShareLock);
    }

private:
    Oid relation_;
    bool is_held_;
};

// Whether an index is over all rows, with this column as the only or the first one.
bool is_of_column(HeapTuple tuple, AttrNumber column)
{
    const auto *index = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
    return index->indisvalid && index->indisready && index->indkey.values[0] == column &&
           ::heap_attisnull(tuple, Anum_pg_index_indpred, nullptr);
}

// InvalidOid: the table has no such index.
Oid index_on(Oid table, AttrNumber column)
{
    Relation indexes = ::table_open(IndexRelationId, AccessShareLock);
    ScanKeyData key;
    ::ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
                  ObjectIdGetDatum(table));
    SysScanDesc scan = ::systable_beginscan(indexes, IndexIndrelidIndexId, true, nullptr, 1, &key);
    Oid found = InvalidOid;
    HeapTuple tuple = nullptr;
    while (!OidIsValid(found) && (tuple = ::systable_getnext(scan)) != nullptr)
        if (is_of_column(tuple, column))
            found = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple))->indexrelid;
    ::systable_endscan(scan);
    ::table_close(indexes, AccessShareLock);
    return found;
}

bool has_entry(Relation index, Datum ids)
{
    ScanKeyData key;
    ::ScanKeyEntryInitialize(&key, SK_SEARCHARRAY, 1, BTEqualStrategyNumber, InvalidOid, InvalidOid,
                             F_INT8EQ, ids);
    IndexScanDesc scan = pg::begin_bitmap_scan(index, 1);
    ::index_rescan(scan, &key, 1, nullptr, 0);
    TIDBitmap *places = ::tbm_create(memory_for_places, nullptr);
    const bool found = ::index_getbitmap(scan, places) > 0;
    ::tbm_free(places);
    ::index_endscan(scan);
    return found;
}

bool index_may_have(Oid index_oid, Datum ids)
{
    const TriedLock lock(index_oid);
    if (!lock.is_held())
        return true;
    Relation index = ::index_open(index_oid, NoLock);
    const bool found = index->rd_rel->relam != BTREE_AM_OID || has_entry(index, ids);
    ::index_close(index, NoLock);
    lock.end();
    return found;
}

bool leaf_may_have(Oid leaf, Datum ids)
{
    const TriedLock lock(leaf);
    if (!lock.is_held())
        return true;
    // The leaf may have been dropped since it was found.
    const AttrNumber id = ::get_attnum(leaf, "id");
    const Oid index = id == InvalidAttrNumber ? InvalidOid : index_on(leaf, id);
    const bool found =
        id != InvalidAttrNumber && (!OidIsValid(index) || index_may_have(index, ids));
    lock.end();
    return found;
}

bool tree_may_have(Oid top, Datum ids)
{
    ListCell *cell = nullptr;
    foreach (cell, ::find_all_inheritors(top, NoLock, nullptr)) {
        CHECK_FOR_INTERRUPTS();
        const Oid table = lfirst_oid(cell);
        if (::get_rel_relkind(table) == RELKIND_RELATION && leaf_may_have(table, ids))
            return true;
    }
    return false;
}

bool queue_may_have(const char *table, const pg::Parameter &ids)
{
    const Oid top = ::get_relname_relid(table, ::get_namespace_oid("hipq", false));
    if (!OidIsValid(top))
        return false;
    const bool brings_snapshot = !::ActiveSnapshotSet();  // a worker's transaction has none
    if (brings_snapshot)
        ::PushActiveSnapshot(::GetTransactionSnapshot());
    const bool found = tree_may_have(top, ids.datum());
    if (brings_snapshot)
        ::PopActiveSnapshot();
    return found;
}

}  // namespace

bool may_have(const catalog::Queue &queue, const std::vector<std::int64_t> &ids)
{
    const pg::Parameter array(ids);
    return pg::call([&] { return queue_may_have(queue.table.c_str(), array); });
}

bool find_by_id(Relation table, Relation index, std::int64_t id, TupleTableSlot *slot)
{
    ScanKeyData equal;
    ::ScanKeyInit(&equal, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(id));
    IndexScanDesc scan = pg::begin_index_scan(table, index, 1);
    ::index_rescan(scan, &equal, 1, nullptr, 0);
    const bool found = ::index_getnext_slot(scan, ForwardScanDirection, slot);
    if (found)
        ::ExecMaterializeSlot(slot);
    ::index_endscan(scan);
    return found;
}

}  // namespace hipq::job
