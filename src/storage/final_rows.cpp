// The row by the table's access method, its index entries by the executor's tools.
#include "final_rows.hpp"

#include "storage/plain_table.hpp"

extern "C" {
#include "access/tableam.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/partcache.h"
}

namespace hipq::storage {

using core::Column;

struct FinalRows::Leaf {
    Relation table;  // the parent of all final leaves: while it is locked none of them goes
    Relation leaf;
    ColumnMap map;
    TupleTableSlot *slot;
    EState *executor;
    ResultRelInfo *target;
    pg::Time now;

    bool open(const char *table_name);
    void insert(const RowValues &values) const;
    void close() const;
};

// ---- the PostgreSQL regime ----

namespace {

// Of a table that is cut by ranges of one time. InvalidOid: there is none.
Oid leaf_for(Relation table, pg::Time time)
{
    const PartitionKeyData *key = ::RelationGetPartitionKey(table);
    const PartitionDescData *leaves = ::RelationGetPartitionDesc(table, false);
    if (key == nullptr || leaves->boundinfo == nullptr)
        return InvalidOid;
    Datum value = TimestampTzGetDatum(time.value);
    bool is_equal = false;
    const int bound =
        ::partition_range_datum_bsearch(key->partsupfunc, key->partcollation, leaves->boundinfo, 1, &value, &is_equal);
    const int index = leaves->boundinfo->indexes[bound + 1];
    const int chosen = index < 0 ? leaves->boundinfo->default_index : index;
    return chosen < 0 ? InvalidOid : leaves->oids[chosen];
}

}  // namespace

// Opens what it finds. False: there is something that only SQL respects.
bool FinalRows::Leaf::open(const char *table_name)
{
    table = open_table(table_name, RowExclusiveLock);
    const Oid oid = table == nullptr ? InvalidOid : leaf_for(table, now);
    if (!OidIsValid(oid))
        return false;
    leaf = ::table_open(oid, RowExclusiveLock);
    if (!is_plain(leaf, table))
        return false;
    slot = ::table_slot_create(leaf, nullptr);
    executor = ::CreateExecutorState();
    target = makeNode(ResultRelInfo);
    ::InitResultRelInfo(target, leaf, 1, nullptr, 0);
    ::ExecOpenIndices(target, false);
    return true;
}

void FinalRows::Leaf::insert(const RowValues &values) const
{
    fill_slot(slot, map, values);
    slot->tts_tableOid = RelationGetRelid(leaf);
    ::PushActiveSnapshot(::GetLatestSnapshot());
    ::table_tuple_insert(leaf, slot, ::GetCurrentCommandId(true), 0, nullptr);
    if (target->ri_NumIndices > 0)
        (void)::ExecInsertIndexTuples(target, slot, executor, false, false, nullptr, NIL);
    ResetPerTupleExprContext(executor);
    ::PopActiveSnapshot();
}

void FinalRows::Leaf::close() const
{
    if (executor != nullptr) {
        ::ExecCloseIndices(target);
        ::ExecDropSingleTupleTableSlot(slot);
        ::FreeExecutorState(executor);
    }
    for (Relation relation : {leaf, table})
        if (relation != nullptr)
            ::table_close(relation, NoLock);
}

// ---- the C++ regime ----

std::optional<FinalRows> FinalRows::open(const Queue &queue, pg::Time now)
{
    const std::string table_name = queue.table + "_final";
    auto *leaf = pg::call([&] {
        auto *opened = static_cast<Leaf *>(::palloc0(sizeof(Leaf)));
        opened->now = now;
        if (opened->open(table_name.c_str()))
            return opened;
        opened->close();
        return static_cast<Leaf *>(nullptr);
    });
    if (leaf == nullptr)
        return std::nullopt;
    leaf->map = column_map(leaf->leaf);
    return FinalRows(leaf);
}

void FinalRows::insert_succeeded(const ClaimedJob &job, Datum result)
{
    RowValues values = row_values(job.row);
    values.set(Column::state, state_datum(core::JobState::final));
    values.set(Column::attempt, Int32GetDatum(job.attempt));
    values.set(Column::update_time, TimestampTzGetDatum(leaf_->now.value));
    values.set(Column::deadline, TimestampTzGetDatum(DT_NOEND));
    values.set(Column::error, none_datum());
    values.set(Column::result, result);
    pg::call([&] { leaf_->insert(values); });
}

void FinalRows::close()
{
    pg::call([&] {
        leaf_->close();
        ::CommandCounterIncrement();  // what follows sees it
    });
}

}  // namespace hipq::storage
