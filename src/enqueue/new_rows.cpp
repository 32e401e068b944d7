// Writes new rows to the live leaf as COPY does, without planning, routing and triggers.
//
// The table's access method writes the rows, many per page visit as in COPY; functions of the
// executor write the index entries.
#include "enqueue/new_rows.hpp"

#include "catalog/cache.hpp"
#include "core/job/validate.hpp"
#include "core/text/names.hpp"
#include "job/job_row.hpp"
#include "job/own_checks.hpp"
#include "job/plain_table.hpp"
#include "pg/compat.hpp"
#include "pg/internal_write.hpp"

#include <algorithm>

extern "C" {
#include "access/tableam.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
}

namespace hipq::enqueue {

using core::Column;

namespace {

constexpr std::size_t most_slots = 100;  // rows written at once

constexpr int own_unique_indexes = 2;  // of a live leaf as hipq creates it

bool is_keyed(const job::RowValues &job)
{
    return job.as_text(Column::job_key) != core::none_text;
}

// Inserting index entries is faster in index order. The ids of one server always grow, but jobs
// from other nodes may have been enqueued on several of them.
std::vector<const job::RowValues *> by_id(std::span<const job::RowValues> jobs)
{
    std::vector<const job::RowValues *> ordered;
    ordered.reserve(jobs.size());
    for (const job::RowValues &job : jobs)
        ordered.push_back(&job);
    const auto id_of = [](const job::RowValues *job) {
        return DatumGetInt64(job->value(Column::id));
    };
    if (!std::ranges::is_sorted(ordered, {}, id_of))
        std::ranges::sort(ordered, {}, id_of);
    return ordered;
}

// ---- call inside pg::call() only ----

// Whether the table has something that INSERT INTO the queue's table would respect and that neither
// the leaf nor its rows show.
bool has_more_than_hipq_made(Relation table)
{
    const bool has_own_triggers = table->trigdesc != nullptr && table->trigdesc->numtriggers == 1;
    const bool has_policies = table->rd_rel->relrowsecurity && table->rd_rel->relforcerowsecurity;
    return !job::has_own_checks_only(table) || !has_own_triggers || has_policies ||
           table->rd_rules != nullptr;
}

bool demands_what_starts_empty(Relation leaf, const job::ColumnMap &map)
{
    for (const Column column :
         {Column::original_job_id, Column::retry_of, Column::worker_id, Column::queue_ttl})
        if (TupleDescAttr(RelationGetDescr(leaf), map[static_cast<std::size_t>(column)] - 1)
                ->attnotnull)
            return true;
    return false;
}

bool has_own_unique_indexes_only(const ResultRelInfo *target)
{
    int count = 0;
    for (int i = 0; i < target->ri_NumIndices; ++i) {
        const IndexInfo *index = target->ri_IndexRelationInfo[i];
        if (index->ii_ExclusionOps != nullptr ||
            !target->ri_IndexRelationDescs[i]->rd_index->indimmediate)
            return false;
        count += index->ii_Unique ? 1 : 0;
    }
    return count == own_unique_indexes;
}

}  // namespace

struct NewRows::Leaf {
    Relation table;  // the queue's table, locked before its leaf, as INSERT and DDL do
    Relation leaf;
    job::ColumnMap map;
    EState *executor;
    ResultRelInfo *target;
    MemoryContext memory;  // of the slots
    std::array<TupleTableSlot *, most_slots> slots;
    std::size_t slot_count;

    bool open(const char *name, const char *table_name);
    bool open_indexes(With with);
    void close();
    TupleTableSlot *filled_slot(std::size_t i, const job::RowValues &values);
    void demand_constraints(const job::RowValues &job);
    bool insert_index_entries(TupleTableSlot *slot);
    bool insert(const job::RowValues *const *jobs, std::size_t count);
    bool insert_speculatively(const job::RowValues &job);
    void insert_or_raise(const job::RowValues &job);
    void reclaim(TupleTableSlot *slot) const;
};

// Opens the tables. False: the leaf does not exist or has something that only SQL respects.
bool NewRows::Leaf::open(const char *name, const char *table_name)
{
    table = job::open_table(table_name, RowExclusiveLock);
    leaf = table == nullptr ? nullptr : job::open_table(name, RowExclusiveLock);
    return leaf != nullptr && leaf->rd_rel->relispartition && job::is_plain(leaf) &&
           !has_more_than_hipq_made(leaf) && !has_more_than_hipq_made(table);
}

bool NewRows::Leaf::open_indexes(With with)
{
    executor = ::CreateExecutorState();
    target = makeNode(ResultRelInfo);
    ::InitResultRelInfo(target, leaf, 1, nullptr, 0);
    ::ExecOpenIndices(target, with == With::keys);
    return has_own_unique_indexes_only(target) && !demands_what_starts_empty(leaf, map);
}

void NewRows::Leaf::close()
{
    if (executor != nullptr) {
        ::ExecCloseIndices(target);
        for (std::size_t i = 0; i < slot_count; ++i)
            ::ExecDropSingleTupleTableSlot(slots[i]);
        ::FreeExecutorState(executor);
    }
    for (Relation relation : {leaf, table})
        if (relation != nullptr)
            ::table_close(relation, NoLock);
}

TupleTableSlot *NewRows::Leaf::filled_slot(std::size_t i, const job::RowValues &values)
{
    MemoryContext before = ::MemoryContextSwitchTo(memory);
    for (; slot_count <= i; ++slot_count)
        slots[slot_count] = ::table_slot_create(leaf, nullptr);
    ::MemoryContextSwitchTo(before);
    job::fill_slot(slots[i], map, values);
    slots[i]->tts_tableOid = RelationGetRelid(leaf);
    return slots[i];
}

// The target is in no range table, as it does not matter which columns were given.
void NewRows::Leaf::demand_constraints(const job::RowValues &job)
{
    TupleTableSlot *slot = filled_slot(0, job);
    const Index place = std::exchange(target->ri_RangeTableIndex, 0);
    ::ExecConstraints(target, slot, executor);
    target->ri_RangeTableIndex = place;
    ResetPerTupleExprContext(executor);
}

// Returns false if a unique index already has such an entry.
bool NewRows::Leaf::insert_index_entries(TupleTableSlot *slot)
{
    bool is_taken = false;
    pg::insert_index_entries(target, slot, executor, &is_taken);
    ResetPerTupleExprContext(executor);
    return !is_taken;
}

// Inserts at most most_slots rows without key. False: an id is in use.
bool NewRows::Leaf::insert(const job::RowValues *const *jobs, std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i)
        (void)filled_slot(i, *jobs[i]);
    if (count == 1)
        ::table_tuple_insert(leaf, slots[0], ::GetCurrentCommandId(true), 0, nullptr);
    else
        ::table_multi_insert(leaf, slots.data(), static_cast<int>(count),
                             ::GetCurrentCommandId(true), 0, nullptr);
    bool is_free = true;
    for (std::size_t i = 0; i < count; ++i)
        is_free = insert_index_entries(slots[i]) && is_free;
    return is_free;
}

// Works as ExecInsert() does: of two transactions that insert the same key at the same time, one
// waits for the other.
bool NewRows::Leaf::insert_speculatively(const job::RowValues &job)
{
    TupleTableSlot *slot = filled_slot(0, job);
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        if (!pg::fits_unique_indexes(target, slot, executor))
            return false;
        const TransactionId transaction = ::GetCurrentTransactionId();
        const uint32 token = ::SpeculativeInsertionLockAcquire(transaction);
        ::table_tuple_insert_speculative(leaf, slot, ::GetCurrentCommandId(true), 0, nullptr,
                                         token);
        const bool is_free = insert_index_entries(slot);
        ::table_tuple_complete_speculative(leaf, slot, token, is_free);
        ::SpeculativeInsertionLockRelease(transaction);
        if (is_free)
            return true;
    }
}

void NewRows::Leaf::insert_or_raise(const job::RowValues &job)
{
    TupleTableSlot *slot = filled_slot(0, job);
    ::table_tuple_insert(leaf, slot, ::GetCurrentCommandId(true), 0, nullptr);
    pg::insert_index_entries(target, slot, executor, nullptr);
    ResetPerTupleExprContext(executor);
}

// Deletes a row that was just inserted.
void NewRows::Leaf::reclaim(TupleTableSlot *slot) const
{
    ::CommandCounterIncrement();
    ::simple_table_tuple_delete(leaf, &slot->tts_tid, ::GetActiveSnapshot());
}

// ---- call outside pg::call() ----

std::optional<NewRows> NewRows::open(const catalog::Queue &queue, With with)
{
    // A snapshot older than the holder of a key is then an error, which INSERT detects.
    const bool needs_sql = with == With::keys && IsolationUsesXactSnapshot();
    if (needs_sql || pg::is_permitted() ||
        SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA)
        return std::nullopt;
    const std::string name = queue.live_table();
    auto *leaf = pg::call([&] {
        ::PreventCommandIfReadOnly("INSERT");
        ::PreventCommandIfParallelMode("INSERT");
        auto *opened = static_cast<Leaf *>(::palloc0(sizeof(Leaf)));
        opened->memory = CurrentMemoryContext;
        if (opened->open(name.c_str(), queue.table.c_str()))
            return opened;
        opened->close();
        return static_cast<Leaf *>(nullptr);
    });
    if (leaf == nullptr)
        return std::nullopt;
    leaf->map = job::column_map(leaf->leaf);
    const bool is_open = pg::call([&] {
        const bool opened = leaf->open_indexes(with);
        if (!opened)
            leaf->close();
        return opened;
    });
    return is_open ? std::optional(NewRows(leaf)) : std::nullopt;
}

bool runs_user_code(const catalog::Queue &queue)
{
    auto rows = NewRows::open(queue, NewRows::With::keys);
    if (rows.has_value())
        rows->close();
    return !rows.has_value();
}

void NewRows::coerce(job::RowValues &chosen) const
{
    pg::call([&] {
        const auto attribute = [&](Column column) {
            return TupleDescAttr(RelationGetDescr(leaf_->leaf),
                                 leaf_->map[static_cast<std::size_t>(column)] - 1);
        };
        if (!chosen.null(Column::time_windows))
            ::domain_check(chosen.value(Column::time_windows), false,
                           attribute(Column::time_windows)->atttypid, nullptr,
                           CurrentMemoryContext);
    });
}

void NewRows::demand_constraints(const job::RowValues &job) const
{
    job::RowValues chosen = job;
    if (job.as_text(Column::time_windows) != core::none_text)
        coerce(chosen);
    pg::call([&] { leaf_->demand_constraints(job); });
}

bool NewRows::insert(std::span<const job::RowValues> jobs)
{
    const std::vector<const job::RowValues *> ordered = by_id(jobs);
    bool is_free = true;
    for (std::size_t done = 0; done < ordered.size() && is_free; done += most_slots)
        is_free = pg::call([&] {
            CHECK_FOR_INTERRUPTS();
            return leaf_->insert(&ordered[done], std::min(ordered.size() - done, most_slots));
        });
    return is_free;
}

bool NewRows::insert_unless_taken(const job::RowValues &job)
{
    const bool has_key = is_keyed(job);
    return pg::call([&] {
        if (has_key)
            return leaf_->insert_speculatively(job);
        const job::RowValues *one = &job;
        if (leaf_->insert(&one, 1))
            return true;
        leaf_->reclaim(leaf_->slots[0]);
        return false;
    });
}

Oid NewRows::leaf() const
{
    return RelationGetRelid(leaf_->leaf);
}

namespace {

// Raises the error of the index over keys with the columns alone: its last column is an expression.
void refuse_key(const pg::Error &refusal, Relation table, Relation leaf, const job::RowValues &job)
{
    const std::string index = core::key_index_name(RelationGetRelationName(table));
    if (refusal.message().find(index) == std::string::npos)
        return;
    std::string columns = "job_type, job_key";
    std::string values(job.as_text(Column::job_type));
    values.append(", ").append(job.as_text(Column::job_key));
    if (refusal.detail().value_or("").find("shard_key") != std::string::npos) {
        columns.append(", shard_key");
        values.append(", ").append(job.as_text(Column::shard_key));
    }
    HIPQ_RAISE(errcode(ERRCODE_UNIQUE_VIOLATION), errmsg("%s", refusal.message().c_str()),
               errdetail("Key (%s)=(%s) already exists.", columns.c_str(), values.c_str()),
               errtableconstraint(leaf, index.c_str()));
}

}  // namespace

void NewRows::insert_or_raise(const job::RowValues &job)
{
    std::optional<pg::Error> refusal;
    try {
        pg::call([&] { leaf_->insert_or_raise(job); });
    } catch (const pg::Error &error) {
        if (error.sqlerrcode() != ERRCODE_UNIQUE_VIOLATION)
            throw;
        refusal = error;
    }
    if (!refusal.has_value())
        return;
    refuse_key(*refusal, leaf_->table, leaf_->leaf, job);
    throw *refusal;  // NOLINT(cert-err60-cpp): as it came
}

void NewRows::close()
{
    pg::call([&] {
        leaf_->close();
        ::CommandCounterIncrement();  // make the rows visible to later commands
    });
}

}  // namespace hipq::enqueue
