// Reads hipq.dependency by the primary key and by the jobs before.
//
// A statement takes some 20 us before it reads anything, and the planner may read a small table
// whole that has grown since. Reading a row here takes 1 us.
#include "flow/dependency_index.hpp"

#include "job/plain_table.hpp"
#include "pg/compat.hpp"
#include "pg/known_table.hpp"

extern "C" {
#include "access/genam.h"
#include "access/tableam.h"
#include "utils/fmgroids.h"
}

namespace hipq::flow {

namespace {

// The columns of the table, in the order of sql/install/flow.sql.
enum DependencyColumn : AttrNumber {
    at_queue_id = 1,
    at_job_id,
    at_before_id,
    at_before_queue_id,
    at_after_policy,
    at_on_failure,
    at_outcome,
};

// Whether an index over three columns, of which these are the first two, can be searched.
bool is_usable(Relation index, AttrNumber first, AttrNumber second)
{
    const Form_pg_index form = index->rd_index;
    return form->indisvalid && form->indisready && form->indnkeyatts == 3 &&
           form->indkey.values[0] == first && form->indkey.values[1] == second;
}

Relation open_index(Oid oid)
{
    return OidIsValid(oid) ? ::index_open(oid, AccessShareLock) : nullptr;
}

}  // namespace

// Call its functions inside pg::call() only.
struct DependencyIndex::Table {
    Relation dependency;
    Relation by_job;
    Relation by_before;
    TupleTableSlot *slot;
    bool brings_snapshot;

    bool open();
    void see_latest();
    Datum value(DependencyColumn column) const;
    bool is_null(DependencyColumn column) const;
    std::size_t read_later(std::int64_t before, std::span<Later> rows) const;
    std::size_t read_before(int queue, std::int64_t job, Between ids, From from,
                            std::span<Before> rows) const;
    bool find_job(int queue, std::int64_t job) const;
    void close() const;
};

bool DependencyIndex::Table::open()
{
    dependency = job::open_table("dependency", AccessShareLock);
    if (dependency == nullptr)
        return false;
    by_job = open_index(pg::primary_key_of(dependency));
    const pg::KnownTable *before = pg::known_table("dependency_before");
    by_before = open_index(before == nullptr ? InvalidOid : before->oid);
    slot = ::table_slot_create(dependency, nullptr);
    return by_job != nullptr && by_before != nullptr && is_usable(by_job, at_queue_id, at_job_id) &&
           is_usable(by_before, at_before_id, at_queue_id);
}

void DependencyIndex::Table::see_latest()
{
    if (brings_snapshot)
        ::PopActiveSnapshot();
    ::PushActiveSnapshot(::GetLatestSnapshot());
    brings_snapshot = true;
}

Datum DependencyIndex::Table::value(DependencyColumn column) const
{
    bool is_null = false;
    return ::slot_getattr(slot, column, &is_null);
}

bool DependencyIndex::Table::is_null(DependencyColumn column) const
{
    return ::slot_attisnull(slot, column);
}

std::size_t DependencyIndex::Table::read_later(std::int64_t before, std::span<Later> rows) const
{
    ScanKeyData key;
    ::ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(before));
    IndexScanDesc scan = pg::begin_index_scan(dependency, by_before, 1);
    ::index_rescan(scan, &key, 1, nullptr, 0);
    std::size_t count = 0;
    while (count < rows.size() && ::index_getnext_slot(scan, ForwardScanDirection, slot)) {
        const bool is_any = job::is_text(value(at_after_policy), name(core::AfterPolicy::any));
        rows[count++] = {DatumGetInt32(value(at_queue_id)), DatumGetInt64(value(at_job_id)),
                         is_any};
    }
    ::index_endscan(scan);
    return count;
}

std::size_t DependencyIndex::Table::read_before(int queue, std::int64_t job, Between ids, From from,
                                                std::span<Before> rows) const
{
    std::array<ScanKeyData, 4> keys;
    ::ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(queue));
    ::ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(job));
    ::ScanKeyInit(&keys[2], 3, BTGreaterStrategyNumber, F_INT8GT, Int64GetDatum(ids.above));
    ::ScanKeyInit(&keys[3], 3, BTLessStrategyNumber, F_INT8LT, Int64GetDatum(ids.below));
    const auto direction = from == From::highest ? BackwardScanDirection : ForwardScanDirection;
    IndexScanDesc scan = pg::begin_index_scan(dependency, by_job, keys.size());
    ::index_rescan(scan, keys.data(), keys.size(), nullptr, 0);
    std::size_t count = 0;
    while (count < rows.size() && ::index_getnext_slot(scan, direction, slot)) {
        const bool is_kept = !is_null(at_outcome);
        rows[count++] = {DatumGetInt64(value(at_before_id)),
                         DatumGetInt32(value(at_before_queue_id)), is_kept,
                         is_kept && job::is_text(value(at_outcome), "succeeded")};
    }
    ::index_endscan(scan);
    return count;
}

// Leaves the row of one of the jobs before in the slot.
bool DependencyIndex::Table::find_job(int queue, std::int64_t job) const
{
    std::array<ScanKeyData, 2> keys;
    ::ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(queue));
    ::ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(job));
    IndexScanDesc scan = pg::begin_index_scan(dependency, by_job, keys.size());
    ::index_rescan(scan, keys.data(), keys.size(), nullptr, 0);
    const bool is_found = ::index_getnext_slot(scan, ForwardScanDirection, slot);
    if (is_found)
        ::ExecMaterializeSlot(slot);
    ::index_endscan(scan);
    return is_found;
}

void DependencyIndex::Table::close() const
{
    if (brings_snapshot)
        ::PopActiveSnapshot();
    if (slot != nullptr)
        ::ExecDropSingleTupleTableSlot(slot);
    for (Relation index : {by_job, by_before})
        if (index != nullptr)
            ::index_close(index, NoLock);
    if (dependency != nullptr)
        ::table_close(dependency, NoLock);
}

// ---- call outside pg::call() ----

std::optional<DependencyIndex> DependencyIndex::open()
{
    auto *table = pg::call([] {
        auto *opened = static_cast<Table *>(::palloc0(sizeof(Table)));
        if (opened->open()) {
            ::CommandCounterIncrement();  // make the changes of this transaction visible
            opened->see_latest();
            return opened;
        }
        opened->close();
        return static_cast<Table *>(nullptr);
    });
    return table == nullptr ? std::nullopt : std::optional(DependencyIndex(table));
}

void DependencyIndex::see_latest()
{
    pg::call([&] { table_->see_latest(); });
}

std::vector<DependencyIndex::Later> DependencyIndex::jobs_after(std::int64_t before_id,
                                                                std::size_t most)
{
    std::vector<Later> rows(most);
    rows.resize(pg::call([&] { return table_->read_later(before_id, rows); }));
    return rows;
}

std::vector<DependencyIndex::Before> DependencyIndex::jobs_before(int queue_id, std::int64_t job_id,
                                                                  Between ids, From from,
                                                                  std::size_t most)
{
    std::vector<Before> rows(most);
    rows.resize(pg::call([&] { return table_->read_before(queue_id, job_id, ids, from, rows); }));
    return rows;
}

std::optional<DependencyIndex::Rule> DependencyIndex::rule_of(int queue_id, std::int64_t job_id)
{
    std::string_view policy;  // both point into the row
    std::string_view failure;
    const bool is_found = pg::call([&] {
        if (!table_->find_job(queue_id, job_id))
            return false;
        policy = job::text_view(table_->value(at_after_policy));
        failure = job::text_view(table_->value(at_on_failure));
        return true;
    });
    if (!is_found)
        return std::nullopt;
    return Rule{core::parse_after_policy(policy).value(), core::parse_on_failure(failure).value()};
}

void DependencyIndex::close()
{
    pg::call([&] { table_->close(); });
}

}  // namespace hipq::flow
