// By the primary key and the table's access method.
#include "live_rows.hpp"

#include "storage/plain_table.hpp"
#include "storage/two_phase.hpp"

extern "C" {
#include "access/tableam.h"
#include "utils/fmgroids.h"
}

namespace hipq::storage {

using core::Column;

struct LiveRows::Table {
    Relation live;
    Relation key;  // its primary key
    ColumnMap map;
    TupleTableSlot *slot;
    Oid row_type;  // hipq.job

    bool open(const char *name, LOCKMODE lock_mode);
    bool is_as_made(const char *model_name) const;
    bool find(std::int64_t id) const;
    bool lock() const;
    bool erase() const;
    void close() const;
};

// ---- the PostgreSQL regime ----

// False: there is none, or it has no key.
bool LiveRows::Table::open(const char *name, LOCKMODE lock_mode)
{
    live = open_table(name, lock_mode);
    const Oid key_oid = live == nullptr ? InvalidOid : ::RelationGetPrimaryKeyIndex(live);
    if (!OidIsValid(key_oid))
        return false;
    key = ::index_open(key_oid, lock_mode);
    slot = ::table_slot_create(live, nullptr);
    row_type = ::get_rel_type_id(::get_relname_relid("job", RelationGetNamespace(live)));
    return true;
}

bool LiveRows::Table::is_as_made(const char *model_name) const
{
    Relation model = open_table(model_name, AccessShareLock);
    if (model == nullptr)
        return false;
    const bool plain = is_plain(live, model);
    ::table_close(model, AccessShareLock);
    return plain;
}

// The row as it is now, with what this transaction has done to it. Needs an active snapshot.
bool LiveRows::Table::find(std::int64_t id) const
{
    ScanKeyData equal;
    ::ScanKeyInit(&equal, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(id));
    IndexScanDesc scan = ::index_beginscan(live, key, ::GetActiveSnapshot(), 1, 0);
    ::index_rescan(scan, &equal, 1, nullptr, 0);
    const bool found = ::index_getnext_slot(scan, ForwardScanDirection, slot);
    if (found)
        ::ExecMaterializeSlot(slot);
    ::index_endscan(scan);
    return found;
}

// The row that was found. False: somebody has changed it since, or holds it.
bool LiveRows::Table::lock() const
{
    ItemPointerData position = slot->tts_tid;
    TM_FailureData failure{};
    return ::table_tuple_lock(live, &position, ::GetActiveSnapshot(), slot, ::GetCurrentCommandId(false), LockTupleExclusive,
                              LockWaitSkip, 0, &failure) == TM_Ok;
}

bool LiveRows::Table::erase() const
{
    TM_FailureData failure{};
    return ::table_tuple_delete(live, &slot->tts_tid, ::GetCurrentCommandId(true), ::GetActiveSnapshot(), InvalidSnapshot, true,
                                &failure, false) == TM_Ok;
}

void LiveRows::Table::close() const
{
    if (slot != nullptr)
        ::ExecDropSingleTupleTableSlot(slot);
    if (key != nullptr)
        ::index_close(key, NoLock);
    if (live != nullptr)
        ::table_close(live, NoLock);
}

// ---- the C++ regime ----

namespace {

bool is_due(const RowValues &values, pg::Time now)
{
    return core::is_waiting(state_of(values.value(Column::state))) &&
           DatumGetTimestampTz(values.value(Column::scheduled_run_time)) <= now.value &&
           DatumGetTimestampTz(values.value(Column::expires_time)) > now.value;
}

// A row whose lock was taken just now, as it looks while it runs. In the current memory context; needs an active snapshot.
ClaimedJob running_job(RowValues values, Oid row_type, pg::Time now)
{
    ClaimedJob job{};
    job.queue_id = DatumGetInt32(values.value(Column::queue_id));
    job.id = DatumGetInt64(values.value(Column::id));
    job.attempt = DatumGetInt32(values.value(Column::attempt)) + 1;
    job.type = text_of(values.value(Column::job_type));
    job.key = text_of(values.value(Column::job_key));
    job.timeout = DatumGetInt32(values.value(Column::timeout));
    job.retry_count = DatumGetInt32(values.value(Column::retry_count));
    job.max_retries = DatumGetInt32(values.value(Column::max_retries));
    job.started = now;
    job.error = "NONE";
    job.retry_reason = text_of(values.value(Column::retry_reason));
    job.is_locked = true;
    make_running(values, job.attempt, now, now + job.timeout * USECS_PER_SEC);
    job.row = row_of(values, row_type);
    job.data = {JSONBOID, pg::call([&] { return PointerGetDatum(PG_DETOAST_DATUM_COPY(values.value(Column::job_data))); }),
                false};
    return job;
}

// While `fn` runs what is committed this moment is seen.
template <class Function>
auto with_latest_snapshot(Function &&fn)
{
    pg::call([] { ::PushActiveSnapshot(::GetLatestSnapshot()); });
    auto result = fn();
    pg::call([] { ::PopActiveSnapshot(); });
    return result;
}

}  // namespace

LiveRows::Table *LiveRows::open(const Queue &queue, Purpose purpose)
{
    const std::string name = queue.table + "_live";
    const bool writes = purpose == Purpose::write;
    auto *table = pg::call([&] {
        auto *opened = static_cast<Table *>(::palloc0(sizeof(Table)));
        if (opened->open(name.c_str(), writes ? RowExclusiveLock : RowShareLock) &&
            (!writes || opened->is_as_made(queue.table.c_str())))
            return opened;
        opened->close();
        return static_cast<Table *>(nullptr);
    });
    if (table != nullptr)
        table->map = column_map(table->live);
    return table;
}

std::optional<LiveRows> LiveRows::open_to_lock(const Queue &queue)
{
    Table *table = open(queue, Purpose::lock);
    return table == nullptr ? std::nullopt : std::optional(LiveRows(table));
}

std::optional<LiveRows> LiveRows::open_to_write(const Queue &queue)
{
    Table *table = open(queue, Purpose::write);
    return table == nullptr ? std::nullopt : std::optional(LiveRows(table));
}

std::optional<ClaimedJob> LiveRows::lock_due(std::int64_t id, pg::Time now)
{
    return with_latest_snapshot([&]() -> std::optional<ClaimedJob> {
        if (!pg::call([&] { return table_->find(id); }) || !is_due(slot_values(table_->slot, table_->map), now))
            return std::nullopt;
        if (!pg::call([&] { return table_->lock(); }))
            return std::nullopt;
        return running_job(slot_values(table_->slot, table_->map), table_->row_type, now);
    });
}

bool LiveRows::remove(const ClaimedJob &job)
{
    forbid_two_phase(NoTwoPhase::job_taken);
    return with_latest_snapshot([&] {
        if (!pg::call([&] { return table_->find(job.id); }))
            return false;
        const RowValues values = slot_values(table_->slot, table_->map);
        const core::JobState state = state_of(values.value(Column::state));
        const bool is_mine = DatumGetInt32(values.value(Column::attempt)) == job.stored_attempt() &&
                             (job.is_locked ? core::is_waiting(state) : state == core::JobState::running);
        return is_mine && pg::call([&] { return table_->erase(); });
    });
}

bool LiveRows::is_there(std::int64_t id)
{
    return with_latest_snapshot([&] { return pg::call([&] { return table_->find(id); }); });
}

void LiveRows::close()
{
    pg::call([&] {
        table_->close();
        ::CommandCounterIncrement();  // what follows sees it
    });
}

}  // namespace hipq::storage
