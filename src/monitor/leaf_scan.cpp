// Scans one leaf, through the index that serves the conditions best.
//
// The index is chosen from pg_index and opened alone: opening a table for the first time in a
// session takes long, and most leaves do not have the row.
#include "monitor/leaf_scan.hpp"

#include "core/job/columns.hpp"
#include "core/job/validate.hpp"
#include "job/key_index.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "nodes/tidbitmap.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
}

namespace hipq::monitor {

namespace {

constexpr long memory_for_entries = 64 * 1024L;

// An index, and the conditions on its leading columns.
struct Search {
    Oid index = InvalidOid;
    int count = 0;
    std::array<const Equality *, most_equalities> keys{};
};

// The attribute numbers of the conditions' columns in a leaf.
using Columns = std::array<AttrNumber, most_equalities>;

// Most rows of a queue may have the same value in these columns.
bool is_wide(const Equality &equality)
{
    for (const core::Column column : {core::Column::queue_id, core::Column::state,
                                      core::Column::job_type, core::Column::priority})
        if (core::name(column) == equality.column)
            return true;
    return false;
}

bool is_narrow(const Search &search)
{
    for (int i = 0; i < search.count; ++i)
        if (!is_wide(*search.keys[static_cast<std::size_t>(i)]))
            return true;
    return false;
}

bool is_text_none(Datum value)
{
    const ::text *key = DatumGetTextPP(value);
    return std::string_view(VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key)) == core::none_text;
}

bool is_for_jobs_with_key(const Equality &equality)
{
    if (core::name(core::Column::job_key) != equality.column)
        return false;
    if (!equality.is_array)
        return !is_text_none(equality.value);
    Datum *elements = nullptr;
    bool *nulls = nullptr;
    int count = 0;
    ::deconstruct_array(DatumGetArrayTypeP(equality.value), TEXTOID, -1, false, TYPALIGN_INT,
                        &elements, &nulls, &count);
    for (int i = 0; i < count; ++i)
        if (!nulls[i] && is_text_none(elements[i]))
            return false;
    return true;
}

// Whether the index has entries for all rows that meet the conditions.
bool has_all(HeapTuple tuple, std::span<const Equality> equalities, const Columns &columns)
{
    if (::heap_attisnull(tuple, Anum_pg_index_indpred, nullptr))
        return true;
    const Oid index = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple))->indexrelid;
    for (std::size_t i = 0; i < equalities.size(); ++i)
        if (is_for_jobs_with_key(equalities[i]))
            return job::holds_keys_only(index, columns[i]);
    return false;
}

const Equality *on_column(AttrNumber column, std::span<const Equality> equalities,
                          const Columns &columns)
{
    for (std::size_t i = 0; i < equalities.size(); ++i)
        if (columns[i] == column && column != InvalidAttrNumber)
            return &equalities[i];
    return nullptr;
}

Search search_by(HeapTuple tuple, std::span<const Equality> equalities, const Columns &columns)
{
    const auto *index = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
    Search search{index->indexrelid};
    for (int i = 0; i < std::min<int>(index->indnkeyatts, most_equalities); ++i) {
        const Equality *equality = on_column(index->indkey.values[i], equalities, columns);
        if (equality == nullptr)
            break;
        search.keys[static_cast<std::size_t>(search.count++)] = equality;
    }
    return search;
}

// A new index may lack versions of rows that old snapshots see: the planner does not use it then.
bool is_usable(HeapTuple tuple)
{
    const auto *index = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
    return index->indisvalid && index->indisready && !index->indcheckxmin;
}

// The search with most columns; none: no index serves the conditions.
Search best_search(Oid leaf, std::span<const Equality> equalities)
{
    Columns columns{};
    for (std::size_t i = 0; i < equalities.size(); ++i)
        columns[i] = ::get_attnum(leaf, equalities[i].column);
    Relation indexes = ::table_open(IndexRelationId, AccessShareLock);
    ScanKeyData key;
    ::ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
                  ObjectIdGetDatum(leaf));
    SysScanDesc scan = ::systable_beginscan(indexes, IndexIndrelidIndexId, true, nullptr, 1, &key);
    Search best;
    HeapTuple tuple = nullptr;
    while ((tuple = ::systable_getnext(scan)) != nullptr) {
        const Search search = is_usable(tuple) ? search_by(tuple, equalities, columns) : Search();
        if (search.count > best.count && is_narrow(search) && has_all(tuple, equalities, columns))
            best = search;
    }
    ::systable_endscan(scan);
    ::table_close(indexes, AccessShareLock);
    return best;
}

// Whether the open index can compare as the conditions do.
bool compares_so(Relation index, const Search &search)
{
    if (index->rd_rel->relam != BTREE_AM_OID)
        return false;
    for (int i = 0; i < search.count; ++i) {
        const Equality &equality = *search.keys[static_cast<std::size_t>(i)];
        const Oid collation = index->rd_indcollation[i];
        if (::get_op_opfamily_strategy(equality.comparison, index->rd_opfamily[i]) !=
                BTEqualStrategyNumber ||
            (OidIsValid(collation) && collation != equality.collation))
            return false;
    }
    return true;
}

void fill_key(ScanKey key, const Equality &equality, AttrNumber column)
{
    Oid left = InvalidOid;
    Oid right = InvalidOid;
    ::op_input_types(equality.comparison, &left, &right);
    ::ScanKeyEntryInitialize(key, equality.is_array ? SK_SEARCHARRAY : 0, column,
                             BTEqualStrategyNumber, right, equality.collation,
                             ::get_opcode(equality.comparison), equality.value);
}

void fill_keys(const Search &search, ScanKey keys)
{
    for (int i = 0; i < search.count; ++i)
        fill_key(&keys[i], *search.keys[static_cast<std::size_t>(i)],
                 static_cast<AttrNumber>(i + 1));
}

// A table compares before it deforms a row, but with no arrays.
int fill_keys_of_table(Oid leaf, std::span<const Equality> equalities, ScanKey keys)
{
    int count = 0;
    for (const Equality &equality : equalities)
        if (!equality.is_array && count < most_equalities)
            fill_key(&keys[count++], equality, ::get_attnum(leaf, equality.column));
    return count;
}

bool has_entry_for(Relation index, ScanKey keys, int count)
{
    IndexScanDesc scan = pg::begin_bitmap_scan(index, count);
    ::index_rescan(scan, keys, count, nullptr, 0);
    TIDBitmap *places = ::tbm_create(memory_for_entries, nullptr);
    const bool found = ::index_getbitmap(scan, places) > 0;
    ::tbm_free(places);
    ::index_endscan(scan);
    return found;
}

bool is_table(Oid leaf)
{
    return ::get_rel_relkind(leaf) == RELKIND_RELATION;
}

}  // namespace

bool LeafScan::begin(Oid leaf, std::span<const Equality> equalities)
{
    ::LockRelationOid(leaf, AccessShareLock);
    if (!is_table(leaf)) {
        ::UnlockRelationOid(leaf, AccessShareLock);
        return false;
    }
    const Search search =
        std::ranges::all_of(equalities, is_wide) ? Search() : best_search(leaf, equalities);
    std::array<ScanKeyData, most_equalities> keys;
    if (search.count > 0) {
        index_ = ::index_open(search.index, AccessShareLock);
        const bool serves = compares_so(index_, search);
        if (serves)
            fill_keys(search, keys.data());
        const bool may_have = !serves || has_entry_for(index_, keys.data(), search.count);
        if (!serves || !may_have) {
            ::index_close(index_, AccessShareLock);
            index_ = nullptr;
        }
        if (!may_have) {
            ::UnlockRelationOid(leaf, AccessShareLock);
            return false;
        }
    }
    leaf_ = ::table_open(leaf, NoLock);
    slot_ = ::table_slot_create(leaf_, nullptr);
    if (index_ != nullptr) {
        entries_ = pg::begin_index_scan(leaf_, index_, search.count);
        ::index_rescan(entries_, keys.data(), search.count, nullptr, 0);
    } else {
        const int count = fill_keys_of_table(leaf, equalities, keys.data());
        rows_ =
            ::table_beginscan_strat(leaf_, ::GetActiveSnapshot(), count, keys.data(), true, true);
    }
    return true;
}

TupleTableSlot *LeafScan::next()
{
    CHECK_FOR_INTERRUPTS();
    const bool found = entries_ != nullptr
                           ? ::index_getnext_slot(entries_, ForwardScanDirection, slot_)
                           : ::table_scan_getnextslot(rows_, ForwardScanDirection, slot_);
    return found ? slot_ : nullptr;
}

void LeafScan::end()
{
    if (leaf_ == nullptr)
        return;
    if (entries_ != nullptr)
        ::index_endscan(entries_);
    if (rows_ != nullptr)
        ::table_endscan(rows_);
    ::ExecDropSingleTupleTableSlot(slot_);
    if (index_ != nullptr)
        ::index_close(index_, NoLock);
    ::table_close(leaf_, NoLock);
    *this = LeafScan();
}

List *leaves_of(const char *table, const char *live_leaf, Leaves which)
{
    const Oid schema = ::get_namespace_oid("hipq", false);
    const Oid top = ::get_relname_relid(table, schema);
    // Without its parent its rows are no jobs.
    if (!OidIsValid(top) || !::get_rel_relispartition(top))
        return NIL;
    const Oid live = ::get_relname_relid(live_leaf, schema);
    if (which == Leaves::live)
        return OidIsValid(live) ? list_make1_oid(live) : NIL;
    List *leaves = NIL;
    ListCell *cell = nullptr;
    foreach (cell, ::find_all_inheritors(top, NoLock, nullptr))
        if ((which == Leaves::all || lfirst_oid(cell) != live) && is_table(lfirst_oid(cell)))
            leaves = ::lappend_oid(leaves, lfirst_oid(cell));
    return leaves;
}

}  // namespace hipq::monitor
