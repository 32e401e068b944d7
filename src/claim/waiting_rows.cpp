// Walks over the waiting rows of a live leaf, a piece at a time.
//
// The walk uses the primary key. A LIMIT in SQL bounds the rows that a statement finds, but not the
// rows that it passes over, which are the majority under an old snapshot.
#include "claim/waiting_rows.hpp"

#include "catalog/cache.hpp"
#include "job/aimed_jobs.hpp"
#include "job/job_row.hpp"
#include "job/plain_table.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "access/tableam.h"
#include "utils/fmgroids.h"
}

namespace hipq::claim {

using core::Column;

namespace {

// ---- call inside pg::call() only ----

struct RowWalk {
    Relation live;
    Relation key;
    IndexScanDesc scan;
    TupleTableSlot *slot;

    bool open(const char *name);
    void begin(std::int64_t after);
    bool next(std::int64_t *id, bool *is_there) const;
    void close() const;
};

bool RowWalk::open(const char *name)
{
    live = job::open_table(name, AccessShareLock);
    const Oid key_oid = live == nullptr ? InvalidOid : pg::primary_key_of(live);
    if (OidIsValid(key_oid))
        key = ::index_open(key_oid, AccessShareLock);
    return key != nullptr;
}

void RowWalk::begin(std::int64_t after)
{
    slot = ::table_slot_create(live, nullptr);
    ScanKeyData greater;
    ::ScanKeyInit(&greater, 1, BTGreaterStrategyNumber, F_INT8GT, Int64GetDatum(after));
    ::PushActiveSnapshot(::GetLatestSnapshot());
    scan = pg::begin_index_scan(live, key, 1);
    scan->xs_want_itup = true;
    ::index_rescan(scan, &greater, 1, nullptr, 0);
}

// Reads one entry of the index. False: there are no more entries.
bool RowWalk::next(std::int64_t *id, bool *is_there) const
{
    CHECK_FOR_INTERRUPTS();
    if (::index_getnext_tid(scan, ForwardScanDirection) == nullptr)
        return false;
    bool is_null = false;
    *id = DatumGetInt64(index_getattr(scan->xs_itup, 1, scan->xs_itupdesc, &is_null));
    *is_there = ::index_fetch_heap(scan, slot);
    return true;
}

void RowWalk::close() const
{
    if (scan != nullptr) {
        ::index_endscan(scan);
        ::ExecDropSingleTupleTableSlot(slot);
        ::PopActiveSnapshot();
    }
    for (Relation relation : {key, live})
        if (relation != nullptr)
            ::relation_close(relation, NoLock);
}

// ---- ordinary C++ ----

std::optional<WaitingRow> waiting_row(TupleTableSlot *slot, const job::ColumnMap &map, pg::Time now)
{
    const auto value = [&](Column column) {
        bool is_null = false;
        return pg::call(
            [&] { return ::slot_getattr(slot, map[static_cast<std::size_t>(column)], &is_null); });
    };
    const auto is_aimed = [&] {
        bool is_null = false;
        const Datum worker = pg::call([&] {
            return ::slot_getattr(slot, map[static_cast<std::size_t>(Column::worker_id)], &is_null);
        });
        return !is_null && DatumGetInt64(worker) == job::aimed_worker_id;
    };
    const auto is_held = [&] { return pg::call([&] { return job::is_held(slot, map); }); };
    if (!core::is_waiting(job::state_of(value(Column::state))) || is_aimed() || is_held() ||
        DatumGetTimestampTz(value(Column::expires_time)) <= now.value)
        return std::nullopt;
    return WaitingRow{
        job::text_of(value(Column::job_type)),
        DatumGetInt16(value(Column::priority)),
        {DatumGetTimestampTz(value(Column::scheduled_run_time)), DatumGetInt64(value(Column::id))},
        job::text_of(value(Column::throttle_key))};
}

}  // namespace

WaitingRows read_waiting(const catalog::Queue &queue, std::int64_t after, std::size_t entries,
                         pg::Time now)
{
    const std::string name = queue.live_table();
    WaitingRows result{{}, {}, InvalidOid, std::nullopt};
    RowWalk walk{};
    if (!pg::call([&] { return walk.open(name.c_str()); })) {
        pg::call([&] { walk.close(); });
        return result;
    }
    const job::ColumnMap map = job::column_map(walk.live);
    result.leaf = RelationGetRelid(walk.live);
    pg::call([&] { walk.begin(after); });
    std::int64_t id = 0;
    bool is_there = false;
    std::size_t seen = 0;
    for (; seen < entries && pg::call([&] { return walk.next(&id, &is_there); }); ++seen)
        if (is_there) {
            if (pg::call([&] { return job::is_unreadable(walk.slot, map); }))
                result.unreadable.push_back(id);
            else if (auto row = waiting_row(walk.slot, map, now))
                result.rows.push_back(std::move(*row));
        }
    if (seen == entries)
        result.position = id;
    pg::call([&] { walk.close(); });
    return result;
}

}  // namespace hipq::claim
