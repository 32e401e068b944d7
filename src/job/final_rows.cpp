// Writes a job's row to its final leaf without SQL.
//
// The table's access method writes the row, functions of the executor its index entries.
#include "job/final_rows.hpp"

#include "catalog/queue_statements.hpp"
#include "job/key_index.hpp"
#include "job/plain_table.hpp"
#include "pg/compat.hpp"
#include "shared/wakeup/commit.hpp"
#include "tables/leaf_requests.hpp"

extern "C" {
#include "access/tableam.h"
#include "catalog/index.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/partcache.h"
}

namespace hipq::job {

using core::Column;

struct FinalRows::Leaf {
    // The parent of all final leaves. While it is locked, none of them is dropped.
    Relation table;
    Relation leaf;
    int queue_id;
    bool is_default;  // no other leaf covers the time
    ColumnMap map;
    TupleTableSlot **slots;  // as many as were needed so far, for multi-inserts
    std::size_t slot_count;
    EState *executor;
    ResultRelInfo *target;
    pg::Time now;

    bool open(const char *table_name);
    void open_indexes(bool any_has_key);
    void fill(std::size_t slot, const RowValues &values);
    void insert(std::size_t count) const;
    void close() const;
};

// ---- call inside pg::call() only ----

namespace {

// Limits of a multi-insert: some pages, or a few large rows, as rows are in memory twice.
constexpr std::size_t most_at_once = 128;
constexpr std::size_t most_bytes_at_once = 256 * 1024;

struct FoundLeaf {
    Oid oid;  // InvalidOid: there is none
    bool is_default;
};

// Finds the leaf for a time in a table that is partitioned by ranges of one timestamp.
FoundLeaf leaf_for(Relation table, pg::Time time)
{
    const PartitionKeyData *key = ::RelationGetPartitionKey(table);
    const PartitionDescData *leaves = ::RelationGetPartitionDesc(table, false);
    if (key == nullptr || leaves->boundinfo == nullptr)
        return {InvalidOid, false};
    Datum value = TimestampTzGetDatum(time.value);
    bool is_equal = false;
    const int bound = ::partition_range_datum_bsearch(key->partsupfunc, key->partcollation,
                                                      leaves->boundinfo, 1, &value, &is_equal);
    const int index = leaves->boundinfo->indexes[bound + 1];
    const int chosen = index < 0 ? leaves->boundinfo->default_index : index;
    return {chosen < 0 ? InvalidOid : leaves->oids[chosen],
            chosen == leaves->boundinfo->default_index};
}

}  // namespace

// Opens the tables. False: the leaf does not exist or has something that only SQL respects.
bool FinalRows::Leaf::open(const char *table_name)
{
    table = open_table(table_name, RowExclusiveLock);
    const FoundLeaf found = table == nullptr ? FoundLeaf{} : leaf_for(table, now);
    if (!OidIsValid(found.oid))
        return false;
    is_default = found.is_default;
    leaf = ::table_open(found.oid, RowExclusiveLock);
    if (!is_plain(leaf))
        return false;
    slots = static_cast<TupleTableSlot **>(::palloc(most_at_once * sizeof(TupleTableSlot *)));
    executor = ::CreateExecutorState();
    target = makeNode(ResultRelInfo);
    ::InitResultRelInfo(target, leaf, 1, nullptr, 0);
    return true;
}

// Opens the indexes that will have entries for the rows to come, where ExecOpenIndices() would open
// all.
void FinalRows::Leaf::open_indexes(bool any_has_key)
{
    List *indexes = ::RelationGetIndexList(leaf);
    const auto most = static_cast<Size>(list_length(indexes));
    target->ri_IndexRelationDescs = static_cast<Relation *>(::palloc(most * sizeof(Relation)));
    target->ri_IndexRelationInfo = static_cast<IndexInfo **>(::palloc(most * sizeof(IndexInfo *)));
    ListCell *cell = nullptr;
    foreach (cell, indexes) {
        const Oid oid = lfirst_oid(cell);
        if (!any_has_key && holds_keys_only(oid, map[static_cast<std::size_t>(Column::job_key)]))
            continue;
        Relation index = ::index_open(oid, RowExclusiveLock);
        target->ri_IndexRelationDescs[target->ri_NumIndices] = index;
        target->ri_IndexRelationInfo[target->ri_NumIndices++] = ::BuildIndexInfo(index);
    }
    ::list_free(indexes);
}

void FinalRows::Leaf::fill(std::size_t slot, const RowValues &values)
{
    if (slot == slot_count)
        slots[slot_count++] = ::table_slot_create(leaf, nullptr);
    fill_slot(slots[slot], map, values);
}

// Inserts the rows in the first `count` slots.
void FinalRows::Leaf::insert(std::size_t count) const
{
    MemoryContext before = ::MemoryContextSwitchTo(GetPerTupleMemoryContext(executor));
    ::table_multi_insert(leaf, slots, static_cast<int>(count), ::GetCurrentCommandId(true), 0,
                         nullptr);
    ::MemoryContextSwitchTo(before);
    ResetPerTupleExprContext(executor);
    for (std::size_t i = 0; i < count && target->ri_NumIndices > 0; ++i) {
        pg::insert_index_entries(target, slots[i], executor, nullptr);
        ResetPerTupleExprContext(executor);
    }
}

void FinalRows::Leaf::close() const
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

namespace {

struct Constants {
    Datum final_state;
    Datum none;
    Datum json_null;
};

RowValues succeeded_row(const ClaimedJob &job, const pg::RawValue &result, pg::Time now,
                        const Constants &constants)
{
    RowValues values = *job.values;
    values.set(Column::state, constants.final_state);
    values.set(Column::attempt, Int32GetDatum(job.attempt));
    values.set(Column::update_time, TimestampTzGetDatum(now.value));
    values.set(Column::deadline, TimestampTzGetDatum(pg::far_time.value));
    values.set(Column::error, constants.none);
    values.set(Column::result, result.null ? constants.json_null : result.value);
    return values;
}

}  // namespace

// ---- call outside pg::call() ----

std::optional<FinalRows> FinalRows::open(const catalog::Queue &queue,
                                         std::span<const ClaimedJob> jobs, pg::Time now)
{
    const std::string table_name = queue.final_table();
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
    leaf->queue_id = queue.id;
    leaf->map = column_map(leaf->leaf);
    const bool any_has_key =
        std::ranges::any_of(jobs, [](const ClaimedJob &job) { return job.key != "NONE"; });
    pg::call([&] { leaf->open_indexes(any_has_key); });
    return FinalRows(leaf);
}

// `row_of` makes the row of a job by its number.
template <class RowOf>
void FinalRows::insert(std::span<const ClaimedJob> jobs, const RowOf &row_of)
{
    pg::call([&] {
        for (std::size_t next = 0; next < jobs.size();) {
            std::size_t count = 0;
            std::size_t bytes = 0;
            for (; next < jobs.size() && count < most_at_once && bytes < most_bytes_at_once;
                 ++next) {
                const RowValues row = row_of(next);
                leaf_->fill(count++, row);
                bytes += VARSIZE_ANY(DatumGetPointer(row.value(Column::job_data))) +
                         VARSIZE_ANY(DatumGetPointer(row.value(Column::result)));
            }
            leaf_->insert(count);
        }
    });
}

void FinalRows::insert_succeeded(std::span<const ClaimedJob> jobs,
                                 std::span<const pg::RawValue> results)
{
    const Constants constants{state_datum(core::JobState::final), none_datum(), json_null_datum()};
    insert(jobs, [&](std::size_t i) {
        return succeeded_row(jobs[i], results[i], leaf_->now, constants);
    });
}

void FinalRows::insert_unstarted(std::span<const ClaimedJob> jobs, std::span<const Unstarted> ends)
{
    const Constants constants{state_datum(core::JobState::final), none_datum(), json_null_datum()};
    insert(jobs, [&](std::size_t i) {
        RowValues values = succeeded_row(jobs[i], ends[i].result, leaf_->now, constants);
        values.set(Column::error, text_datum(ends[i].error));
        values.set(Column::retry_reason, text_datum(ends[i].reason));
        values.set_null(Column::waits_for);
        if (values.as_int64(Column::worker_id) == -1)
            values.set_null(Column::worker_id);
        return values;
    });
}

void FinalRows::close()
{
    if (leaf_->is_default && tables::ask_for_leaves(leaf_->queue_id))
        wakeup::note_look();  // the scheduler creates the leaf and moves the row
    pg::call([&] {
        leaf_->close();
        ::CommandCounterIncrement();  // make the rows visible to later commands
    });
}

// ---- by SQL ----

namespace {

// $1 the row, $2 attempt, $3 now, $4 error, $5 reason, $6 result. The values of the end are in the
// order of HIPQ_ATTEMPT_COLUMNS: worker_id, update_time, deadline, state, attempt, error,
// retry_reason, result.
constexpr const char *insert_final_sql =
    "INSERT INTO {table} (queue_id, max_retries, job_data, manual_reason{, "
    "batch_id}{, schedule_time}" HIPQ_OWN_COLUMNS("") HIPQ_GIVEN_COLUMNS("") HIPQ_ATTEMPT_COLUMNS(
        "") ")"
            " SELECT job.queue_id, job.max_retries, job.job_data, "
            "job.manual_reason{, batch_id of job}{, schedule_time of job}" HIPQ_OWN_COLUMNS("job.")
                HIPQ_GIVEN_COLUMNS("job.") R"(,
           nullif(job.worker_id, -1), $3, '9999-01-01 00:00:00+00', 'final', $2, $4, coalesce($5, job.retry_reason), $6
    FROM (SELECT ($1::hipq.job).*) AS job)";

}  // namespace

void insert_final(const catalog::Queue &queue, const ClaimedJob &job, std::string_view error,
                  const std::optional<std::string> &reason, pg::RawValue result, pg::Time now)
{
    catalog::statement_for(queue, insert_final_sql)
        .run(row_of(job), job.attempt, now, error, reason, result);
}

}  // namespace hipq::job
