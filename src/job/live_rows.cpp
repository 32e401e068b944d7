// Reads, locks and changes rows of a live leaf without SQL: finds a row by its place or the primary
// key, and uses the table's access method.
#include "job/live_rows.hpp"

#include "job/id_index.hpp"
#include "job/plain_table.hpp"
#include "job/two_phase.hpp"
#include "pg/compat.hpp"
#include "pg/known_table.hpp"
#include "shared/lanes/in_flight.hpp"

extern "C" {
#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/multixact.h"
#include "access/tableam.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
}

namespace hipq::job {

using core::Column;

namespace {

// The holder of a row, which locks or changes it: one transaction, several, or (invalid) none.
struct RowHolder {
    TransactionId transaction;
    bool is_multiple;
};

constexpr long pause_between_looks = 1'000;  // us

// Call inside pg::call() only.
void wait_for(TransactionId transaction)
{
    if (!::TransactionIdIsCurrentTransactionId(transaction))
        ::XactLockTableWait(transaction, nullptr, nullptr, XLTW_None);
}

// Call inside pg::call() only.
void wait_for(RowHolder holder)
{
    if (!holder.is_multiple) {
        wait_for(holder.transaction);
        return;
    }
    MultiXactMember *members = nullptr;
    const int count = ::GetMultiXactIdMembers(holder.transaction, &members, false, false);
    for (int i = 0; i < count; ++i)
        wait_for(members[i].xid);
}

}  // namespace

struct LiveRows::Table {
    Relation live;
    Relation key;  // its primary key; null: not needed so far
    LOCKMODE lock_mode;
    ColumnMap map;
    TupleTableSlot *slot;
    Datum *columns;  // of one row, in the table's order
    bool *nulls;
    TupleTableSlot *changed;  // the new version of the row; null: not needed so far
    EState *executor;         // this and `target`: for its index entries
    ResultRelInfo *target;
    Oid row_type;  // hipq.job
    bool brings_snapshot;

    bool open(const char *name, LOCKMODE mode);
    void see_latest();
    bool find(const DueJob &job);
    bool find_at(ItemPointerData place, std::int64_t id) const;
    bool find_by_key(std::int64_t id);
    Datum value(Column column) const;
    RowValues *copy_row() const;
    bool lock(LockTupleMode mode) const;
    bool looks_free() const;
    RowHolder holder() const;
    bool change(const RowValues &values, std::span<const Column> to_change);
    bool erase(bool waits) const;
    void close() const;

private:
    bool has_block(BlockNumber block) const;
    HeapTuple with_changes(const RowValues &values, std::span<const Column> to_change) const;
    void update_index_entries(pg::IndexesToUpdate indexes);
    void take_apart(HeapTuple tuple, RowValues &values) const;
};

// ---- call inside pg::call() only ----

// False: the table does not exist, or has no primary key.
bool LiveRows::Table::open(const char *name, LOCKMODE mode)
{
    lock_mode = mode;
    live = open_table(name, lock_mode);
    if (live == nullptr || !OidIsValid(pg::primary_key_of(live)))
        return false;
    slot = ::table_slot_create(live, nullptr);
    const auto count = static_cast<Size>(RelationGetDescr(live)->natts);
    columns = static_cast<Datum *>(::palloc(count * sizeof(Datum)));
    nulls = static_cast<bool *>(::palloc(count * sizeof(bool)));
    const pg::KnownTable *job = pg::known_table("job");
    row_type = job == nullptr ? InvalidOid : job->row_type;
    return true;
}

void LiveRows::Table::see_latest()
{
    ::PushActiveSnapshot(::GetLatestSnapshot());
    brings_snapshot = true;
}

// Finds the present row, including changes that this transaction made before the table was opened.
bool LiveRows::Table::find(const DueJob &job)
{
    return (find_at(job.place, job.id) || find_by_key(job.id)) && !is_unreadable(slot, map);
}

// The size that this process saw last is good enough: a process that truncates a table sends an
// invalidation before it releases its lock.
bool LiveRows::Table::has_block(BlockNumber block) const
{
    const BlockNumber known = RelationGetSmgr(live)->smgr_cached_nblocks[MAIN_FORKNUM];
    return (known != InvalidBlockNumber && block < known) ||
           block < RelationGetNumberOfBlocks(live);
}

// The place may contain another row by now, or none.
bool LiveRows::Table::find_at(ItemPointerData place, std::int64_t id) const
{
    if (!ItemPointerIsValid(&place) || !has_block(ItemPointerGetBlockNumberNoCheck(&place)) ||
        !::table_tuple_fetch_row_version(live, &place, ::GetActiveSnapshot(), slot))
        return false;
    return DatumGetInt64(value(Column::id)) == id;
}

bool LiveRows::Table::find_by_key(std::int64_t id)
{
    if (key == nullptr)
        key = ::index_open(pg::primary_key_of(live), lock_mode);
    return find_by_id(live, key, id, slot);
}

// Returns a column of the row that was found; it must be one that is never NULL.
Datum LiveRows::Table::value(Column column) const
{
    bool is_null = false;
    return ::slot_getattr(slot, map[static_cast<std::size_t>(column)], &is_null);
}

// Copies the whole row that was found; the copy outlives the transaction.
RowValues *LiveRows::Table::copy_row() const
{
    HeapTuple row = ::ExecCopySlotHeapTuple(slot);
    if (HeapTupleHasExternal(row))
        row = ::toast_flatten_tuple(row, RelationGetDescr(live));
    auto *values = static_cast<RowValues *>(::palloc(sizeof(RowValues)));
    take_apart(row, *values);
    return values;
}

void LiveRows::Table::take_apart(HeapTuple tuple, RowValues &values) const
{
    ::heap_deform_tuple(tuple, RelationGetDescr(live), columns, nulls);
    for (std::size_t i = 0; i < core::column_count; ++i) {
        values.values[i] = map[i] == 0 ? Datum{0} : columns[map[i] - 1];
        values.nulls[i] = map[i] == 0 || nulls[map[i] - 1];
    }
}

// Locks the row that was found. False: another process has changed it since, or has it locked.
bool LiveRows::Table::lock(LockTupleMode mode) const
{
    ItemPointerData position = slot->tts_tid;
    TM_FailureData failure{};
    return ::table_tuple_lock(live, &position, ::GetActiveSnapshot(), slot,
                              ::GetCurrentCommandId(false), mode, LockWaitSkip, 0,
                              &failure) == TM_Ok;
}

// Returns whether no process held the row when it was read. A look at its header saves a lock,
// which is a record in the WAL; a process that has locked the row since makes the change wait for
// it.
bool LiveRows::Table::looks_free() const
{
    const HeapTuple row = ::ExecFetchSlotHeapTuple(slot, false, nullptr);
    return (row->t_data->t_infomask & HEAP_XMAX_INVALID) != 0;
}

// Returns the holder of the row that was found, as its page has it now.
RowHolder LiveRows::Table::holder() const
{
    HeapTupleData row{};
    row.t_self = slot->tts_tid;
    Buffer buffer = InvalidBuffer;
    if (!::heap_fetch(live, SnapshotAny, &row, &buffer, false))
        return {InvalidTransactionId, false};
    ::LockBuffer(buffer, BUFFER_LOCK_SHARE);
    const bool is_held = (row.t_data->t_infomask & HEAP_XMAX_INVALID) == 0;
    const RowHolder holder{is_held ? HeapTupleHeaderGetRawXmax(row.t_data) : InvalidTransactionId,
                           (row.t_data->t_infomask & HEAP_XMAX_IS_MULTI) != 0};
    ::UnlockReleaseBuffer(buffer);
    return holder;
}

// Returns the row that was found with the changes; values that are stored out of line stay there.
HeapTuple LiveRows::Table::with_changes(const RowValues &values,
                                        std::span<const Column> to_change) const
{
    auto *is_changed = static_cast<bool *>(
        ::palloc0(static_cast<Size>(RelationGetDescr(live)->natts) * sizeof(bool)));
    for (const Column column : to_change) {
        const auto from = static_cast<std::size_t>(column);
        const int to = map[from] - 1;
        columns[to] = values.values[from];
        nulls[to] = values.nulls[from];
        is_changed[to] = true;
    }
    return ::heap_modify_tuple(::ExecFetchSlotHeapTuple(slot, false, nullptr),
                               RelationGetDescr(live), columns, nulls, is_changed);
}

// Inserts the index entries of `changed`, if it did not fit on the page of the old row or an index
// covers a changed column.
void LiveRows::Table::update_index_entries(pg::IndexesToUpdate indexes)
{
    if (executor == nullptr) {
        executor = ::CreateExecutorState();
        target = makeNode(ResultRelInfo);
        ::InitResultRelInfo(target, live, 0, nullptr, 0);  // 0: no statement, no range table
        ::ExecOpenIndices(target, false);
    }
    pg::update_index_entries(target, changed, executor, indexes);
    ResetPerTupleExprContext(executor);
}

// First locks a row that another session may hold, because heap_update() would wait for it.
bool LiveRows::Table::change(const RowValues &values, std::span<const Column> to_change)
{
    if (!looks_free() && !lock(LockTupleNoKeyExclusive))
        return false;
    if (changed == nullptr)
        changed = ::table_slot_create(live, nullptr);
    ::ExecForceStoreHeapTuple(with_changes(values, to_change), changed, false);
    ItemPointerData place = slot->tts_tid;
    pg::IndexesToUpdate indexes = pg::no_indexes;
    if (pg::update_row(live, &place, changed, indexes) != TM_Ok)
        return false;
    if (indexes != pg::no_indexes)
        update_index_entries(indexes);
    return true;
}

bool LiveRows::Table::erase(bool waits) const
{
    ItemPointerData place = slot->tts_tid;
    return pg::delete_row(live, &place, waits) == TM_Ok;
}

void LiveRows::Table::close() const
{
    if (brings_snapshot)
        ::PopActiveSnapshot();
    if (executor != nullptr) {
        ::ExecCloseIndices(target);
        ::FreeExecutorState(executor);
    }
    for (TupleTableSlot *each : {slot, changed})
        if (each != nullptr)
            ::ExecDropSingleTupleTableSlot(each);
    if (key != nullptr)
        ::index_close(key, NoLock);
    if (live != nullptr)
        ::table_close(live, NoLock);
}

// ---- call outside pg::call() ----

namespace {

// Returns the job of a row that was just locked, in its form while it runs. The job keeps `values`.
ClaimedJob running_job(RowValues &values, Oid row_type, ItemPointerData place, pg::Time now)
{
    const std::int64_t timeout = std::int64_t{values.as_int32(Column::timeout)} * USECS_PER_SEC;
    make_running(values, values.as_int32(Column::attempt) + 1, now, now + timeout);
    ClaimedJob job = job_of(values, row_type, place);
    job.is_locked = true;
    return job;
}

// What a finish reads of a row before it deletes the row.
struct Found {
    bool found;
    Datum state;
    int attempt;
};

}  // namespace

LiveRows::Table *LiveRows::open(const catalog::Queue &queue, Purpose purpose)
{
    const std::string name = queue.live_table();
    const bool writes = purpose == Purpose::write;
    auto *table = pg::call([&] {
        auto *opened = static_cast<Table *>(::palloc0(sizeof(Table)));
        if (opened->open(name.c_str(), writes ? RowExclusiveLock : RowShareLock) &&
            (!writes || is_plain(opened->live)))
            return opened;
        opened->close();
        return static_cast<Table *>(nullptr);
    });
    if (table == nullptr)
        return nullptr;
    table->map = column_map(table->live);
    pg::call([&] { table->see_latest(); });
    return table;
}

std::optional<LiveRows> LiveRows::open_to_lock(const catalog::Queue &queue)
{
    Table *table = open(queue, Purpose::lock);
    return table == nullptr ? std::nullopt : std::optional(LiveRows(table));
}

std::optional<LiveRows> LiveRows::open_to_write(const catalog::Queue &queue)
{
    Table *table = open(queue, Purpose::write);
    return table == nullptr ? std::nullopt : std::optional(LiveRows(table));
}

std::optional<ClaimedJob> LiveRows::lock_due(const DueJob &waiting, pg::Time now)
{
    RowValues *values = find(waiting);
    if (values == nullptr || !is_due(*values, now) ||
        !pg::call([&] { return table_->lock(LockTupleExclusive); }))
        return std::nullopt;
    return running_job(*values, table_->row_type, table_->slot->tts_tid, now);
}

namespace {

bool is_attempt_outside(const RowValues &values, std::int64_t attempt)
{
    return values.state() == core::JobState::running &&
           values.as_int32(Column::attempt) == attempt && !values.null(Column::worker_id);
}

}  // namespace

std::optional<ClaimedJob> LiveRows::lock_external(const DueJob &job, std::int64_t attempt)
{
    const RowValues *values = find(job);
    if (values == nullptr || !is_attempt_outside(*values, attempt) ||
        !pg::call([&] { return table_->lock(LockTupleExclusive); }))
        return std::nullopt;
    return job::job_of(*values, table_->row_type, table_->slot->tts_tid);
}

std::optional<ClaimedJob> LiveRows::remove_external(const DueJob &job, std::int64_t attempt)
{
    const RowValues *values = find(job);
    if (values == nullptr || !is_attempt_outside(*values, attempt) ||
        !pg::call([&] { return table_->erase(false); }))
        return std::nullopt;
    ClaimedJob removed = job::job_of(*values, table_->row_type, table_->slot->tts_tid);
    removed.is_removed = true;
    return removed;
}

RowValues *LiveRows::find(const DueJob &job)
{
    return pg::call([&] { return table_->find(job) ? table_->copy_row() : nullptr; });
}

ClaimedJob LiveRows::job_of(const RowValues &values) const
{
    return job::job_of(values, table_->row_type, table_->slot->tts_tid);
}

std::optional<ItemPointerData> LiveRows::change(const RowValues &values,
                                                std::span<const Column> columns)
{
    if (!pg::call([&] { return table_->change(values, columns); }))
        return std::nullopt;
    return table_->changed->tts_tid;
}

bool LiveRows::remove(const ClaimedJob &job)
{
    forbid_two_phase(NoTwoPhase::job_taken);
    const Found row = pg::call([&] {
        if (!table_->find({job.id, job.place}))
            return Found{};
        return Found{true, table_->value(Column::state),
                     DatumGetInt32(table_->value(Column::attempt))};
    });
    if (!row.found || row.attempt != job.stored_attempt())
        return false;
    const core::JobState state = state_of(row.state);
    const bool is_mine = job.is_locked ? core::is_waiting(state) : state == core::JobState::running;
    return is_mine && pg::call([&] { return table_->erase(true); });
}

void LiveRows::wait_for_holder(std::int64_t id)
{
    pg::call([&] {
        if (!table_->find_by_key(id))
            return;
        const RowHolder holder = table_->holder();
        // Check after the row: a process that claims a job marks it as in flight first.
        if (lanes::is_begun(MyDatabaseId, id))
            ::pg_usleep(pause_between_looks);
        else if (TransactionIdIsValid(holder.transaction))
            wait_for(holder);
    });
}

bool LiveRows::is_there(std::int64_t id)
{
    return pg::call([&] { return table_->find_by_key(id); });
}

Oid LiveRows::leaf() const
{
    return RelationGetRelid(table_->live);
}

void LiveRows::close()
{
    pg::call([&] {
        table_->close();
        ::CommandCounterIncrement();  // make the changes visible to later commands
    });
}

}  // namespace hipq::job
