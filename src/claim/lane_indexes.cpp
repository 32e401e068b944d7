// Finds the indexes of a live leaf by which lanes, and the throttle keys in them, are read.
#include "claim/lane_indexes.hpp"

#include "job/plain_table.hpp"

extern "C" {
#include "catalog/pg_am.h"
}

namespace hipq::claim {

namespace {

using core::Column;

// The columns of the index, in its order.
constexpr std::array lane_columns{Column::job_type, Column::priority, Column::scheduled_run_time,
                                  Column::id};

constexpr int throttle_index_columns = 5;

// Whether an index leaves out held jobs, and no others. The tables of 0.2.0 have no such column.
bool has_free_jobs(Relation index, const job::ColumnMap &map)
{
    const List *predicate = ::RelationGetIndexPredicate(index);
    const AttrNumber waits_for = map[static_cast<std::size_t>(Column::waits_for)];
    if (waits_for == InvalidAttrNumber)
        return predicate == NIL;
    if (list_length(predicate) != 1 || !IsA(linitial(predicate), NullTest))
        return false;
    const auto *test = linitial_node(NullTest, predicate);
    return test->nulltesttype == IS_NULL && IsA(test->arg, Var) &&
           reinterpret_cast<const Var *>(test->arg)->varattno == waits_for;
}

bool is_lane_index(Relation index, const job::ColumnMap &map)
{
    const Form_pg_index form = index->rd_index;
    bool fits = form->indisvalid && form->indnkeyatts == static_cast<int>(lane_columns.size()) &&
                index->rd_rel->relam == BTREE_AM_OID;
    for (std::size_t i = 0; fits && i < lane_columns.size(); ++i)
        fits = form->indkey.values[i] == map[static_cast<std::size_t>(lane_columns[i])] &&
               index->rd_indoption[i] == 0;
    return fits && has_free_jobs(index, map);
}

}  // namespace

Relation open_lane_index(Relation live, const job::ColumnMap &map)
{
    ListCell *cell = nullptr;
    foreach (cell, ::RelationGetIndexList(live)) {
        Relation index = ::index_open(lfirst_oid(cell), AccessShareLock);
        if (is_lane_index(index, map))
            return index;
        ::index_close(index, AccessShareLock);
    }
    return nullptr;
}

// The index is found by its name: hipq makes it for queues that need it (tables/queue_table.hpp).
Relation open_throttle_index(Relation live, const char *name)
{
    const Oid found = ::get_relname_relid(name, RelationGetNamespace(live));
    ListCell *cell = nullptr;
    foreach (cell, ::RelationGetIndexList(live)) {
        if (lfirst_oid(cell) != found)
            continue;
        Relation index = ::index_open(found, AccessShareLock);
        if (index->rd_index->indisvalid && index->rd_rel->relam == BTREE_AM_OID &&
            index->rd_index->indnkeyatts == throttle_index_columns)
            return index;
        ::index_close(index, AccessShareLock);
    }
    return nullptr;
}

}  // namespace hipq::claim
