// Finds how jobs have ended: a row of the live leaf is unfinished, and a row of a final leaf says
// how the job has ended.
//
// Final leaves are opened when a job is not in the live leaf, the one where the last job was found
// first.
#include "flow/end_index.hpp"

#include "job/id_index.hpp"
#include "job/plain_table.hpp"

extern "C" {
#include "access/genam.h"
#include "access/tableam.h"
#include "partitioning/partdesc.h"
#include "utils/lsyscache.h"
}

namespace hipq::flow {

namespace {

// Whether an index has each row of its table once, by this column.
bool is_of_column(Relation index, AttrNumber column)
{
    const Form_pg_index form = index->rd_index;
    return form->indisunique && form->indisvalid && form->indisready && form->indnkeyatts == 1 &&
           form->indkey.values[0] == column &&
           ::heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, nullptr);
}

Relation open_index_on(Relation table, AttrNumber column)
{
    ListCell *cell = nullptr;
    foreach (cell, ::RelationGetIndexList(table)) {
        Relation index = ::index_open(lfirst_oid(cell), AccessShareLock);
        if (is_of_column(index, column))
            return index;
        ::index_close(index, NoLock);
    }
    return nullptr;
}

}  // namespace

// A leaf and its index on id. Call its functions inside pg::call() only.
struct EndIndex::Leaf {
    Relation table;
    Relation index;
    TupleTableSlot *slot;
    AttrNumber error;

    bool open(Relation opened);
    bool find(std::int64_t id) const { return job::find_by_id(table, index, id, slot); }
    bool has_succeeded() const;
    void close() const;
};

// False: it cannot be searched.
bool EndIndex::Leaf::open(Relation opened)
{
    table = opened;
    if (table->rd_rel->relkind != RELKIND_RELATION)
        return false;
    const Oid oid = RelationGetRelid(table);
    error = ::get_attnum(oid, "error");
    index = open_index_on(table, ::get_attnum(oid, "id"));
    slot = ::table_slot_create(table, nullptr);
    return index != nullptr && error != InvalidAttrNumber;
}

// Of the row that was found.
bool EndIndex::Leaf::has_succeeded() const
{
    bool is_null = false;
    const Datum value = ::slot_getattr(slot, error, &is_null);
    return !is_null && job::is_text(value, "NONE");
}

void EndIndex::Leaf::close() const
{
    if (slot != nullptr)
        ::ExecDropSingleTupleTableSlot(slot);
    if (index != nullptr)
        ::index_close(index, NoLock);
    if (table != nullptr)
        ::table_close(table, NoLock);
}

// Call its functions inside pg::call() only.
struct EndIndex::Tables {
    Leaf live;
    bool is_live_usable;
    const char *final_name;
    Relation final_table;  // while it is locked, none of its leaves is dropped; null: not needed
    Leaf *leaves;
    int leaf_count;
    int latest;  // where the last job was found
    bool are_leaves_usable;

    void open_live(const char *name);
    void open_final();
    const Leaf *find_final(std::int64_t id);
    void close() const;
};

void EndIndex::Tables::open_live(const char *name)
{
    Relation table = job::open_table(name, AccessShareLock);
    is_live_usable = table != nullptr && live.open(table);
}

void EndIndex::Tables::open_final()
{
    final_table = job::open_table(final_name, AccessShareLock);
    if (final_table == nullptr || final_table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
        return;
    const PartitionDescData *parts = ::RelationGetPartitionDesc(final_table, true);
    leaves = static_cast<Leaf *>(
        ::palloc0(static_cast<Size>(std::max(parts->nparts, 1)) * sizeof(Leaf)));
    are_leaves_usable = true;
    for (; leaf_count < parts->nparts && are_leaves_usable; ++leaf_count)
        are_leaves_usable =
            leaves[leaf_count].open(::table_open(parts->oids[leaf_count], AccessShareLock));
}

const EndIndex::Leaf *EndIndex::Tables::find_final(std::int64_t id)
{
    for (int i = 0; i < leaf_count; ++i) {
        const int place = (latest + i) % leaf_count;
        if (leaves[place].find(id)) {
            latest = place;
            return &leaves[place];
        }
    }
    return nullptr;
}

void EndIndex::Tables::close() const
{
    live.close();
    for (int i = 0; i < leaf_count; ++i)
        leaves[i].close();
    if (final_table != nullptr)
        ::table_close(final_table, NoLock);
}

// ---- call outside pg::call() ----

EndIndex EndIndex::open(const catalog::Queue &queue)
{
    const std::string live = queue.live_table();
    const std::string final = queue.final_table();
    return EndIndex(pg::call([&] {
        auto *tables = static_cast<Tables *>(::palloc0(sizeof(Tables)));
        tables->final_name = ::pstrdup(final.c_str());
        tables->open_live(live.c_str());
        return tables;
    }));
}

FoundEnd EndIndex::end_of(std::int64_t id)
{
    return pg::call([&] {
        if (!tables_->is_live_usable)
            return FoundEnd::unknown;
        if (tables_->live.find(id))
            return FoundEnd::unfinished;
        if (tables_->final_table == nullptr)
            tables_->open_final();
        if (!tables_->are_leaves_usable)
            return FoundEnd::unknown;
        const Leaf *leaf = tables_->find_final(id);
        return leaf != nullptr && leaf->has_succeeded() ? FoundEnd::success : FoundEnd::failure;
    });
}

void EndIndex::close()
{
    pg::call([&] { tables_->close(); });
}

}  // namespace hipq::flow
